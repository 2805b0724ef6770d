"""Operators of classical machine learning, domain `ai.onnx.ml`; one file per family."""
