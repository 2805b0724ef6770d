"""Finds weights that are transposed before `nn.dense`."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Call, Expr, Function, Syntax, Var


def search_fc_transpose(expr: Expr) -> list[str]:
    """The names of the weights %w in `nn.dense(%x, transpose(%w, axes=[1, 0]))`, in order.

    Weights with other uses are excluded.
    """
    found: dict[Var, None] = {}
    users: dict[int, list[Syntax]] = {}
    for node in tree.postorder(expr):
        if isinstance(node, Call) and (weight := transposed_weight(node)) is not None:
            found[weight] = None
        for part in (node.body,) if isinstance(node, Function) else tree.children(node):
            users.setdefault(id(part), []).append(node)

    def is_multiplied(transpose: Syntax) -> bool:
        return all(
            isinstance(user, Call)
            and transposed_weight(user) is not None
            and user.args[0] is not transpose
            for user in users.get(id(transpose), ())
        )

    return [
        weight.name_hint
        for weight in found
        if all(is_transpose(user) and is_multiplied(user) for user in users[id(weight)])
    ]


def is_transpose(node: Syntax) -> bool:
    """Whether this is the transpose of a matrix."""
    if not isinstance(node, Call) or getattr(node.op, "name", "") != "transpose":
        return False
    axes = getattr(node.attrs, "axes", None)
    return axes is None or [axis % 2 for axis in axes] == [1, 0]


def transposed_weight(call: Call) -> Var | None:
    """%w, if this is `nn.dense(%x, transpose(%w, axes=[1, 0]))`."""
    if getattr(call.op, "name", "") != "nn.dense":
        return None
    match call.args[1]:
        case Call(args=(Var() as weight,)) as transpose if is_transpose(transpose):
            return weight
    return None
