"""Pass tensor constants of kernels as arguments, and call kernels where they are defined:

fn (%p0, Primitive=1) { add(%p0, %c) }(%x)  ->  fn (%p0, %p1, Primitive=1) { add(%p0, %p1) }(%x, %c)

for constant %c: Tensor[(3), float32]

let %f = fn (%p0: float32, Primitive=1) { add(%p0, 1f) }; %f(%y)
->
let %f = fn (%a) { fn (%p0, Primitive=1) { add(%p0, 1f) }(%a) }; %f(%y)

for %y: float32

The code of a kernel contains scalars, but no tensors. `FuseOps` makes such kernels, unless it is
told to keep constants inside; others come with the program. A kernel that is a value, or a function
of the module, becomes an ordinary function that calls it.
"""

from __future__ import annotations

from typing import Any

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Function, Syntax, Var
from relay.ir.function_attrs import PRIMITIVE, is_foreign, is_sealed
from relay.nd import Weight
from relay.transform.base import FunctionPass

__all__ = ["HandOverConstants"]


@frozen
class HandOverConstants(FunctionPass):
    """Turns constants of kernels into arguments, and leaves kernels only where they are called."""

    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        return _converted(function)


def _is_kernel(e: Syntax) -> bool:
    return isinstance(e, Function) and bool(e.attrs.get(PRIMITIVE)) and not is_foreign(e)


def _converted(function: Function) -> Function:
    if _is_kernel(function):
        return _calling(function, *_separated(function))
    # each kernel without its constants, and these
    kernels: dict[int, tuple[Function, tuple[Constant, ...]]] = {}
    new: dict[int, Any] = {}
    for node in tree.postorder(function, lambda e: e is function or not is_sealed(e)):
        if _is_kernel(node):
            assert isinstance(node, Function)
            kernels[id(node)] = _separated(node)
        parts = list(tree.children(node)) if not is_sealed(node) or node is function else []
        after: list[Syntax] = []
        more: tuple[Constant, ...] = ()
        for index, part in enumerate(parts):
            if id(part) not in kernels:
                after.append(new[id(part)])
            elif isinstance(node, Call) and index == 0:
                kernel, more = kernels[id(part)]
                after.append(kernel)
            else:
                assert isinstance(part, Function)
                after.append(_calling(part, *kernels[id(part)]))
        rebuilt = tree.rebuild(node, after) if parts else node
        if more:
            assert isinstance(rebuilt, Call)
            rebuilt = tree.replace(rebuilt, args=(*rebuilt.args, *more))
        new[id(node)] = rebuilt
    return new[id(function)]  # type: ignore[no-any-return]


def _separated(kernel: Function) -> tuple[Function, tuple[Constant, ...]]:
    """A kernel with parameters for its constant tensors, and these tensors."""
    given: dict[Constant, Var] = {}
    for node in tree.postorder(kernel.body):
        if isinstance(node, Constant) and (
            isinstance(node.data, Weight) or node.data.array.size != 1
        ):
            given[node] = Var(f"p{len(kernel.params) + len(given)}", node.checked_type)
    if not given:
        return kernel, ()
    body = tree.transform(kernel.body, lambda _, after: after, given)
    return tree.replace(kernel, params=(*kernel.params, *given.values()), body=body), tuple(given)


def _calling(kernel: Function, inside: Function, constants: tuple[Constant, ...]) -> Function:
    """An ordinary function that calls the converted kernel."""
    params = tuple(Var(param.name_hint, param.checked_type) for param in kernel.params)
    call = Call(inside, (*params, *constants), span=kernel.span)
    return Function(params, call, kernel.ret_type, kernel.type_params, span=kernel.span)
