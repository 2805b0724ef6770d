"""Replacing expressions by others, also inside the replacements.

    redirect(f, {%b: %a})         every use of %b is a use of %a

Unlike a substitution this continues inside the replacements: when `%a` contains another key, that
is replaced too. So a `let` is dropped by redirecting it to its body, a variable is inlined by
redirecting it to its value, and two equal computations become one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from relay import tree
from relay.tree import Node

N = TypeVar("N", bound=Node)


def redirect(
    root: N, replacements: Mapping[Any, Any], note: Callable[[Any, Any], object] | None = None
) -> N:
    """`root` with every edge to a key of `replacements` leading to the value instead.

    No replacement may contain what it replaces. `root` itself is returned when nothing changes.
    `note(before, after)` is called for every node that was copied because a part changed.
    """
    ends: dict[Any, Any] = {}

    def end(node: Any) -> Any:
        """The node an edge to `node` finally leads to, with path compression."""
        path = []
        while node not in ends and (following := replacements.get(node)) is not None:
            path.append(node)
            node = following
        found = ends.get(node, node)
        ends.update((passed, found) for passed in path)
        return found

    done: dict[int, Any] = {}
    root = end(root)
    stack = [(root, False)]
    while stack:
        current, ready = stack.pop()
        if id(current) in done:
            continue
        below = [end(child) for child in tree.children(current)]
        if ready or not below:
            made = tree.rebuild(current, [done[id(child)] for child in below])
            done[id(current)] = made
            if note is not None and made is not current:
                note(current, made)
        else:
            stack.append((current, True))
            stack.extend((child, False) for child in reversed(below) if id(child) not in done)
    return done[id(root)]  # type: ignore[no-any-return]
