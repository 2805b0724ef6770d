"""Functions of one tensor agree with torch, for floats and for integers."""

from __future__ import annotations

import torch

from tests.support.torch_agreement import Functions, agree

_FLOAT_NAMES = """
acos acosh asin asinh atan atanh cos cosh erf exp exp2 expm1 frac isfinite isinf isnan
isposinf isneginf isreal log log10 log1p log2 logit nan_to_num neg reciprocal rsqrt sigmoid
sign signbit sin sinc sinh sqrt square tan tanh trunc ceil floor round angle abs deg2rad
rad2deg positive logical_not frexp
"""
_WHOLE_NAMES = """
abs ceil cos exp floor isfinite isinf isnan log1p neg reciprocal round sigmoid sign signbit
sqrt square trunc bitwise_not logical_not isposinf angle nan_to_num
"""

FLOATS: Functions = {name: getattr(torch, name) for name in _FLOAT_NAMES.split()}
WHOLE: Functions = {name: getattr(torch, name) for name in _WHOLE_NAMES.split()}


def test_functions_of_floats_agree_also_for_special_numbers() -> None:
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, torch.inf, -torch.inf, torch.nan, 1e-9, 40])
    agree(FLOATS, torch.cat([special, torch.linspace(-3, 3, 23)]))


def test_functions_of_integers_have_the_element_types_of_torch() -> None:
    agree(WHOLE, torch.tensor([[-3, 0, 1], [7, 2, -1]]))
    agree({"sign": torch.sign, "sqrt": torch.sqrt}, torch.tensor(True))


def test_decimals_are_rounded_to() -> None:
    data = torch.tensor([1.2345, -17.55, 1234.5])
    agree({str(at): lambda x, at=at: torch.round(x, decimals=at) for at in (-2, 0, 1, 3)}, data)


def test_narrow_floats_are_computed_in_float32() -> None:
    data = torch.linspace(-2, 2, 33, dtype=torch.bfloat16)
    names = ("log1p", "expm1", "sinc", "exp", "sqrt")
    agree({name: lambda x, name=name: getattr(torch, name)(x).float() for name in names}, data)
