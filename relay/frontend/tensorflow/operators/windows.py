"""The windows of convolutions and pools: sizes, strides, dilations and padding of a node."""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common.windows import Windows
from relay.frontend.tensorflow.node import Node
from relay.ir.dims import Dim
from relay.ir.expr import Expr

PADDINGS = {"SAME": "SAME_UPPER", "VALID": "VALID", "EXPLICIT": "EXPLICIT"}
LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def is_first(node: Node, count: int = 2) -> bool:
    """Whether the channels of data are its second axis, otherwise they are its last."""
    letters = LETTERS[count]
    options = (f"N{letters}C", f"NC{letters}")
    return node.choice("data_format", options[0], options) == options[1]


def layout_of(node: Node, count: int = 2) -> str:
    return f"NC{LETTERS[count]}" if is_first(node, count) else f"N{LETTERS[count]}C"


def spatial(node: Node, given: Sequence[int], what: str, count: int) -> list[int]:
    """The numbers of spatial axes among those of all axes."""
    if len(given) != count + 2 or min(given) < 1:
        raise node.refused(f"{what} are positive, one per axis", str(count + 2), str([*given]))
    first = 2 if is_first(node, count) else 1
    rest = [one for place, one in enumerate(given) if not first <= place < first + count]
    if any(one != 1 for one in rest):
        raise node.refused(f"{what} are of spatial axes only", "1 elsewhere", str([*given]))
    return [*given[first : first + count]]


def windows_of(node: Node, data: Expr, sizes: Sequence[Dim], count: int = 2) -> Windows:
    """Windows of these sizes, with the strides, dilations and padding of the node."""
    ones = [1] * (count + 2)
    strides = spatial(node, node.integers("strides", ones), "strides", count)
    dilations = spatial(node, node.integers("dilations", ones), "dilations", count)
    padding = node.choice("padding", "VALID", tuple(PADDINGS))
    first = 2 if is_first(node, count) else 1
    found = Windows(sizes, strides, dilations, PADDINGS[padding], None, first=first)
    if padding == "VALID":
        return found.with_pads([(0, 0)] * count)
    if padding == "SAME":
        return found.same(node.shape(data))
    widths = node.integers("explicit_paddings")
    if len(widths) != 2 * (count + 2) or min(widths) < 0:
        text = "explicit padding is two numbers per axis"
        raise node.refused(text, str(2 * (count + 2)), str(widths))
    ends = list(zip(widths[::2], widths[1::2], strict=True))
    return found.with_pads(ends[first : first + count])


def counted(node: Node, windows: Windows, found: Expr, data: Expr, channels: Dim) -> Expr:
    """The result of windows with `same` padding, declared to have the extents that this gives."""
    if windows.pads is not None:
        return found
    found = node.let(found)
    shape = node.shape(data)
    counts = windows.same_counts(windows.extents(shape))
    ends = (shape[0], channels, *counts) if windows.first == 2 else (shape[0], *counts, channels)
    return node.declare(found, ends, node.dtype(found))
