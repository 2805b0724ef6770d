"""Primitive functions become kernels: their names, their arguments, and what they may share."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest

from relay import te
from relay.ir.expr import Function
from relay.lower.kernel import Kernel, Lowered, Param, Result, Temporary, TensorSpec
from relay.lower.lower import Options, lower_computed, lower_static
from relay.lower.to_compute import Computed
from relay.parser import parse
from relay.target.target import Target
from tests.support.kernels import Batch, Memory
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, WIDEST

AVX2 = Target.x86("avx2")
DENSE = """(%x: Tensor[(8, 16), float32], %w: Tensor[(32, 16), float32],
            %b: Tensor[(32), float32]) { nn.relu(nn.bias_add(nn.dense(%x, %w), %b)) }"""


def function(source: str) -> Function:
    return parse(f'#[version = "0.0.5"]\ndef @main{source}')["main"]


def lowered(source: str, *constant: int, options: Options | None = None) -> Lowered:
    made = function(source)
    known = [i in constant for i in range(len(made.params))]
    return lower_static(made, known, WIDEST, options)


def main(source: str, *constant: int) -> Kernel:
    return lowered(source, *constant).steps[-1].kernel


def results(source: str, *arrays: np.ndarray, constant: tuple[int, ...] = ()) -> list[np.ndarray]:
    """What the kernels give, for one thread and for several."""
    batch = Batch([lowered(source, *constant)], WIDEST)
    first, second = (
        batch.run(0, arrays, threads=threads, memory=memory).results
        for threads, memory in ((1, Memory()), (2, Memory("before", aligned=False)))
    )
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    return list(first)


ROWS = np.arange(12, dtype="float32").reshape(3, 4) - 5


# --- results


def test_several_results_come_in_order() -> None:
    source = "(%x: Tensor[(3, 4), float32]) { (sum(%x, axis=[1]), nn.relu(%x), transpose(%x)) }"
    total, positive, turned = results(source, ROWS)
    np.testing.assert_array_equal(total, ROWS.sum(1))
    np.testing.assert_array_equal(positive, np.maximum(ROWS, 0))
    np.testing.assert_array_equal(turned, ROWS.T)


def test_a_result_that_is_a_parameter_is_copied() -> None:
    source = "(%x: Tensor[(3, 4), float32]) { (%x, negative(%x), %x) }"
    for found, right in zip(results(source, ROWS), (ROWS, -ROWS, ROWS), strict=True):
        np.testing.assert_array_equal(found, right)


def test_a_result_asked_for_twice_is_there_twice() -> None:
    source = "(%x: Tensor[(3, 4), float32]) { %0 = exp(%x); (%0, %0) }"
    one, other = results(source, ROWS)
    np.testing.assert_array_equal(one, other)
    assert one is not other


def test_parameters_that_are_tuples_are_counted_one_by_one() -> None:
    source = """(%p: (Tensor[(3, 4), float32], Tensor[(4), float32]), %y: Tensor[(3, 4), float32]) {
      add(add(%p.0, %p.1), %y)
    }"""
    made = lower_static(function(source), [False, False, False], WIDEST)
    assert made.steps[0].inputs == (Param(0), Param(1), Param(2))
    (found,) = Batch([made], WIDEST).run(0, [ROWS, ROWS[0], ROWS]).results
    np.testing.assert_array_equal(found, ROWS + ROWS[0] + ROWS)


def test_parameters_nobody_reads_are_not_given_to_the_kernel() -> None:
    source = """(%unused: Tensor[(9), float32], %x: Tensor[(3, 4), float32]) { nn.relu(%x) }"""
    made = lowered(source)
    assert made.steps[0].inputs == (Param(1),)
    assert made.steps[0].kernel.inputs == (TensorSpec((3, 4), "float32"),)


@pytest.mark.parametrize(
    ("source", "shape", "right"),
    [
        ("(%x: Tensor[(0, 4), float32]) { nn.relu(%x) }", (0, 4), np.zeros((0, 4))),
        ("(%x: Tensor[(0, 4), float32]) { sum(%x, axis=[0]) }", (0, 4), np.zeros(4)),
        ("(%x: Tensor[(4, 0), float32]) { nn.softmax(%x) }", (4, 0), np.zeros((4, 0))),
        ("(%x: Tensor[(3, 0), float32]) { max(%x, axis=[1]) }", (3, 0), np.full(3, -np.inf)),
        ("(%x: Tensor[(), float32]) { add(%x, 2f) }", (), np.array(2.0)),
        ("(%x: Tensor[(1, 1), float32]) { sum(%x) }", (1, 1), np.array(0.0)),
    ],
)
def test_tensors_of_no_elements_and_of_one(source: str, shape: tuple[int, ...], right) -> None:
    (found,) = results(source, np.zeros(shape, "float32"))
    np.testing.assert_array_equal(found, right)


def test_a_product_over_nothing_is_zero() -> None:
    source = """(%x: Tensor[(8, 0), float32], %w: Tensor[(16, 0), float32]) { nn.dense(%x, %w) }"""
    none = np.zeros((8, 0), "float32"), np.zeros((16, 0), "float32")
    np.testing.assert_array_equal(results(source, *none)[0], np.zeros((8, 16)))


# --- constants


def test_a_constant_weight_is_packed_in_a_step_of_its_own() -> None:
    made = lowered(DENSE, 1, 2)
    pack, dense = made.steps
    assert (pack.constant, pack.inputs, pack.outputs) == (True, (Param(1),), (Temporary(0),))
    assert dense.inputs == (Param(0), Param(2), Temporary(0))
    assert dense.outputs == (Result(0),)
    assert made.temporaries == pack.kernel.outputs
    assert [prod(one.shape) for one in made.temporaries] == [16 * 32]
    assert pack.kernel.name.startswith("relay_prepare_")
    x, w, b = (
        np.random.default_rng(i).normal(size=s) for i, s in enumerate([(8, 16), (32, 16), 32])
    )
    x, w, b = (array.astype("float32") for array in (x, w, b))
    (found,) = results(DENSE, x, w, b, constant=(1, 2))
    np.testing.assert_allclose(found, np.maximum(x @ w.T + b, 0), rtol=1e-5, atol=1e-5)


def test_without_constants_there_is_one_step() -> None:
    assert len(lowered(DENSE).steps) == 1
    assert lowered(DENSE).temporaries == ()


# --- in place


@pytest.mark.parametrize(
    ("source", "pairs"),
    [
        ("(%x: Tensor[(3, 4), float32]) { nn.relu(%x) }", ((0, 0),)),
        (
            "(%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]) { add(%x, %y) }",
            ((0, 0), (0, 1)),
        ),
        ("(%x: Tensor[(3, 4), float32], %y: Tensor[(4), float32]) { add(%x, %y) }", ((0, 0),)),
        ("(%x: Tensor[(4, 4), float32]) { add(%x, transpose(%x)) }", ()),
        ("(%x: Tensor[(4, 4), float32]) { transpose(%x) }", ()),
        ("(%x: Tensor[(8), float32]) { reverse(%x, axis=0) }", ()),
        ('(%x: Tensor[(3, 4), float32]) { cast(%x, dtype="int32") }', ()),
        ("(%x: Tensor[(3, 4), float32]) { nn.softmax(%x) }", ()),
        ("(%x: Tensor[(3, 4), float32]) { (nn.relu(%x), negative(%x)) }", ()),
        ("(%x: Tensor[(3, 4), float32]) { cumsum(%x, axis=1) }", ()),
        ("(%x: Tensor[(3, 4), float32]) { reshape(%x, newshape=[12]) }", ()),
    ],
)
def test_a_result_lies_where_an_input_does_only_if_it_needs_nothing_else_of_it(
    source: str, pairs: tuple[tuple[int, int], ...]
) -> None:
    kernel = main(source)
    assert kernel.in_place == pairs
    assert ("noalias" not in kernel.ir) == bool(pairs)


def test_results_written_over_their_inputs_are_the_same() -> None:
    source = "(%x: Tensor[(37, 19), float32], %y: Tensor[(37, 19), float32]) { add(%x, exp(%y)) }"
    x, y = (np.random.default_rng(i).normal(size=(37, 19)).astype("float32") for i in (0, 1))
    batch = Batch([lowered(source)], WIDEST)
    apart, together = (
        batch.run(0, [x, y], threads=2, memory=Memory(in_place=place)).results[0]
        for place in (False, True)
    )
    np.testing.assert_array_equal(apart, together)


# --- names


def test_names_say_what_is_inside() -> None:
    assert re.fullmatch(r"relay_dense_bias_add_relu_[0-9a-f]{16}", main(DENSE).name)
    assert main(DENSE).operators == ("nn.dense", "nn.bias_add", "nn.relu")


def test_long_names_are_cut() -> None:
    chain = "%x"
    for _ in range(40):
        chain = f"sigmoid({chain})"
    name = main(f"(%x: Tensor[(4), float32]) {{ {chain} }}").name
    assert len(name) <= 100
    assert name.isidentifier()


def test_the_same_function_gives_the_same_kernels() -> None:
    assert lowered(DENSE, 1, 2) == lowered(DENSE, 1, 2)
    renamed = DENSE.replace("%x", "%other").replace("%w", "%weight")
    assert [step.kernel.name for step in lowered(renamed, 1, 2).steps] == [
        step.kernel.name for step in lowered(DENSE, 1, 2).steps
    ]


def test_other_targets_and_options_give_other_names() -> None:
    made = function(DENSE)
    none = [False] * 3
    names = {
        lower_static(made, none, target, options).steps[0].kernel.name
        for target in (Target.x86("avx512"), AVX2)
        for options in (Options(), Options(checked=True))
    }
    assert len(names) == 4


def test_a_kernel_has_its_own_name_and_no_other() -> None:
    kernel = main(DENSE)
    assert "relay.kernel" not in kernel.ir
    assert f"define i32 @{kernel.name}(" in kernel.ir


# --- what people count


@pytest.mark.parametrize(
    ("source", "flops"),
    [
        ("(%x: Tensor[(3, 4), float32]) { nn.relu(%x) }", 12),
        ("(%x: Tensor[(3, 4), float32]) { transpose(%x) }", 0),
        (DENSE, 2 * 8 * 16 * 32 + 2 * 8 * 32),
    ],
)
def test_operations_are_counted(source: str, flops: int) -> None:
    assert main(source).flops == flops


def test_sums_in_lanes_count_about_as_much_as_sums() -> None:
    flops = main("(%x: Tensor[(3, 1024), float32]) { sum(%x, axis=[1]) }").flops
    assert 3 * 1024 <= flops <= 3 * 1024 * 1.2


# --- options


def test_without_threads_no_loop_is_spread() -> None:
    source = (
        "(%x: Tensor[(512, 512), float32], %w: Tensor[(512, 512), float32]) { nn.dense(%x, %w) }"
    )
    for threads in (True, False):
        made = lowered(source, 1, options=Options(threads=threads))
        spread = [".loop1" in step.kernel.ir for step in made.steps]
        assert spread == [threads, threads]


def test_checked_kernels_find_what_is_out_of_range() -> None:
    x = te.placeholder((8,), "float32", "x")
    y = te.compute((8,), lambda i: x[i + 1], "y")
    made = lower_computed(Computed((x,), (y,), ("shift",)), [False], WIDEST, Options(checked=True))
    outcome = Batch([made], WIDEST).run(0, [np.zeros(8, "float32")])
    assert (outcome.status, outcome.problem) == (1, "axis 0 of `x`: index 8 of 8")


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_every_level_computes_the_same(target: Target) -> None:
    source = "(%x: Tensor[(3, 100), float32]) { nn.softmax(%x) }"
    x = np.random.default_rng(0).normal(size=(3, 100)).astype("float32")
    (found,) = Batch([lower_static(function(source), [False], target)], target).run(0, [x]).results
    wide = np.exp(x.astype("float64"))
    np.testing.assert_allclose(found, wide / wide.sum(1, keepdims=True), rtol=1e-6)
