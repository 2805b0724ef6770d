"""Primitive functions over sizes of a run: variables, what must hold, variants, results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay.errors import EvaluationError
from relay.ir.expr import Function
from relay.lower.dynamic import Dynamic, ElementOf, Requirement, SizeOf, Variable
from relay.lower.kernel import TensorSpec
from relay.lower.lower_dynamic import lower_dynamic
from relay.lower.sizes import Size
from relay.parser import parse
from tests.support.dynamic_kernels import DynamicFunction
from tests.support.kernels import Memory
from tests.target.llvm.kernels import WIDEST

N = Size("n")
SIZES = (0, 1, 3, 7, 16, 17, 64, 100)


def function(source: str) -> Function:
    made: Function = parse(f'#[version = "0.0.5"]\ndef @main{source}')["main"]
    return made


def lowered(source: str, *constant: int) -> Dynamic:
    made = function(source)
    count = source.partition(" {")[0].count("Tensor[") or len(made.params)
    return lower_dynamic(made, [i in constant for i in range(count)], WIDEST)


def compiled(source: str, *constant: int) -> DynamicFunction:
    return DynamicFunction(lowered(source, *constant), WIDEST)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


def results(made: DynamicFunction, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the kernels give, the same for one thread and for several."""
    first = made.run(arrays)
    again = made.run(arrays, threads=3, memory=Memory("before", aligned=False))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    return first


# --- variables


def test_a_named_size_is_read_where_it_stands_alone() -> None:
    made = lowered("[n](%x: Tensor[(4, n), float32]) { nn.relu(%x) }")
    assert made.variables == (Variable("n", SizeOf(0, 1)),)
    assert made.variants[0].results == ((4, N),)
    kernel = made.variants[0].lowered.steps[0].kernel
    assert kernel.sizes == ("n",)
    assert kernel.inputs == (TensorSpec((4, "n"), "float32"),)


def test_a_name_that_stands_twice_is_read_once_and_compared() -> None:
    source = "[n](%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }"
    made = lowered(source)
    assert made.variables == (Variable("n", SizeOf(0, 0)), Variable("y_0", SizeOf(1, 0)))
    assert made.required == (Requirement(Size("y_0"), N, "size 0 of parameter `%y` is not n"),)
    with pytest.raises(EvaluationError, match="size 0 of parameter `%y` is not n"):
        compiled(source).run([floats(3), floats(1)])


def test_a_name_inside_a_formula_is_solved_for() -> None:
    source = "[n](%x: Tensor[(2 * n + 1), float32]) { split(%x, indices_or_sections=[1]).1 }"
    made = compiled(source)
    np.testing.assert_array_equal(made.run([floats(7)])[0], floats(7)[1:])
    with pytest.raises(EvaluationError, match="size 0 of parameter `%x`"):
        made.run([floats(6)])


def test_a_formula_of_several_names_is_one_size() -> None:
    made = compiled(
        "[m, n](%x: Tensor[(m + n), float32], %y: Tensor[(m + n), float32]) { add(%x, %y) }"
    )
    x, y = floats(7), floats(7)
    np.testing.assert_array_equal(made.run([x, y])[0], x + y)


def test_parameters_that_are_tuples_are_counted_one_by_one() -> None:
    source = """(%p: (Tensor[(?), float32], Tensor[(4, ?), float32])) {
      concatenate((%p.0, reshape(%p.1, newshape=[-1])))
    }"""
    assert [one.source for one in lowered(source).variables] == [SizeOf(0, 0), SizeOf(1, 1)]
    (found,) = results(compiled(source), floats(3), floats(4, 2))
    np.testing.assert_array_equal(found, np.concatenate([floats(3), floats(4, 2).ravel()]))


def test_what_nobody_looks_at_is_not_read() -> None:
    source = "(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) { nn.relu(%y) }"
    assert [one.source for one in lowered(source).variables] == [SizeOf(1, 0)]


# --- what must hold


def test_equal_sizes_that_nobody_can_prove_are_required() -> None:
    source = "(%x: Tensor[(?, ?), float32], %w: Tensor[(8, ?), float32]) { nn.dense(%x, %w) }"
    made = compiled(source)
    (found,) = results(made, floats(3, 5), floats(8, 5))
    np.testing.assert_allclose(found, floats(3, 5) @ floats(8, 5).T, rtol=1e-5, atol=1e-5)
    with pytest.raises(EvaluationError, match=r"`nn\.dense`"):
        made.run([floats(3, 5), floats(8, 6)])


