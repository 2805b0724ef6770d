"""Convert operators to the layouts that the caller asks for:

ConvertLayout({"nn.conv2d": ["NHWC", "default"]}):
nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
->
%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
%1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");
%2 = nn.conv2d(%0, %1, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="HWIO");
layout_transform(%2, src_layout="NHWC", dst_layout="NCHW")

for %x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(8, 4, 3, 3), float32]

The list of an operator is the layout of its data, then that of its weights; "default" is the usual
one for the data layout. No transform remains between two such calls
(`relay.transform.layout.layout_propagation`). A call whose channels are not divisible by the blocks
of a layout stays.

`nn.batch_norm` has no layout; its axis becomes that of the channels in the wanted one.

The attribute `FTVMConvertOpLayout` of an operator overrides this: a function
`(attrs, inputs, types, desired_layouts) -> call`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Any, NoReturn

from relay.errors import Diagnostic, PassError, did_you_mean
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function
from relay.ir.types import TensorType, Type
from relay.op.building.layout_form import Form, changed, is_unblocked
from relay.op.building.layout_rules import LayoutAttributes
from relay.op.building.layouts import parse_layout, spatial_axes
from relay.op.opdef import OpDef, records
from relay.transform.base import FunctionPass
from relay.transform.layout.layout_propagation import propagate, rewrite_of
from relay.transform.layout.layout_spelling import (
    NORMALIZATION,
    channels_first_and_last,
    normalized_layout,
)

DEFAULT = "default"
ATTRIBUTE = "FTVMConvertOpLayout"

__all__ = ["ConvertLayout", "LayoutConfig"]


class LayoutConfig:
    """The convolutions that `ConvertLayout` skips, numbered in the order of evaluation.

    with LayoutConfig(skip_layers=[0]):
        mod = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)
    """

    def __init__(self, skip_layers: Sequence[int] | None = None) -> None:
        self.skip_layers = tuple(skip_layers or ())

    def __enter__(self) -> LayoutConfig:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *failure: object) -> None:
        _entered.set(_entered.get()[:-1])

    @staticmethod
    def current() -> LayoutConfig:
        """The innermost one that was entered; by default one that skips nothing."""
        entered = _entered.get()
        return entered[-1] if entered else LayoutConfig()


_entered: ContextVar[tuple[LayoutConfig, ...]] = ContextVar("relay layout configs", default=())


@frozen
class ConvertLayout(FunctionPass):
    """Converts operators to the layouts of `desired_layouts`, by operator name."""

    opt_level = 3
    required = ("InferType", "CanonicalizeOps")
    desired_layouts: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        wanted = {name: _checked(name, given) for name, given in self.desired_layouts.items()}
        object.__setattr__(self, "desired_layouts", MappingProxyType(wanted))

    def rewrite(self, function: Function) -> Function:
        return propagate(function, _Conversion(self.desired_layouts))


def _checked(name: str, given: Any) -> tuple[str, ...]:
    """The layouts wanted for an operator."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        _refuse(f"the layouts of `{name}` are a list", '["NHWC", "default"]', repr(given))
    for place, text in enumerate(given):
        if not isinstance(text, str) or (text != DEFAULT and parse_layout(text) is None):
            _refuse(f"this is no layout for `{name}`", 'NHWC, NCHW16c or "default"', repr(text))
        if place == 0 and text == DEFAULT:
            _refuse(f"the data of `{name}` has no default layout", "NHWC or NCHW", repr(text))
    return tuple(given)


def _refuse(message: str, expected: str | None, found: str, hint: str | None = None) -> NoReturn:
    raise PassError(Diagnostic(message, expected=expected, found=found, hint=hint))


