"""What lowering gives survives being kept on disk."""

from __future__ import annotations

import pytest

from relay.lower import stored
from relay.lower.lower import lower_static
from relay.lower.lower_dynamic import lower_dynamic
from relay.parser import parse
from relay.target.target import Target

DENSE = """(%x: Tensor[(8, 16), float32], %w: Tensor[(32, 16), float32]) {
  (nn.relu(nn.dense(%x, %w)), %x)
}"""


def test_kernels_and_steps_come_back_as_they_were() -> None:
    function = parse(f'#[version = "0.0.5"]\ndef @main{DENSE}')["main"]
    for constant in ([False, False], [False, True]):
        lowered = lower_static(function, constant, Target.x86("avx2"))
        assert stored.from_bytes(stored.to_bytes(lowered)) == lowered


def test_the_same_kernels_give_the_same_bytes() -> None:
    function = parse(f'#[version = "0.0.5"]\ndef @main{DENSE}')["main"]
    made = [lower_static(function, [False, True], Target.x86("avx2")) for _ in range(2)]
    assert stored.to_bytes(made[0]) == stored.to_bytes(made[1])


@pytest.mark.parametrize(
    "source",
    [
        "[n](%x: Tensor[(n, 16), float32]) { nn.softmax(reshape(%x, newshape=[-1])) }",
        "(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) { add(%x, exp(%y)) }",
        "(%x: Tensor[(?, 4), float32]) { nn.max_pool1d(expand_dims(%x, axis=0), pool_size=3) }",
        "(%x: Tensor[(?), bool]) { argwhere(%x) }",
        "(%x: Tensor[(?, 4), float32], %s: Tensor[(2), int32]) { dyn.reshape(%x, %s) }",
        "(%s: Tensor[(2), int32]) { dyn.zeros(%s) }",
    ],
)
def test_functions_with_dynamic_dimensions_come_back_as_they_were(source: str) -> None:
    function = parse(f'#[version = "0.0.5"]\ndef @main{source}')["main"]
    made = lower_dynamic(function, [False] * len(function.params), Target.x86("avx2"))
    data = stored.to_bytes(made)
    assert stored.from_bytes(data) == made
    assert stored.to_bytes(stored.from_bytes(data)) == data
