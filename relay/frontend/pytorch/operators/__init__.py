"""Converters of torch's operators, one file per family."""
