"""A part of a program -> its code: layers, their tilings, memory, instructions."""

from __future__ import annotations

from math import lcm, prod
from typing import Final

import numpy as np

from relay import tree
from relay.errors import LowerError
from relay.external.compiler import Part
from relay.ir.expr import Call, Expr, Function, Tuple
from relay.ir.types import TensorType
from relay.target.accel.code import (
    AccelCode,
    LayerInfo,
    Tensor,
    bytes_of,
    pack_bias,
    pack_weight,
)
from relay.target.accel.config import Config
from relay.target.accel.emit import Emitter, Place, Work, layer_uops, passes
from relay.target.accel.geometry import Geometry, blocks_of, geometry_of
from relay.target.accel.isa import encode_uops
from relay.target.accel.layers import Add, Bias, Layer, read_layer
from relay.target.accel.tiling import Epilogue, Tiling, best_tiling

GRAIN: Final = 64  # tensors begin at multiples of it


def compile_part(part: Part, config: Config) -> AccelCode:
    """The code of a part, whose calls are all of composite functions that are layers."""
    return _Compiling(part, config).compiled()


def tiled(layer: Layer, config: Config) -> tuple[Geometry, Tiling] | None:
    """How a layer with a product is divided; None if it does not fit."""
    data = layer.data.ty
    if layer.product is None or not isinstance(data, TensorType):
        return None
    geometry = geometry_of(layer.product, data.concrete_shape, layer.shape, config)
    added = sum(isinstance(step, Add) for step in layer.steps)
    has_bias = any(isinstance(step, Bias) for step in layer.steps)
    size = config.acc_bytes if layer.dtype == "int32" else config.out_bytes
    epilogue = Epilogue(passes(layer.steps), added, has_bias, size)
    tiling = best_tiling(geometry, epilogue, config)
    return None if tiling is None else (geometry, tiling)


class _Compiling:
    def __init__(self, part: Part, config: Config) -> None:
        self.part = part
        self.config = config
        self.emitter = Emitter(config)
        self.end = 0
        self.contents: list[tuple[int, bytes]] = []
        self.places: dict[Expr, Tensor] = {}
        self.layers: list[LayerInfo] = []

    def compiled(self) -> AccelCode:
        function = self.part.function
        for param in function.params:
            self.places[param] = self._tensor(param)
        body = function.body
        for node in tree.postorder(body, enter=lambda e: not isinstance(e, Function)):
            if isinstance(node, Call):
                self._layer(node)
            elif (
                isinstance(node, Expr)
                and node not in self.places
                and not (isinstance(node, Function) or (isinstance(node, Tuple) and node is body))
            ):
                raise LowerError.of("a part for the accelerator has layers only", found=str(node))
        results = body.fields if isinstance(body, Tuple) else (body,)
        self.emitter.finish()
        return AccelCode(
            self.config,
            self.end,
            tuple(self.emitter.program),
            tuple(self.contents),
            tuple(self.places[param] for param in function.params),
            tuple(self.places[result] for result in results),
            tuple(self.layers),
        )

    # --- memory

    def _allocate(self, size: int, entry: int) -> int:
        unit = lcm(GRAIN, entry)
        address = -(-self.end // unit) * unit
        self.end = address + size
        return address

    def _tensor(self, e: Expr) -> Tensor:
        ty = e.ty
        assert isinstance(ty, TensorType)
        shape, config = ty.concrete_shape, self.config
        entry = config.acc_bytes if ty.dtype == "int32" else config.out_bytes
        address = self._allocate(bytes_of(shape, ty.dtype, config), entry)
        return Tensor(shape, ty.dtype, address)

    def _constant(self, data: bytes, entry: int) -> int:
        address = self._allocate(len(data), entry)
        self.contents.append((address, data))
        return address

    # --- layers

    def _layer(self, call: Call) -> None:
        callee = call.op
        layer = read_layer(callee.body) if isinstance(callee, Function) else None
        if layer is None or not isinstance(callee, Function):
            raise LowerError.of(
                "the accelerator does not compute this", call.span, found=str(call.op)
            )
        values = dict(zip(callee.params, call.args, strict=True))
        result = self._tensor(call)
        self.places[call] = result
        config = self.config
        geometry = tiling = None
        weights = products = 0
        if layer.product is not None:
            divided = tiled(layer, config)
            if divided is None:
                raise LowerError.of(
                    "a layer does not fit the buffers of the accelerator",
                    call.span,
                    found=f"{layer.product.weight.shape} in {config}",
                )
            geometry, tiling = divided
            products = geometry.products
            packed = pack_weight(layer.product.weight, config)
            weights = self._constant(packed.tobytes(), config.wgt_bytes)
        uops = encode_uops(layer_uops(geometry, tiling), config)
        work = Work(
            data=self._place(values[layer.data]),  # type: ignore[index]
            result=self._place(call),
            words=layer.dtype == "int32",
            steps=layer.steps,
            added=tuple(
                self._place(values[step.tensor])  # type: ignore[index]
                for step in layer.steps
                if isinstance(step, Add)
            ),
            biases=tuple(
                self._bias(step.values, result) for step in layer.steps if isinstance(step, Bias)
            ),
            uops=self._constant(uops, config.uop_bytes),
            weights=weights,
            geometry=geometry,
            tiling=tiling,
        )
        begin = len(self.emitter.program)
        self.emitter.layer(work)
        end = len(self.emitter.program)
        self.layers.append(
            LayerInfo(_name(layer), begin, end, products, _macs(layer, values[layer.data]))  # type: ignore[index]
        )

    def _place(self, e: Expr) -> Place:
        tensor = self.places[e]
        return Place(tensor.address, blocks_of(tensor.shape, self.config))

    def _bias(self, values: np.ndarray, result: Tensor) -> int:
        channels = blocks_of(result.shape, self.config).channels
        packed = pack_bias(values, channels, self.config)
        return self._constant(packed.tobytes(), self.config.acc_bytes)


def _name(layer: Layer) -> str:
    product = layer.product
    if product is None:
        return "elements"
    outputs, inputs, high, wide = product.weight.shape
    if len(layer.shape) == 2:
        return f"dense {inputs} -> {outputs}"
    kind = "conv transposed" if product.transposed else "conv"
    stride = f"/{product.strides[0]}" if max(product.strides) > 1 else ""
    return f"{kind} {high}x{wide}{stride} {inputs} -> {outputs}, {layer.shape[2]}x{layer.shape[3]}"


def _macs(layer: Layer, data: Expr) -> int:
    """The products of numbers that a layer stands for."""
    if layer.product is None or not isinstance(data.ty, TensorType):
        return 0
    size = prod(layer.product.weight.shape)
    points = data.ty.concrete_shape if layer.product.transposed else layer.shape
    return size * points[0] * prod(points[2:])
