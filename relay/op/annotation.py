"""Annotations of values, as `relay.annotation`.

They do not affect what is computed; passes and executors read them. `debug` shows a value to a
Python function when the interpreter computes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from relay import te
from relay.errors import AnySpan, EvaluationError, RelayError
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, Function
from relay.ir.types import IncompleteType, TensorType, TupleType, Type
from relay.nd import Device
from relay.op.building.elements import copied
from relay.op.facts import Facts, Precision
from relay.op.gradient_rules import ArgumentGradient, Backward, passed
from relay.op.opdef import DType, FusionKind, OpDef, Sample, Tensor, define, sample
from relay.op.qnn.parameters import SCALE, axis_extent, parameters_at, parameters_known, spread
from relay.op.site import Site

_ANYTHING = (sample((2, 3)), sample([(2,), (0, 3)], dtype="int8"), sample((), dtype="bool"))


def _identity(site: Site) -> Type | None:
    """The type of the argument; inferred in both directions."""
    for name, value in () if site.attrs is None else site.attrs.items():
        if name.endswith("virtual_device") and value:
            well_formed = _DEVICE.fullmatch(value) is not None
            site.require(well_formed, f"`{name}` is no device", '"cpu" or "cuda(1)"', repr(value))
    if not isinstance(site.args[0], IncompleteType):
        return site.args[0]
    site.assign(0, site.result)
    return site.result


Tensors = te.Tensor | tuple[te.Tensor, ...]


def _same(data: Tensors, out: te.Spec | tuple[te.Spec, ...], **_: Any) -> Tensors:
    if isinstance(data, te.Tensor):
        assert isinstance(out, te.Spec)
        return copied(data, out)
    assert isinstance(out, tuple)
    return tuple(map(copied, data, out))


def _unchanged(data: Any, **attributes: Any) -> Any:
    _require_cpu(attributes)
    return data


def _annotation(
    name: str,
    doc: str,
    *,
    attributes: type[Attrs] | None = None,
    samples: Sequence[Sample] = _ANYTHING,
    argument: tuple[str, str] = ("data", "anything"),
    helper: Callable[..., Any] | None = None,
    **facts: Unpack[Facts],
) -> OpDef:
    """An operator whose result is its argument."""
    return define(
        name,
        doc=doc,
        arguments=[argument],
        attrs=attributes,
        relation=_identity,
        reference=_unchanged,
        compute=_same,
        helper=helper,
        samples=samples,
        on_values=True,
        **facts,
    )


def _same_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradients of the result, which is a tensor or a tuple of them."""
    return [site.gradients if isinstance(site.type_of(site.call), TupleType) else site.gradient]


# --- for fusion, differentiation and partial evaluation ----------------------------------------

stop_fusion = _annotation(
    "annotation.stop_fusion",
    "data, whose producer is not fused with its consumers.",
    precision=Precision.FOLLOW,
    gradient=_same_gradient,
)
checkpoint = _annotation(
    "annotation.checkpoint",
    "data, which backpropagation computes again instead of keeping it.",
    precision=Precision.FOLLOW,
    gradient=_same_gradient,
)


@attrs
class FunctionIdAttrs(Attrs):
    """fid: the id of the function in partial evaluation"""

    fid: int = -1


with_funcid = _annotation(
    "annotation.with_funcid",
    "A function, with a number to know it by.",
    attributes=FunctionIdAttrs,
    argument=("func", "a function"),
    samples=[sample((2,), fid=3)],
    gradient="it marks functions",
)

# --- for other compilers and accelerators ------------------------------------------------------


@attrs
class CompilerAttrs(Attrs):
    """compiler: the name of the compiler"""

    compiler: str


compiler_begin = _annotation(
    "annotation.compiler_begin",
    "data, which is the input of a region that another compiler takes over.",
    attributes=CompilerAttrs,
    samples=[sample((2, 3), compiler="dnnl")],
    gradient=_same_gradient,
)
compiler_end = _annotation(
    "annotation.compiler_end",
    "data, which is the result of a region that another compiler takes over.",
    attributes=CompilerAttrs,
    samples=[sample((2, 3), compiler="dnnl")],
    gradient=_same_gradient,
)
bitpack_start = _annotation(
    "annotation.bitpack_start",
    "data, from which on integers are packed for an accelerator.",
    gradient=_same_gradient,
)
bitpack_end = _annotation(
    "annotation.bitpack_end",
    "data, up to which integers are packed for an accelerator.",
    gradient=_same_gradient,
)

# --- for devices -------------------------------------------------------------------------------

_DEVICE = re.compile(r"([a-z_]+)(?:\((\d+)\)|:(\d+))?")


