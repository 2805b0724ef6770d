"""Models through the compiler and through somebody else, side by side.

agree(model("Clip", x, Fixed(low), opset=11), x)     ONNX Runtime is the oracle
agree(model("Add", x, y, opset=6), x, y, wanted=…)   a result of ours: what it does not know
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from relay.driver import compile as compile_model
from relay.executors import create_executor
from relay.frontend.onnx.importer import from_onnx
from relay.interpreter.values import TupleValue
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.settings import CHECKED
from tests.support import sampling
from tests.support.python_values import to_python


@dataclass(frozen=True)
class Fixed:
    """An input that is a constant of the model."""

    array: np.ndarray


def model(
    operator: str,
    *inputs: np.ndarray | Fixed | None,
    opset: int,
    outputs: int | Sequence[str] = 1,
    shapes: Mapping[int, Sequence[str | int | None]] | None = None,
    domain: str = "",
    version: int = 1,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; `shapes` gives dimensions of inputs names, None leaves an input out."""
    names = [f"x{place}" for place in range(len(inputs))]
    results = [f"y{place}" for place in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(
        operator,
        ["" if given is None else name for given, name in zip(inputs, names, strict=True)],
        list(results),
        domain=domain,
        **attributes,
    )
    described, constants = [], []
    for place, (name, given) in enumerate(zip(names, inputs, strict=True)):
        if isinstance(given, Fixed):
            constants.append(numpy_helper.from_array(given.array, name))
        elif given is not None:
            shape = (shapes or {}).get(place, given.shape)
            described.append(value(name, given.dtype, shape))
    wanted = [onnx.ValueInfoProto(name=name) for name in results if name]
    return of_graph([node], described, wanted, constants, opset, domain, version)


def value(name: str, dtype: Any, shape: Sequence[str | int | None]) -> onnx.ValueInfoProto:
    """An input or output of a graph."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, list(shape))


def of_graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto] = (),
    opset: int = 21,
    domain: str = "",
    version: int = 1,
) -> onnx.ModelProto:
    """A model of these nodes; `version` is that of the operators of another domain."""
    graph = helper.make_graph(nodes, "tried", inputs, outputs, constants)
    imports = [helper.make_opsetid("", opset)]
    if domain:
        imports.append(helper.make_opsetid(domain, version))
    # old enough for ONNX Runtime, which is a version or two behind
    return helper.make_model(graph, opset_imports=imports, ir_version=min(10, onnx.IR_VERSION))


# One test in so many compiles its models, another one with every commit: the interpreter gives the
# same results in a hundredth of the time.
COMPILED = 10


def ours(given: onnx.ModelProto, *inputs: Any, compiled: bool | None = None) -> list[Any]:
    """What the model gives, compiled or in the interpreter; the test decides if nothing is said."""
    mod, params = from_onnx(given)
    if compiled is None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        compiled = bool(CHECKED.read()) or sampling.takes(test, COMPILED)
    run = compile_model(mod, params) if compiled else interpreter(mod, params)
    found = run(*inputs)
    return list(found) if len(given.graph.output) > 1 else [found]


def interpreter(mod: IRModule, params: Mapping[str, Any]) -> Callable[..., Any]:
    """A function that gives what a compiled model gives."""
    run = create_executor("debug", mod, params=params).evaluate()

    def called(*inputs: Any) -> Any:
        found = run(*inputs)
        return tuple(map(array, found)) if isinstance(found, TupleValue) else array(found)

    def array(value: Any) -> Any:
        return value.numpy() if isinstance(value, NDArray) else to_python(value)

    return called


# Relative to the largest number of a result: what is lost in a dozen steps.
TOLERANCES = {"float16": 2e-2, "float32": 5e-4, "float64": 1e-5}


def close(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether results of many steps are the same but for rounding."""
    if left.dtype.kind in "biu":
        return bool(np.array_equal(left, right))
    near = TOLERANCES[left.dtype.name]
    exact, other = left.astype("float64"), right.astype("float64")
    finite = np.abs(other[np.isfinite(other)])
    most = max(1.0, float(finite.max(initial=0)))
    return bool(np.allclose(exact, other, rtol=near, atol=near * most, equal_nan=True))


def runtime(given: onnx.ModelProto, *inputs: Any) -> list[Any]:
    """What ONNX Runtime gives."""
    session = session_of(given)
    names = [one.name for one in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


def session_of(given: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """ONNX Runtime with a model in it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # its plan takes names of dimensions for sizes, and fails where an empty tensor has the name
    options.enable_mem_reuse = False
    # sums of products of bytes are exact, on a processor without VNNI too
    options.add_session_config_entry("session.x64quantprecision", "1")
    # weights stay as they are beside data that was quantized
    unwanted = ["WeightBiasQuantization"]
    return onnxruntime.InferenceSession(
        given.SerializeToString(), options, disabled_optimizers=unwanted
    )


def reference(given: onnx.ModelProto, *inputs: Any) -> list[Any]:
    """What the reference of the standard gives, for what ONNX Runtime does not know."""
    names = [one.name for one in given.graph.input]
    found = ReferenceEvaluator(given).run(None, dict(zip(names, inputs, strict=True)))
    return list(found)


def agree(
    given: onnx.ModelProto,
    *inputs: Any,
    wanted: Sequence[Any] | None = None,
    oracle: Any = runtime,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> list[Any]:
    """Our results, which are those of the oracle, or those that are `wanted`."""
    mine = ours(given, *inputs)
    theirs = oracle(given, *inputs) if wanted is None else wanted
    same(mine, theirs, rtol, atol)
    if sampling.RUN.everything and not CHECKED.read():
        same(ours(given, *inputs, compiled=False), theirs, rtol, atol)
    return mine


def same(mine: Sequence[Any], theirs: Sequence[Any], rtol: float, atol: float) -> None:
    """Results of one shape and element type, with elements that are close or equal."""
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        left, right = np.asarray(one), np.asarray(other)
        assert left.shape == right.shape
        assert left.dtype == right.dtype
        if left.dtype.kind in "biu":
            np.testing.assert_array_equal(left, right)
            continue
        wide = np.float32 if left.dtype.itemsize < 4 else left.dtype
        np.testing.assert_allclose(left.astype(wide), right.astype(wide), rtol, atol)


def main_type(module: IRModule) -> str:
    """The type of the result, in text."""
    return str(module["main"].checked_type.ret_type)
