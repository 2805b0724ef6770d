"""The graph executor interface to a compiled model: set inputs, run, get outputs.

    lib = relay.build(mod, target="llvm", params=params)
    module = relay.graph_executor.GraphModule(lib["default"](relay.cpu(0)))
    module.set_input("data", x)
    module.run()
    y = module.get_output(0).numpy()

The older form takes the three parts of a model one by one:

    graph, lib, params = relay.build(mod, target="llvm", params=params)
    module = relay.graph_executor.create(graph, lib, relay.cpu(0))
    module.set_input(**params)

`relay.compile` returns a function instead, `y = exe(x)`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError, RelayError, did_you_mean
from relay.executors.arrays import TensorInfo, read
from relay.executors.graph_json import graph_json
from relay.executors.report import BenchmarkResult, time_calls
from relay.executors.straight_line import StraightLineExecutable
from relay.files import as_path
from relay.nd import HOST, Device, NDArray, StoredTensor
from relay.serialize import load_param_dict


class GraphLibrary:
    """The result of `relay.build`. `lib["default"](device)` is the argument of a GraphModule.

    It unpacks into a graph, a library and weights. The library is this object itself, since its
    code contains the graph and the weights.
    """

    def __init__(self, executable: StraightLineExecutable, name: str = "default") -> None:
        self.executable = executable
        self.name = name

    def __getitem__(self, name: str) -> Callable[..., StraightLineExecutable]:
        if name not in (self.name, "default"):
            raise RelayError(f"the library has no model {name!r}; it has {self.name!r}")

        def create(device: Device | None = None) -> StraightLineExecutable:
            _require(device, self.executable)
            return self.executable

        return create

    def __iter__(self) -> Iterator[Any]:
        return iter((self.get_graph_json(), self.lib, self.params))

    def get_graph_json(self) -> str:
        """The data flow graph as JSON, for inspection."""
        return graph_json(self.executable)

    @property
    def lib(self) -> GraphLibrary:
        return self

    def get_lib(self) -> GraphLibrary:
        return self

    @property
    def params(self) -> dict[str, NDArray]:
        """The weights it was built with."""
        return self.executable.params

    def get_params(self) -> dict[str, NDArray]:
        """The weights it was built with."""
        return self.params

    def export_library(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: `.so`, `.o` and `.a` for C, anything else for `relay.load`."""
        kinds = {".so": "shared", ".o": "object", ".a": "archive"}
        if (kind := kinds.get(as_path(path).suffix)) is not None:
            self.executable.export(path, kind=kind)
        else:
            self.executable.save(path, params=True)

    def __repr__(self) -> str:
        return f"<Relay library {self.name!r} of {self.executable!r}>"


def create(
    graph_json_str: str, libmod: GraphLibrary | StraightLineExecutable, device: Device | None = None
) -> GraphModule:
    """The module of a library; the graph must be the one it was built with."""
    library = libmod if isinstance(libmod, GraphLibrary) else GraphLibrary(libmod)
    require_same_graph(graph_json_str, library)
    return GraphModule(library["default"](device))


def require_same_graph(graph_json_str: str, library: GraphLibrary) -> None:
    """Refuse a graph that is not that of the library."""
    try:
        same = json.loads(graph_json_str) == json.loads(library.get_graph_json())
    except (TypeError, ValueError) as error:
        raise RelayError(f"a graph is the text of lib.get_graph_json(): {error}") from None
    if not same:
        raise RelayError("the graph and the library were not built together")


