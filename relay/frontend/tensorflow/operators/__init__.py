"""Converters of TensorFlow's operators, a file per family."""
