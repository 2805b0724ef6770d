"""What lowering gives survives being kept on disk."""

from __future__ import annotations

import pytest

from relay.lower import stored_dynamic
from relay.lower.symbolic import lower_dynamic
from relay.parser import parse
from relay.target.target import Target

DENSE = """(%x: Tensor[(8, 16), float32], %w: Tensor[(32, 16), float32]) {
  (nn.relu(nn.dense(%x, %w)), %x)
}"""


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
def test_functions_over_sizes_of_a_run_come_back_as_they_were(source: str) -> None:
    function = parse(f'#[version = "0.0.5"]\ndef @main{source}')["main"]
    made = lower_dynamic(function, [False] * len(function.params), Target.x86("avx2"))
    data = stored_dynamic.to_bytes(made)
    assert stored_dynamic.from_bytes(data) == made
    assert stored_dynamic.to_bytes(stored_dynamic.from_bytes(data)) == data
