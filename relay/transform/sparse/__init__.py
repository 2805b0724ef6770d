"""Passes that store weights as sparse matrices."""
