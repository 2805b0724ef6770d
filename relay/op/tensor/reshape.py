"""reshape, reverse_reshape, reshape_like and batch_flatten."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any, NoReturn

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.building.elements import moved, regrouped
from relay.op.facts import Trait
from relay.op.gradient_rules import Backward, only_first
from relay.op.known import is_known
from relay.op.opdef import (
    FusionKind,
    OpDef,
    define,
    get,
    sample,
)
from relay.op.relations import size
from relay.op.site import Relation, Site, running

# --- reshape -----------------------------------------------------------------------------------


@attrs
class ReshapeAttrs(Attrs):
    """newshape: the new extents; 0 copies the extent at this position, -1 is inferred (once), -2
    copies all remaining extents, -3 is the product of the next two, -4 splits the next one into
    the two values that follow (one of them may be -1)
    allowzero: 0 is an extent of zero instead
    """

    newshape: tuple[int, ...]
    allowzero: bool = False


def _reshape_type(site: Site) -> Type | None:
    """The codes of newshape applied to the shape of data."""
    if (data := site.tensor(0)) is None:
        return None
    return TensorType(_new_shape(site, data, data.shape, site.attrs.newshape), data.dtype)


def _new_shape(
    site: Site, data: TensorType, old: tuple[Dim, ...], codes: tuple[int, ...]
) -> tuple[Dim, ...]:
    """The shape that the codes make of the shape `old` of data.

    Copied, merged and split extents take no part in the inference of -1, so that `?` in one axis
    leaves the others known: [0, -1] makes (?, 20) of (?, 4, 5).
    """
    position = 0  # index of the extent that the next code refers to
    shape: list[Dim] = []
    rest_old: list[Dim] = []  # extents neither copied, merged nor split …
    rest_new: list[Dim] = []  # … and the new ones
    inferred: int | None = None  # position of -1

    def take(code: int) -> Dim:
        nonlocal position
        if position >= len(old):
            site.fail(
                f"code {code} of `newshape` finds no extent",
                f"at most {len(old)} extents asked for",
                f"{_shown(site)} for {data}",
            )
        position += 1
        return old[position - 1]

    pending = list(codes)
    while pending:
        code = pending.pop(0)
        if code == 0 and not site.attrs.allowzero:
            shape.append(take(code))
        elif code >= 0 or code == -1:
            if position < len(old):
                rest_old.append(take(code))
            if code == -1:
                if inferred is not None:
                    _bad_codes(site, "-1 stands twice", "at most one -1")
                inferred = len(shape)
            else:
                rest_new.append(code)
            shape.append(code)
        elif code == -2:
            shape.extend(old[position:])
            position = len(old)
        elif code == -3:
            shape.append(dims.multiply(take(code), take(code)))
        elif code == -4:
            whole = take(code)
            if len(pending) < 2:
                _bad_codes(site, "-4 is not followed by two values", "-4, a, b")
            shape.extend(_split(site, whole, pending.pop(0), pending.pop(0)))
        else:
            _bad_codes(site, f"{code} means nothing", "extents, or codes from -4 to 0")
    rest_old.extend(old[position:])

    before, after = size(rest_old), size(rest_new)
    if inferred is not None:
        shape[inferred] = _quotient(site, data, before, after)
    elif size(old) == 0 and site.unify_dims(size(shape), 0):
        pass  # with a copied extent of 0, the others need not match
    elif not site.unify_dims(before, after):
        site.fail(
            "the number of elements changes",
            f"{size(old)} elements",
            f"{size(shape)}, by {_shown(site)} for {data}",
        )
    return tuple(shape)


def _split(site: Site, whole: Dim, first: int, second: int) -> list[Dim]:
    if first == -1 and second > 0:
        return [_part(site, whole, second), second]
    if second == -1 and first > 0:
        return [first, _part(site, whole, first)]
    if first < 0 or second < 0:
        _bad_codes(site, "-4 cannot split into these", "two extents, one of them may be -1")
    site.require_equal(whole, first * second, "extents before and after the split")
    return [first, second]


def _part(site: Site, whole: Dim, part: int) -> Dim:
    site.require_multiple(
        whole, part, f"`newshape`: -4 cannot split {whole}", f"a multiple of {part}", _shown(site)
    )
    return dims.floor_divide(whole, part)


def _quotient(site: Site, data: TensorType, before: Dim, after: Dim) -> Dim:
    """The value of -1: `before` elements divided by `after`."""
    if after == 0:
        _bad_codes(site, "-1 has no value when another extent is 0", "no -1, or no 0")
    quotient = dims.floor_divide(before, after)
    if not site.unify_dims(dims.multiply(quotient, after), before):
        site.fail(
            "-1 has no whole value",
            f"a number of elements that {after} divides",
            f"{_shown(site)} for {data}",
        )
    return quotient


def _bad_codes(site: Site, message: str, expected: str) -> NoReturn:
    site.fail(f"`newshape`: {message}", expected, _shown(site))


def _shown(site: Site) -> str:
    return f"newshape = {list(site.attrs.newshape)}"


def _reference(name: str, relation: Relation) -> Any:
    """A reference that computes the shape by the relation."""

    def reference(data: np.ndarray, newshape: tuple[int, ...], allowzero: bool) -> np.ndarray:
        ty = TensorType(data.shape, dtypes.canonical(data.dtype))
        codes = ReshapeAttrs(newshape=newshape, allowzero=allowzero)
        found: Any = relation(running(name, ("data",), (ty,), codes))
        return data.reshape(found.shape)

    return reference


def reshaped(data: te.Tensor, *_: te.Tensor, out: te.Spec, **__: Any) -> te.Tensor:
    """Reshape data to the shape of `out`."""
    return moved(data, out, lambda *i: regrouped(i, out.shape, data.shape))


def reshape(data: Expr, newshape: int | Sequence[int] | Expr, allowzero: bool = False) -> Call:
    """Reshape data; the shape may be a vector. See the codes of `newshape`."""
    if is_known(newshape):
        return RESHAPE(data, newshape=newshape, allowzero=allowzero)
    return get("dyn.reshape")(data, newshape, allowzero=allowzero)


def reshape_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient, reshaped to the argument."""
    return [reshape_like(site.gradient, site.args[0])]


