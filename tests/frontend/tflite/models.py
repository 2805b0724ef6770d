"""Models of TFLite written for tests, and what LiteRT's interpreter makes of them.

tried = Case("SOFTMAX", [x], [Out()], "SoftmaxOptions", {"beta": 0.5})
agree(tried)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import relay
from relay.executors import create_executor
from relay.interpreter.values import TupleValue

STEP = 1  # by which quantized results may differ


@dataclass(frozen=True)
class Given:
    """An input: its elements, how they are quantized, and whether they are a constant."""

    array: np.ndarray
    scale: Any = None
    zero: Any = 0
    axis: int = 0
    fixed: bool = False
    open: tuple[int, ...] = ()  # axes that the model leaves open
    kind: str = ""  # of the elements, if NumPy's type does not say it
    is_state: bool = False  # whether operators write it; it begins as zeros


@dataclass(frozen=True)
class Out:
    """A result: its element type, and how it is quantized."""

    dtype: str = "float32"
    scale: Any = None
    zero: Any = 0
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """A model of one operator."""

    operator: str
    inputs: Sequence[Given | np.ndarray | None]
    outputs: Sequence[Out] = (Out(),)
    options: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    custom: bytes = b""
    rtol: float = 1e-5

    def __str__(self) -> str:
        given = [one if isinstance(one, Given | None) else Given(one) for one in self.inputs]
        types = [
            "none" if one is None else f"{one.array.dtype}{list(one.array.shape)}" for one in given
        ]
        return f"{self.operator}({', '.join(types)}; {dict(self.values)})"

    @property
    def given(self) -> list[Given | None]:
        return [one if isinstance(one, Given | None) else Given(one) for one in self.inputs]

    @property
    def feeds(self) -> list[np.ndarray]:
        """The inputs that are not constants."""
        return [
            one.array
            for one in self.given
            if one is not None and not one.fixed and not one.is_state
        ]


def fixed(array: Any, dtype: str = "int32") -> Given:
    """A constant."""
    return Given(np.asarray(array, None if isinstance(array, np.ndarray) else dtype), fixed=True)


class Writer:
    """Collects the parts of a model."""

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.operatorCodes = []
        self.model.subgraphs = []
        self.model.buffers = [schema.BufferT()]

    def graph(self, name: str = "main") -> schema.SubGraphT:
        graph = schema.SubGraphT()
        graph.name, graph.tensors, graph.operators = name, [], []
        graph.inputs, graph.outputs = [], []
        self.model.subgraphs.append(graph)
        return graph

    def tensor(
        self,
        graph: schema.SubGraphT,
        name: str,
        dtype: Any,
        shape: Sequence[int],
        data: np.ndarray | bytes | None = None,
        scale: Any = None,
        zero: Any = 0,
        axis: int = 0,
        signature: Sequence[int] | None = None,
        variable: bool = False,
    ) -> int:
        """The number of a new tensor."""
        one = schema.TensorT()
        one.name, one.shape = name, list(shape)
        kind = str(dtype) if str(dtype).isupper() else np.dtype(dtype).name.upper()
        one.type = getattr(schema.TensorType, kind)
        one.buffer, one.isVariable = 0, variable
        if signature is not None:
            one.shapeSignature = list(signature)
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(
                data if isinstance(data, bytes) else data.tobytes(), "uint8"
            )
            self.model.buffers.append(buffer)
            one.buffer = len(self.model.buffers) - 1
        if scale is not None:
            by = schema.QuantizationParametersT()
            by.scale = np.atleast_1d(np.asarray(scale, "float32"))
            by.zeroPoint = np.broadcast_to(np.asarray(zero, "int64"), by.scale.shape).copy()
            by.quantizedDimension = axis
            one.quantization = by
        graph.tensors.append(one)
        return len(graph.tensors) - 1

    def operator(
        self,
        graph: schema.SubGraphT,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str = "",
        values: Mapping[str, Any] | None = None,
        version: int = 1,
        custom: bytes = b"",
    ) -> schema.OperatorT:
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, name, schema.BuiltinOperator.CUSTOM)
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.version = version
        if number == schema.BuiltinOperator.CUSTOM:
            code.customCode = name
        self.model.operatorCodes.append(code)
        one = schema.OperatorT()
        one.opcodeIndex = len(self.model.operatorCodes) - 1
        one.inputs, one.outputs = list(inputs), list(outputs)
        if options:
            table = getattr(schema, f"{options}T")()
            for key, value in (values or {}).items():
                assert hasattr(table, key), key
                setattr(table, key, value)
            second = hasattr(schema.BuiltinOptions2, options)
            kinds = schema.BuiltinOptions2 if second else schema.BuiltinOptions
            end = "2" if second else ""
            setattr(one, f"builtinOptions{end}", table)
            setattr(one, f"builtinOptions{end}Type", getattr(kinds, options))
        if custom:
            one.customOptions = np.frombuffer(custom, "uint8")
        graph.operators.append(one)
        return one

    def bytes(self) -> bytes:
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def build(case: Case) -> bytes:
    """The file of a case."""
    writer = Writer()
    graph = writer.graph()
    numbers = []
    for place, one in enumerate(case.given):
        if one is None:
            numbers.append(-1)
            continue
        shape = one.array.shape
        signature = (
            [-1 if axis in one.open else size for axis, size in enumerate(shape)]
            if one.open
            else None
        )
        number = writer.tensor(
            graph,
            f"x{place}",
            one.kind or one.array.dtype,
            shape,
            one.array if one.fixed else None,
            one.scale,
            one.zero,
            one.axis,
            signature,
            one.is_state,
        )
        numbers.append(number)
        if not one.fixed and not one.is_state:
            graph.inputs.append(number)
    for place, out in enumerate(case.outputs):
        number = writer.tensor(graph, f"y{place}", out.dtype, out.shape, None, out.scale, out.zero)
        graph.outputs.append(number)
    writer.operator(
        graph,
        case.operator,
        numbers,
        graph.outputs,
        case.options,
        case.values,
        case.version,
        case.custom,
    )
    return writer.bytes()


def litert(model: bytes, feeds: Sequence[np.ndarray], *, delegates: bool = False) -> list[Any]:
    """What LiteRT's interpreter gives."""
    kind = OpResolverType.AUTO if delegates else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    session = Interpreter(model_content=model, experimental_op_resolver_type=kind, num_threads=1)
    described = session.get_input_details()
    for one, feed in zip(described, feeds, strict=True):
        if tuple(one["shape"]) != feed.shape:
            session.resize_tensor_input(one["index"], feed.shape)
    session.allocate_tensors()
    for one, feed in zip(described, feeds, strict=True):
        session.set_tensor(one["index"], feed)
    session.invoke()
    return [session.get_tensor(one["index"]) for one in session.get_output_details()]


