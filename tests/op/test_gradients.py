"""The gradient rule of every operator, on the samples of its record, in float64.

Where the oracle of an operator (`tests/op/oracles`) or `TORCH` below computes with PyTorch, rules
agree with `torch.autograd`; all of them agree with central differences of the reference.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from relay import dtypes
from relay.check.infer import infer_expr
from relay.errors import RelayError
from relay.interpreter.evaluate import call, evaluate
from relay.ir import expr as ir
from relay.ir.types import TensorType, TupleType
from relay.op.opdef import OpDef, Sample, Tensor, get, records
from relay.transform.gradients.first_order_gradient import first_order
from tests.op.gradient_oracles import TORCH
from tests.support.looping import naming
from tests.support.sampling import some_of

# a rule that is no derivative
BY_DESIGN = {"stop_gradient"}
# arguments that have none by design, as in torchvision
CONSTANTS = {"vision.roi_align": (1,), "vision.roi_pool": (1,)}
# of many samples that take long, a run tries one in so many
PARTS = {"image.grid_sample": 6}
WITH_RULES = [
    op.name
    for op in records()
    if not isinstance(op.gradient, str | None) and op.name not in BY_DESIGN
]


def in_float64(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a sample with wide floats."""

    def leaf(one: Any) -> Any:
        if isinstance(one, tuple):
            return in_float64(one)
        if not dtypes.is_float(dtypes.canonical(one.dtype)):
            return one
        if isinstance(one, Tensor):
            return dataclasses.replace(one, dtype="float64")
        return one.astype(np.float64)

    return tuple(map(leaf, args))


def wide_sample(sample: Sample) -> Sample:
    attrs = {k: v for k, v in sample.attrs.items() if k != "out_dtype"}
    if dtypes.is_float(str(sample.attrs.get("dtype", ""))):
        attrs["dtype"] = "float64"
    return Sample(in_float64(sample.args), attrs)


def leaves(args: Any) -> list[Any]:
    return [x for a in args for x in (leaves(a) if isinstance(a, tuple) else [a])]


def nested(args: Any, flat: Any) -> tuple[Any, ...]:
    flat = iter(flat)

    def walk(args: Any) -> tuple[Any, ...]:
        return tuple(walk(a) if isinstance(a, tuple) else next(flat) for a in args)

    return walk(args)


def is_float(array: Any) -> bool:
    return array.dtype.kind == "f"


class Case:
    """A use of an operator, and the gradients of the sum of its results times some factors."""

    def __init__(self, op: OpDef, sample: Sample) -> None:
        self.op = op
        made = op.make_attrs(sample.attrs)
        self.attrs = dict(made.items()) if made else {}
        values = sample.values(1)
        self.structure, self.values = values, leaves(values)
        self.results = self.reference(self.values)
        draw = np.random.default_rng(2)
        self.factors = [draw.uniform(0.5, 1.5, np.shape(one)) for one in self.results]
        params = [
            ir.Var(f"p{i}", TensorType(v.shape, dtypes.canonical(v.dtype)))
            for i, v in enumerate(self.values)
        ]

        def expression(args: Any, flat: Any) -> list[ir.Expr]:
            return [ir.Tuple(tuple(a)) if isinstance(a, tuple) else a for a in nested(args, flat)]

        result: ir.Expr = ir.Call(op, tuple(expression(values, params)), made)
        typed = infer_expr(ir.Function(tuple(params), result))
        count = isinstance(typed.body.checked_type, TupleType)
        outputs = (
            [ir.TupleGetItem(result, i) for i in range(len(self.results))] if count else [result]
        )
        terms = [
            ir.Call(get("multiply"), (one, ir.const(factor, "float64")))
            for one, factor, value in zip(outputs, self.factors, self.results, strict=True)
            if is_float(value)
        ]
        constant = CONSTANTS.get(op.name, ())
        self.floats = [i for i, v in enumerate(self.values) if is_float(v) and i not in constant]
        finite = all(np.isfinite(one).all() for one in self.results if is_float(one))
        self.has_gradients = bool(terms and self.floats and finite)
        if self.has_gradients:
            typed = infer_expr(ir.Function(tuple(params), ir.Tuple(tuple(terms))))
            self.function = infer_expr(first_order(typed, self.floats))

    def reference(self, flat: Any) -> list[Any]:
        found = self.op.reference(*nested(self.structure, flat), **self.attrs)
        return list(found) if isinstance(found, tuple) else [found]

    def gradients(self) -> list[np.ndarray]:
        found: Any = call(evaluate(self.function), self.values)
        return [np.asarray(one) for one in found[1]]

    def total(self, flat: Any) -> float:
        found = self.reference(flat)
        return sum(
            float((one * factor).sum())
            for one, factor in zip(found, self.factors, strict=True)
            if is_float(one)
        )

    def slope(self, index: int, direction: np.ndarray) -> float:
        """The central difference along a direction, extrapolated."""

        def difference(step: float) -> float:
            ends = []
            for sign in (1, -1):
                flat = list(self.values)
                flat[index] = flat[index] + sign * step * direction
                ends.append(self.total(flat))
            return (ends[0] - ends[1]) / (2 * step)

        return (4 * difference(2e-5) - difference(4e-5)) / 3


