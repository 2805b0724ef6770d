"""Functions of two tensors agree with torch, and promote as it does."""

from __future__ import annotations

import torch

from tests.support.torch_agreement import Functions, agree

_FLOAT_NAMES = """
add sub mul div floor_divide remainder fmod pow atan2 hypot copysign nextafter maximum minimum
fmax fmin logaddexp logaddexp2 xlogy heaviside eq ne lt le gt ge isclose logical_and
logical_or logical_xor ldexp float_power dist
"""
_WHOLE_NAMES = """
add sub mul div floor_divide remainder fmod atan2 maximum minimum eq lt logical_and
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign gcd lcm
"""

PAIRS: Functions = {name: getattr(torch, name) for name in _FLOAT_NAMES.split()} | {
    "truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "scaled": lambda x, y: torch.add(x, y, alpha=2.5),
    "reversed": lambda x, y: torch.rsub(x, y, alpha=2),
    "xlog1py": torch.special.xlog1py,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=2),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=-1),
    "clamp": lambda x, y: torch.clamp(x, x * 0 - 0.5, y),
    "where": lambda x, y: torch.where(x > 0, x, 2.0),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, -1.0),
}
WHOLE: Functions = {name: getattr(torch, name) for name in _WHOLE_NAMES.split()} | {
    "number": lambda x, y: x + 1.5,
    "reversed": lambda x, y: 2 - x,
    "powers": lambda x, y: x**3 + 2 ** y.abs(),
    "clamp": lambda x, y: x.clamp(min=0) + y.clamp(max=2.5),
}


def test_pairs_of_floats_agree_also_for_special_numbers() -> None:
    special = torch.tensor([0.0, -0.0, 1.0, -2.5, torch.inf, -torch.inf, torch.nan])
    agree(PAIRS, special[:, None].contiguous(), special)
    agree(PAIRS, torch.randn(3, 1, 4), torch.randn(2, 1))


def test_pairs_of_integers_have_the_element_types_of_torch() -> None:
    agree(WHOLE, torch.tensor([[-7, 5, 3]]), torch.tensor([[2], [-3], [1]], dtype=torch.int32))


def test_scalars_decide_only_the_kind_of_number() -> None:
    agree(
        {"sum": lambda x, y: x + y, "product": lambda x, y: y * x * True},
        torch.tensor([1, 2], dtype=torch.int8),
        torch.tensor(3),
    )


def test_named_sizes_that_differ_broadcast() -> None:
    rows = [{0: "n"}, {0: "n"}]
    others = [(torch.randn(5, 3), torch.randn(5, 1))]
    some = {name: PAIRS[name] for name in ("add", "atan2", "where", "lerp")}
    agree(some, torch.randn(4, 3), torch.randn(4, 1), others=others, open_axes=rows, native=True)