RESHAPE = define(
    "reshape",
    doc="data with another shape, in row-major order.",
    arguments=[("data", "the input")],
    attrs=ReshapeAttrs,
    relation=_reshape_type,
    reference=_reference("reshape", _reshape_type),
    compute=reshaped,
    fusion=FusionKind.INJECTIVE,
    gradient=reshape_gradient,
    traits=Trait.RESHAPES,
    helper=reshape,
    samples=[
        sample((2, 3, 4), newshape=(4, 6)),
        sample((2, 3, 4), newshape=(-1,)),
        sample((2, 3, 5), newshape=(0, -1)),
        sample((2, 3, 4, 5), newshape=(-3, -2)),
        sample((6, 5), newshape=(-4, 2, -1, 0)),
        sample((6, 5), newshape=(-4, 2, 3, -2), dtype="int8"),
        sample((0, 3), newshape=(3, 0), allowzero=True),
        sample((2, 3, 0, 0), newshape=(6, 0, 0), dtype="bool"),
        sample((), newshape=(1, 1)),
    ],
)


def _reverse_reshape_type(site: Site) -> Type | None:
    """The codes of newshape applied to the shape of data, both from the right."""
    if (data := site.tensor(0)) is None:
        return None
    shape = _new_shape(site, data, data.shape[::-1], _from_the_right(site))
    return TensorType(shape[::-1], data.dtype)


def _from_the_right(site: Site) -> tuple[int, ...]:
    """The codes in reverse; -4 stays before its two values."""
    codes: tuple[int, ...] = site.attrs.newshape
    found: list[int] = []
    position = 0
    while position < len(codes):
        unit = codes[position : position + 1]
        if codes[position] == -4:
            unit = (-4, *reversed(codes[position + 1 : position + 3]))
            if len(unit) < 3:
                _bad_codes(site, "-4 is not followed by two values", "-4, a, b")
        found[:0] = unit
        position += len(unit)
    return tuple(found)


def reverse_reshape(data: Expr, newshape: int | Sequence[int]) -> Call:
    """`reshape` with codes from the right: (-1, 0) keeps the last extent."""
    return REVERSE_RESHAPE(data, newshape=newshape)