def ours(model: bytes, feeds: Sequence[np.ndarray], *, compiled: bool = False) -> list[Any]:
    """What our interpreter gives, or compiled code."""
    mod, params = relay.frontend.from_tflite(model)
    if compiled:
        found = relay.compile(mod, params)(*feeds)
        return list(found) if isinstance(found, tuple) else [found]
    found = create_executor("debug", mod, params=params).evaluate()(*feeds)
    fields = found.fields if isinstance(found, TupleValue) else [found]
    # with a state, the results are one of them
    first = fields[0].fields if isinstance(fields[0], TupleValue) else [fields[0]]
    return [one.numpy() for one in (*first, *fields[1:])]


def agree(case: Case, *, compiled: bool = False) -> None:
    """A case gives what LiteRT gives: quantized results within a step, other integers exactly."""
    model = build(case)
    theirs = litert(model, case.feeds)
    mine = ours(model, case.feeds, compiled=compiled)
    # what is kept for the next call follows in the interpreter
    assert len(theirs) == len(case.outputs)
    assert len(mine) == len(theirs) or any(one and one.is_state for one in case.given)
    for left, right, out in zip(mine, theirs, case.outputs, strict=False):
        same(left, right, quantized=out.scale is not None, rtol=case.rtol)


def same(mine: Any, theirs: Any, *, quantized: bool, rtol: float = 1e-5) -> None:
    left, right = np.asarray(mine), np.asarray(theirs)
    assert left.shape == right.shape, (left.shape, right.shape)
    assert left.dtype == right.dtype
    if quantized and left.dtype.kind in "iu":
        distance = np.abs(left.astype("int64") - right.astype("int64"))
        assert distance.max(initial=0) <= STEP, distance.max()
    elif left.dtype.kind in "biu":
        np.testing.assert_array_equal(left, right)
    else:
        wide, other = left.astype("float64"), right.astype("float64")
        most = float(np.abs(other[np.isfinite(other)]).max(initial=0))
        np.testing.assert_allclose(wide, other, rtol=rtol, atol=rtol * max(most, 1e-3))
