"""What several expressions share, so that it is computed once."""

from __future__ import annotations

from collections import Counter

from relay import tree
from relay.te import expr as te


def shared_parts(first: te.Expr, second: te.Expr) -> list[te.Expr]:
    """Reads and shared subexpressions that both of two expressions always compute, in dependency
    order.

        f(x) if c else x + 1     and     x     ->     x     when c is something else
    """
    both = te.Select(first.dtype, te.Var("bool", "c"), first, second)
    uses = Counter(id(child) for part in tree.postorder(both) for child in tree.children(part))
    certain: dict[int, frozenset[te.Expr]] = {}
    for part in tree.postorder(both):
        if isinstance(part, te.Select):
            always = certain[id(part.if_true)] & certain[id(part.if_false)]
            always |= certain[id(part.condition)]
        else:
            always = frozenset().union(*(certain[id(child)] for child in tree.children(part)))
        counts = isinstance(part, te.Read | te.Select) or uses[id(part)] > 1
        certain[id(part)] = always | {part} if counts else always
    wanted = certain[id(both)]
    return [part for part in tree.postorder(both) if part in wanted and part is not both]
