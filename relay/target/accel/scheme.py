"""How networks are quantized for the accelerator: `relay.quantize.int8(images, scheme=SCHEME)`.

Signed bytes, scales that are powers of two, and integers also between layers that are added. The
first layer stays in floats: it has three channels, of which a tensor core has no use.
"""

from __future__ import annotations

from typing import Final

from relay.quantize.scheme import Integers, Scheme, power_of_two

SCHEME: Final = Scheme(
    "accel",
    data=Integers(scales=power_of_two),
    weight=Integers(scales=power_of_two),
    calibrate_mode="mse",
    rounding="UPWARD",
    first=False,
    whole=True,
)
