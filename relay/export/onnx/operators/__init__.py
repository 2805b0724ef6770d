"""Exporters, one file per family of operators: each has a `table`."""
