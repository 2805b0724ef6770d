"""Products of bytes by fours: one instruction where there is one, the same sums everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay import te
from relay.target.target import Target
from relay.te.instruction import DOT4
from relay.te.loops import MemoryScope
from relay.te.lower import lower
from relay.te.schedule import (
    Schedule,
    cache_write,
    compute_at,
    create,
    pack,
    reorder,
    set_scope,
    split,
    tensorize,
    unroll,
    vectorize,
)
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, code_of, function_of

VNNI = [target for target in LEVELS if target.has_vnni]


def product(m: int, k: int, n: int, lanes: int, packed: bool = True) -> Schedule:
    """Unsigned and signed bytes, a few rows and one vector of columns at a time."""
    a, b = te.placeholder((m, k), "uint8", "a"), te.placeholder((k, n), "int8", "b")
    r = te.axis(k)

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        return te.sum(te.cast(a[i, r], "int32") * te.cast(b[r, j], "int32"), r)

    s = create([te.compute((m, n), element, "c")], [a, b])
    s = cache_write(s, "c", "acc")
    if packed:
        s = pack(s, "acc", b, "panel", [(0, 4), (1, lanes)], (1, 0, 3, 2))
    s = split(split(s, "c", "i", 4, ("io", "ii")), "c", "j", lanes, ("jo", "l"))
    s = vectorize(reorder(s, "c", "jo", "io", "ii", "l"), "c", "l")
    s = set_scope(compute_at(s, "acc", "c", "io"), "acc", MemoryScope.REGISTER)
    s = split(s, "acc", "k", 4, ("ko", "t"))
    s = vectorize(reorder(s, "acc", "ko", "i", "j", "t"), "acc", "j")
    return tensorize(unroll(s, "acc", "i"), "acc", "t", DOT4)


def run_product(s: Schedule, target: Target) -> None:
    a, b = (tensor.extents for tensor in s.inputs)
    random = np.random.default_rng(5)
    x = random.choice(np.array([0, 1, 3, 127, 128, 254, 255], np.uint8), a)
    y = random.choice(np.array([-128, -127, -1, 0, 1, 126, 127], np.int8), b)
    outcome = Batch([function_of(lower(s), target)], target).run(0, [x, y])
    assert outcome.status == 0
    np.testing.assert_array_equal(outcome.results[0], x.astype(np.int32) @ y.astype(np.int32))


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("shape", [(8, 64, 64), (5, 13, 37), (1, 3, 1)])
def test_sums_are_those_of_whole_numbers(target: Target, shape: tuple[int, int, int]) -> None:
    run_product(product(*shape, target.vector_bits // 32), target)


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_bytes_that_do_not_lie_side_by_side_are_put_together(target: Target) -> None:
    run_product(product(5, 13, 37, target.vector_bits // 32, packed=False), target)


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_any_number_of_lanes(target: Target) -> None:
    for lanes in (2, 4, 32):
        run_product(product(4, 9, 33, lanes), target)


@pytest.mark.skipif(not VNNI, reason="the machine has no such instruction")
def test_four_products_are_one_instruction_and_bytes_are_loaded_together() -> None:
    target = VNNI[0]
    lanes = target.vector_bits // 32
    ir = code_of(lower(product(4, 64, lanes, lanes)), target).ir
    assert ir.count(f"vpdpbusd.{target.vector_bits}(") == 4  # one for each row
    assert ir.count("load i32, ptr") == 4
    assert "gather" not in ir


def test_other_machines_multiply_and_add() -> None:
    ir = code_of(lower(product(4, 64, 4, 4)), Target.x86("baseline")).ir
    assert "vpdpbusd" not in ir


def test_every_access_is_checked_when_asked_for() -> None:
    target = LEVELS[0]
    lanes = target.vector_bits // 32
    s = product(5, 13, 37, lanes)
    x, y = np.full((5, 13), 200, np.uint8), np.full((13, 37), -3, np.int8)
    function = function_of(lower(s), target, checked=True)
    outcome = Batch([function], target).run(0, [x, y])
    assert (outcome.results[0] == 13 * 200 * -3).all()


@pytest.mark.rotate(3)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_dynamic_batches_compile_to_word_loads(dtype: str) -> None:
    """Bytes under a mask were gathered one by one: minutes and gigabytes for LLVM."""
    unknown = relay.TensorType((relay.Any(),) * 3, dtype)
    x, y = relay.var("x", unknown), relay.var("y", unknown)
    exe = relay.compile(relay.Function([x, y], relay.nn.batch_matmul(x, y, out_dtype="int32")))
    rng = np.random.default_rng(0)
    for batches in [(1, 1), (2, 1), (1, 3), (4, 4)]:
        a, b = (rng.integers(0, 100, (n, 33, 13)).astype(dtype) for n in batches)
        wanted = a.astype("int32") @ b.astype("int32").transpose(0, 2, 1)
        np.testing.assert_array_equal(exe(a, b), wanted)