def cases(name: str) -> list[tuple[int, Case]]:
    op = get(name)
    found = []
    samples = list(enumerate(op.samples))
    for number, sample in some_of(samples, PARTS.get(name, 1), name=lambda one: str(one[0])):
        if not any(dtypes.is_float(dtypes.canonical(x.dtype)) for x in leaves(sample.args)):
            continue
        with naming(f"sample {number}"):
            try:
                case = Case(op, wide_sample(sample))
            except RelayError as error:
                if "float" not in str(error):
                    raise
                continue
            if case.has_gradients:
                found.append((number, case))
    return found


@pytest.mark.parametrize("name", WITH_RULES)
def test_a_rule_agrees_with_central_differences(name: str) -> None:
    draw = np.random.default_rng(3)
    bound = 1e-5 if get(name).approximates else 2e-7
    for number, case in cases(name):
        with naming(f"sample {number}"):
            for index, gradient in zip(case.floats, case.gradients(), strict=True):
                value = case.values[index]
                assert gradient.shape == value.shape
                assert gradient.dtype == value.dtype
                for _ in range(2):
                    direction = draw.uniform(-1, 1, value.shape)
                    wanted = case.slope(index, direction)
                    found = float((gradient * direction).sum())
                    assert abs(found - wanted) <= bound * max(1, abs(wanted)), (
                        index,
                        found,
                        wanted,
                    )


# --- PyTorch ------------------------------------------------------------------------------------


class Leaf(np.ndarray):
    """An array whose oracle is asked for gradients: `wide` gives its tensor."""

    tensor: torch.Tensor


def leaf(array: np.ndarray) -> Leaf:
    made = array.view(Leaf)
    made.tensor = torch.from_numpy(array.copy()).requires_grad_()
    return made


def wide(array: Any) -> torch.Tensor:
    if isinstance(array, Leaf):
        return array.tensor
    return torch.from_numpy(np.array(array, np.float64 if array.dtype.kind == "f" else None))


# Oracles of results that compute with PyTorch on what `wide` gives.
SHARED = """
    image.grid_sample
    image.affine_grid nn.cross_entropy_with_logits nn.fast_softmax nn.group_norm nn.instance_norm
    nn.l2_normalize nn.layer_norm nn.leaky_relu nn.log_softmax nn.lrn nn.prelu nn.softmax
    nn.upsampling nn.upsampling3d
"""


@cache
def shared_oracles() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for path in sorted((Path(__file__).parent / "oracles").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"gradient_oracles_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "wide"):
            module.wide = wide
        found.update(module.ORACLES)
    return found


def of_torch(case: Case) -> list[np.ndarray] | None:
    """The gradients by PyTorch; None if it does not have the operator with these attributes."""
    given = [leaf(v) if i in case.floats else v for i, v in enumerate(case.values)]
    if case.op.name in TORCH:
        args = nested(case.structure, map(wide, given))
        results = TORCH[case.op.name](*args, **case.attrs)
    else:
        results = shared_oracles()[case.op.name](*nested(case.structure, given), **case.attrs)
        if not any(isinstance(one, torch.Tensor) and one.requires_grad for one in flat(results)):
            return None
    if results is NotImplemented:
        return None
    total: Any = 0.0
    for one, factor, value in zip(flat(results), case.factors, case.results, strict=True):
        if is_float(value):
            assert tuple(one.shape) == value.shape
            np.testing.assert_allclose(one.detach().numpy(), value, rtol=1e-5, atol=1e-6)
            total = total + (one * torch.from_numpy(factor)).sum()
    if not total.requires_grad:
        return None
    total.backward()
    zeros = (np.zeros_like(case.values[i]) for i in case.floats)
    tensors = (given[i].tensor.grad for i in case.floats)
    return [z if t is None else t.numpy() for z, t in zip(zeros, tensors, strict=True)]


def flat(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


BY_TORCH = sorted({*TORCH, *SHARED.split()} & set(WITH_RULES))


@pytest.mark.parametrize("name", BY_TORCH)
def test_a_rule_agrees_with_pytorch(name: str) -> None:
    compared = 0
    bound = 1e-5 if get(name).approximates.startswith(("exp", "erf", "tanh")) else 1e-9
    for number, case in cases(name):
        with naming(f"sample {number}"):
            wanted = of_torch(case)
            if wanted is None:
                continue
            compared += 1
            for found, expected in zip(case.gradients(), wanted, strict=True):
                np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)
    assert compared


def test_ties_and_kinks_are_those_of_pytorch() -> None:
    x = np.array([[-1.0, 0.0, 2.0], [2.0, 2.0, -0.5]])
    y = np.array([[-1.0, 1.0, 2.0], [0.0, 2.0, -0.5]])
    exact = {
        "max": (x,),
        "min": (np.minimum(x, 0),),
        "maximum": (x, y),
        "minimum": (x, y),
        "nn.relu": (x,),
        "abs": (x,),
        "prod": (x,),
        "cumprod": (x,),
    }
    attributes = {"max": {"axis": (1,)}, "min": {"axis": (1,)}, "cumprod": {"axis": 1}}
    for name, arrays in exact.items():
        with naming(name):
            case = Case(get(name), Sample(arrays, attributes.get(name, {})))
            for found, expected in zip(case.gradients(), of_torch(case), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_every_record_has_a_rule_or_says_why_not() -> None:
    assert [op.name for op in records() if op.gradient is None] == []
