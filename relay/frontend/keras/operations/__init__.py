"""Converters of operations of `keras.ops`, one file per family."""
