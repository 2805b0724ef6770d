"""The backend interface of ONNX: models are compiled and run as native code.

    import relay.onnx_backend as backend
    outputs = backend.run_model(model, inputs)

`onnx.backend.test.BackendTest(relay.onnx_backend, …)` runs the official test suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, DeviceType
from onnx.backend.base import Device as OnnxDevice

from relay.driver import compile as compile_model
from relay.errors import FrontendError, RelayError
from relay.frontend.onnx.boxed import packed, unpacked
from relay.frontend.onnx.importer import from_onnx
from relay.frontend.onnx.types import lacks_shape
from relay.ir.dims import Any as AnyExtent
from relay.ir.types import FuncType, TupleType


class RelayRep(BackendRep):
    """A compiled model.

    A model that does not declare the ranks of its inputs is compiled when it is first run, for each
    combination of input ranks. Tensors of unknown rank in sequences are passed as elements and
    shapes, which is hidden here.
    """

    def __init__(self, model: onnx.ModelProto, **options: Any) -> None:
        self._model = model
        self._options = options
        weights = {tensor.name for tensor in model.graph.initializer}
        weights |= {sparse.values.name for sparse in model.graph.sparse_initializer}
        self._inputs = [value for value in model.graph.input if value.name not in weights]
        self._unranked = [
            place for place, value in enumerate(self._inputs) if lacks_shape(value.type)
        ]
        self._compiled: dict[tuple[int | None, ...], tuple[Any, FuncType]] = {}
        if not self._unranked:
            self._for([])

    def executable(self, inputs: Sequence[Any]) -> Any:
        """The model compiled for inputs of these ranks."""
        return self._for(inputs)[0]

    def _for(self, inputs: Sequence[Any]) -> tuple[Any, FuncType]:
        ranks = tuple(_rank(inputs[place]) for place in self._unranked)
        if ranks not in self._compiled:
            names = [self._inputs[place].name for place in self._unranked]
            known = zip(names, ranks, strict=True)
            shapes = {name: (AnyExtent(),) * rank for name, rank in known if rank is not None}
            module, params = from_onnx(self._model, shapes)
            executable = compile_model(module, params, **self._options)
            self._compiled[ranks] = executable, module["main"].checked_type
        return self._compiled[ranks]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for these inputs, in order or by name."""
        if kwargs:
            raise RelayError(f"a run has no options, found {', '.join(kwargs)}")
        if isinstance(inputs, dict):
            given = [inputs[value.name] for value in self._inputs]
        else:
            given = list(inputs) if isinstance(inputs, Sequence) else [inputs]
        executable, ty = self._for(given)
        types = ty.arg_types[: len(given)]
        found = executable(*(packed(one, own) for one, own in zip(given, types, strict=True)))
        if len(self._model.graph.output) == 1:
            return (unpacked(found, ty.ret_type),)
        assert isinstance(ty.ret_type, TupleType)
        return tuple(unpacked(one, own) for one, own in zip(found, ty.ret_type.fields, strict=True))


def _rank(value: Any) -> int | None:
    """The rank of a tensor, or of those in a sequence; None where they differ."""
    if not isinstance(value, list):
        return np.ndim(value)
    ranks = set(map(_rank, value))
    return ranks.pop() if len(ranks) == 1 else None


class RelayBackend(Backend):
    """Compiles models for this machine's CPU."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        try:
            from_onnx(model)
        except FrontendError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> RelayRep:
        if not cls.supports_device(device):
            raise RelayError(f"models are compiled for the CPU, not for {device}")
        return RelayRep(model, **kwargs)

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of a single node."""
        arrays = [np.asarray(one) for one in inputs]
        described = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in zip(filter(None, node.input), arrays, strict=True)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output]
        graph = onnx.helper.make_graph([node], "node", described, results)
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        opsets = [onnx.helper.make_opsetid("", opset)]
        if node.domain:
            opsets.append(onnx.helper.make_opsetid(node.domain, 1))
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return bool(OnnxDevice(device).type == DeviceType.CPU)


is_compatible = RelayBackend.is_compatible
prepare = RelayBackend.prepare
run_model = RelayBackend.run_model
run_node = RelayBackend.run_node
supports_device = RelayBackend.supports_device