REVERSE_RESHAPE = define(
    "contrib_reverse_reshape",
    doc="`reshape` with codes applied from the right, so that 0 copies the extent at the same "
    "distance from the end.",
    arguments=[("data", "the input")],
    attrs=ReshapeAttrs,
    relation=_reverse_reshape_type,
    reference=_reference(
        "contrib_reverse_reshape",
        _reverse_reshape_type,
    ),
    compute=reshaped,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.RESHAPES,
    helper=reverse_reshape,
    samples=[
        sample((2, 3, 4), newshape=(-1, 0)),
        sample((5, 2, 3, 4), newshape=(-3, 0, 0), dtype="int32"),
        sample((2, 3, 4, 5), newshape=(-2, -3)),
        sample((5, 6), newshape=(0, -4, 2, -1)),
        sample((0, 3), newshape=(3, 0), allowzero=True),
        sample((), newshape=(1,), dtype="bool"),
    ],
    gradient=reshape_gradient,
)


@attrs
class ReshapeLikeAttrs(Attrs):
    """lhs_begin: the first axis of data that is replaced
    lhs_end: the axis after the last one; None is the rank
    rhs_begin: the first axis of shape_like that is taken
    rhs_end: the axis after the last one; None is the rank
    """

    lhs_begin: int = 0
    lhs_end: int | None = None
    rhs_begin: int = 0
    rhs_end: int | None = None


def _range(site: Site, begin: int, end: int | None, rank: int, side: str) -> slice:
    """The range of axes, which may count from the back."""
    bounds = []
    for name, value in ((f"{side}_begin", begin), (f"{side}_end", rank if end is None else end)):
        if not -rank <= value <= rank:
            site.fail(f"`{name}` is out of range", f"[{-rank}, {rank}]", f"{name} = {value}")
        bounds.append(value + rank if value < 0 else value)
    return slice(*bounds)


def _reshape_like_shape(site: Site, data: TensorType, like: TensorType) -> tuple[Dim, ...]:
    known = site.attrs
    old = _range(site, known.lhs_begin, known.lhs_end, len(data.shape), "lhs")
    new = _range(site, known.rhs_begin, known.rhs_end, len(like.shape), "rhs")
    if not site.unify_dims(size(data.shape[old]), size(like.shape[new])):
        site.fail("the number of elements changes", f"the size of {data}", f"the size of {like}")
    return (*data.shape[: old.start], *like.shape[new], *data.shape[max(old.start, old.stop) :])


def _reshape_like_type(site: Site) -> Type | None:
    """The shape of data with a range of axes replaced by a range of those of shape_like."""
    if (operands := site.tensors()) is None:
        return None
    data, like = operands
    return TensorType(_reshape_like_shape(site, data, like), data.dtype)


def _reshape_like(data: np.ndarray, like: np.ndarray, **ranges: int | None) -> np.ndarray:
    types = [TensorType(a.shape, dtypes.canonical(a.dtype)) for a in (data, like)]
    known = ReshapeLikeAttrs(**ranges)  # type: ignore[arg-type]
    site = running("reshape_like", ("data", "shape_like"), types, known)
    shape: tuple[Any, ...] = _reshape_like_shape(site, *types)
    return data.reshape(shape)


reshape_like: OpDef = define(
    "reshape_like",
    doc="data reshaped to another tensor, or with a range of its axes replaced by a range of the "
    "other's.",
    arguments=[("data", "the input"), ("shape_like", "a tensor of the wanted shape")],
    attrs=ReshapeLikeAttrs,
    relation=_reshape_like_type,
    reference=_reshape_like,
    compute=reshaped,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((2, 6), (3, 4)),
        sample((30, 7), (15, 2, 4), lhs_end=1, rhs_end=2),
        sample((30, 14), (5, 2, 7), lhs_begin=1, rhs_begin=1),
        sample((30, 14), (5, 2, 7, 3), lhs_begin=-1, lhs_end=2, rhs_begin=-3, rhs_end=-1),
    ],
    gradient=only_first(lambda site: reshape_like(site.gradient, site.args[0])),
)


def _batch_flatten_type(site: Site) -> Type | None:
    """(n, a, b, …) -> (n, a * b * …)"""
    site.require_rank(0, at_least=1)
    if (data := site.tensor(0)) is None:
        return None
    return TensorType((data.shape[0], size(data.shape[1:])), data.dtype)


batch_flatten = define(
    "nn.batch_flatten",
    doc="Merges all axes after the first.",
    arguments=[("data", "the input")],
    relation=_batch_flatten_type,
    reference=lambda data: data.reshape(data.shape[0], product(data.shape[1:])),
    compute=reshaped,
    fusion=FusionKind.INJECTIVE,
    gradient=reshape_gradient,
    traits=Trait.RESHAPES,
    samples=[sample((2, 3, 4)), sample((5,), dtype="int32"), sample((2, 0, 3))],
)