@dataclass
class _Conversion:
    """The rewriting of single calls in one run of the pass."""

    wanted: Mapping[str, Sequence[str]]
    skipped: frozenset[int] = field(
        default_factory=lambda: frozenset(LayoutConfig.current().skip_layers)
    )
    convolutions: int = 0

    def __call__(self, call: Call) -> Expr | None:
        op = call.op
        assert isinstance(op, OpDef)
        if op.name not in self.wanted:
            return None
        spelling = op.layout if isinstance(op.layout, LayoutAttributes) else None
        if spelling is not None and "kernel_layout" in spelling.arguments:
            self.convolutions += 1
            if self.convolutions - 1 in self.skipped:
                return None
        layouts = list(self.wanted[op.name])
        if op.has_attr(ATTRIBUTE):
            types = [arg.ty for arg in call.args]
            return rewrite_of(op, ATTRIBUTE, call.attrs, call.args, types, layouts)
        if op.name == NORMALIZATION:
            return normalized(call, layouts[0])
        if spelling is None:
            known = [one.name for one in records() if isinstance(one.layout, LayoutAttributes)]
            hint = did_you_mean(op.name, known) or f"give it the attribute {ATTRIBUTE}"
            _refuse("nothing is known about the layouts of an operator", None, op.name, hint)
        return converted(call, spelling, layouts)


def converted(call: Call, spelling: LayoutAttributes, layouts: Sequence[str]) -> Call | None:
    """The call with these layouts in its attributes; None if nothing changes, or the extents are
    not divisible by the blocks."""
    before, out = spelling.layouts(call)
    data, *others = layouts
    changes: dict[str, Any] = {}
    for name, source in zip(spelling.arguments, before, strict=False):
        if name is None or source is None:
            continue
        if name == spelling.arguments[0]:
            target = data
        elif others and others[0] != DEFAULT:
            target = others[0]
        else:
            target = default_kernel_layout(call, data)
        _require_letters(call, name, source, target)
        changes[name] = target
    if spelling.result:
        changes[spelling.result] = ""
    after = changed(call, call.args, **changes)
    now, result = spelling.layouts(after)
    if now == before and result == out:
        return None
    types = [*(arg.ty for arg in call.args), call.ty]
    lie = zip(types, [*before, out], [*now, result], strict=True)
    return after if all(_fits(*one) for one in lie) else None


def normalized(call: Call, layout: str) -> Call | None:
    """A `nn.batch_norm` over the channel axis of a layout; None if nothing changes, or its channels
    are blocked."""
    before = normalized_layout(call)
    if before is None:
        return None
    _require_letters(call, "data", before, layout)
    usual = channels_first_and_last(len(before))
    if not is_unblocked(layout) or layout == before:
        return None
    if layout not in usual:
        _refuse(
            "channels are normalized as the second axis or the last", " or ".join(usual), layout
        )
    return changed(call, call.args, axis=layout.index("C"))


def _fits(ty: Type | None, source: str | None, target: str | None) -> bool:
    """Whether a tensor in layout `source` is divisible by the blocks of `target`."""
    if source is None or target is None or source == target:
        return True
    # type inference checks blocked sources
    return not is_unblocked(source) or (
        isinstance(ty, TensorType) and Form(source, target).fits(ty)
    )


def _require_letters(call: Call, name: str, source: str, target: str) -> None:
    before, after = parse_layout(source), parse_layout(target)
    assert before is not None and after is not None and isinstance(call.op, OpDef)
    if sorted(before.letters) != sorted(after.letters):
        _refuse(
            f"`{name}` of `{call.op.name}` has other axes",
            f"the letters of {before.letters}",
            target,
        )


def default_kernel_layout(call: Call, data_layout: str) -> str:
    """The usual layout of weights for a data layout: channels last and blocked like the data."""
    known = parse_layout(data_layout)
    assert known is not None and isinstance(call.op, OpDef) and call.op.attrs is not None
    spatial = spatial_axes(known.letters)
    plain: str = call.op.attrs.defaults()["kernel_layout"]
    depthwise = _is_depthwise(call)
    if known.letters[-1] == "C":
        plain = spatial + ("OI" if depthwise else "IO")
    inputs, outputs = ("".join(f"{size}{c}" for size in known.blocks("C")) for c in "io")
    if outputs and depthwise:
        inputs = "1i"  # each group has one input channel
    return plain + inputs + outputs


def _is_depthwise(call: Call) -> bool:
    """Whether every input channel is a separate group."""
    known: Any = call.attrs
    ty, layout = call.args[0].ty, parse_layout(known.data_layout)
    if known.groups == 1 or not isinstance(ty, TensorType) or layout is None:
        return False
    extents = [ty.shape[place] for place in layout.places("C")]
    counts = [extent for extent in extents if isinstance(extent, int)]
    return len(counts) == len(extents) and prod(counts) == known.groups
