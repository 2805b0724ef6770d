"""Passes over functions, closures and names."""
