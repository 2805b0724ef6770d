"""The passes of quantised networks, which programs of all kinds go through.

They come before constants are folded, which would make numbers of the integers that weights are.
"""

from __future__ import annotations

from relay.transform.base import Pass
from relay.transform.quantized.fake_quantization_to_integer import FakeQuantizationToInteger
from relay.transform.quantized.qnn_canonicalize import QnnCanonicalize
from relay.transform.quantized.qnn_legalize import QnnLegalize

QUANTIZED: tuple[Pass, ...] = (
    FakeQuantizationToInteger(thorough=False),  # what gains, and gives what floats would
    QnnLegalize(),  # of operators on quantised numbers, as long as there are some
    QnnCanonicalize(),  # products of bytes, and terms of weights that are folded
)
