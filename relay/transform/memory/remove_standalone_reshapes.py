"""Replace kernels that only reshape by views:

fn (%p0, Primitive=1) { reshape(%p0, newshape=[6]) }(%x)
->
vm.reshape_tensor(%x, %shape, newshape=[6])

Programs are fused, so a reshape alone has no other operator to join. Reshapes to dynamic sizes
stay, and so do those in functions that write to tensors, where a copy is not a view. The option
`relay.remove_standalone_reshapes.enable` of the PassContext turns this off.
"""

from __future__ import annotations

import numpy as np

from relay import tree
from relay.analysis.normal_forms import is_kernel
from relay.analysis.purity import manages_memory
from relay.analysis.reshapes import only_reshapes
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Syntax, const
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.op.vm import reshape_tensor
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext


@frozen
class RemoveStandaloneReshapes(FunctionPass):
    """Replaces kernels that only reshape by `vm.reshape_tensor`."""

    required = ("InferType",)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        is_wanted = context.option("relay.remove_standalone_reshapes.enable")
        if not is_wanted or is_kernel(function) or manages_memory(function):
            return function
        return tree.transform(function, lambda _, after: _viewed(after))


def _viewed(e: Syntax) -> Syntax:
    match e:
        case Call(op=Function() as kernel, args=(data,)) if is_kernel(kernel):
            ty = kernel.body.checked_type
            if isinstance(ty, TensorType) and only_reshapes(kernel):
                extents = [extent for extent in ty.shape if isinstance(extent, int)]
                if len(extents) == len(ty.shape):
                    shape = const(np.array(extents, "int64"), "int64")
                    return tree.replace(reshape_tensor(data, shape, extents), span=e.span)
    return e
