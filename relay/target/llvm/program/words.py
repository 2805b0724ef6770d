"""The order of fields in objects: object words first.

Node(int32, Tree, float32[?], bool)   ->   [Tree] [float32[?]] [int32] [bool]
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.immutable import frozen
from relay.program.program import ScalarSpec, Spec


def is_object(spec: Spec) -> bool:
    """Whether values of that type are object words."""
    return not isinstance(spec, ScalarSpec)


@frozen
class Arrangement:
    """The index of the word of each field, and the number of object words."""

    positions: tuple[int, ...]
    objects: int

    @property
    def words(self) -> int:
        return len(self.positions)


def arrange(specs: Sequence[Spec]) -> Arrangement:
    """The arrangement of fields of these types."""
    objects = [index for index, spec in enumerate(specs) if is_object(spec)]
    others = [index for index, spec in enumerate(specs) if not is_object(spec)]
    positions = [0] * len(specs)
    for position, index in enumerate((*objects, *others)):
        positions[index] = position
    return Arrangement(tuple(positions), len(objects))
