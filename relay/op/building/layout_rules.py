"""Layout rules: how operators adapt to arguments in another layout.

strided_slice(%x, begin=[0, 16], end=[1, 48])
->   strided_slice(%x, begin=[0, 1], end=[1, 3], axes=[0, 1])         %x in NCHW16c instead of NCHW

A rule maps a call and the forms of its arguments to the call on arguments in these forms and the
form of its result, or to None: then the arguments are transformed back. The record of an operator
names its rule (`layout=along_axis()`); without one, arguments keep their original layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, TupleType
from relay.op.building.layout_form import (
    Form,
    LayoutRule,
    LayoutSite,
    Rewritten,
    divides,
    is_unblocked,
    transform_layout,
)
from relay.op.opdef import FusionKind, OpDef, get


def rule_of(op: OpDef) -> LayoutRule | None:
    """The rule of an operator; None if it takes the original layouts only."""
    if op.layout is None and op.fusion <= FusionKind.BROADCAST and op.attrs is None:
        return elementwise
    return op.layout


# --- elementwise -------------------------------------------------------------------------------


def elementwise(site: LayoutSite) -> Rewritten | None:
    """Adopt the form of the first argument of the shape of the result; the others follow."""
    out = site.out
    if not isinstance(out, TensorType):
        return None
    form = next(
        (
            form
            for i, form in enumerate(site.forms)
            if isinstance(form, Form) and site.tensor(i).shape == out.shape
        ),
        None,
    )
    if form is None or not all(isinstance(arg.ty, TensorType) for arg in site.call.args):
        return None
    args = []
    for i in range(len(site.forms)):
        if (arg := stretched(site, i, form, out.shape)) is None:
            return None
        args.append(arg)
    return site.again(args), form


def stretched(site: LayoutSite, index: int, form: Form, shape: Sequence[Dim]) -> Expr | None:
    """Argument `index`, broadcastable to a tensor of that shape in that form."""
    extents = site.tensor(index).shape
    axes = range(len(shape) - len(extents), len(shape))
    if not all(e == 1 or _same(e, shape[a]) for a, e in zip(axes, extents, strict=True)):
        return None
    alone = {axis for axis, extent in zip(axes, extents, strict=True) if extent == 1}
    cut = {axis for axis in alone if form.block(axis) > 1}
    if len(extents) == len(shape) and not cut and (extents == shape or site.forms[index] == form):
        return site.take(index, form)
    plain = site.take(index, None)
    if len(alone) == len(extents):
        return plain
    # a blocked axis of extent 1: remove it, and insert both of its parts
    kept = [axis for axis in axes if axis not in cut]
    if cut:
        plain = get("squeeze")(plain, axis=[axis - axes[0] for axis in sorted(cut)])
    own = Form(form.names, form.text).without(set(range(len(shape))) - set(kept))
    result = transform_layout(plain, own.names, own.text)
    return _with_ones(result, [letter in own.names for letter, _ in form.layout.axes])


def _same(extent: Dim, other: Dim) -> bool:
    # two unknown extents may differ
    return extent == other and not isinstance(extent, dims.Any)


def _with_ones(data: Expr, present: Sequence[bool]) -> Expr:
    """Insert an axis of extent 1 into `data` for each one that is not `present`, after the
    first."""
    first = list(present).index(True)
    position, missing = 0, 0
    for here in [*present[first:], True]:
        if not here:
            missing += 1
            continue
        if missing:
            data = get("expand_dims")(data, axis=position, num_newaxis=missing)
            position, missing = position + missing, 0
        position += 1
    return data


def of_two(site: LayoutSite) -> Rewritten | None:
    """As `elementwise` of the first two arguments, if all others are scalars."""
    out = site.out
    if not isinstance(out, TensorType):
        return None
    places = range(len(site.forms))
    if any(site.tensor(i).shape not in ((), (1,)) for i in places[2:]):
        return None
    own = [site.forms[i] for i in (0, 1) if site.tensor(i).shape == out.shape]
    form = next((one for one in own if isinstance(one, Form)), None)
    if form is None:
        return None
    both = [stretched(site, i, form, out.shape) for i in (0, 1)]
    args = [arg for arg in both if arg is not None]
    if len(args) < 2:
        return None
    return site.again([*args, *(site.take(i, None) for i in places[2:])]), form


def bias_add(site: LayoutSite) -> Rewritten | None:
    """Renumber the axis; a bias along a blocked axis is added as a tensor."""
    form = site.data()
    if form is None:
        return None
    axis = site.attrs.axis % len(form.names)
    if form.block(axis) == 1:
        return site.again([site.take(0, form), *site.rest()], axis=form.place(axis)), form
    own = form.without(set(range(len(form.names))) - {axis})
    bias = transform_layout(site.take(1, None), own.names, own.text)
    letter = form.names[axis]
    bias = _with_ones(bias, [name == letter for name, _ in form.layout.axes])
    return site.take(0, form) + bias, form


# --- attributes that name axes -----------------------------------------------------------------


def along_axis(results: int = 1, batch_first: bool = False) -> LayoutRule:
    """Operators along `axis`, which must not be blocked, with vectors for it; with `batch_first`,
    the first axis must stay first."""

    def rule(site: LayoutSite) -> Rewritten | None:
        form = site.data()
        if form is None:
            return None
        axis = site.attrs.axis % len(form.names)
        if form.block(axis) > 1 or (batch_first and form.places(0) != [0]):
            return None
        call = site.again([site.take(0, form), *site.rest()], axis=form.place(axis))
        return call, form if results == 1 else (form, *(None,) * (results - 1))

    return rule


def scaled(site: LayoutSite) -> Rewritten | None:
    """Scales and offsets per axis, which must not be blocked, or per tensor."""
    form = site.data()
    if form is None:
        return None
    axis = site.attrs.axis % len(form.names)
    single = all(not site.tensor(i).shape for i in range(1, len(site.forms)))
    if form.block(axis) > 1 and not single:
        return None
    return site.again([site.take(0, form), *site.rest()], axis=form.place(axis)), form


def same_form(results: int = 1) -> LayoutRule:
    """Operators without axis attributes, with `results` tensors in the form of the data."""

    def rule(site: LayoutSite) -> Rewritten | None:
        form = site.data()
        if form is None:
            return None
        call = site.again([site.take(0, form), *site.rest()])
        return call, form if results == 1 else (form,) * results

    return rule


def _axes(given: Sequence[int] | None, rank: int, exclude: bool = False) -> set[int]:
    """Axes as nonnegative indices; None is all of them."""
    named = set(range(rank)) if given is None else {axis % rank for axis in given}
    return set(range(rank)) - named if exclude and given is not None else named


def _places(form: Form, axes: set[int]) -> list[int]:
    """The positions of all parts of these axes."""
    return sorted(place for axis in axes for place in form.places(axis))


def reduction(site: LayoutSite) -> Rewritten | None:
    """Reduce all parts of an axis."""
    form, known = site.data(), site.attrs
    if form is None:
        return None
    axes = _axes(known.axis, len(form.names), known.exclude)
    if known.keepdims and any(form.block(axis) > 1 for axis in axes):
        return None  # an extent of 1 does not fill a block
    result = form if known.keepdims else form.without(axes)
    call = site.again([site.take(0, form)], axis=_places(form, axes), exclude=False)
    return call, None if result.is_plain else result


def spread(site: LayoutSite) -> Rewritten | None:
    """Reduce all parts of an axis, none of them blocked, around means with these axes kept."""
    form, ty = site.data(), site.tensor(0)
    if form is None:
        return None
    axes = _axes(site.attrs.axis, len(form.names), site.attrs.exclude)
    if any(form.block(axis) > 1 for axis in axes):
        return None
    if (means := stretched(site, 1, form, ty.shape)) is None:
        return None
    result = form if site.attrs.keepdims else form.without(axes)
    args = [site.take(0, form), means]
    call = site.again(args, axis=_places(form, axes), exclude=False)
    return call, None if result.is_plain else result


def position(site: LayoutSite) -> Rewritten | None:
    """Positions along one axis, which must not be blocked."""
    form, known = site.data(), site.attrs
    if form is None:
        return None
    axes = _axes(known.axis, len(form.names), known.exclude)
    return reduction(site) if len(axes) == 1 and form.block(*axes) == 1 else None


def l2_normalize(site: LayoutSite) -> Rewritten | None:
    form = site.data()
    if form is None:
        return None
    axes = _axes(site.attrs.axis, len(form.names))
    return site.again([site.take(0, form)], axis=_places(form, axes)), form


# --- concatenation, slices, padding -------------------------------------------------------------


def concatenate(site: LayoutSite) -> Rewritten | None:
    """Adopt the form of most elements, if its blocks divide the extents of all fields."""
    forms = site.forms[0]
    ty = site.call.args[0].ty
    if not isinstance(forms, tuple) or not isinstance(ty, TupleType):
        return None
    fields = [field for field in ty.fields if isinstance(field, TensorType)]
    found = [form for form in forms if form is not None]
    if len(fields) < len(ty.fields) or not found:
        return None
    form = max(dict.fromkeys(found), key=lambda one: _elements(forms, fields, one))
    axis = site.attrs.axis % len(form.names)
    if not all(form.fits(field) for field in fields):
        return None
    return site.again([site.take(0, (form,) * len(fields))], axis=form.place(axis)), form


def _elements(forms: Sequence[Form | None], fields: Sequence[TensorType], form: Form) -> int:
    """The number of elements in that form."""
    return sum(
        prod(extent for extent in field.shape if isinstance(extent, int))
        for field, own in zip(fields, forms, strict=True)
        if own == form
    )


def split(site: LayoutSite) -> Rewritten | None:
    """Split between blocks."""
    form, out = site.data(), site.out
    if form is None or not isinstance(out, TupleType):
        return None
    if not all(isinstance(part, TensorType) and form.fits(part) for part in out.fields):
        return None
    axis = site.attrs.axis % len(form.names)
    cuts = site.attrs.indices_or_sections
    if not isinstance(cuts, int):
        if any(cut < 0 for cut in cuts):
            return None
        cuts = [cut // form.block(axis) for cut in cuts]
    call = site.again([site.take(0, form)], axis=form.place(axis), indices_or_sections=cuts)
    return call, (form,) * len(out.fields)


def strided_slice(site: LayoutSite) -> Rewritten | None:
    """Slice blocked axes between blocks."""
    form, known = site.data(), site.attrs
    if form is None:
        return None
    shape = site.tensor(0).shape
    axes = range(len(known.begin)) if known.axes is None else known.axes
    sizes = known.slice_mode == "size"
    strides = known.strides or ()
    if not len(axes) == len(known.begin) == len(known.end):
        return None
    begins, ends, steps, places = [], [], [], []
    for i, (axis, begin, end) in enumerate(zip(axes, known.begin, known.end, strict=True)):
        stride = strides[i] if i < len(strides) and not sizes else 1
        block, extent = form.block(axis % len(shape)), shape[axis % len(shape)]
        if block > 1:
            if stride != 1 or not isinstance(extent, int):
                return None
            first, last, _ = slice(begin, None if sizes and end < 0 else end).indices(extent)
            if sizes:
                last = extent if end < 0 else min(extent, first + end)
            if not divides(block, first) or not divides(block, last):
                return None
            begin, end = first // block, max(first, last) // block
            end = end - begin if sizes else end
        begins.append(begin)
        ends.append(end)
        steps.append(stride)
        places.append(form.place(axis % len(shape)))
    if not isinstance(site.out, TensorType) or not form.fits(site.out):
        return None
    changes = {"begin": begins, "end": ends, "axes": places}
    if strides:
        changes["strides"] = steps
    return site.again([site.take(0, form)], **changes), form


def pad(site: LayoutSite) -> Rewritten | None:
    """Pad blocked axes by whole blocks of a constant, others freely."""
    form, known = site.data(), site.attrs
    if form is None:
        return None
    constant = getattr(known, "pad_mode", "") == "constant"
    widths: list[Sequence[int]] = [(0, 0)] * len(form.layout.axes)
    for axis, pair in enumerate(known.pad_width):
        block = form.block(axis)
        if block > 1 and any(pair):
            if not constant or any(width % block for width in pair):
                return None
            pair = tuple(width // block for width in pair)
        widths[form.place(axis)] = pair
    return site.again([site.take(0, form), *site.rest()], pad_width=widths), form


# --- permutations of axes ----------------------------------------------------------------------


def transpose(site: LayoutSite) -> Rewritten | None:
    """Rename the axes instead of moving data."""
    form = site.data()
    if form is None:
        return None
    rank = len(form.names)
    given = site.attrs.axes
    order = range(rank - 1, -1, -1) if given is None else [axis % rank for axis in given]
    return _reordered(site, form, "".join(form.names[axis] for axis in order))


def layout_transform(site: LayoutSite) -> Rewritten | None:
    """Rename the axes, unless the target is blocked: then transform from the current layout."""
    form, known = site.data(), site.attrs
    if form is None or not is_unblocked(known.src_layout):
        return None
    form = form.renamed(known.src_layout)
    if not is_unblocked(known.dst_layout):
        return transform_layout(site.take(0, form), form.text, known.dst_layout), None
    return _reordered(site, form, known.dst_layout)


def _reordered(site: LayoutSite, form: Form, names: str) -> Rewritten:
    result = Form(names, form.text)
    return site.take(0, form), None if result.is_plain else result


def squeeze(site: LayoutSite) -> Rewritten | None:
    form = site.data()
    if form is None:
        return None
    shape = site.tensor(0).shape
    given = site.attrs.axis
    if given is None and not all(isinstance(extent, int) for extent in shape):
        return None
    axes = (
        {axis for axis, extent in enumerate(shape) if extent == 1}
        if given is None
        else _axes(given, len(shape))
    )
    if any(form.block(axis) > 1 for axis in axes):
        return None
    result = form.without(axes)
    call = site.again([site.take(0, form)], axis=_places(form, axes))
    return call, None if result.is_plain else result


# --- layout attributes -------------------------------------------------------------------------


@frozen
class LayoutAttributes:
    """The rule of an operator with layout attributes for its arguments and its result.

    An argument without one (None) has no layout. The result has that of `result`, or if it is empty
    or None, that of the first argument. Only axes with letters in `blocks` may be blocked; if
    `blocks` is None, the operator follows no layout and is converted on request only.
    """

    arguments: tuple[str | None, ...]
    result: str | None = None
    blocks: str | None = None

    def layouts(self, call: Call) -> tuple[list[str | None], str]:
        """The layouts of the arguments, and of the result."""
        known: Any = call.attrs
        # one that is empty is that of data
        named = {name: getattr(known, name) or known.data_layout for name in self.arguments if name}
        found = [None if name is None else named[name] for name in self.arguments]
        found += [None] * (len(call.args) - len(found))
        out = getattr(known, self.result) if self.result else ""
        assert found[0] is not None
        return found, out or found[0]

    def __call__(self, site: LayoutSite) -> Rewritten | None:
        count = len(self.arguments)
        form = next((one for one in site.forms[:count] if isinstance(one, Form)), None)
        layouts, out = self.layouts(site.call)
        layout = layouts[0]
        if self.blocks is None or form is None:
            return None
        if layout is None or {out, *layouts[:count]} != {layout} or not is_unblocked(layout):
            return None
        form = form.renamed(layout)
        if any(size and letter not in self.blocks for letter, size in form.layout.axes):
            return None
        changes = {str(name): form.text for name in self.arguments}
        if self.result:
            changes[self.result] = ""
        places = range(len(site.call.args))
        args = [site.take(place, form if place < count else None) for place in places]
        return site.again(args, **changes), form


CONVOLUTION = LayoutAttributes(("data_layout", "kernel_layout"), "out_layout")
WEIGHT_GRADIENT = LayoutAttributes(("out_layout", "data_layout"), "kernel_layout")
POOL = LayoutAttributes(("layout",), "out_layout", blocks="C")  # channels are independent
POOL_GRADIENT = LayoutAttributes(("layout", "layout"), "out_layout", blocks="C")
IMAGE = LayoutAttributes(("layout",), blocks="C")
WHOLE_IMAGE = LayoutAttributes(("layout",), blocks="")  # channels are counted
