"""Converters of TFLite operators, one file per family."""
