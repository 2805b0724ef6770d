"""Convert networks to other frameworks.

    module = to_torch(relay_module, params)       an equivalent torch.fx.GraphModule
    peers = runners(module, inputs, threads)      name -> a function to time, if installed

Every call of a Relay operator becomes the idiomatic PyTorch call. So eager PyTorch, torch.compile,
ONNX Runtime and OpenVINO all get the model as their users write it.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from engines import in_onnx_runtime, in_openvino
from torch import fx

import relay
from relay import nd, tree
from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var

Converter = Callable[..., Any]


def _symmetric(padding: tuple[int, ...]) -> tuple[int, ...]:
    """Convert (top, left, bottom, right) to PyTorch's padding, one number per axis."""
    half = len(padding) // 2
    if padding[:half] != padding[half:]:
        raise ValueError(f"padding {padding} differs between the sides")
    return padding[:half]


def _conv2d(attrs: Any, x: fx.Proxy, w: fx.Proxy) -> Any:
    padding = _symmetric(attrs.padding)
    return F.conv2d(x, w, None, attrs.strides, padding, attrs.dilation, attrs.groups)


def _conv2d_transpose(attrs: Any, x: fx.Proxy, w: fx.Proxy) -> Any:
    padding, more = _symmetric(attrs.padding), attrs.output_padding
    return F.conv_transpose2d(x, w, None, attrs.strides, padding, more, attrs.groups)


def _batch_norm(attrs: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    scale = gamma if attrs.scale else None
    return (F.batch_norm(x, mean, var, scale, beta if attrs.center else None, eps=attrs.epsilon),)


def _bias_add(attrs: Any, x: Any, bias: Any) -> Any:
    return x + (bias if attrs.axis == -1 else bias.reshape(-1, 1, 1))


def _max_pool2d(attrs: Any, x: Any) -> Any:
    padding = _symmetric(attrs.padding)
    return F.max_pool2d(x, attrs.pool_size, attrs.strides, padding, attrs.dilation, attrs.ceil_mode)


def _avg_pool2d(attrs: Any, x: Any) -> Any:
    padding, whole = _symmetric(attrs.padding), attrs.count_include_pad
    return F.avg_pool2d(x, attrs.pool_size, attrs.strides, padding, attrs.ceil_mode, whole)


CONVERTERS: dict[str, Converter] = {
    "add": lambda attrs, x, y: x + y,
    "concatenate": lambda attrs, parts: torch.cat(parts, attrs.axis),
    "nn.avg_pool2d": _avg_pool2d,
    "nn.batch_flatten": lambda attrs, x: x.flatten(1),
    "nn.batch_norm": _batch_norm,
    "nn.bias_add": _bias_add,
    "nn.conv2d": _conv2d,
    "nn.conv2d_transpose": _conv2d_transpose,
    "nn.dense": lambda attrs, x, w: F.linear(x, w),
    "nn.dropout": lambda attrs, x: (x, None),
    "nn.global_avg_pool2d": lambda attrs, x: F.adaptive_avg_pool2d(x, 1),
    "nn.max_pool2d": _max_pool2d,
    "nn.relu": lambda attrs, x: F.relu(x),
    "nn.softmax": lambda attrs, x: F.softmax(x, attrs.axis),
    "reshape": lambda attrs, x: x.reshape(attrs.newshape),
    "tanh": lambda attrs, x: torch.tanh(x),
}


def to_torch(module: relay.IRModule, params: Mapping[str, nd.NDArray]) -> fx.GraphModule:
    """The function `main` as a PyTorch module with `params` as its parameters."""
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    root = torch.nn.Module()
    main = module["main"]
    done: dict[Expr, Any] = {}
    for param in main.params:
        name = param.name_hint
        if name in params:
            tensor = torch.from_numpy(np.array(params[name].numpy()))
            root.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))
            done[param] = fx.Proxy(graph.get_attr(name), tracer)
        else:
            done[param] = fx.Proxy(graph.placeholder(name), tracer)
    for expr in tree.postorder(main.body):
        if not isinstance(expr, Var | Op):
            done[expr] = _converted(expr, done)
    graph.output(done[main.body].node)
    return fx.GraphModule(root, graph).eval()


def _converted(expr: Expr, done: Mapping[Expr, Any]) -> Any:
    match expr:
        case Call(op=Op() as op) if op.name in CONVERTERS:
            return CONVERTERS[op.name](expr.attrs, *(done[arg] for arg in expr.args))
        case Tuple():
            return tuple(done[field] for field in expr.fields)
        case TupleGetItem():
            return done[expr.tuple_value][expr.index]
        case Constant():
            return torch.from_numpy(np.array(expr.data.numpy()))
    raise ValueError(f"no PyTorch function for {expr}")


# --- runners -----------------------------------------------------------------------------------

SETTINGS = {
    "torch": "eager, inference mode",
    "channels_last": "eager, inference mode, weights and input channels-last",
    "torch.compile": "inductor, frozen, channels-last",
    "onnxruntime": "all graph optimizations, sequential execution",
    "openvino": "latency hint, one stream, float32",
}


def runners(
    module: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
    threads: int,
    *,
    compiled: bool = False,
) -> dict[str, Callable[[], np.ndarray]]:
    """The installed peers, ready to run on `inputs`, with their first results; torch.compile only
    when asked for, because it is slow and needs a C++ compiler."""
    torch.set_num_threads(threads)
    last = copy.deepcopy(module).to(memory_format=torch.channels_last)
    given_last = [
        x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x for x in inputs
    ]
    found: dict[str, Callable[[], np.ndarray]] = {"torch": _eager(module, inputs)}
    if any(isinstance(part, torch.nn.Conv2d) or _convolves(part) for part in module.modules()):
        found["channels_last"] = _eager(last, given_last)
    if compiled:
        found["torch.compile"] = _inductor(last, given_last)
    if _installed("onnx", "onnxruntime"):
        found["onnxruntime"] = _first(in_onnx_runtime(module, inputs, threads))
    if _installed("openvino"):
        found["openvino"] = _first(in_openvino(module, inputs, threads))
    return found


def _convolves(module: torch.nn.Module) -> bool:
    """Whether a traced module calls a convolution."""
    names = {F.conv2d, F.conv_transpose2d}
    return isinstance(module, fx.GraphModule) and any(n.target in names for n in module.graph.nodes)


def _eager(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> Callable[[], np.ndarray]:
    return _first(torch.inference_mode()(lambda: _tuple(module(*inputs))))


def _tuple(results: Any) -> Sequence[Any]:
    return results if isinstance(results, tuple) else (results,)


def _first(run: Callable[[], Any]) -> Callable[[], np.ndarray]:
    return lambda: np.asarray(run()[0])


def _installed(*packages: str) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)


def in_float64(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> np.ndarray:
    """The first result with all weights and all arithmetic in float64."""
    exact = copy.deepcopy(module).double()
    return _eager(exact, [x.double() if x.is_floating_point() else x for x in inputs])()


def _inductor(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> Callable[[], np.ndarray]:
    import torch._inductor.config

    torch._inductor.config.freezing = True
    run = _eager(torch.compile(module), inputs)
    run()
    return run
