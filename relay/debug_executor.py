"""The graph executor with every intermediate value.

    lib = relay.build(mod, target="llvm", params=params)
    module = relay.debug_executor.create(lib.get_graph_json(), lib, relay.cpu(0))
    module.run(data=x)
    module.debug_get_output(3)                the value of the fourth kernel
    module.debug_get_output("relay_softmax_…")
    print(module.non_finite())                the first kernel that made NaN or infinity

Kernels run one by one, and what each writes is kept. `relay.debugging.find_non_finite` watches
operators instead of kernels, in any program.
"""

from __future__ import annotations

import json
import os
import time
from statistics import fmean
from typing import Any

import numpy as np

from relay.errors import RelayError, did_you_mean
from relay.executors.arrays import write_npz
from relay.executors.straight_line import StraightLineExecutable
from relay.files import as_path, replacing
from relay.graph_executor import GraphLibrary, GraphModule, require_same_graph
from relay.immutable import frozen
from relay.nd import Device, NDArray


@frozen
class Step:
    """A kernel call of the last run."""

    name: str  # of the kernel; numbered if it is called several times
    operators: tuple[str, ...]
    where: str  # the source, of a kernel that may fail
    outputs: tuple[NDArray, ...]
    seconds: float

    @property
    def is_finite(self) -> bool:
        """Whether it made neither NaN nor infinity."""
        return all(_finite(output.array) for output in self.outputs)

    def __str__(self) -> str:
        found = ", ".join(f"{o.dtype}{list(o.shape)}" for o in self.outputs)
        return f"{self.name} -> {found}" + (f"\n  --> {self.where}" if self.where else "")


def create(
    graph_json_str: str,
    libmod: GraphLibrary | StraightLineExecutable,
    device: Device | None = None,
    dump_root: str | os.PathLike[str] | None = None,
) -> GraphModuleDebug:
    """The debugging module of a library; the graph must be the one it was built with."""
    library = libmod if isinstance(libmod, GraphLibrary) else GraphLibrary(libmod)
    require_same_graph(graph_json_str, library)
    return GraphModuleDebug(library["default"](device), device, graph_json_str, dump_root)


class GraphModuleDebug(GraphModule):
    """A module whose runs keep what every kernel made. With `dump_root` a run writes the values and
    the graph to that folder. It is not thread-safe."""

    def __init__(
        self,
        module: StraightLineExecutable | GraphLibrary,
        device: Device | None = None,
        graph_json_str: str | None = None,
        dump_root: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(module)
        self.graph_json = graph_json_str or GraphLibrary(self.module).get_graph_json()
        self.dump_root = None if dump_root is None else as_path(dump_root)
        self.steps: list[Step] = []

    def run(self, **inputs: Any) -> None:
        """Run kernel by kernel, and keep what each writes."""
        if inputs:
            self.set_input(**inputs)
        given = [self._inputs[info.name] for info in self.module.inputs]
        names: dict[str, int] = {}
        self.steps = []
        traced = self.module.traced_flat(given)
        for step in traced.steps:
            start = time.perf_counter()
            step.run()
            seconds = time.perf_counter() - start
            name = step.kernel.name
            number = names[name] = names.get(name, -1) + 1
            values = tuple(NDArray(np.array(array)) for array in step.outputs)
            name = f"{name}_{number}" if number else name
            self.steps.append(Step(name, step.kernel.operators, step.where, values, seconds))
        self._outputs = [NDArray(np.array(array)) for array in traced.results]
        if self.dump_root is not None:
            self._dump()

    def debug_get_output(self, node: str | int, out: Any = None) -> NDArray:
        """What a kernel made in the last run, by its name or its number; of several results the
        first. `out`, if given, gets a copy."""
        value = self._step(node).outputs[0]
        if out is not None:
            out[...] = value.array
        return value

    def _step(self, node: str | int) -> Step:
        if not self.steps:
            raise RelayError("there is no value before the first run()")
        if isinstance(node, int):
            if not 0 <= node < len(self.steps):
                raise RelayError(f"the model has {len(self.steps)} kernels, none of number {node}")
            return self.steps[node]
        for step in self.steps:
            if step.name == node:
                return step
        hint = did_you_mean(node, (step.name for step in self.steps))
        raise RelayError(f"the model has no kernel `{node}`" + (f"; {hint}" if hint else ""))

    def non_finite(self) -> Step | None:
        """The first kernel of the last run that made NaN or infinity."""
        return next((step for step in self.steps if not step.is_finite), None)

    def run_individual(
        self, number: int = 1, repeat: int = 1, min_repeat_ms: float = 0
    ) -> list[float]:
        """The seconds of every kernel: means of `number` runs, or of as many as take
        `min_repeat_ms`, the best of `repeat`."""
        self.run()
        given = [self._inputs[info.name] for info in self.module.inputs]
        steps = self.module.traced_flat(given).steps
        best = [float("inf")] * len(steps)
        for _ in range(max(1, repeat)):
            times: list[list[float]] = [[] for _ in steps]
            end = time.perf_counter() + min_repeat_ms / 1000
            while len(times[0] if times else (0,) * number) < number or time.perf_counter() < end:
                for step, found in zip(steps, times, strict=True):
                    start = time.perf_counter()
                    step.run()
                    found.append(time.perf_counter() - start)
            best = [min(one, fmean(found)) for one, found in zip(best, times, strict=True)]
        return best

    def _dump(self) -> None:
        assert self.dump_root is not None
        self.dump_root.mkdir(parents=True, exist_ok=True)
        values = {
            f"{step.name}.{number}": output.array
            for step in self.steps
            for number, output in enumerate(step.outputs)
        }
        with replacing(self.dump_root / "values.npz", "the values") as file, file.open("wb") as out:
            write_npz(out, values)
        with replacing(self.dump_root / "graph.json", "the graph") as file:
            file.write_text(json.dumps(json.loads(self.graph_json), indent=2), encoding="utf-8")


def _finite(array: np.ndarray) -> bool:
    kind = array.dtype.kind
    if kind in "iub":
        return True
    wide = array if kind in "fc" else array.astype(np.float32)  # of ml_dtypes
    return bool(np.isfinite(wide).all())
