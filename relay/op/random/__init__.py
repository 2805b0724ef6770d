"""Random numbers, as `relay.random`."""

from relay.op.building.helper import exported
from relay.op.random.draw import (
    multinomial,
    normal,
    threefry_generate,
    threefry_key,
    threefry_split,
    uniform,
)

__all__ = exported(globals())
