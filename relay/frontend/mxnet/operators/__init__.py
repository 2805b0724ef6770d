"""Converters of operators of MXNet, one file per family."""
