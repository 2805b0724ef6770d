"""ONNX Runtime as an external compiler: parts of programs as models of ONNX.

    mod = relay.contrib.onnxruntime.partition(mod, params)
    exe = relay.compile(mod)

A part is written by `relay.to_onnx`, so it takes the operators that have a form in ONNX, with the
element types below. Compiling needs the package `onnx`, running `onnxruntime`; what is saved is the
model. The runtime reads inputs and writes results in place, called through Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from relay.dataflow_pattern import wildcard
from relay.errors import RelayError, TargetError
from relay.executors.cores import default_threads
from relay.external.compiler import FALLBACK, Callback, ExternalCompiler, Part
from relay.frontend.model import Model
from relay.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.contrib.register import Table
from relay.op.opdef import OpDef
from relay.target.kernel import Kernel

# The element types that its processors have kernels for, whatever the operator.
ELEMENTS: Final = frozenset({"float32", "int64", "int32", "bool", "uint8", "int8"})

SMALL: Final = 64  # elements of constants that say how to compute, as shapes and bounds do


class OnnxRuntime(ExternalCompiler):
    """ONNX Runtime on processors, with its default options and as many threads as Relay takes."""

    name: ClassVar[str] = "onnxruntime"

    def patterns(self) -> Table:
        return [("onnxruntime.operator", wildcard()(None), _is_taken)]

    def compile(self, part: Part) -> bytes:
        from relay.export import to_onnx

        return bytes(to_onnx(part.plain, name=part.name).SerializeToString())

    def load(self, code: bytes, kernel: Kernel) -> Callback:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise TargetError.of(
                "a part of the program runs in ONNX Runtime, which is not here",
                expected="the package `onnxruntime`",
                found=str(error),
                hint=f"pip install onnxruntime; {FALLBACK}",
            ) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = default_threads()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(code, options, providers=["CPUExecutionProvider"])
        given = [one.name for one in session.get_inputs()]
        made = [one.name for one in session.get_outputs()]
        if len(given) != len(kernel.inputs) or len(made) != len(kernel.outputs):
            raise TargetError.of("the model of a part has other inputs than its kernel")

        def run(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
            binding = session.io_binding()
            for name, array in zip(given, inputs, strict=True):
                place = array.__array_interface__["data"][0]
                binding.bind_input(name, "cpu", 0, array.dtype, array.shape, place)
            for name, array in zip(made, outputs, strict=True):
                place = array.__array_interface__["data"][0]
                binding.bind_output(name, "cpu", 0, array.dtype, array.shape, place)
            session.run_with_iobinding(binding)

        return run


def partition(model: Model, params: Mapping[str, Any] | None = None) -> IRModule:
    """`relay.contrib.partition` for ONNX Runtime."""
    from relay.contrib.division import partition as divide

    return divide(model, params, OnnxRuntime.name)


def _is_taken(call: Expr) -> bool:
    """Whether a single operator can be written as a model."""
    from relay.export import to_onnx

    if not isinstance(call, Call) or not isinstance(call.op, OpDef) or call.op.on_values:
        return False
    types = [call.checked_type, *(arg.checked_type for arg in call.args)]
    leaves = [leaf for ty in types for leaf in _leaves(ty)]
    known = all(
        isinstance(leaf, TensorType)
        and leaf.dtype in ELEMENTS
        and all(type(size) is int and size > 0 for size in leaf.shape)
        for leaf in leaves
    )
    if not known or not leaves:
        return False
    params: list[Var] = []
    args = tuple(_argument(arg, params) for arg in call.args)
    if not params:
        return False
    try:
        to_onnx(Function(tuple(params), Call(call.op, args, call.attrs)))
    except RelayError:
        return False
    return True


def _argument(arg: Expr, params: list[Var]) -> Expr:
    """An argument with variables in place of what is computed, or is no shape or scalar."""
    if isinstance(arg, Constant) and arg.data.array.size <= SMALL:
        return arg
    ty = arg.checked_type
    if isinstance(ty, TupleType):
        parts = [Var(f"p{len(params) + i}", leaf) for i, leaf in enumerate(ty.fields)]
        params += parts
        return Tuple(tuple(parts))
    params.append(Var(f"p{len(params)}", ty))
    return params[-1]


def _leaves(ty: Type) -> list[Type]:
    """The types in a tuple, which for operators is flat."""
    return list(ty.fields) if isinstance(ty, TupleType) else [ty]
