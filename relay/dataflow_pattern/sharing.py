"""Which parts of a pattern are shared, recursive, or have alternatives.

A search that has matched a part of the pattern may drop the other alternatives, unless the part
binds something that is used elsewhere too; and a failure of such a part can be remembered. Without
both a pattern of n commutative calls could take 2**n attempts.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay.analysis.forest import Forest
from relay.check.components import strongly_connected
from relay.dataflow_pattern.dominator import DominatorStep
from relay.dataflow_pattern.patterns import ExprPattern
from relay.dataflow_pattern.steps import Step
from relay.errors import RelayError
from relay.ir.expr import Constructor, GlobalVar, Op


def analyze(order: list[Step]) -> None:
    """Set `cyclic`, `closed` and `guarded` of every step; `order` is a post-order."""
    number = {step: i for i, step in enumerate(order)}
    parts = [[number[part] for part in step.parts()] for step in order]
    recursive = _find_cycles(order, parts)
    uses = [0] * len(order)
    for below in parts:
        for part in below:
            uses[part] += not _is_fixed(order[part])
    if recursive or max(uses) > 1:
        _find_closed(order, parts)
    else:
        for step in order:
            step.closed = True
    branching = _reaching(parts, [step.branches for step in order], recursive)
    for step, several in zip(order, branching, strict=True):
        step.guarded = step.closed and several and step is not order[-1]


def _is_fixed(step: Step) -> bool:
    """Whether it can be bound to one thing only, so that sharing does not matter."""
    return isinstance(step.pattern, ExprPattern) and isinstance(
        step.pattern.expr, Op | GlobalVar | Constructor
    )


def _find_cycles(order: list[Step], parts: list[list[int]]) -> bool:
    """Set `cyclic`, and tell whether a step is."""
    # in a post-order only an edge that closes a cycle leads to a later node
    if all(part < i for i, below in enumerate(parts) for part in below):
        return False
    for i in _on_cycles(parts):
        order[i].cyclic = True
        if isinstance(order[i], DominatorStep):
            raise RelayError("a dominator pattern cannot be redirected to itself")
    # every iteration must descend in the program, or the search never ends
    standing = [[] if step.descends else below for step, below in zip(order, parts, strict=True)]
    if list(_on_cycles(standing)):
        raise RelayError(
            "a wildcard is redirected to itself, or to alternatives that begin with it; "
            "a recursive pattern must describe at least one expression per iteration"
        )
    return True


def _on_cycles(edges: list[list[int]]) -> Iterator[int]:
    for group in strongly_connected(dict(enumerate(edges))):
        if len(group) > 1 or group[0] in edges[group[0]]:
            yield from group


def _reaching(parts: list[list[int]], marked: list[bool], recursive: bool) -> list[bool]:
    """Which steps are marked, or have a marked step somewhere below."""
    found = list(marked)
    changed = True
    while changed:
        changed = False
        for i, below in enumerate(parts):
            if not found[i] and any(found[part] for part in below):
                found[i] = True
                changed = recursive
    return found


def _find_closed(order: list[Step], parts: list[list[int]]) -> None:
    """Set `closed` where a step dominates everything below it, and nothing below is recursive.

    A step is closed when nothing reachable from it has an immediate dominator above the step.
    """
    last = len(order) - 1
    users: list[list[int]] = [[] for _ in order]
    for i, below in enumerate(parts):
        for part in below:
            if part < i:
                users[part].append(last - i)
    forest = Forest()
    for using in reversed(users):
        forest.add(forest.meet_all(using))
    recurs = _reaching(parts, [step.cyclic for step in order], True)
    highest = [last + 1] * len(order)
    for i, below in enumerate(parts):
        for part in below:
            if part < i and not _is_fixed(order[part]):
                highest[i] = min(highest[i], highest[part], forest.depth[last - part] - 1)
    for i, step in enumerate(order):
        step.closed = not recurs[i] and highest[i] >= forest.depth[last - i]
