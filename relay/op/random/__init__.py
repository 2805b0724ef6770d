"""Random numbers, as `relay.random`."""

from relay.op.random.draw import (
    multinomial,
    normal,
    threefry_generate,
    threefry_key,
    threefry_split,
    uniform,
)

__all__ = [
    "multinomial",
    "normal",
    "threefry_generate",
    "threefry_key",
    "threefry_split",
    "uniform",
]
