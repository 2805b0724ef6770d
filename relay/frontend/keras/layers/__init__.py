"""Converters of layers, one file per family."""
