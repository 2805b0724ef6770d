"""The dominator tree of a function's blocks.

Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm (2001).
"""

from __future__ import annotations

from relay.program.program import Function
from relay.program.uses import predecessors, reverse_postorder


class Dominators:
    """The dominator tree of the reachable blocks."""

    def __init__(self, function: Function) -> None:
        self.order = reverse_postorder(function)
        number = {block: place for place, block in enumerate(self.order)}
        before = predecessors(function)
        # block -> its immediate dominator, by their places in the order
        last: list[int] = [0] * len(self.order)
        done = [False] * len(self.order)
        done[0] = changed = True
        while changed:
            changed = False
            for place in range(1, len(self.order)):
                found = -1
                for block in before[self.order[place]]:
                    other = number.get(block, -1)
                    if other >= 0 and done[other]:
                        found = other if found < 0 else _meet(last, found, other)
                if not done[place] or last[place] != found:
                    last[place], done[place], changed = found, True, True
        self._number = number
        self._first, self._final = _spans(last)

    def is_reached(self, block: int) -> bool:
        return block in self._number

    def dominates(self, block: int, other: int) -> bool:
        """Whether a reachable block dominates another."""
        above, below = self._number[block], self._number[other]
        return self._first[above] <= self._first[below] <= self._final[above]


def _meet(last: list[int], one: int, other: int) -> int:
    while one != other:
        if one > other:
            one = last[one]
        else:
            other = last[other]
    return one


def _spans(last: list[int]) -> tuple[list[int], list[int]]:
    """(first, final) preorder numbers of subtrees."""
    below: list[list[int]] = [[] for _ in last]
    for place in range(1, len(last)):
        below[last[place]].append(place)
    first, final = [0] * len(last), [0] * len(last)
    count = 0
    pending: list[tuple[int, bool]] = [(0, False)]
    while pending:
        place, done = pending.pop()
        if done:
            final[place] = count - 1
            continue
        first[place] = count
        count += 1
        pending.append((place, True))
        pending.extend((child, False) for child in below[place])
    return first, final
