"""Text to programs: `relay.parse` for modules, `relay.parse_expr` for single expressions."""

from __future__ import annotations

from relay.check.infer import infer_module
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.parser.parser import MetaTable, parse_expression, parse_module
from relay.tree import without_collection

__all__ = ["fromtext", "parse", "parse_expr"]


@without_collection()
def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: MetaTable | None = None,
) -> IRModule:
    """The typed module that `source` defines.

    What `init_module` defines is in scope, and part of the result. `init_meta_table` holds what
    `meta[kind][index]` refers to, besides the metadata in the text.
    """
    return infer_module(parse_module(source, source_name, init_module, init_meta_table))


def fromtext(source: str, source_name: str = "from_string") -> IRModule:
    """The typed module that `source` defines."""
    return parse(source, source_name)


@without_collection()
def parse_expr(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: MetaTable | None = None,
) -> Expr:
    """The expression that `source` is, untyped.

    Data types, constructors and functions are those of `init_module`; without one, functions are
    not checked. Free variables are declared first: `free_var %x: T;`.
    """
    return parse_expression(source, source_name, init_module, init_meta_table)
