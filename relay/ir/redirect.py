"""A program in which what led to one expression leads to another.

    redirect(f, {%b: %a})         every use of %b is a use of %a

Unlike a substitution this goes on inside the replacements: when `%a` itself contains something that
leads elsewhere, it is redirected too. So a `let` is dropped by redirecting it to its body, a
variable is inlined by redirecting it to its value, and two equal computations become one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from relay import tree
from relay.tree import Node

N = TypeVar("N", bound=Node)


def redirect(
    root: N, replacements: Mapping[N, N], note: Callable[[N, N], object] | None = None
) -> N:
    """`root` with every edge to a key of `replacements` leading to the value instead.

    No replacement may contain what it replaces. `root` itself comes back when nothing changes.
    `note(before, after)` is told of every node that was copied, as something below it changed.
    """
    ends: dict[N, N] = {}

    def end(node: N) -> N:
        """Where an edge to `node` leads; ways that were gone once are short from then on."""
        path = []
        while node not in ends and (following := replacements.get(node)) is not None:
            path.append(node)
            node = following
        found = ends.get(node, node)
        ends.update((passed, found) for passed in path)
        return found

    done: dict[int, N] = {}
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
    return done[id(root)]
