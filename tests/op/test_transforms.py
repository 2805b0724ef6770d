"""Operators that sort, search, write, cut and lay out: what they refuse, and values of note."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, RelayError, TypeCheckError
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get

ANY = relay.Any()
n = ShapeVar("n")


def tensor(*shape: Any, dtype: str = "float32") -> Any:
    return relay.var("x", TensorType(shape, dtype))


def ints(*shape: Any) -> Any:
    return tensor(*shape, dtype="int32")


def type_text(expr: Any) -> str:
    return str(infer_expr(relay.Tuple((expr,))).checked_type).removeprefix("(").removesuffix(",)")


def run(name: str, *args: Any, **attrs: Any) -> Any:
    op = get(name)
    made = op.make_attrs(attrs)
    return op.reference(*args, **(dict(made.items()) if made else {}))


x23, image, flags = tensor(2, 3), tensor(1, 8, 4, 4), tensor(2, dtype="bool")

REFUSED: list[tuple[Any, str]] = [
    # order
    (relay.sort(x23, axis=2), "`sort`: `axis` is out of range"),
    (relay.argsort(x23, dtype="bool"), "`argsort`: `dtype` cannot hold positions"),
    (relay.topk(x23, 4).astuple(), "`topk`: axis 1 has fewer than `k` elements"),
    (relay.searchsorted(x23, tensor(3, 3)), "`searchsorted`: extents of axis 0 differ"),
    (relay.searchsorted(x23, ints(2, 3)), "`searchsorted`: element types differ"),
    (relay.unique(tensor()).astuple(), "`unique`: argument `data` has too few axes"),
    # scans
    (relay.cumsum(flags), "`cumsum`: there are no totals of these elements"),
    (relay.cumprod(x23, axis=2), "`cumprod`: `axis` is out of range"),
    # indices
    (relay.gather_nd(x23, ints(3, 2)), "`gather_nd`: more indices than axes"),
    (relay.gather_nd(x23, ints(ANY, 2)), "how many indices name a place must be known"),
    (relay.gather_nd(x23, ints(1, 2), index_rank=2), "`index_rank` and first extents differ"),
    (relay.gather_nd(x23, ints(1, 3), batch_dims=1), "batch extents of axis 0 differ"),
    (relay.gather_nd(x23, ints(1), batch_dims=1), "`batch_dims` is out of range"),
    (relay.adv_index([x23]), "`adv_index`: there are no indices"),
    (relay.adv_index([x23, x23]), "part 1 of argument `inputs` has the wrong element type"),
    (relay.adv_index([x23, ints(2), ints(2), ints(2)]), "`adv_index`: more indices than axes"),
    (relay.adv_index([x23, ints(2), ints(3)]), "`adv_index`: operands do not broadcast"),
    (relay.unravel_index(x23, ints(2)), "`unravel_index`: argument `data`"),
    (relay.invert_permutation(ints(2, 2)), "argument `data` has the wrong rank"),
    # writing
    (relay.scatter_elements(x23, ints(2, 2), tensor(2, 3)), "extents of axis 1 differ"),
    (relay.scatter_elements(x23, ints(4, 5), tensor(4, 5)), "axis 1 of indices is longer"),
    (relay.scatter_elements(x23, ints(2, 3), ints(2, 3)), "`scatter_elements`: element types"),
    (
        relay.scatter_elements(flags, ints(2), flags, reduction="add"),
        '`reduction` "add" needs numbers',
    ),
    (relay.scatter_nd(x23, ints(2, 4), tensor(4, 3)), "`scatter_nd`: argument `updates`"),
    (relay.scatter_nd(x23, ints(1, 4), tensor(4, 2)), "`scatter_nd`: argument `updates`"),
    (relay.strided_set(x23, tensor(2), [0], [1]), "argument `v` has the wrong rank"),
    # slices and windows
    (relay.slice_like(x23, tensor(2, 4)), "`slice_like`: axis 1 of data is shorter"),
    (relay.slice_like(x23, tensor(2), axes=[1]), "an axis that shape_like does not have"),
    (relay.sliding_window(x23, 0, [2], [1]), "`sliding_window`: `window_shape` does not fit"),
    (relay.sliding_window(x23, 1, [4], [1]), "the window is larger than the input"),
    (relay.sliding_window(x23, 1, [2], [0]), "`sliding_window`: `strides` does not fit"),
    # sparse
    (relay.sparse_to_dense(ints(2, 2), (3,), tensor(2)), "coordinates and the rank of the result"),
    (relay.sparse_to_dense(ints(2, 2), (3, 3), tensor(3)), "number of indices and values differ"),
    (
        relay.sparse_fill_empty_rows(ints(2, 2), tensor(2), ints(3), tensor()).astuple(),
        "coordinates and extents differ",
    ),
    (relay.sparse_reshape(ints(2, 2), ints(3), ints(2)).astuple(), "coordinates and extents"),
    # matrices and sequences
    (relay.trilu(tensor(3), 0), "`trilu`: argument `data` has too few axes"),
    (relay.matrix_set_diag(x23, tensor(2), k=(1, 0)), "`k1` is above `k2`"),
    (relay.matrix_set_diag(x23, tensor(2), k=3), "there is no diagonal 3"),
    (relay.matrix_set_diag(x23, tensor(3)), "argument `diagonal` has the wrong shape"),
    (relay.sequence_mask(x23, ints(2)), "the number of sequences and of lengths differ"),
    (relay.sequence_mask(image, ints(8), axis=2), "`axis` is not one of the first two"),
    (relay.reverse_sequence(x23, ints(2), 0, 0), "`seq_axis` is `batch_axis`"),
    # layouts
    (relay.layout_transform(image, "NCHW", "NCHW3c"), "axis C does not fall into blocks"),
    (relay.layout_transform(image, "NCHW", "NCDW"), "`dst_layout` is no layout"),
    (relay.layout_transform(x23, "NCHW", "NHWC"), "argument `data` has the wrong rank"),
    (
        relay.auto_scheduler_layout_transform(x23, "2n3c", "3n2c"),
        "the layouts speak of different axes",
    ),
    (relay.auto_scheduler_layout_transform(x23, "2n3", "3n2c"), "`src_layout` is no layout"),
    (relay.auto_scheduler_layout_transform(x23, "2n4c", "4c2n"), "the wrong shape"),
    (relay.meta_schedule_layout_transform(x23, "i -> i"), "argument `data` has the wrong rank"),
    (relay.meta_schedule_layout_transform(x23, "i, j -> k"), "`index_map` is no index map"),
    (relay.meta_schedule_layout_transform(x23, "i, j -> i - 5"), "leaves the tensor"),
    # products and transforms
    (relay.einsum([x23, x23], "ij,jk->ik"), "`einsum`: extents of axis j differ"),
    (relay.einsum([x23], "ij,jk->ik"), "another number of operands"),
    (relay.einsum([x23], "ijk->k"), "operand 0 does not have the axes of the equation"),
    (relay.einsum([x23], "ii->i"), "`einsum`: extents of axis i differ"),
    (relay.einsum([x23], "ij->ik"), "`equation` is none"),
    (relay.einsum([x23], "ij->ii"), "`equation` is none"),
    (relay.dft(x23, tensor(2, 4)).astuple(), "argument `im_data` has the wrong shape"),
    (relay.dft(ints(2), ints(2)).astuple(), "argument `re_data` has the wrong element type"),
    (relay.rfft(tensor(2, 0)).astuple(), "there is no signal"),
    (relay.stft(tensor(4), 8), "the signal is shorter than a transform"),
    (relay.stft(tensor(20), 8, win_length=9), "`win_length` does not fit"),
    (relay.stft(tensor(2, 2, 20), 8), "argument `data` has the wrong rank"),
    (relay.fixed_point_multiply(x23, 1, 1), "argument `data` has the wrong element type"),
    (relay.fixed_point_multiply(ints(2), 2**31, 1), "`multiplier` is out of range"),
    # the rest
    (relay.reinterpret(x23, "int8"), "`reinterpret`: element types differ in width"),
    (relay.reinterpret(flags, "uint8"), "`reinterpret`: element types differ in width"),
    (relay.collapse_sum_to(x23, (2,)), "the shape does not broadcast"),
    (relay.broadcast_to_like(x23, tensor(3, 3)), "the shape does not broadcast"),
    (relay.meshgrid([x23]).astuple(), "a tensor has several axes"),
    (relay.meshgrid([tensor(2), ints(2)]).astuple(), "`meshgrid`: element types differ"),
    (relay.reverse_reshape(x23, (2, -4, 3)), "-4 is not followed by two values"),
    (relay.reverse_reshape(x23, (4, 0)), "the number of elements changes"),
]


@pytest.mark.parametrize(("expr", "message"), REFUSED)
def test_relations_refuse(expr: Any, message: str) -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(expr)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (relay.cumsum(tensor(n, 3)), "Tensor[(3 * n), float32]"),
        (relay.topk(tensor(n, ANY), 3, ret_type="values"), "Tensor[(n, 3), float32]"),
        (relay.argwhere(tensor(n, 3)), "Tensor[(?, 2), int32]"),
        (relay.rfft(tensor(3, 2 * n))[1], "Tensor[(3, n + 1), float32]"),
        (relay.gather_nd(tensor(n, 3, 4), ints(1, ANY)), "Tensor[(?, 3, 4), float32]"),
        (relay.gather_nd(tensor(n, 3), ints(ANY, 5), index_rank=1), "Tensor[(5, 3), float32]"),
        (relay.scatter_nd(tensor(n, 3), ints(ANY, 5), tensor(5, 3)), "Tensor[(n, 3), float32]"),
        (
            relay.layout_transform(tensor(1, 8 * n, 4, 4), "NCHW", "NCHW8c"),
            "Tensor[(1, n, 4, 4, 8), float32]",
        ),
        (
            relay.layout_transform(tensor(1, n, 4, 4, 8), "NCHW8c", "NHWC"),
            "Tensor[(1, 4, 4, 8 * n), float32]",
        ),
        (relay.einsum([tensor(n, 3), tensor(3, ANY)], "ij,jk->ki"), "Tensor[(?, n), float32]"),
        (relay.reverse_reshape(tensor(n, 3, 4), (-1, 0)), "Tensor[(3 * n, 4), float32]"),
        (relay.sliding_window(tensor(n, 9), 1, [3], [2]), "Tensor[(n, 4, 3), float32]"),
        (relay.sequence_mask(tensor(9, ANY), ints(4)), "Tensor[(9, 4), float32]"),
        (relay.stft(tensor(n), 8, 2), "Tensor[(5, (n // 2) - 3, 2), float32]"),
        (relay.unravel_index(ints(n), ints(3)), "Tensor[(3, n), int32]"),
        (relay.unique(tensor(n))[0], "Tensor[(n), float32]"),
        (relay.searchsorted(tensor(ANY), tensor(n, 2), dtype="int64"), "Tensor[(n, 2), int64]"),
    ],
)
def test_symbolic_extents_go_through(expr: Any, expected: str) -> None:
    assert type_text(expr) == expected


@pytest.mark.parametrize(
    ("expr", "index", "expected"),
    [
        (relay.stft(tensor(20), 8, 2, 4, relay.var("w")), 0, "Tensor[(4), float32]"),
        (relay.dft(tensor(2, n), relay.var("w")).astuple(), 0, "Tensor[(2, n), float32]"),
        (relay.matrix_set_diag(tensor(n, 3, 4), relay.var("w")), 0, "Tensor[(n, 3), float32]"),
        (relay.fixed_point_multiply(relay.var("w"), 1, 1), 0, "Tensor[(5), int32]"),
    ],
)
def test_relations_give_arguments_their_types(expr: Any, index: int, expected: str) -> None:
    unknown = [v for v in relay.analysis.free_vars(expr) if v.name_hint == "w"]
    declared = TensorType((5,), "int32") if expr.op.name == "fixed_point_multiply" else None
    function = infer_expr(relay.Function(tuple(unknown), expr, declared))
    assert str(function.params[index].type_annotation) == expected


# --- values ------------------------------------------------------------------------------------


def test_sorting_is_stable_in_both_directions() -> None:
    data = np.array([2, 1, 2, 1, 2], "int32")
    np.testing.assert_array_equal(run("argsort", data), [1, 3, 0, 2, 4])
    np.testing.assert_array_equal(run("argsort", data, is_ascend=False), [0, 2, 4, 1, 3])
    lowest = np.array([-128, 127, -128], "int8")
    np.testing.assert_array_equal(run("sort", lowest, is_ascend=False), [127, -128, -128])


def test_nan_is_the_greatest_and_one_value() -> None:
    data = np.array([1.0, np.nan, -np.inf, np.inf, np.nan], "float32")
    np.testing.assert_array_equal(run("argsort", data), [2, 0, 3, 1, 4])
    np.testing.assert_array_equal(run("argsort", data, is_ascend=False), [1, 4, 3, 0, 2])
    values, first, inverse, count = run("unique", data)
    np.testing.assert_array_equal(values, [-np.inf, 1, np.inf, np.nan, 0])
    np.testing.assert_array_equal(first, [2, 0, 3, 1, 0])
    np.testing.assert_array_equal(inverse, [1, 3, 0, 2, 3])
    np.testing.assert_array_equal(count, [4])


def test_indices_outside_are_clamped_or_write_nothing() -> None:
    data = np.arange(4.0)
    np.testing.assert_array_equal(run("gather_nd", data, np.array([[-3, 9]])), [0, 3])
    np.testing.assert_array_equal(run("adv_index", (data, np.array([-1, -9, 9]))), [3, 0, 3])
    far = np.array([-1, -5, 4, 2**40], "int64")
    found = run("scatter_elements", data, far, np.full(4, 7.0))
    np.testing.assert_array_equal(found, [0, 1, 2, 7])
    found = run("scatter_nd", data, far[None], np.full(4, 7.0), mode="add")
    np.testing.assert_array_equal(found, [0, 1, 2, 10])
    huge = np.array([2**64 - 1, 0], "uint64")
    np.testing.assert_array_equal(run("scatter_elements", data, huge, np.ones(2)), [1, 1, 2, 3])
    with pytest.raises(EvaluationError, match="an axis without elements"):
        run("gather_nd", np.zeros((0, 2)), np.array([[1]]))


def test_of_several_updates_the_last_one_stays() -> None:
    data = np.zeros(2, "int8")
    places, updates = np.array([0, 1, 0]), np.array([1, 2, 3], "int8")
    np.testing.assert_array_equal(run("scatter_elements", data, places, updates), [3, 2])
    np.testing.assert_array_equal(run("scatter_nd", data, places[None], updates), [3, 2])
    found = run("sparse_to_dense", places, updates, data[0], output_shape=2)
    np.testing.assert_array_equal(found, [3, 2])


def test_narrow_elements_add_up_in_wide_ones() -> None:
    data, updates = np.zeros(1, "float16"), np.full(4096, 1.0, "float16")
    found = run("scatter_elements", data, np.zeros(4096, int), updates, reduction="add")
    assert found.dtype == np.float16 and found == 4096
    np.testing.assert_array_equal(run("cumsum", updates)[-1], np.float16(4096))


def test_nan_passes_through_scattered_minima() -> None:
    data = np.array([1.0, np.nan], "float32")
    updates = np.array([np.nan, 0.0], "float32")
    found = run("scatter_elements", data, np.array([0, 1]), updates, reduction="min")
    np.testing.assert_array_equal(found, [np.nan, np.nan])


def test_fixed_point_rounds_halves_upwards_and_wraps() -> None:
    data = np.array([-3, -1, 1, 3, 2**31 - 1, -(2**31)], "int32")
    np.testing.assert_array_equal(
        run("fixed_point_multiply", data, multiplier=2**30, shift=0),
        [-1, 0, 1, 2, 2**30, -(2**30)],
    )
    np.testing.assert_array_equal(
        run("fixed_point_multiply", data, multiplier=2**30, shift=2),
        [-6, -2, 2, 6, -2, 0],
    )
    assert run("fixed_point_multiply", data, multiplier=-(2**31), shift=-32)[-1] == 1
    np.testing.assert_array_equal(
        run("fixed_point_multiply", data, multiplier=2**30, shift=-90), np.zeros(6)
    )


def test_a_slice_takes_only_what_fits_into_it() -> None:
    data, bounds = np.zeros((4, 2)), (np.array([1]), np.array([3]), np.array([1]))
    assert run("strided_set", data, np.ones((2, 2)), *bounds).sum() == 4
    with pytest.raises(EvaluationError, match="does not fit into the slice"):
        run("strided_set", data, np.ones((1, 2)), *bounds)
    with pytest.raises(EvaluationError, match="a stride is zero"):
        run("strided_set", data, np.ones((2, 2)), *bounds[:2], np.array([0]))
    with pytest.raises(EvaluationError, match="`axes` is out of range"):
        run("strided_set", data, np.ones((2, 2)), *(np.array([1, 1, 1]),) * 3)
    with pytest.raises(TypeCheckError, match="a stride of `strided_set` is zero"):
        relay.strided_set(relay.const(data), relay.const(data), [0], [1], [0])


def test_compiled_code_refuses_a_stride_of_zero() -> None:
    data = relay.const(np.zeros(5, "float32"))
    stride = relay.var("stride", shape=(1,), dtype="int64")
    made = relay.strided_set(data, relay.const(np.ones(2, "float32")), [1], [5], stride)
    exe = relay.compile(relay.Function([stride], made))
    assert exe(np.array([2])).tolist() == [0, 1, 0, 1, 0]
    with pytest.raises(EvaluationError, match="a stride of `strided_set` is zero"):
        exe(np.array([0]))


def test_compiled_code_refuses_another_number_of_elements() -> None:
    indices, shape, other = (
        relay.var(name, shape=extents, dtype="int64")
        for name, extents in (("indices", (1, 2)), ("shape", (2,)), ("other", (2,)))
    )
    made = relay.sparse_reshape(indices, shape, other).astuple()
    exe = relay.compile(relay.Function([indices, shape, other], made))

    def ask(before: list[int], after: list[int]) -> list[list[int]]:
        return [
            found.tolist() for found in exe(np.array([[1, 2]]), *map(np.array, (before, after)))
        ]

    assert ask([2, 6], [-1, 3]) == [[[2, 2]], [4, 3]]
    for before, after, message in (
        ([2, 6], [5, 3], "the number of elements"),
        ([2, 6], [-1, -1], "the number of extents of `new_shape` to be inferred"),
        ([0, 6], [-1, 0], "the number of elements beside an inferred extent"),
        ([2**62, 3], [-1, 3], "an extent of `prev_shape`"),
        ([2, 6], [2**62, 2**62], "an extent of `new_shape`"),
        ([2, -6], [2, -6], "an extent of `prev_shape`"),
    ):
        with pytest.raises(EvaluationError, match=f"{message}.* is out of range"):
            ask(before, after)


@pytest.mark.parametrize("numbers", [[0, 2, 2], [0, 3, 1], [0, -1, 1]])
def test_compiled_code_refuses_what_is_no_permutation(numbers: list[int]) -> None:
    x = relay.var("x", shape=(relay.Any(),), dtype="int64")
    inverted = relay.compile(relay.Function([x], relay.invert_permutation(x)))
    with pytest.raises(EvaluationError, match="each of them once, is out of range"):
        inverted(np.array(numbers))


def test_runs_refuse_what_types_could_not_tell() -> None:
    with pytest.raises(EvaluationError, match="is no permutation"):
        run("invert_permutation", np.array([0, 2, 2]))
    with pytest.raises(EvaluationError, match="the number of elements of a sparse tensor changes"):
        run("sparse_reshape", np.zeros((1, 2), int), np.array([2, 3]), np.array([-1, 4]))
    with pytest.raises(EvaluationError, match="the shape does not broadcast"):
        run("collapse_sum_to", np.zeros((2, 3)), np.array([2]))
    with pytest.raises(EvaluationError, match="fewer than `k` elements"):
        run("topk", np.zeros(2), k=3)
    with pytest.raises(EvaluationError, match="is shorter than that of shape_like"):
        run("slice_like", np.zeros(2), np.zeros(3))


def test_diagonals_are_aligned_as_asked() -> None:
    with pytest.raises(RelayError, match="two of LEFT and RIGHT"):
        relay.matrix_set_diag(x23, tensor(2), align="UP_DOWN")
    call = relay.matrix_set_diag(x23, tensor(2, 2), k=(0, 1), align="LEFT_RIGHT")
    assert (call.attrs.super_diag_right_align, call.attrs.sub_diag_right_align) == (False, True)
    assert (call.attrs.k1, call.attrs.k2) == (0, 1)


def test_a_grid_has_as_many_tensors_as_it_was_given() -> None:
    axes = relay.Tuple((tensor(2), tensor(3)))
    assert len(relay.meshgrid(axes)) == len(relay.meshgrid([tensor(2), tensor(3)])) == 2
    assert len(relay.meshgrid(relay.split(tensor(6), 3))) == 3
    with pytest.raises(RelayError, match="takes several tensors, found Var"):
        relay.meshgrid(tensor(2))


def test_a_window_of_ones_is_the_window_that_is_absent() -> None:
    signal = relay.var("signal", shape=(12,), dtype="float64")
    module = relay.IRModule.from_expr(relay.Function((signal,), relay.stft(signal, 4)))
    values = np.random.default_rng(0).normal(size=12)
    found = relay.create_executor("debug", mod=module).evaluate()(values).numpy()
    expected = run("stft", values, np.ones(4), n_fft=4)
    np.testing.assert_array_equal(found, expected)
