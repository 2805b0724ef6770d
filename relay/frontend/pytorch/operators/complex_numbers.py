"""Complex numbers: pairs of real numbers along a trailing axis.

Operators that move elements, and sums, are those of the real and of the imaginary parts; products
are sums of four products of parts; functions are formulas of the parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.pytorch.converters import Converters, built_in, find
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.fourier import paired, parts
from relay.frontend.pytorch.promotion import cast
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.types import COMPLEX
from relay.ir.expr import Expr
from relay.ir.types import TensorType

real_table = Converters()
complex_table = Converters(complex_numbers=True)
tables = (real_table, complex_table)


# --- parts ---------------------------------------------------------------------------------------


@complex_table("view_as_real", "view_as_real_copy")
def view_as_real(node: Node, self: Complex) -> Expr:
    return self.pairs


@real_table("view_as_complex", "view_as_complex_copy")
def view_as_complex(node: Node, self: Expr) -> Complex:
    return Complex(self)


@complex_table("real")
def real(node: Node, self: Complex) -> Expr:
    return parts(node, self)[0]


@complex_table("imag")
def imaginary(node: Node, self: Complex) -> Expr:
    return parts(node, self)[1]


@complex_table("_conj", "conj", "conj_physical", "_conj_copy", "_conj_physical")
def conjugate(node: Node, self: Complex) -> Complex:
    first, second = parts(node, self)
    return paired(node, first, -second)


@complex_table(
    *("resolve_conj", "resolve_neg", "alias", "alias_copy", "clone", "detach", "detach_copy"),
    *("lift", "lift_fresh", "lift_fresh_copy"),
)
def same(node: Node, self: Complex, *_: Any, **__: Any) -> Complex:
    return self


@real_table("complex")
def complex_(node: Node, real: Expr, imag: Expr) -> Complex:
    first, second = broadcastable(node, real, imag)
    return paired(node, first + op.zeros_like(second), second + op.zeros_like(first))


@real_table("polar")
def polar(node: Node, abs: Expr, angle: Expr) -> Complex:
    length, turn = broadcastable(node, abs, angle)
    return paired(node, length * op.cos(turn), length * op.sin(turn))


# --- converters of real numbers ------------------------------------------------------------------


def by_parts(node: Node, name: str, overload: str, *args: Any, **named: Any) -> Any:
    """What the converter of an operator on real numbers gives for them."""
    converter = find(built_in(), "aten", name, overload)
    if converter is None:
        raise node.refused("it takes no complex numbers", hint="view them as pairs of floats")
    declared = node.declared
    if declared is not None:
        declared = TensorType(declared.shape[:-1], declared.dtype)
    found = converter(replace(node, declared=declared), *args, **named)
    if isinstance(found, list | tuple):
        return [node.let(one) if isinstance(one, Expr) else one for one in found]
    return node.let(found) if isinstance(found, Expr) else found


def own(node: Node, *args: Any, **named: Any) -> Any:
    """The real operator of the same name."""
    return by_parts(node, node.operator.partition(".")[2], node.overload, *args, **named)


def _part(node: Node, value: Any, place: int, *, of_numbers: bool) -> Any:
    """One part of complex numbers in arguments; of real ones too, where these are operands."""
    if isinstance(value, list):
        return [_part(node, one, place, of_numbers=of_numbers) for one in value]
    if isinstance(value, Complex):
        return parts(node, value)[place]
    if isinstance(value, complex):
        return value.imag if place else value.real
    if not of_numbers or not place or value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Expr):
        is_mask = node.dtype(value) == "bool"
        return value if is_mask else node.let(op.zeros_like(value))
    return 0.0 if isinstance(value, int | float) else value


def _together(node: Node, first: Any, second: Any) -> Any:
    if isinstance(first, list):
        return [paired(node, *pair) for pair in zip(first, second, strict=True)]
    return paired(node, first, second)


_MOVING = (
    *("view", "_unsafe_view", "view_copy", "reshape", "permute", "permute_copy", "transpose"),
    *("t", "mT", "squeeze", "unsqueeze", "expand", "slice", "select", "narrow", "split", "chunk"),
    *("split_with_sizes", "tensor_split", "unbind", "flip", "roll", "rot90", "index", "take"),
    *("index_select", "gather", "repeat", "tile", "unfold", "diagonal", "diag", "diag_embed"),
    *("tril", "triu", "movedim", "flatten", "unflatten", "repeat_interleave", "take_along_dim"),
    *("neg", "sum", "mean", "cumsum", "trace", "masked_select", "contiguous"),
    *("broadcast_to", "swapaxes", "swapdims", "squeeze_copy", "unsqueeze_copy", "slice_copy"),
    *("select_copy", "expand_copy", "diagonal_copy", "as_strided", "expand_as", "view_as"),
    *("numpy_T", "nan_to_num", "positive"),
    *("constant_pad_nd", "pad", "reflection_pad1d", "replication_pad1d"),
    *("combinations", "broadcast_tensors", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle"),
    *("im2col", "col2im", "diagflat", "fliplr", "flipud", "diff", "cartesian_prod"),
    *("as_strided_copy", "unfold_copy", "hsplit", "vsplit", "dsplit"),
)


@complex_table(*_MOVING)
def moving(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on each part; other arguments are those of the operator."""
    found = []
    for place in range(2):
        given = [_part(node, one, place, of_numbers=False) for one in args]
        keys = {key: _part(node, one, place, of_numbers=False) for key, one in named.items()}
        dtype = keys.pop("dtype", None)
        made = own(node, *given, **keys)
        if dtype in COMPLEX:
            made = node.as_dtype(made, COMPLEX[dtype])
        found.append(made)
    return _together(node, *found)


