"""Operators that ONNX Runtime adds, domain `com.microsoft`; one file per family."""
