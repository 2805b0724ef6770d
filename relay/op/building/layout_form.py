"""The current layout of a tensor relative to its original one, while layouts propagate:

conv(%x)   ->   layout_transform(conv(…), src_layout="NCHW16c", dst_layout="NCHW")

A `Form` names the original axes of a tensor by letters and gives the layout of these axes now:
Form("NCHW", "NCHW16c"). Forms are equal up to the choice of letters: Form("NCHW", "NHWC") equals
Form("ABCD", "ACDB").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

from relay.immutable import frozen
from relay.ir.attrs import Attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Op, get_op
from relay.ir.types import TensorType, Type
from relay.op.building.layouts import Layout, parse_layout, read_layout

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, eq=False)
class Form:
    """`names`: a letter for each original axis; `text`: the layout now."""

    names: str
    text: str

    @cached_property
    def layout(self) -> Layout:
        return read_layout(self.text)

    @cached_property
    def _meaning(self) -> str:
        return self.renamed(_LETTERS[: len(self.names)]).text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._meaning == other._meaning

    def __hash__(self) -> int:
        return hash(self._meaning)

    @property
    def is_plain(self) -> bool:
        """Whether the layout is the original one."""
        return self.names == self.text

    def renamed(self, names: str) -> Form:
        """The same form with other letters."""
        if names == self.names:
            return self
        new = dict(zip(self.names, names, strict=True))
        return Form(names, layout_text((new[letter], size) for letter, size in self.layout.axes))

    def places(self, axis: int) -> list[int]:
        """The positions of the parts of an axis now, outermost first."""
        return self.layout.places(self.names[axis])

    def place(self, axis: int) -> int:
        """The position of an axis now, or of its outer part."""
        return self.places(axis)[0]

    def block(self, axis: int) -> int:
        """The block size of an axis; 1 if it is not blocked."""
        return prod(self.layout.blocks(self.names[axis]))

    def without(self, axes: set[int]) -> Form:
        """The form without these axes."""
        gone = {self.names[axis] for axis in axes}
        kept = "".join(name for name in self.names if name not in gone)
        return Form(kept, layout_text(part for part in self.layout.axes if part[0] not in gone))

    def fits(self, ty: TensorType) -> bool:
        """Whether the blocks divide the extents of the original type."""
        return len(ty.shape) == len(self.names) and all(
            self.block(axis) == 1 or divides(self.block(axis), extent)
            for axis, extent in enumerate(ty.shape)
        )


def divides(block: int, extent: Dim) -> bool:
    """Whether an extent is known to be a multiple of the block."""
    return isinstance(extent, int) and extent % block == 0


def layout_text(axes: object) -> str:
    """The text of a layout of (letter, block size or 0)."""
    return "".join(f"{size}{letter.lower()}" if size else letter for letter, size in axes)  # type: ignore[attr-defined]


def is_unblocked(text: str) -> bool:
    """Whether a layout has no blocked axis."""
    found = parse_layout(text)
    return found is not None and found.letters == text


def transform_layout(data: Expr, source: str, target: str) -> Expr:
    """Transform `data` from layout `source` to `target`, merging consecutive transforms."""
    while source != target:
        if not (
            isinstance(data, Call)
            and isinstance(data.op, Op)
            and data.op.name == "layout_transform"
            and (before := _followed_back(data.attrs.src_layout, data.attrs.dst_layout, source))  # type: ignore[union-attr]
        ):
            layout_transform: Any = get_op("layout_transform")
            return layout_transform(data, source, target)  # type: ignore[no-any-return]
        data, source = data.args[0], before
    return data


def _followed_back(first: str, second: str, letters: str) -> str | None:
    """The layout `first`, with the letters of `second` renamed to match `letters`; None if their
    blocks differ."""
    between, wanted = read_layout(second).axes, read_layout(letters).axes
    if [size for _, size in between] != [size for _, size in wanted]:
        return None
    new = dict(
        zip((letter for letter, _ in between), (letter for letter, _ in wanted), strict=True)
    )
    if any(new[a] != b for (a, _), (b, _) in zip(between, wanted, strict=True)):
        return None
    if len(set(new.values())) < len(new):
        return None
    return layout_text((new[letter], size) for letter, size in read_layout(first).axes)


# --- rules --------------------------------------------------------------------------------------

# The form of a value: None is its original layout; a tuple of forms is that of a tuple.
Forms: TypeAlias = Form | tuple[Form | None, ...] | None
Rewritten: TypeAlias = tuple[Expr, Forms]


@frozen
class LayoutSite:
    """The original call, the forms of its arguments now, and `take(i, form)`: argument i in a
    form."""

    call: Call
    forms: tuple[Forms, ...]
    take: Callable[[int, Forms], Expr]

    @property
    def attrs(self) -> Any:
        return self.call.attrs

    @property
    def out(self) -> Type | None:
        return self.call.ty

    def tensor(self, index: int) -> TensorType:
        ty = self.call.args[index].checked_type
        assert isinstance(ty, TensorType)
        return ty

    def data(self) -> Form | None:
        """The form of the first argument, which is a tensor."""
        form = self.forms[0]
        return form if isinstance(form, Form) else None

    def rest(self) -> list[Expr]:
        """All arguments but the first, in their original layout."""
        return [self.take(i, None) for i in range(1, len(self.call.args))]

    def again(self, args: Sequence[Expr], **changes: Any) -> Call:
        """The call with other arguments and some attributes changed."""
        return changed(self.call, args, **changes)


LayoutRule = Callable[[LayoutSite], Rewritten | None]


def changed(call: Call, args: Sequence[Expr], **changes: Any) -> Call:
    """A call with other arguments and some attributes changed."""
    known = call.attrs
    if changes:
        op: Any = call.op
        assert isinstance(known, Attrs)
        known = op.make_attrs({**dict(known.items()), **changes})
    return Call(call.op, tuple(args), known, span=call.span)
