"""Patterns of operators that external compilers support."""

from relay.op.contrib.register import (
    get_pattern_table,
    register_compiler,
    register_pattern_table,
    registered_compilers,
)

__all__ = [
    "get_pattern_table",
    "register_compiler",
    "register_pattern_table",
    "registered_compilers",
]
