"""Sequences are lists, optionals are options.

An empty sequence has no type yet: it is the constructor `Nil` until it is joined with another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import checked_sizes, within
from relay.frontend.common.failing import dead_end
from relay.frontend.common.scope import is_nothing
from relay.frontend.common.stacking import concatenated, dynamic_along
from relay.frontend.onnx.boxed import LIST, OPTION, is_boxed, unbox
from relay.frontend.onnx.branches import with_type
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.joining import of_elements
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.control import scalar
from relay.ir.dims import Any
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    Tuple,
    Var,
    const,
)
from relay.ir.types import TensorType, Type, TypeCall
from relay.prelude import import_from_std

table = Converters()


def element_of(node: Node, sequence: Expr) -> Type:
    """The type of the elements of a sequence."""
    ty = node.type_of(sequence)
    if isinstance(ty, TypeCall) and ty.func == LIST:
        return ty.args[0]
    raise node.refused("an input is no sequence", expected="a sequence", found=str(ty))


def _constructor(node: Node, name: str) -> Constructor:
    return node.scope.module.get_constructor(name)


def _function(node: Node, name: str) -> GlobalVar:
    """A function of the standard library."""
    import_from_std(node.scope.module, "sequence.rly")
    return node.scope.module.get_global_var(name)


def _mapped(node: Node, values: Expr, change: Callable[[Expr], Expr], element: Type) -> Expr:
    """A list with every element changed to one of a supertype."""
    one, changed = Var("element", element_of(node, values)), Var("value", element)
    function = Function((one,), Let(changed, change(one), changed), element)
    made = Call(_function(node, "map"), (function, values))
    return node.let(made, declared=TypeCall(LIST, (element,)))


def make_list(node: Node, values: Sequence[Expr], element: Type) -> Expr:
    """A list of values of a common supertype."""
    cons = _constructor(node, "Cons")
    made: Expr = Call(_constructor(node, "Nil"), ())
    for value in reversed(values):
        made = Call(cons, (with_type(node.scope, value, element), made))
    return node.let(made, declared=TypeCall(LIST, (element,)))


def common(node: Node, types: Sequence[Type]) -> Type:
    """The common supertype of elements of these types."""
    found = types[0]
    for ty in types[1:]:
        both = of_elements(found, ty)
        if both is None:
            hint = "elements of a list have the same element type"
            message = "elements of a sequence are of different types"
            raise node.refused(message, str(found), str(ty), hint)
        found = both
    return found


# --- construction --------------------------------------------------------------------------------


@table("SequenceEmpty")
def empty(node: Node) -> Expr:
    return Call(_constructor(node, "Nil"), ())


@table("SequenceConstruct")
def construct(node: Node, *values: Expr) -> Expr:
    return make_list(node, values, common(node, [node.type_of(value) for value in values]))


@table("SequenceInsert")
def insert(node: Node, sequence: Expr, value: Expr, position: Expr | None = None) -> Expr:
    if is_nothing(sequence):
        return make_list(node, [value], node.type_of(value))
    element = common(node, [element_of(node, sequence), node.type_of(value)])
    whole = _as_list_of(node, sequence, element)
    given = with_type(node.scope, value, element)
    cons, nil = _constructor(node, "Cons"), _constructor(node, "Nil")
    behind = Call(cons, (given, Call(nil, ())))
    if position is None:
        return Call(_function(node, "concat"), (whole, behind))
    place = _place(node, whole, position, behind=1)
    return Call(_function(node, "insert_at"), (whole, place, given))


def _as_list_of(node: Node, sequence: Expr, element: Type) -> Expr:
    """A list as one of elements of a supertype."""
    own = element_of(node, sequence)
    if own == element:
        return sequence
    if is_boxed(element):
        return with_type(node.scope, sequence, TypeCall(LIST, (element,)))
    return _mapped(node, sequence, lambda one: one, element)


_BEYOND = "the position is out of range"


def _place(node: Node, sequence: Expr, position: Expr, behind: int = 0) -> Expr:
    """A position from the front as an int32 scalar, with a run-time check that there is an element,
    or one of `behind` more at the end."""
    given = node.let(op.cast(scalar(node, position), "int64"))
    count = node.let(op.cast(Call(_function(node, "length"), (sequence,)), "int64"))
    place = node.let(op.where(given < int64(0), given + count, given))
    last = count + int64(behind)
    fits = op.logical_and(place >= int64(0), place < last)
    expected, found = f"a position of {VALUE} elements", VALUE
    place = node.checked(place, fits, _BEYOND, expected, found, given, count)
    return node.let(op.cast(place, "int32"))


NEAR = 8  # positions below are found by pattern matching


def _element(node: Node, sequence: Expr, position: Expr) -> Expr:
    """An element; one near the front is found without computing the length."""
    known = node.constant(position)
    if known is None or not 0 <= known.item() < NEAR:
        return Call(_function(node, "nth"), (sequence, _place(node, sequence, position)))
    cons, number = _constructor(node, "Cons"), int(known.item())
    element = Var("element", element_of(node, sequence))
    pattern = PatternConstructor(cons, (PatternVar(element), PatternWildcard()))
    for _ in range(number):
        pattern = PatternConstructor(cons, (PatternWildcard(), pattern))
    reason = node.refused(_BEYOND, "a position of the sequence", str(number))
    end = dead_end(node.scope.module, [element_of(node, sequence)], reason, node.span)
    return Match(sequence, (Clause(pattern, element), Clause(PatternWildcard(), end)))


# --- access --------------------------------------------------------------------------------------


@table("SequenceLength")
def length(node: Node, sequence: Expr) -> Expr:
    if is_nothing(sequence):
        return int64(0)
    return op.cast(Call(_function(node, "length"), (sequence,)), "int64")


@table("SequenceAt")
def at(node: Node, sequence: Expr, position: Expr) -> Expr:
    found = _element(node, sequence, position)
    if not is_boxed(element_of(node, sequence)):
        return found
    declared = node.declared()
    if not isinstance(declared, TensorType):
        message = "elements of the sequence may have any number of axes"
        given = f"nothing about {node.outputs[0]}"
        raise node.refused(message, "a shape, declared for the result", given)
    return unbox(node.scope, node.let(found), declared)


@table("SequenceErase")
def erase(node: Node, sequence: Expr, position: Expr | None = None) -> Expr:
    last = node.importer.constant(np.array(-1, "int64"))
    place = _place(node, sequence, last if position is None else position)
    return Call(_function(node, "erase_at"), (sequence, place))


# --- from and to tensors -------------------------------------------------------------------------


@table("SplitToSequence")
def split_to_sequence(node: Node, data: Expr, sizes: Expr | None = None) -> Expr:
    axis = int(node.attribute("axis", 0)) % node.rank(data)
    keep = int(node.attribute("keepdims", 1)) or sizes is not None
    extent = node.shape(data)[axis]
    if not isinstance(extent, int) or (sizes is not None and node.constant(sizes) is None):
        each = int64(1) if sizes is None else sizes
        return _dynamic_split(node, data, axis, each, bool(keep))
    widths = _widths(node, sizes, extent)
    fields = [data]
    if len(widths) > 1:
        ends = tuple(accumulate(widths[:-1]))
        fields = node.fields(op.split(data, ends, axis).astuple(), len(widths))
    if not keep:
        fields = [node.let(op.squeeze(field, (axis,))) for field in fields]
    return make_list(node, fields, common(node, [node.type_of(field) for field in fields]))


_WIDTH = "parts have no elements"


def _dynamic_split(node: Node, data: Expr, axis: int, sizes: Expr, keep: bool) -> Expr:
    """Parts whose sizes or number are dynamic: a loop from the first to the last.

    fn (%start, %i) { if (%start < size) { Cons(%data[%start:end], …) } else { Nil } }
    """
    ty = node.tensor_type(data)
    extents = [Any() if place == axis else size for place, size in enumerate(ty.shape)]
    kept = [size for place, size in enumerate(extents) if keep or place != axis]
    part_type = TensorType(tuple(kept), ty.dtype)
    one, zero = int64(1), int64(0)
    count = TensorType((), "int64")
    start, number, again = Var("start", count), Var("number", count), Var("split")
    each = node.let(op.cast(sizes, "int64"))
    if node.rank(each) == 0:
        each = within(node, each, 1, None, _WIDTH, "1 or more")
        step: Expr = each
        going = start < node.size(data, axis)
    else:
        each = checked_sizes(node, each, data, axis)
        step = op.take(each, number, axis=0, mode="clip")
        going = number < node.size(each, 0)
    end = Var("end", count)
    axes = range(len(extents))
    begins = [start if place == axis else zero for place in axes]
    ends = [end if place == axis else node.size(data, place) for place in axes]
    part = Var("part", part_type)
    bounds = (op.stack(Tuple(tuple(given)), 0) for given in (begins, ends, [one for _ in axes]))
    cut = op.dyn.strided_slice(data, *bounds)
    if not keep:
        cut = op.squeeze(cut, (axis,))
    longer = Call(_constructor(node, "Cons"), (part, Call(again, (end, number + one))))
    body = If(
        going, Let(end, start + step, Let(part, cut, longer)), Call(_constructor(node, "Nil"), ())
    )
    whole = TypeCall(LIST, (part_type,))
    function = Function((start, number), body, whole)
    return Let(again, function, Call(again, (zero, zero)))


def _widths(node: Node, sizes: Expr | None, extent: int) -> list[int]:
    if sizes is None:
        return [1] * extent
    widths = node.integers(sizes, "where a tensor is split")
    if node.rank(sizes) == 0:
        (step,) = widths
        if step < 1:
            raise node.refused(_WIDTH, "1 or more", str(step))
        return [min(step, extent - start) for start in range(0, extent, step)]
    if sum(widths) != extent or min(widths, default=0) < 0:
        raise node.misfit("the sizes do not fit the axis", str(extent), str(widths))
    return widths


@table("ConcatFromSequence")
def concat_from_sequence(node: Node, sequence: Expr) -> Expr:
    element = element_of(node, sequence)
    if not isinstance(element, TensorType):
        raise node.refused("elements are no tensors", found=str(element))
    fresh = bool(node.attribute("new_axis", 0))
    rank = len(element.shape) + fresh
    axis = int(node.required("axis")) % rank
    if fresh:
        element = TensorType((*element.shape[:axis], 1, *element.shape[axis:]), element.dtype)
    wanted = dynamic_along(element, axis)
    values = _mapped(
        node, sequence, lambda one: op.expand_dims(one, axis) if fresh else one, wanted
    )
    shape = [0 if place == axis else size for place, size in enumerate(element.shape)]
    no_elements = with_type(node.scope, node.zeros(shape, element.dtype), wanted)
    known = [None if place == axis else size for place, size in enumerate(element.shape)]
    whole = concatenated(node.scope.module, values, wanted, axis, no_elements)
    return node.declare(whole, known, element.dtype)


# --- optionals -----------------------------------------------------------------------------------


@table("Optional")
def optional(node: Node, value: Expr | None = None) -> Expr:
    if value is None:
        return Call(_constructor(node, "None"), ())
    element = node.type_of(value)
    made = Call(_constructor(node, "Some"), (value,))
    return node.let(made, declared=TypeCall(OPTION, (element,)))


@table("OptionalHasElement")
def has_element(node: Node, value: Expr | None = None) -> Expr:
    if value is None or is_nothing(value):
        return const(value is not None and value.op.name_hint == "Nil")  # type: ignore[attr-defined]
    if not _is_option(node, value):
        return const(True)
    some = PatternConstructor(_constructor(node, "Some"), (PatternWildcard(),))
    clauses = (Clause(some, const(True)), Clause(PatternWildcard(), const(False)))
    return Match(value, clauses)


@table("OptionalGetElement")
def get_element(node: Node, value: Expr) -> Expr:
    if not _is_option(node, value):
        return value
    inside = Var("inside")
    some = PatternConstructor(_constructor(node, "Some"), (PatternVar(inside),))
    return Match(value, (Clause(some, inside),), complete=False)


def _is_option(node: Node, value: Expr) -> bool:
    ty = node.type_of(value)
    return isinstance(ty, TypeCall) and ty.func == OPTION
