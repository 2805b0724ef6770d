"""Passes that simplify programs: algebraic rules, constant folding, elimination."""
