"""Quantized modules of torch (`torch.ops.quantized`), traced and scripted, against torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.ao import quantization
from torch.ao.nn import quantized as nnq

import relay
from relay.errors import FrontendError
from relay.frontend import from_pytorch
from tests.support.scripts import arrays

quantized = torch.ops.quantized


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        yield


def check(model: Any, *inputs: torch.Tensor, step: float = 0.0, compiled: bool = True) -> None:
    """Results are those of torch; where a number lies between two steps, torch may take the other
    one, for few of them."""
    script = model
    if not isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        script = torch.jit.script(model)
    mod, params = from_pytorch(script, list(inputs))
    runs = [relay.create_executor("debug", mod, params=params).evaluate()]
    if compiled:
        runs.append(relay.compile(mod, params))
    with torch.no_grad():
        wanted = np.asarray(arrays(script(*inputs)))
    for run in runs:
        found = np.asarray(arrays(run(*[one.numpy() for one in inputs])))
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        apart = np.abs(found.astype("float64") - wanted)
        assert apart.max(initial=0) <= step * 1.001 + 1e-5
        assert (apart > 1e-5).mean() <= 0.04


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, groups=4, padding=1)
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(2)
        self.sum = nnq.FloatFunctional()
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.norm(self.first(self.quant(x))))
        x = self.sum.add_relu(self.second(x), x)
        x = torch.nn.functional.adaptive_avg_pool2d(self.pool(x), (1, 1)).flatten(1)
        return self.dequant(self.last(x))


def prepared(model: nn.Module, x: torch.Tensor) -> nn.Module:
    """A model after static quantization, calibrated by its input."""
    model.eval()
    model.qconfig = quantization.get_default_qconfig("x86")
    fused = quantization.fuse_modules(model, [["first", "norm", "relu"]])
    ready = quantization.prepare(fused)
    ready(x)
    found: nn.Module = quantization.convert(ready)
    return found


def test_a_network_quantized_after_training_agrees() -> None:
    x = torch.randn(2, 3, 8, 8)
    model = prepared(Convolutions(), x)
    step = float(model.last.scale)
    check(torch.jit.trace(model, x), x, step=step)
    check(model, x, step=step, compiled=False)


def test_its_products_are_of_integers() -> None:
    x = torch.randn(2, 3, 8, 8)
    mod, _ = from_pytorch(torch.jit.trace(prepared(Convolutions(), x), x), [x])
    text = str(relay.transform.FakeQuantizationToInteger()(mod)["main"])
    assert text.count("qnn.conv2d") == 2
    assert "qnn.dense" in text
    assert "nn.conv2d(" not in text.replace("qnn.conv2d(", "")


def test_dynamic_quantization_of_layers() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    for dtype in (torch.qint8, torch.float16):
        made = quantization.quantize_dynamic(model, {nn.Linear}, dtype=dtype)
        check(made, torch.randn(4, 6), step=1e-3)


class One(nn.Module):
    """A quantized input, a function of it, and its integers."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        found = self.function(torch.quantize_per_tensor(x, 0.0513, 120, torch.quint8))
        return found.int_repr() if found.is_quantized else found


