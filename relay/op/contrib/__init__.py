"""Patterns of operators that external compilers support."""

from relay.op.contrib.register import get_pattern_table, register_pattern_table

__all__ = ["get_pattern_table", "register_pattern_table"]
