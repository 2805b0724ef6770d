"""A network that is compiled once, and whose inputs select the layers that are quantized.

Scales and ranges of the annotated network are inputs. With a step so small that rounding has no
effect a layer computes as in floats, so one executable measures the cost of each layer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from relay.driver import compile
from relay.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.op.annotation import simulated_quantize
from relay.op.quantization import Kind
from relay.quantize.annotate import Annotate
from relay.quantize.calibrate import as_given, found_parameters
from relay.quantize.dataset import Dataset
from relay.quantize.network import Network, source
from relay.quantize.points import Point, points
from relay.quantize.scheme import Parameters, Scheme

STEPS = 2.0**22  # from 0 to the end of a range that is not rounded
ROOM = 16.0  # how much wider it is than what was seen


class Trial:
    """The network `module`, which is optimized for quantization, and its calibration."""

    def __init__(self, module: IRModule, scheme: Scheme, dataset: Dataset) -> None:
        annotated = Annotate(scheme)(module)
        main = annotated["main"]
        self.points = points(main)
        self.known: dict[str, Parameters] = found_parameters(annotated, dataset, scheme)
        self.data = [point for point in self.points if not isinstance(point.data, Constant)]
        added = {name for point in self.points for name in _names(point)}
        self.params = [param for param in main.params if param.name_hint not in added]
        self.layers = layer_points(main)
        # what is at a point, and what becomes of it there
        watched = [e for point in self.data for e in (point.data, point.call)]
        whole = Function(main.params, Tuple((main.body, *watched)))
        self._network = compile(annotated)
        self._whole = (whole, annotated.type_definitions)
        self._on = {p.name: as_given(p, self.known) for p in self.points}
        self._off = {p.name: self._as_floats(p) for p in self.points}

    def _as_floats(self, point: Point) -> list[np.ndarray]:
        scale, low, high = self._on[point.name]
        reach = ROOM * scale * np.maximum(np.abs(low), np.abs(high))
        steps = np.full_like(scale, STEPS)
        return [(reach / STEPS).astype(np.float32), -steps, steps]

    def parameters(self, layers: Collection[str]) -> dict[str, np.ndarray]:
        """The scales and ends with which those layers are quantized, and no others."""
        used = {name for layer in layers for name in self.layers[layer]}
        given: dict[str, np.ndarray] = {}
        for point in self.points:
            values = (self._on if point.name in used else self._off)[point.name]
            given.update(zip(_names(point), values, strict=True))
        return given

    def network(self, layers: Collection[str]) -> Any:
        """The network with those layers quantized, as a function of its inputs."""
        given = self.parameters(layers)

        def call(*args: Any, **named: Any) -> Any:
            return self._network(*args, **named, **given)

        return call

    def watched(self) -> Any:
        """A function of layers and a batch: the result, and for each point in `data` its value
        before and after."""
        whole, types = self._whole
        compiled = compile(IRModule.from_expr(whole, None, types))

        def call(layers: Collection[str], batch: Mapping[str, np.ndarray]) -> tuple[Any, list[Any]]:
            result, *values = compiled(**batch, **self.parameters(layers))
            return result, [*zip(values[::2], values[1::2], strict=True)]

        return call


def _names(point: Point) -> list[str]:
    return [arg.name_hint for arg in point.call.args[1:] if isinstance(arg, Var)]


def layer_points(main: Function) -> dict[str, set[str]]:
    """The points that each quantized layer of an annotated network needs: those of its weight and
    its data, and those that are integers because its data are."""
    network = Network(main)
    found: dict[str, set[str]] = {}
    for layer in network.layers.values():
        names: set[str] = set()
        pending = list(layer.call.args)
        seen: set[Expr] = set()
        while pending:
            e = source(pending.pop())
            if not isinstance(e, Call) or e in seen:
                continue
            seen.add(e)
            if e.op is simulated_quantize:
                names.add(Point(e).name)
                pending.append(e.args[0])
            elif network.kind(e) in (Kind.THROUGH, Kind.MEAN):
                pending.append(e.args[0])
            elif network.kind(e) is Kind.JOIN:
                (parts,) = e.args
                assert isinstance(parts, Tuple)
                pending += parts.fields
        if names:
            found[layer.name] = names
    return found
