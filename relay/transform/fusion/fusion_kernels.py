"""Outline fusion groups into primitive functions, called in the place of their last operator:

let %a = exp(%x); let %b = negative(%a); sort(%b)
->
let %b = fn (%p0, Primitive=1) { negative(exp(%p0)) }(%x); sort(%b)

Parameters are in the order of their first use. Scalar constants stay with the operators that use
them; other constants are arguments, so that layers that differ only in weights share a kernel.
Arguments are evaluated in the same order as before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from relay import tree
from relay.check.infer import with_known_types
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Syntax, Var
from relay.ir.function_attrs import PRIMITIVE
from relay.ir.types import FuncType, Type
from relay.nd import Weight
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.tree import Steps


class Kernels:
    """Outlines groups of nodes of a function into primitive functions.

    `root[i]` is the last node of the group of node i, `cut` the roots of the groups to outline;
    `attrs` are further attributes of the primitive functions.
    """

    def __init__(
        self,
        flow: Dataflow,
        root: Sequence[int],
        cut: Collection[int],
        attrs: Mapping[str, Any] | None = None,
        *,
        link_params: bool = False,
    ) -> None:
        self._flow = flow
        self._root = root
        self._cut = cut
        self._attrs = DictAttrs({PRIMITIVE: 1, **(attrs or {})})
        self._link_params = link_params
        self._new: dict[int, Syntax] = {}
        self._types: dict[Expr, Type | None] = {}  # of new expressions

    def of(self, function: Function) -> Function:
        for e in tree.postorder(function):
            if (after := self.rewritten(e)) is not None:
                self._new[id(e)] = after
                self._note(after, e)
        made = self._new[id(function)]
        assert isinstance(made, Function)
        return made if made is function else with_known_types(made, function, self._types.get)

    def new(self, e: Syntax) -> Syntax:
        """The rewritten form of a part that was visited before."""
        return self._new[id(e)]

    def rewritten(self, e: Syntax) -> Syntax | None:
        """The rewritten `e`; None if it is inside a kernel."""
        group = self._group(e)
        if group is not None and not isinstance(e, Var):
            root = self._flow.nodes[group].expr
            return self._kernel(root, group) if root is e else None
        if isinstance(e, Let) and self._is_inside(e.variable):
            return self._new[id(e.body)]
        return tree.rebuild(e, [self._new[id(child)] for child in tree.children(e)])

    def _note(self, after: Syntax, before: Syntax) -> None:
        """A rewritten expression has the type of the original."""
        if isinstance(after, Expr) and isinstance(before, Expr):
            self._types.setdefault(after, before.ty)

    def _group(self, e: Syntax) -> int | None:
        """The root of the group that `e` belongs to, if it is outlined."""
        if (number := self._flow.number(e)) is None:
            return None
        root = self._root[number]
        return root if root in self._cut else None

    def _is_inside(self, variable: Var) -> bool:
        """Whether the value is computed and used inside a kernel only."""
        group, number = self._group(variable), self._flow.number(variable)
        return group is not None and group != number

    def _kernel(self, root: Expr, group: int) -> Call:
        """The call of the primitive function of a group."""
        inside: dict[int, Expr] = {}
        params: dict[Expr, Var] = {}
        types: list[Type] = []

        def part(e: Expr) -> Steps[Expr]:
            """`e` inside the function."""
            number = self._flow.number(e)
            if number is None or self._root[number] != group:
                return given(e)
            if number not in inside:
                node = self._flow.nodes[number].expr
                below = yield tree.gather(part(child) for child in tree.children(node))
                inside[number] = tree.rebuild(node, below)
                self._note(inside[number], node)
            return inside[number]

        def given(e: Expr) -> Expr:
            """A value from outside: a parameter, unless it is an operator or a scalar constant."""
            if isinstance(e, Op) or (isinstance(e, Constant) and self._stays(e)):
                return e
            arg = self._new[id(e)]
            assert isinstance(arg, Expr)
            if arg not in params:
                types.append(e.checked_type)
                params[arg] = Var(f"p{len(params)}", types[-1])
                self._types[params[arg]] = types[-1]
            return params[arg]

        body = tree.run(part(root))
        given_params, ty = tuple(params.values()), root.checked_type
        function = Function(given_params, body, ty, attrs=self._attrs, span=root.span)
        self._types[function] = FuncType(tuple(types), root.checked_type)
        return Call(function, tuple(params), span=root.span)

    def _stays(self, constant: Constant) -> bool:
        if isinstance(constant.data, Weight):
            return False
        return self._link_params or constant.data.shape == ()