@complex_table("zeros_like", "ones_like", "empty_like", "full_like")
def like(node: Node, self: Any, fill_value: Any = None, *, dtype: Any = None, **_: Any) -> Any:
    """Numbers of the same kind, or of a given one."""
    if fill_value is None:
        fill_value = 1 if node.operator == "aten.ones_like" else 0
    data = parts(node, self)[0] if isinstance(self, Complex) else self
    if isinstance(dtype, str) or (dtype is None and not isinstance(self, Complex)):
        return by_parts(node, "full_like", "", data, fill_value, dtype=dtype)
    wanted = COMPLEX.get(dtype, node.dtype(data))
    return paired(
        node,
        *(
            by_parts(node, "full_like", "", data, one, dtype=wanted)
            for one in of_number(fill_value)
        ),
    )


def of_number(value: Any) -> tuple[Any, Any]:
    """The parts of a number."""
    number = complex(value) if isinstance(value, int | float | complex) else value
    return (number.real, number.imag) if isinstance(number, complex) else (number, 0.0)


@complex_table("full", "new_full")
def full(node: Node, *args: Any, **named: Any) -> Any:
    """A tensor of one complex number: the converter of real ones knows them."""
    *rest, value = args
    if isinstance(rest[0], Complex):
        dtype = node.dtype(rest[0].pairs)
        kind = next(one for one, part in COMPLEX.items() if part == dtype)
        return by_parts(node, "full", "", rest[1], value, dtype=named.get("dtype") or kind)
    return by_parts(node, "full", "", rest[-1], value, **named)


@complex_table("new_zeros", "new_ones", "new_empty")
def new(node: Node, self: Complex, size: Any, *_: Any, **named: Any) -> Any:
    return full(node, self, size, 1 if node.operator == "aten.new_ones" else 0, **named)


# --- other element types -------------------------------------------------------------------------


