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
    """A function rewritten, with groups of its nodes in functions of their own.

    `root[i]` is the last node of the group that node i is in, `cut` the roots of those groups that
    become functions; `attrs` are what these say besides that they are primitive.
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
        """What stands in the place of a part that was rewritten already."""
        return self._new[id(e)]

    def rewritten(self, e: Syntax) -> Syntax | None:
        """What stands in the place of `e`; None if it is inside a kernel."""
        group = self._group(e)
        if group is not None and not isinstance(e, Var):
            root = self._flow.nodes[group].expr
            return self._kernel(root, group) if root is e else None
        if isinstance(e, Let) and self._is_inside(e.variable):
            return self._new[id(e.body)]
        return tree.rebuild(e, [self._new[id(child)] for child in tree.children(e)])

    def _note(self, after: Syntax, before: Syntax) -> None:
        """What stands for something has its type."""
        if isinstance(after, Expr) and isinstance(before, Expr):
            self._types.setdefault(after, before.ty)

    def _group(self, e: Syntax) -> int | None:
        """The group whose function `e` goes into; by its root."""
        if (number := self._flow.number(e)) is None:
            return None
        root = self._root[number]
        return root if root in self._cut else None

    def _is_inside(self, variable: Var) -> bool:
        """Whether the value is computed inside a kernel, where all that uses it is as well."""
        group, number = self._group(variable), self._flow.number(variable)
        return group is not None and group != number

    def _kernel(self, root: Expr, group: int) -> Call:
        """The call of the function that a group becomes."""
        inside: dict[int, Expr] = {}
        params: dict[Expr, Var] = {}
        types: list[Type] = []

        def part(e: Expr) -> Steps[Expr]:
            """What stands for `e` in the function."""
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
            """What comes from outside: mostly a parameter, in the order of first use."""
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
        function = Function(
            tuple(params.values()),
            body,
            root.checked_type,
            attrs=self._attrs,
            span=root.span,
        )
        self._types[function] = FuncType(tuple(types), root.checked_type)
        return Call(function, tuple(params), span=root.span)

    def _stays(self, constant: Constant) -> bool:
        if isinstance(constant.data, Weight):
            return False
        return self._link_params or constant.data.shape == ()
