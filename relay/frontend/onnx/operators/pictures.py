"""Pictures: files of them that are inputs of a model."""

from __future__ import annotations

from relay import op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()

_FORMATS = ("RGB", "BGR", "Grayscale")


@table("ImageDecoder", since=20)
def image_decoder(node: Node, encoded: Expr) -> Expr:
    """The standard wants an empty matrix of bytes that cannot be decoded; here, as in its own
    reference, they end the run with the reason."""
    pixel_format = node.attribute("pixel_format", "RGB")
    if pixel_format not in _FORMATS:
        raise node.refused("there is no such pixel format", ", ".join(_FORMATS), pixel_format)
    node.must_have_axes(encoded, 1, "bytes of a picture")
    return op.image.decode(encoded, pixel_format=pixel_format)