def test_what_is_learnt_makes_everything_a_number() -> None:
    source = """(%x: Tensor[(?), float32], %w: Tensor[(8, 4), float32]) {
      nn.dense(expand_dims(%x, axis=0), %w)
    }"""
    made = lowered(source)
    assert made.variants[0].results == ((1, 8),)
    assert made.variants[0].lowered.steps[0].kernel.sizes == ()
    assert [(one.left, one.right) for one in made.variants[0].required] == [(Size("d0"), 4)]


def test_a_window_larger_than_a_run_s_input_ends_it() -> None:
    made = compiled("(%x: Tensor[(1, 2, ?), float32]) { nn.max_pool1d(%x, pool_size=3) }")
    assert made.run([floats(1, 2, 5)])[0].shape == (1, 2, 3)
    with pytest.raises(EvaluationError, match="the window is larger than the padded input"):
        made.run([floats(1, 2, 2)])


def test_elements_that_fill_no_rows_end_the_run() -> None:
    made = compiled("(%x: Tensor[(?), float32]) { reshape(%x, newshape=[-1, 4]) }")
    assert made.run([floats(12)])[0].shape == (3, 4)
    with pytest.raises(EvaluationError, match="`reshape`"):
        made.run([floats(13)])


# --- variants


def test_what_may_be_stretched_has_a_variant_for_equal_sizes_and_one_for_all() -> None:
    source = "(%x: Tensor[(?, 8), float32], %y: Tensor[(?, 8), float32]) { add(%x, %y) }"
    made = lowered(source)
    equal, general = made.variants
    assert equal.conditions == ((Size("d0"), Size("d1")),)
    assert equal.results == ((Size("d0"), 8),)
    assert equal.lowered.steps[0].kernel.in_place == ((0, 0), (0, 1))
    assert general.conditions == ()
    run = compiled(source)
    for n in SIZES:
        for m in {n, 1}:
            for shapes in (((n, 8), (m, 8)), ((m, 8), (n, 8))):
                x, y = (floats(*shape) for shape in shapes)
                np.testing.assert_array_equal(results(run, x, y)[0], x + y)
    with pytest.raises(EvaluationError, match="`add`: operands do not broadcast"):
        run.run([floats(2, 8), floats(3, 8)])


def test_named_sizes_never_broadcast() -> None:
    source = "[n](%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }"
    assert len(lowered(source).variants) == 1


def test_an_unnamed_size_against_a_number_is_that_or_1() -> None:
    run = compiled("(%x: Tensor[(?), float32], %y: Tensor[(5), float32]) { add(%x, %y) }")
    for n in (1, 5):
        np.testing.assert_array_equal(results(run, floats(n), floats(5))[0], floats(n) + floats(5))
    with pytest.raises(EvaluationError, match="operands do not broadcast"):
        run.run([floats(2), floats(5)])


def test_an_operand_that_meets_two_numbers_is_stretched_to_both() -> None:
    source = """(%x: Tensor[(?), float32], %y: Tensor[(5), float32], %z: Tensor[(7), float32]) {
      (add(%x, %y), add(%x, %z))
    }"""
    made = lowered(source)
    assert len(made.variants) == 1  # it cannot be 5 and 7
    first, second = results(compiled(source), floats(1), floats(5), floats(7))
    assert (first.shape, second.shape) == ((5,), (7,))


# --- results


CHAIN = "[n](%x: Tensor[(n, 12), float32], %b: Tensor[(12), float32]) { nn.relu(add(exp(%x), %b)) }"
SOFTMAX = "[n](%x: Tensor[(5, n), float32]) { nn.softmax(%x) }"
DENSE = """[n](%x: Tensor[(n, 24), float32], %w: Tensor[(40, 24), float32]) {
  nn.relu(nn.dense(%x, %w))
}"""
ATTENTION = """[n](%q: Tensor[(2, n, 16), float32], %k: Tensor[(2, n, 16), float32]) {
  nn.batch_matmul(%q, %k, transpose_b=True)
}"""


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("made", "shapes", "right"),
    [
        (compiled(CHAIN), [("n", 12), (12,)], lambda x, b: np.maximum(np.exp(x) + b, 0)),
        (
            compiled(SOFTMAX),
            [(5, "n")],
            lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
        ),
        (compiled(DENSE), [("n", 24), (40, 24)], lambda x, w: np.maximum(x @ w.T, 0)),
        (compiled(DENSE, 1), [("n", 24), (40, 24)], lambda x, w: np.maximum(x @ w.T, 0)),
        (
            compiled(ATTENTION),
            [(2, "n", 16), (2, "n", 16)],
            lambda q, k: q @ k.transpose(0, 2, 1),
        ),
    ],
    ids=["chain", "softmax", "dense", "dense of a constant", "attention"],
)
def test_one_kernel_computes_all_sizes(
    made: DynamicFunction, shapes: list[tuple[Any, ...]], right: Callable[..., Any], n: int
) -> None:
    arrays = [floats(*(n if size == "n" else size for size in shape)) for shape in shapes]
    (found,) = results(made, *arrays)
    np.testing.assert_allclose(found, right(*arrays), rtol=1e-4, atol=1e-5)


