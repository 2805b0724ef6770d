"""What lowering gives survives being kept on disk."""

from __future__ import annotations

from relay.lower import stored
from relay.lower.lower import lower
from relay.parser import parse
from relay.target.target import Target

DENSE = """(%x: Tensor[(8, 16), float32], %w: Tensor[(32, 16), float32]) {
  (nn.relu(nn.dense(%x, %w)), %x)
}"""


def test_kernels_and_steps_come_back_as_they_were() -> None:
    function = parse(f'#[version = "0.0.5"]\ndef @main{DENSE}')["main"]
    for constant in ([False, False], [False, True]):
        lowered = lower(function, constant, Target.x86("avx2"))
        assert stored.from_bytes(stored.to_bytes(lowered)) == lowered


def test_the_same_kernels_give_the_same_bytes() -> None:
    function = parse(f'#[version = "0.0.5"]\ndef @main{DENSE}')["main"]
    made = [lower(function, [False, True], Target.x86("avx2")) for _ in range(2)]
    assert stored.to_bytes(made[0]) == stored.to_bytes(made[1])
