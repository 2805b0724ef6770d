"""Models of one ONNX node, with ONNX Runtime as oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relay.debugging import reproducers
from relay.debugging.differences import Tolerance
from relay.errors import RelayError
from relay.immutable import frozen
from relay.interpreter.evaluate import call, evaluate
from relay.interpreter.values import TupleValue, Value, to_value
from relay.ir.expr import GlobalVar

Arrays = Mapping[str, Any]


def value(outputs: Sequence[Any]) -> Value:
    """The results of a session as the result of an imported model."""
    found = [to_value(np.asarray(one)) for one in outputs]
    return found[0] if len(found) == 1 else TupleValue(found)


@frozen
class Part:
    """A model of one node, and what ONNX Runtime says it computes."""

    proto: Any
    inputs: tuple[Any, ...]
    expected: Value
    name: str
    where: str

    def translated(self) -> Value:
        """What the imported model computes, in the interpreter."""
        from relay.frontend import from_onnx

        module, _ = from_onnx(self.proto)
        return call(evaluate(GlobalVar("main"), module), [to_value(one) for one in self.inputs])

    def script(self, tolerance: Tolerance) -> str:
        """The script that shows the difference."""
        model: bytes = self.proto.SerializeToString()
        return reproducers.of_onnx(self.name, model, self.inputs, tolerance)


class Parts:
    """The nodes of a model as models of their own, with the values of one run."""

    def __init__(self, model: Any, inputs: Sequence[Any]) -> None:
        import onnx

        from relay.frontend.onnx.load import load

        self.proto, files, self.origin = load(model)
        self.proto = onnx.load(model) if files.folder is not None else self.proto
        graph = self.proto.graph
        self.constants = {one.name: one for one in graph.initializer}
        names = [one.name for one in graph.input if one.name not in self.constants]
        if len(names) != len(inputs):
            raise RelayError(f"the model takes {len(names)} inputs, found {len(inputs)}")
        self.values: dict[str, Any] = dict(zip(names, map(np.asarray, inputs), strict=True))
        self.values |= _run(self.proto, self.values)

    def result(self) -> Value:
        """The result of the whole model in ONNX Runtime."""
        return value([self.values[one.name] for one in self.proto.graph.output])

    def __iter__(self) -> Iterator[Part]:
        for node in self.proto.graph.node:
            read = [name for name in _read(node) if name not in self.constants]
            written = [name for name in node.output if name]
            if node.op_type == "Constant" or not all(
                isinstance(self.values.get(name), np.ndarray) for name in (*read, *written)
            ):
                continue
            proto = self._model(node, read, written)
            yield Part(
                proto,
                tuple(self.values[name] for name in read),
                value([self.values[name] for name in written]),
                f"`{node.name or written[0]}` ({node.op_type})",
                f"{self.origin}, node `{node.name or written[0]}`",
            )

    def _model(self, node: Any, read: Sequence[str], written: Sequence[str]) -> Any:
        """The model of one node, which reads what the whole model computed before."""
        import onnx

        made = onnx.ModelProto()
        made.CopyFrom(self.proto)
        made.graph.Clear()
        made.graph.name = "part"
        made.graph.node.append(node)
        made.graph.initializer.extend(
            self.constants[name] for name in _read(node) if name in self.constants
        )
        made.graph.input.extend(_info(name, self.values[name]) for name in read)
        made.graph.output.extend(_info(name, self.values[name]) for name in written)
        return made


def _read(node: Any) -> list[str]:
    """The values that a node reads, also inside of its graphs."""
    found: dict[str, None] = {}
    pending = [(node, frozenset[str]())]
    while pending:
        one, inner = pending.pop()
        found.update((name, None) for name in one.input if name and name not in inner)
        for attribute in one.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                made = {name for part in graph.node for name in part.output}
                made |= {part.name for part in (*graph.input, *graph.initializer)}
                pending += [(part, inner | made) for part in graph.node]
                found.update(
                    (one.name, None) for one in graph.output if one.name not in inner | made
                )
    return list(found)


def _info(name: str, array: Any) -> Any:
    import onnx

    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)


def _run(proto: Any, given: Arrays) -> dict[str, Any]:
    """All values of a model in ONNX Runtime, which runs it as it is, unoptimized."""
    import onnx

    try:
        import onnxruntime as runtime
    except ModuleNotFoundError:
        raise RelayError("ONNX Runtime is not installed: pip install onnxruntime") from None
    every = onnx.ModelProto()
    every.CopyFrom(proto)
    known = {one.name for one in every.graph.output}
    made = [name for node in every.graph.node for name in node.output if name]
    every.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in known)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(
        every.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(given)), strict=True))