@complex_table("_to_copy", "to", "type_as")
def to_copy(node: Node, self: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    """Other complex numbers, or real parts; what is not 0 is true."""
    if isinstance(dtype, Complex):
        dtype = next(one for one, part in COMPLEX.items() if part == node.dtype(dtype.pairs))
    if not isinstance(self, Complex):
        return by_parts(node, "_to_copy", "", self, dtype)
    if dtype is None:
        return self
    if dtype in COMPLEX:
        return Complex(node.as_dtype(self.pairs, COMPLEX[dtype]))
    if dtype == "bool":
        return nonzero(node, self)
    return cast(node, parts(node, self)[0], dtype)


@complex_table("copy")
def copy(node: Node, self: Any, src: Any, *_: Any, **__: Any) -> Any:
    """The elements of another tensor, broadcast and converted to the type of the first."""
    given = as_parts(node, src)
    if not isinstance(self, Complex):
        return by_parts(node, "copy", "", self, given[0])
    pairs = zip(parts(node, self), given, strict=True)
    return paired(node, *(by_parts(node, "copy", "", one, other) for one, other in pairs))


def nonzero(node: Node, value: Complex) -> Expr:
    """Whether numbers are other than 0."""
    first, second = (op.not_equal(one, node.number(0, one)) for one in parts(node, value))
    return node.let(op.logical_or(first, second))


@complex_table("_assert_tensor_metadata")
def assert_metadata(node: Node, *_: Any, **__: Any) -> None:
    """The importer knows all types."""


@complex_table("sym_size", "size")
def size(node: Node, self: Complex, dim: int) -> Any:
    return node.dimension(self.pairs, node.axis_of(dim, node.rank(self.pairs) - 1))


_ADDING = (
    *("add", "sub", "subtract", "rsub", "where", "masked_fill", "fill", "cat", "stack", "hstack"),
    *("vstack", "row_stack", "dstack", "column_stack", "block_diag", "_chunk_cat"),
)
_WRITING = (
    *("index_put", "_unsafe_index_put", "scatter", "scatter_add", "index_add", "index_copy"),
    *("select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter"),
    *("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "masked_scatter", "put"),
    *("index_fill",),
)


@complex_table(*_ADDING)
def adding(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on each part, of operands that may be real."""
    return _by_operands(node, args, named, of_numbers=True)


@complex_table(*_WRITING)
def writing(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on each part; indices stay as they are."""
    return _by_operands(node, args, named, of_numbers=False)


# those that write a number, their fourth argument
_VALUED = ("aten.index_fill", "aten.scatter", "aten._unsafe_masked_index")


def _by_operands(node: Node, args: Any, named: Any, *, of_numbers: bool) -> Any:
    found = []
    for place in range(2):
        given = [_part(node, one, place, of_numbers=of_numbers) for one in args]
        if node.operator in _VALUED:
            given[3:4] = [_part(node, one, place, of_numbers=True) for one in args[3:4]]
        if isinstance(args[0], list):
            given[1:] = args[1:]
        found.append(own(node, *given, **named))
    return _together(node, *found)


def as_parts(node: Node, value: Any) -> tuple[Any, Any]:
    """The parts of an operand, which may be real."""
    first, second = (_part(node, value, place, of_numbers=True) for place in range(2))
    return first, second


# --- comparisons ---------------------------------------------------------------------------------


@complex_table("eq", "ne")
def equality(node: Node, self: Any, other: Any) -> Expr:
    (a, b), (c, d) = as_parts(node, self), as_parts(node, other)
    first, second = own(node, a, c), own(node, b, d)
    return (
        op.logical_and(first, second)
        if node.operator == "aten.eq"
        else op.logical_or(first, second)
    )


@complex_table("isnan", "isinf", "isfinite")
def kind(node: Node, self: Complex) -> Expr:
    first, second = (own(node, one) for one in parts(node, self))
    both = node.operator == "aten.isfinite"
    return op.logical_and(first, second) if both else op.logical_or(first, second)


@complex_table("isreal")
def is_real(node: Node, self: Complex) -> Expr:
    second = parts(node, self)[1]
    return op.equal(second, node.number(0, second))


_TRUTHS = (
    *("logical_not", "logical_and", "logical_or", "logical_xor", "all", "any", "count_nonzero"),
    *("nonzero", "argwhere", "nonzero_numpy", "nonzero_static"),
)


@complex_table(*_TRUTHS)
def of_truth(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on whether numbers are other than 0."""
    given = [nonzero(node, one) if isinstance(one, Complex) else one for one in args]
    return own(node, *given, **named)
