"""Passes that write the same program in a simpler way: rules, folding, elimination."""