def test_a_constant_weight_is_packed_beforehand() -> None:
    made = lowered(DENSE, 1)
    pack, dense = made.variants[0].lowered.steps
    assert pack.constant and pack.kernel.sizes == ()
    assert dense.kernel.sizes == ("n",)


def test_rows_of_any_length_are_kept_in_memory_of_their_size() -> None:
    (kernel,) = (step.kernel for step in lowered(SOFTMAX).variants[0].lowered.steps)
    assert kernel.sized_workspace
    assert f"define i64 @{kernel.name}_workspace(ptr %context, ptr %args)" in kernel.ir


def test_the_same_function_gives_the_same_kernels() -> None:
    assert lowered(DENSE) == lowered(DENSE)


# --- sizes that depend on values


def test_elements_of_a_shape_are_sizes() -> None:
    made = lowered('(%s: Tensor[(2), int32]) { dyn.zeros(%s, dtype="float32") }')
    assert [one.source for one in made.variables] == [ElementOf(0, 0), ElementOf(0, 1)]
    assert made.searches == ()
    run = DynamicFunction(made, WIDEST)
    for shape in ((3, 5), (0, 4), (1, 1)):
        (found,) = results(run, np.array(shape, "int32"))
        np.testing.assert_array_equal(found, np.zeros(shape, "float32"))
    with pytest.raises(EvaluationError, match="a size is negative"):
        run.run([np.array([2, -1], "int32")])


def test_the_shape_of_a_tensor_is_no_value_to_look_up() -> None:
    source = """(%x: Tensor[(?, 4), float32], %y: Tensor[(?, ?), float32]) {
      dyn.broadcast_to(%x, shape_of(%y, dtype="int64"))
    }"""
    made = lowered(source)
    assert all(isinstance(one.source, SizeOf) for one in made.variables)
    (found,) = results(DynamicFunction(made, WIDEST), floats(1, 4), floats(3, 4))
    np.testing.assert_array_equal(found, np.broadcast_to(floats(1, 4), (3, 4)))


def test_what_is_more_than_an_element_is_searched_for() -> None:
    made = lowered("(%x: Tensor[(?, 6), float32], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s) }")
    assert len(made.searches) == 1
    run = DynamicFunction(made, WIDEST)
    for codes, shape in (((-1, 4), (9, 4)), ((0, 6), (6, 6)), ((3, -1), (3, 12))):
        (found,) = results(run, floats(6, 6), np.array(codes, "int64"))
        np.testing.assert_array_equal(found, floats(6, 6).reshape(shape))
    for codes in ((5, -1), (-1, -1), (-2, 6), (4, 4)):
        with pytest.raises(EvaluationError, match=r"`dyn\.reshape`"):
            run.run([floats(6, 6), np.array(codes, "int64")])


def test_what_only_the_computation_counts_has_room_for_the_most() -> None:
    made = lowered("(%x: Tensor[(?, 3), bool]) { argwhere(%x) }")
    assert made.counted
    assert made.variants[0].results == ((3 * Size("d0"), 2), (1, 2))
    run = DynamicFunction(made, WIDEST)
    for n in SIZES:
        x = floats(n, 3) > 0
        np.testing.assert_array_equal(results(run, x)[0], np.argwhere(x))


def test_numbers_in_a_formula_of_a_size_may_be_negative() -> None:
    source = """(%a: int32, %b: int32, %c: int32) { arange(%a, %b, %c, dtype="int32") }"""
    made = compiled(source)
    for numbers in ((10, 6, -3), (-4, 3, 2), (5, 5, -1), (0, 5, -1)):
        (found,) = results(made, *(np.array(one, "int32") for one in numbers))
        np.testing.assert_array_equal(found, np.arange(*numbers))


def test_numbers_in_a_row_are_as_many_as_the_values_say() -> None:
    source = """(%a: float32, %b: float32, %c: float32) { arange(%a, %b, %c, dtype="float32") }"""
    run = compiled(source)
    for numbers in ((0.0, 5.0, 1.0), (1.0, 5.5, 1.5), (3.0, -3.0, -0.5), (1.0, 0.0, 1.0)):
        (found,) = results(run, *(np.array(number, "float32") for number in numbers))
        np.testing.assert_allclose(found, np.arange(*numbers, dtype="float32"))
    with pytest.raises(EvaluationError, match="`arange`: the step is zero"):
        run.run([np.array(number, "float32") for number in (0, 1, 0)])
