"""Label kernels with the names of their operators and a hash:

fn (%p0, %p1, Primitive=1) { nn.relu(nn.dense(%p0, %p1)) }(%x, %w)
->
fn (%p0, %p1, Primitive=1, name="fused_nn_dense_nn_relu", hash="…") { … }(%x, %w)

for %w: Tensor[(4, 3), float32]

Kernels that differ only in variable names have the same `hash`. It is the same in every process, so
that records of kernels can be found again.
"""

from __future__ import annotations

import hashlib

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Op, Syntax, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.variables import bound_vars
from relay.transform.base import FunctionPass

LABELS = ("name", "hash")
MOST = 80  # characters of a name


@frozen
class LabelOps(FunctionPass):
    """Gives primitive functions the attributes `name` and `hash`."""

    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        sealed: dict[Syntax, Syntax] = {}
        for node in tree.postorder(function):
            if isinstance(node, Function) and is_foreign(node):
                sealed[node] = node
            elif isinstance(node, Function) and node.attrs.get("Primitive"):
                sealed[node] = labeled(node)
        return tree.transform(function, lambda _, after: after, sealed)


def labeled(kernel: Function) -> Function:
    """A primitive function with its labels; itself if it has them."""
    plain = kernel
    for label in LABELS:
        plain = plain.without_attr(label)
    labels = {"name": _name(plain), "hash": _hash(plain)}
    if all(kernel.attrs.get(label) == value for label, value in labels.items()):
        return kernel
    return kernel.with_attr(labels)


def _name(kernel: Function) -> str:
    nodes = tree.postorder(kernel.body)
    names = [n.op.name for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)]
    whole = "_".join(("fused", *names)).replace(".", "_")
    return whole if len(whole) <= MOST else whole[:MOST].rstrip("_")


def _hash(kernel: Function) -> str:
    """A hash of the text with numbered variables."""
    names = {v: Var(f"v{n}", v.type_annotation) for n, v in enumerate(bound_vars(kernel))}
    text = tree.transform(kernel, lambda _, after: after, names).astext()
    return hashlib.sha256(text.encode()).hexdigest()[:16]
