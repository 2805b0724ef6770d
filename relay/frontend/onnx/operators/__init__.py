"""Converters, one file per family of operators; each has a `table`. Other domains are folders."""
