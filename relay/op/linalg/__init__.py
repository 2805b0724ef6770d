"""Products of matrices, and what else linear algebra has."""
