"""What the host computes, because there is no kernel of the device for it.

The target of the host makes these kernels: sorting, selection and other loops that are written
out; tensors whose sizes a run decides; element types without a type in Triton; expressions of
hundreds of lines, which Triton takes minutes for; programs that check every index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.scalar_functions import FUNCTIONS as SCALAR
from relay.target.cuda.expressions import FUNCTIONS, TYPES
from relay.target.kernel import KernelCode, Scheduled
from relay.target.target import Target
from relay.te import expr as te
from relay.te.compute import Computation, Placeholder, Procedure, Tensor
from relay.te.schedule import Schedule

_UNKNOWN_SIZES = "its sizes are known at run time only"
DEVICE = '{"arch": '  # how the text of a kernel for the device begins


def target() -> Target:
    """The target of this machine."""
    return Target.host()


def is_device_text(text: str) -> bool:
    """Whether the text of a kernel is one for the device."""
    return text.startswith(DEVICE)


def is_device_code(code: bytes) -> bool:
    """Whether the code of a kernel is for the device."""
    return code.startswith(DEVICE.encode())


def reason(outputs: Sequence[Tensor]) -> str | None:
    """Why tensors are computed by the host; None if the device computes them."""
    seen: set[int] = set()
    pending = list(outputs)
    while pending:
        tensor = pending.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if tensor.dtype not in TYPES:
            return f"there is no type `{tensor.dtype}` in kernels for the device"
        if not all(isinstance(extent, te.Const) for extent in tensor.shape):
            return _UNKNOWN_SIZES
        if isinstance(tensor.op, Procedure):
            return f"`{tensor.name}` is written out as loops"
        if isinstance(tensor.op, Computation):
            own = {*tensor.op.axes, *tensor.op.reduction_axes}
            for body in tensor.op.bodies:
                if not te.variables(body) <= own:
                    return _UNKNOWN_SIZES
                if found := _unsupported(body):
                    return found
            pending += tensor.op.inputs
        else:
            assert isinstance(tensor.op, Placeholder)
    return None


def _unsupported(body: te.Expr) -> str | None:
    for part in tree.postorder(body):
        if part.dtype not in TYPES:
            return f"there is no type `{part.dtype}` in kernels for the device"
        if isinstance(part, te.Call):
            known = SCALAR.get(part.function)
            if known is None or not (known.module or part.function in (*FUNCTIONS, "fma")):
                return f"there is no function `{part.function}` in kernels for the device"
    return None


def schedule(outputs: Sequence[Tensor], inputs: Sequence[Tensor], *, threads: bool) -> Scheduled:
    """The schedule of the host's target, without kernels that prepare constants."""
    return target().schedule(outputs, inputs, (), threads=threads)


def generate(name: str, schedule: Schedule, **options: Any) -> KernelCode:
    """The code of the host's target."""
    return target().generate(name, schedule, **options)


def compile_text(text: str) -> bytes:
    """The binary code of a kernel of the host."""
    return target().compile([text])[0]
