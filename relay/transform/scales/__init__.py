"""Passes that move multiplications by constants into weights."""