class GraphModule:
    """A model with inputs that stay set between runs. It is not thread-safe."""

    def __init__(self, module: StraightLineExecutable | GraphLibrary) -> None:
        if isinstance(module, GraphLibrary):
            module = module.executable
        if not isinstance(module, StraightLineExecutable):
            raise RelayError(
                f"a GraphModule is made of lib['default'](device), found {type(module).__name__}"
            )
        self.module = module
        self._inputs: dict[str, np.ndarray] = {
            info.name: np.zeros(info.shape, dtypes.to_numpy(info.dtype)) for info in module.inputs
        }
        self._outputs: list[NDArray] | None = None

    # --- inputs

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Set an input by name or number, and inputs and weights `params` by name.

        Arrays are copied and converted: floats are rounded to the type of the input, and integers
        are converted if their values fit.
        """
        if key is not None:
            self._set({self._info(key).name if isinstance(key, int) else key: value})
        self._set(params)

    def _set(self, values: Mapping[str, Any]) -> None:
        weights = {}
        for name, data in values.items():
            if name in self._inputs:
                info = self._info(name)
                self._inputs[name] = np.array(read(_converted(data, info.dtype), info))
            elif (known := self.module.program.constant_table.get(name)) and known.is_given:
                weights[name] = _converted(data, known.spec.dtype)
            else:
                self._info(name)  # says that there is none
        if weights:
            self.module.set_params(weights)

    def set_input_zero_copy(self, key: str | int, value: Any) -> None:
        """Like `set_input`, but the array is read in place when the model runs."""
        info = self._info(key)
        self._inputs[info.name] = read(value, info)

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set inputs and weights from what `relay.save_param_dict` wrote."""
        self._set(load_param_dict(params_bytes))

    def _info(self, key: str | int) -> TensorInfo:
        for number, info in enumerate(self.module.inputs):
            if key in (number, info.name):
                return info
        hint = did_you_mean(str(key), self._inputs)
        raise EvaluationError.of(f"the model has no input {key!r}", hint=hint)

    def get_input(self, key: str | int, out: Any = None) -> NDArray:
        """The current value of an input."""
        return _given(NDArray(self._inputs[self._info(key).name]), out)

    def get_input_index(self, name: str) -> int:
        """The number of an input; -1 when there is none of that name."""
        names = [info.name for info in self.module.inputs]
        return names.index(name) if name in names else -1

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """The shapes and the element types of the inputs, by name."""
        inputs = self.module.inputs
        return {i.name: i.shape for i in inputs}, {i.name: i.dtype for i in inputs}

    def get_num_inputs(self) -> int:
        return len(self.module.inputs)

    # --- running

    def run(self, **inputs: Any) -> None:
        """Run with the inputs as they are set, after setting `inputs`."""
        if inputs:
            self.set_input(**inputs)
        results = self.module.run_flat([self._inputs[i.name] for i in self.module.inputs])
        self._outputs = [NDArray(array) for array in results]

    # --- outputs

    def get_output(self, index: int, out: Any = None) -> NDArray:
        """A result of the last run; later runs do not change it."""
        if self._outputs is None:
            raise RelayError("there is no output before the first run()")
        if not isinstance(index, int) or not 0 <= index < len(self._outputs):
            raise RelayError(f"the model has {len(self._outputs)} outputs, none of number {index}")
        return _given(self._outputs[index], out)

    def get_num_outputs(self) -> int:
        return len(self.module.outputs)

    def benchmark(
        self,
        device: Device | None = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        end_to_end: bool = False,
        **inputs: Any,
    ) -> BenchmarkResult:
        """Time runs: `repeat` times the mean of `number` of them, or of as many as take
        `min_repeat_ms`. With `end_to_end`, setting `inputs` and getting the outputs counts."""
        _require(device, self.module)
        if func_name != "run":
            raise RelayError(f"only `run` can be timed, found {func_name!r}")
        self.run(**inputs)

        def once() -> None:
            if end_to_end:
                self.run(**inputs)
                for index in range(self.get_num_outputs()):
                    self.get_output(index).numpy()
            else:
                self.run()

        return time_calls(once, repeat, number, min_repeat_ms)


def _require(device: Device | None, executable: StraightLineExecutable) -> None:
    """A device of the target, or that of arguments and results."""
    own = executable.code.target.device
    if device is not None and device.kind not in (own, HOST.kind):
        name = "the CPU" if own == HOST.kind else f"{own}(0)"
        raise RelayError(f"the model was built for {name}, not for {device}")


def _converted(data: Any, dtype: str) -> Any:
    """`data` converted to the element type if it is an array and that is lossless up to rounding of
    floats; otherwise unchanged."""
    wanted = dtypes.to_numpy(dtype)
    if isinstance(data, NDArray):
        data = data.array
    if not isinstance(data, np.ndarray) or data.dtype == wanted or data.dtype.kind not in "biuf":
        return data
    with np.errstate(all="ignore"):
        made = data.astype(wanted)
    rounds = data.dtype.kind == "f" and dtypes.is_float(dtype)
    return made if rounds or np.array_equal(made, data) else data


def _given(value: NDArray, out: Any) -> NDArray:
    """`value`, or the caller's array `out` with a copy of it."""
    if out is None:
        return value
    if isinstance(out, StoredTensor):
        out.write(value)
        return out
    if not isinstance(out, np.ndarray) or out.shape != value.shape or not out.flags.writeable:
        raise RelayError(
            f"`out` must be a NumPy array of shape {value.shape} that may be written, or a tensor "
            f"of relay.nd.empty, found {type(out).__name__}; without `out` a result is memory of "
            "its own anyway"
        )
    out[...] = value.array
    return NDArray(out)
