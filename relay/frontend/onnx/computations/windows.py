"""The windows that the attributes of a node describe.

windows_of(node, data, (3, 3))      strides, dilations and padding
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common.windows import SAME, Windows
from relay.frontend.onnx.node import Node
from relay.ir.dims import Dim
from relay.ir.expr import Expr

AUTOMATIC = ("NOTSET", "VALID", *SAME)


def windows_of(node: Node, data: Expr, sizes: Sequence[Dim]) -> Windows:
    """Windows of these sizes over the spatial axes of data."""
    count = len(sizes)
    strides = node.numbers("strides", count, 1)
    dilations = node.numbers("dilations", count, 1)
    for name, numbers in (("strides", strides), ("dilations", dilations)):
        if min(numbers, default=1) < 1:
            raise node.refused(f"`{name}` are not positive", "1 or more", f"{name} = {numbers}")
    automatic = automatic_padding(node)
    found = Windows(sizes, strides, dilations, automatic, None)
    if automatic in SAME:
        return found.same(node.shape(data))
    if automatic == "VALID":
        return found.with_pads([(0, 0)] * count)
    widths = node.numbers("pads", 2 * count)
    return found.with_pads(list(zip(widths[:count], widths[count:], strict=True)))


def automatic_padding(node: Node) -> str:
    """The attribute `auto_pad`; `NOTSET` for explicit padding."""
    found = str(node.attribute("auto_pad", "NOTSET") or "NOTSET")
    if found not in AUTOMATIC:
        raise node.refused("there is no such padding", ", ".join(AUTOMATIC), found)
    return found