def device_name(device: Device | str | None) -> str:
    """The name of a device in attributes: `cuda(1)`; "" is any.

    `cuda` is `cuda(0)`, and `cuda:1` is `cuda(1)`.
    """
    if device is None or device == "":
        return ""
    parts = _DEVICE.fullmatch(str(device))
    if parts is None:
        raise RelayError(f'{device!r} is no device; one is called "cpu" or "cuda(1)"')
    return f"{parts[1]}({parts[2] or parts[3] or 0})"


def require_cpu(device: str, span: AnySpan | None = None) -> None:
    """Refuse other devices than the CPU, where all programs run."""
    if device and not device_name(device).startswith("cpu("):
        message = f"there is no device `{device}`"
        raise EvaluationError.of(message, span, "cpu, where all programs run", device)


def annotated(call: Call) -> Expr:
    """The argument of an annotation, in a program that is about to run."""
    _require_cpu({} if call.attrs is None else dict(call.attrs.items()), call.span)
    return call.args[0]


def _require_cpu(attributes: Mapping[str, Any], span: AnySpan | None = None) -> None:
    for name, value in attributes.items():
        if name.endswith("virtual_device"):
            require_cpu(value, span)


@attrs
class OnDeviceAttrs(Attrs):
    """virtual_device: the device, as in "cuda(0)"; "" is any
    constrain_result: the result must be on that device
    constrain_body: body must be computed on that device
    """

    virtual_device: str = ""
    constrain_result: bool = False
    constrain_body: bool = True


def on_device(
    body: Expr,
    device: Device | str | None,
    constrain_result: bool = False,
    constrain_body: bool = True,
) -> Call:
    """`body`, computed on a device, or moved to one, or both."""
    return ON_DEVICE(body, device_name(device), constrain_result, constrain_body)


ON_DEVICE = _annotation(
    "on_device",
    "body, with the device it is computed on, or moved to.",
    attributes=OnDeviceAttrs,
    argument=("body", "anything"),
    helper=on_device,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3)),
        sample((2, 3), virtual_device="cpu(1)", constrain_result=True, constrain_body=False),
    ],
    gradient=_same_gradient,
)


def function_on_device(
    function: Function,
    param_devices: Sequence[Device | str | None],
    result_device: Device | str | None,
) -> Function:
    """`function` with the devices of its parameters and its result, as the attributes
    `param_devices` and `result_device`."""
    if len(param_devices) != len(function.params):
        raise RelayError(
            f"a function of {len(function.params)} parameters needs as many devices, found "
            f"{len(param_devices)}"
        )
    names = tuple(map(device_name, param_devices))
    result = device_name(result_device)
    for name in (*names, result):
        require_cpu(name, function.span)
    return function.with_attr({"param_devices": names, "result_device": result})


@attrs
class DeviceCopyAttrs(Attrs):
    """src_virtual_device: the device that data is on, as in "cuda(0)"
    dst_virtual_device: the device that the result is on
    """

    src_virtual_device: str
    dst_virtual_device: str


def device_copy(data: Expr, src_device: Device | str, dst_device: Device | str) -> Call:
    """Data on another device."""
    return DEVICE_COPY(data, device_name(src_device), device_name(dst_device))


DEVICE_COPY = _annotation(
    "device_copy",
    "data on another device.",
    attributes=DeviceCopyAttrs,
    helper=device_copy,
    precision=Precision.FOLLOW,
    samples=[sample((2, 3), src_virtual_device="cpu(0)", dst_virtual_device="cpu(1)")],
    gradient=_same_gradient,
)

# --- for debugging -----------------------------------------------------------------------------


@attrs
class DebugAttrs(Attrs):
    """debug_func: a Python function that is called with the value; None prints it"""

    debug_func: Callable | None = None


def _debug(program: Any, debug_func: Callable[[Any], Any] | None) -> Any:
    (debug_func or print)(program)
    return program


def debug(expr: Expr, debug_func: Callable[[Any], Any] | None = None) -> Call:
    """`expr`; `debug_func` is called with its value when the interpreter computes it."""
    return DEBUG(expr, debug_func=debug_func)


DEBUG = define(
    "debug",
    doc="program; its value is shown to a Python function when the interpreter computes it. The "
    "function is not part of the text of a program.",
    arguments=[("program", "anything")],
    attrs=DebugAttrs,
    relation=_identity,
    reference=_debug,
    compute=_same,
    helper=debug,
    samples=[sample((2, 3)), sample((2, 3), debug_func=repr)],
    stateful=True,
    on_values=True,
    gradient="it runs for its effect",
)

# --- for quantization --------------------------------------------------------------------------


@attrs
class CastHintAttrs(Attrs):
    """dtype: the element type"""

    dtype: DType


