"""Passes about weights, storage and lifetimes."""
