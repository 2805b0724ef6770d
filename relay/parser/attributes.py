"""The attributes of a call from its argument list.

A call of an operator has attributes of the operator's class, with defaults for omitted ones. A call
of anything else has none, or `DictAttrs`. `attrs_type_key` names another class.
"""

from __future__ import annotations

from relay.errors import RelayError, did_you_mean
from relay.ir.attr_text import FREE_NAMES
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.expr import Expr, Op, find_op, op_names
from relay.op import attributes
from relay.op.opdef import OpDef, free_attrs
from relay.parser.cursor import Cursor
from relay.parser.values import Given


def make_attributes(
    cursor: Cursor, callee: Expr, given: Given, first: int
) -> Attrs | DictAttrs | None:
    """The attributes of a call of `callee` that begins at token `first` and was just read."""
    if given.has_type_key:
        return _of_named_class(cursor, given, first)
    if isinstance(callee, OpDef) and callee.attrs is not None:
        return _of_class(cursor, callee.name, callee.attrs, given, first)
    if not given.values:
        return None
    if isinstance(callee, Op) and not free_attrs(callee):
        name = next(iter(given.tokens))
        raise cursor.error(
            f"`{callee.name}` has no attribute `{name}`",
            given.tokens[name],
            hint="it takes no attributes",
        )
    return DictAttrs(given.values)


def _of_named_class(cursor: Cursor, given: Given, first: int) -> Attrs | DictAttrs | None:
    key = given.type_key
    if key is None:
        return None
    name = key.rpartition(".")[2] if isinstance(key, str) else ""
    if name == FREE_NAMES:
        return DictAttrs(given.values)
    cls = _attribute_classes().get(name)
    if cls is None:
        last = cursor.index - 1
        raise cursor.error(f"no operator has attributes of class {key!r}", first, last)
    return _of_class(cursor, name, cls, given, first)


def _attribute_classes() -> dict[str, type[Attrs]]:
    """Every class of attributes that an operator has, by name."""
    ops = (find_op(name) for name in op_names())
    return {op.attrs.__name__: op.attrs for op in ops if isinstance(op, OpDef) and op.attrs}


def _of_class(cursor: Cursor, owner: str, cls: type[Attrs], given: Given, first: int) -> Attrs:
    known = cls.keys()
    for name in given.values:
        if name not in known:
            hint = did_you_mean(name, known) or f"it has {', '.join(known)}"
            message = f"`{owner}` has no attribute `{name}`"
            raise cursor.error(message, given.tokens[name], hint=hint)
    try:
        return attributes.make(owner, cls, given.values)
    except RelayError as error:
        raise cursor.error(str(error), first, cursor.index - 1) from None
