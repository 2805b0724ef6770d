"""Checks on programs: type inference, kinds, exhaustiveness of matches, well-formedness."""