cast_hint = _annotation(
    "annotation.cast_hint",
    "data, which quantization keeps in elements of another type.",
    attributes=CastHintAttrs,
    samples=[sample((2, 3), attrs={"dtype": "int8"})],
    gradient=_same_gradient,
)


@attrs
class SimulatedQuantizeAttrs(Attrs):
    """kind: 0 not quantized, 1 an input, 2 a weight, 3 an activation
    sign: whether there are negative results
    rounding: of values to integers; "round" rounds ties to even
    axis: the axis that scales and ends belong to, if they are per axis
    dtype: the element type that integers are stored in
    bits: how many of them count
    symmetric: whether the zero point is in the middle; else it is the lowest integer - clip_min
    name: what is quantized
    """

    kind: int
    sign: bool = True
    rounding: Literal["round", "floor", "ceil"] = "round"
    axis: int = -1
    dtype: DType = DType("int8")
    bits: int = 8
    symmetric: bool = True
    name: str = ""


_ROUNDING = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}


def _simulated_quantize_type(site: Site) -> Type | None:
    """The type of data; the other arguments are scalars, or vectors along `axis`."""
    site.require(
        0 <= site.attrs.kind <= 3, "`kind` is out of range", "0, 1, 2 or 3", str(site.attrs.kind)
    )
    bits = site.attrs.bits
    site.require(2 <= bits <= 16, "`bits` is out of range", "2 to 16", str(bits))
    if (data := site.tensor(0)) is None:
        return None
    for index in (1, 2, 3):
        if site.tensor(index) is None:
            site.expect(index, (), SCALE)
    extent = axis_extent(site, data, "axis", 1, 2, 3)
    if not parameters_known(site, (1, 2, 3), (), extent):
        return None
    return TensorType(site.expect(0, data.shape, "float32").shape, "float32")


def _simulated_quantize(data: np.ndarray, *parameters: np.ndarray, **known: Any) -> Any:
    if known["kind"] == 0:
        return data
    dom_scale, clip_min, clip_max = (spread(p, data.ndim, known["axis"]) for p in parameters)
    low = clip_min if known["sign"] else np.maximum(clip_min, np.float32(0))
    clipped = np.maximum(np.minimum(data / dom_scale, clip_max), low)
    return _ROUNDING[known["rounding"]](clipped) * dom_scale


def _simulated_quantize_compute(
    data: te.Tensor, *parameters: te.Tensor, out: te.Spec, **known: Any
) -> te.Tensor:
    if known["kind"] == 0:
        return copied(data, out)

    def element(*i: te.Expr) -> te.Expr:
        scale, lowest, high = parameters_at(parameters, i, known["axis"])
        low = lowest if known["sign"] else te.maximum(lowest, 0.0)
        clipped = te.maximum(te.minimum(data[i] / scale, high), low)
        return te.call(known["rounding"], clipped) * scale

    return te.compute(out.shape, element)


simulated_quantize = define(
    "relay.op.annotation.simulated_quantize",
    doc="data with simulated quantization error: clipped and rounded in units of dom_scale.",
    arguments=[
        ("data", "the input"),
        ("dom_scale", "the scale"),
        ("clip_min", "the lowest integer, less the zero point"),
        ("clip_max", "the highest integer, less the zero point"),
    ],
    attrs=SimulatedQuantizeAttrs,
    relation=_simulated_quantize_type,
    reference=_simulated_quantize,
    compute=_simulated_quantize_compute,
    fusion=FusionKind.ELEMWISE,
    samples=[
        sample((2, 3), np.float32(0.05), np.float32(-127), np.float32(127), kind=1),
        sample((2, 3), np.float32(0.5), np.float32(-2), np.float32(1), kind=2, rounding="floor"),
        sample((9,), np.float32(0.5), np.float32(-2), np.float32(3), kind=3, rounding="ceil"),
        sample(
            (9,),
            np.float32(0.5),
            np.float32(-2),
            np.float32(2),
            attrs={"kind": 3, "sign": False, "dtype": "int16", "symmetric": False, "name": "x"},
        ),
        sample((2,), np.float32(0.5), np.float32(-2), np.float32(2), kind=0),
        sample(
            (2, 3, 2),
            Tensor((3,), SCALE, 0.05, 0.2),
            Tensor((3,), SCALE, -9, -1),
            np.float32(7),
            kind=2,
            axis=1,
            bits=4,
        ),
    ],
    gradient=passed,
)

__all__ = [
    "bitpack_end",
    "bitpack_start",
    "cast_hint",
    "checkpoint",
    "compiler_begin",
    "compiler_end",
    "device_name",
    "function_on_device",
    "on_device",
    "simulated_quantize",
    "stop_fusion",
    "with_funcid",
]
