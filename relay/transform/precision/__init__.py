"""Passes that choose element types and approximations."""