def other(x: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(x.dequantize().flip(0) * 0.5, 0.0307, 100, torch.quint8)


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: quantized.add(x, other(x), 0.0971, 120),
    "add_relu": lambda x: quantized.add_relu(x, other(x), 0.0971, 3),
    "add a number": lambda x: quantized.add_scalar(x, 1.3),
    "add a large number": lambda x: quantized.add_scalar(x, 9.0),
    "subtract a large number": lambda x: quantized.add_scalar_relu(x, -9.0),
    "mul": lambda x: quantized.mul(x, other(x), 0.0971, 120),
    "multiply by a number": lambda x: quantized.mul_scalar(x, 1.5),
    "multiply by a negative number": lambda x: quantized.mul_scalar(x, -1.5),
    "multiply by nothing": lambda x: quantized.mul_scalar(x, 0.0),
    "cat": lambda x: quantized.cat([x, other(x)], 1, 0.0611, 120),
    "cat on the first grid": lambda x: torch.cat([x, other(x)], 1),
    "sigmoid": torch.sigmoid,
    "sigmoid on a grid": lambda x: quantized.sigmoid(x, 0.0103, 2),
    "tanh": torch.tanh,
    "hardsigmoid": nn.functional.hardsigmoid,
    "hardswish": lambda x: quantized.hardswish(x, 0.0417, 20),
    "elu": lambda x: quantized.elu(x, 0.0417, 30, 0.7),
    "celu": lambda x: quantized.celu(x, 0.0417, 30, 0.7),
    "leaky_relu": lambda x: quantized.leaky_relu(x, 0.23, False, 0.0417, 30),
    "relu6": lambda x: quantized.relu6(x, False),
    "clamp": lambda x: quantized.clamp(x, -1.0, 2.0),
    "threshold": lambda x: quantized.threshold(x, 0.52, 0.12),
    "softmax": lambda x: quantized.softmax(x, 1, 1 / 256, 0),
    "relu": torch.relu,
    "mean": lambda x: x.mean([2, 3]),
    "avg_pool2d": lambda x: nn.functional.avg_pool2d(x, 2),
    "max_pool2d": lambda x: nn.functional.max_pool2d(x, 2),
    "upsampled": lambda x: nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"),
    "layer_norm": lambda x: quantized.layer_norm(x, [6], None, None, 1e-5, 0.0303, 128),
    "instance_norm": lambda x: quantized.instance_norm(x, None, None, 1e-5, 0.0303, 128),
    "group_norm": lambda x: quantized.group_norm(x, 2, None, None, 1e-5, 0.0303, 128),
    "batch_norm2d": lambda x: quantized.batch_norm2d(
        x,
        torch.ones(4),
        torch.zeros(4),
        torch.full((4,), 0.2),
        torch.ones(4) * 2,
        1e-5,
        0.0303,
        120,
    ),
    "matmul": lambda x: quantized.matmul(x, x.transpose(2, 3), 0.0971, 120),
    "moved": lambda x: x[:, 1:].permute(0, 2, 3, 1).reshape(2, -1).contiguous(),
    "compared": lambda x: x > 0.3,
    "dynamic": lambda x: torch.quantize_per_tensor_dynamic(x.dequantize(), torch.quint8, False),
}


def test_functions_of_quantized_tensors() -> None:
    x = torch.randn(2, 4, 6, 6) * 2
    wrong = {}
    for name, function in FUNCTIONS.items():
        try:
            traced = torch.jit.trace(One(function), x, check_trace=False)
            check(traced, x, step=1, compiled=False)
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"[:300]
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), (2, 4, 9)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2, dilation=2), (1, 2, 5, 5, 5)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, output_padding=1), (1, 4, 5, 5)),
}


class Alone(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dequant(self.layer(self.quant(x)))


def test_convolutions_over_other_axes() -> None:
    for make, shape in LAYERS.values():
        model, x = Alone(make()).eval(), torch.randn(shape)
        model.qconfig = quantization.get_default_qconfig("qnnpack")
        ready = quantization.prepare(model)
        ready(x)
        made = quantization.convert(ready)
        check(made, x, step=float(made.layer.scale), compiled=False)


def test_quantized_embeddings() -> None:
    model = nn.Embedding(20, 8).eval()
    model.qconfig = quantization.float_qparams_weight_only_qconfig
    whole = nn.Sequential(model)
    whole.qconfig = model.qconfig
    made = quantization.convert(quantization.prepare(whole))
    check(made, torch.tensor([1, 7, 19]), compiled=False)


class Paths(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.quantize_per_tensor(x, 0.0513, 120, torch.quint8)
        if bool(x.sum() > 0):
            y = torch.relu(y)
        return y.mean([1]).dequantize()


def test_quantized_tensors_of_several_paths() -> None:
    for x in (torch.randn(3, 40) + 1, torch.randn(3, 40) - 1):
        check(Paths(), x, step=0.0513)


def test_a_result_has_to_be_dequantized() -> None:
    script = torch.jit.trace(
        lambda x: torch.quantize_per_tensor(x, 0.0971, 0, torch.qint8), torch.ones(2)
    )
    with pytest.raises(FrontendError, match="a result is a quantized tensor"):
        from_pytorch(script, [torch.ones(2)])
