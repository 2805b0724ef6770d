"""Whether a program has a normal form."""

from __future__ import annotations

from collections.abc import Iterator

from relay import tree
from relay.ir.expr import Expr, Let, Syntax, is_atom
from relay.ir.scopes import Scope, Scopes


class Blocks(Scopes):
    """Scopes as basic blocks: a chain of lets is one."""

    def _edges(self, parent: Syntax) -> Iterator[tuple[Syntax, Scope]]:
        if isinstance(parent, Let):
            here = self.home(parent)
            yield from ((child, here) for child in tree.children(parent))
        else:
            yield from super()._edges(parent)

    def crossing(self, root: Syntax) -> Iterator[Syntax]:
        """Computations that are used in another block than the one they belong to."""
        for parent in tree.postorder(root):
            for child, block in self._edges(parent):
                if not is_atom(child) and block is not self.home(child):
                    yield child


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Whether no computation is shared between blocks: function bodies, branches, clauses.

    What several blocks need is bound by a `let` around them.
    """
    return next(Blocks(expr).crossing(expr), None) is None
