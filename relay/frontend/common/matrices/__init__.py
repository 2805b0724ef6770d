"""Factors of matrices, computed by loops over columns."""
