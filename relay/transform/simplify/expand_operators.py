"""Replace operators by others that compute them:

nn.batch_norm_training(%x, %gamma, %beta, %mean, %var).0
->
%0 = mean(%x, axis=[0, 2, 3], keepdims=True);
%1 = variance(%x, %0, axis=[0, 2, 3], keepdims=True);
%2 = squeeze(%1, axis=[0, 2, 3]);
%3 = subtract(%x, %0);
%4 = multiply(rsqrt(add(%2, 1e-05f)), %gamma);
%5 = multiply(%3, expand_dims(%4, axis=1, num_newaxis=2));
add(%5, expand_dims(%beta, axis=1, num_newaxis=2))

for %x: Tensor[(4, 8, 5, 5), float32], %gamma, %beta, %mean, %var: Tensor[(8), float32]

What an operator becomes is the field `expansion` of its record. The parts are optimized one by one:
here gradients use the same statistics, the layouts of convolutions reach them, and what is
elementwise joins the kernels around it.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.simplify.simplify_inference import Unpack, Unpacking


@frozen
class ExpandOperators(FunctionPass):
    """Replaces operators whose record has an `expansion`."""

    opt_level = 1
    required = ("InferType",)

    def rewrite(self, function: ir.Function) -> ir.Function:
        found: dict[str, Unpack] = {}
        for node in tree.postorder(function):
            if isinstance(node, ir.Call) and isinstance(node.op, OpDef) and node.op.expansion:
                found[node.op.name] = _expansion(node.op)
        if not found:
            return function
        return tree.transform(function, Unpacking(function, found).visit)


def _expansion(op: OpDef) -> Unpack:
    assert op.expansion is not None
    expand = op.expansion
    return lambda site, *args: expand(site.attrs, site.types, *args)
