"""Type relations: what they learn in which direction, symbolic extents, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

import relay
from relay import dtypes
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, TypeCheckError
from relay.ir import dims
from relay.ir.expr import Expr, Function, Var
from relay.ir.types import ShapeVar, TensorType, Type
from relay.op.opdef import get
from relay.op.site import running

ANY = relay.Any()
n, m = ShapeVar("n"), ShapeVar("m")


def tensor(*shape: Any, dtype: str = "float32") -> Var:
    return relay.var("x", TensorType(shape, dtype))


def type_of(expr: Any) -> Type:
    return infer_expr(expr).checked_type


def shape_of(expr: Any) -> tuple[Any, ...]:
    ty = type_of(expr)
    assert isinstance(ty, TensorType)
    return ty.shape


def learnt(expr: Any, *unknown: Var) -> list[str]:
    """The types that inference finds for parameters without one."""
    function = infer_expr(Function(unknown, expr))
    assert isinstance(function, Function)
    return [str(param.type_annotation) for param in function.params]


# --- learning ----------------------------------------------------------------------------------


def test_dense_gives_the_weight_its_type() -> None:
    weight = relay.var("w")
    assert learnt(relay.nn.dense(tensor(2, 3), weight, units=4), weight) == [
        "Tensor[(4, 3), float32]"
    ]
    call = relay.nn.matmul(tensor(5, 2, 3), weight, units=4, transpose_a=True, transpose_b=True)
    assert learnt(call, weight) == ["Tensor[(4, 2), float32]"]


@pytest.mark.parametrize(
    ("attrs", "found"),
    [
        ({}, "Tensor[(8, 4, 3, 2), float16]"),
        ({"groups": 2}, "Tensor[(8, 2, 3, 2), float16]"),
        ({"groups": 4}, "Tensor[(8, 1, 3, 2), float16]"),
        ({"kernel_layout": "HWIO"}, "Tensor[(3, 2, 4, 8), float16]"),
    ],
)
def test_conv2d_gives_the_weight_its_type(attrs: dict[str, Any], found: str) -> None:
    data, weight = tensor(1, 4, 9, 9, dtype="float16"), relay.var("w")
    call = relay.nn.conv2d(data, weight, channels=8, kernel_size=(3, 2), **attrs)
    assert learnt(call, weight) == [found]
    assert shape_of(infer_expr(Function((weight,), call)).body) == (1, 8, 7, 8)


def test_parameters_of_channels_get_their_types() -> None:
    bias = relay.var("b")
    assert learnt(relay.nn.bias_add(tensor(2, n, 4), bias), bias) == ["Tensor[(n), float32]"]
    unknown = [relay.var(name) for name in ("gamma", "beta", "mean", "var")]
    call = relay.nn.batch_norm(tensor(2, 3, 4), *unknown, axis=-1)
    assert learnt(call[0], *unknown) == ["Tensor[(4), float32]"] * 4


def test_elementwise_types_are_learnt_from_the_result() -> None:
    data = relay.var("x")
    function = Function((data,), relay.exp(data), TensorType((2, n)))
    found = infer_expr(function)
    assert str(found.params[0].type_annotation) == "Tensor[(2, n), float32]"


def test_variance_gives_the_mean_its_type() -> None:
    mean = relay.var("m")
    call = get("variance")(tensor(2, n, 4), mean, axis=1)
    assert learnt(call, mean) == ["Tensor[(2, 1, 4), float32]"]


def test_what_is_known_of_one_argument_makes_up_for_the_other() -> None:
    assert shape_of(relay.nn.bias_add(tensor(2, ANY, 4), tensor(3))) == (2, 3, 4)
    assert shape_of(relay.concatenate([tensor(2, ANY), tensor(2, 5), tensor(ANY, 5)], 0)) == (
        ANY,
        5,
    )
    assert shape_of(relay.nn.dense(tensor(ANY, ANY), tensor(4, 3))) == (ANY, 4)


# --- symbolic extents --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "codes", "expected"),
    [
        ((n, 4), [-1], "(4 * n)"),
        ((n, 2, 3), [0, -1], "(n, 6)"),
        ((n, m, 4), [0, -1], "(n, 4 * m)"),
        ((n, m), [-3], "(m * n)"),
        ((n, m), [-1, 0], "(n, m)"),
        ((2 * n, 3), [-4, -1, 2, 0], "(n, 2, 3)"),
        ((n,), [-1, 2], "(n // 2, 2)"),
        ((n, 4, m), [-2], "(n, 4, m)"),
        ((ANY, 4, 5), [0, -1], "(?, 20)"),
        ((ANY, 4, 5), [-1, 20], "(?, 20)"),
        ((ANY, ANY), [3, 4], "(3, 4)"),
        ((n * n, 2), [-1, 2], "(n * n, 2)"),
    ],
)
def test_reshape_works_with_symbols(shape: Any, codes: list[int], expected: str) -> None:
    assert str(type_of(relay.reshape(tensor(*shape), codes))) == f"Tensor[{expected}, float32]"


@pytest.mark.parametrize(
    ("begin", "end", "stride", "expected"),
    [
        (0, 3, 1, "min(3, n)"),
        (1, 2**31 - 1, 1, "max(0, n - 1)"),
        (-2, 2**31 - 1, 1, "min(2, n)"),
        (0, -1, 1, "max(0, n - 1)"),
        (2**31 - 1, -(2**31), -1, "n"),
        (0, 2**31 - 1, 1, "n"),
    ],
)
def test_slices_of_symbolic_extents(begin: int, end: int, stride: int, expected: str) -> None:
    found = shape_of(relay.strided_slice(tensor(n), [begin], [end], [stride]))
    assert str(found[0]) == expected


def test_the_length_of_a_slice_is_right_for_every_extent() -> None:
    bounds = (*range(-4, 5), 2**31 - 1, -(2**31) + 1)
    for begin in bounds:
        for end in bounds:
            for stride in (1, 2, -1, -3):
                call = relay.strided_slice(tensor(n), begin, end, stride)
                (length,) = shape_of(call)
                for extent in range(6):
                    found = dims.substitute(length, lambda _, e=extent: e)
                    assert found == len(range(extent)[begin:end:stride])


def test_windows_over_symbolic_extents() -> None:
    data, weight = tensor(n, 3, m, ANY), tensor(8, 3, 3, 3)
    found = shape_of(relay.nn.conv2d(data, weight, padding=1))
    assert found == (n, 8, m, ANY)
    found = shape_of(relay.nn.conv2d(data, weight, padding=1, strides=2))
    assert [str(d) for d in found] == ["n", "8", "(m + 1) // 2", "?"]
    found = shape_of(relay.nn.max_pool2d(data, pool_size=2, strides=2, ceil_mode=True))
    assert [str(d) for d in found] == ["n", "3", "(m + 1) // 2", "?"]


def test_joining_and_taking_apart_symbolic_extents() -> None:
    assert shape_of(relay.concatenate([tensor(n, 2), tensor(m, 2), tensor(3, 2)], 0)) == (
        n + m + 3,
        2,
    )
    assert shape_of(relay.split(tensor(4 * n), 2)[0]) == (2 * n,)
    assert shape_of(relay.split(tensor(n), [3])[1]) == (n - 3,)
    assert shape_of(relay.stack([tensor(n), tensor(n)], 1)) == (n, 2)
    assert shape_of(relay.tile(tensor(n, 2), (3, 1, 2))) == (3, n, 4)
    assert shape_of(relay.repeat(tensor(n, 2), 3)) == (6 * n,)
    assert shape_of(relay.nn.batch_flatten(tensor(n, m, 3))) == (n, 3 * m)


def test_broadcasting_of_symbols() -> None:
    assert shape_of(relay.add(tensor(n, 1), tensor(m))) == (n, m)
    assert shape_of(relay.add(tensor(ANY), tensor(3))) == (3,)
    assert shape_of(relay.add(tensor(ANY), tensor(1))) == (ANY,)
    assert shape_of(relay.where(tensor(2, 1, dtype="bool"), tensor(n), tensor(1))) == (2, n)
    with pytest.raises(TypeCheckError, match="operands do not broadcast"):
        type_of(relay.add(tensor(n), tensor(m)))
    with pytest.raises(TypeCheckError, match="operands do not broadcast"):
        type_of(relay.add(tensor(n), tensor(3)))


def test_a_batch_of_unknown_size_goes_through_a_layer() -> None:
    data = tensor(ANY, 3, 8, 8)
    layer = relay.nn.conv2d(data, relay.var("w"), channels=4, kernel_size=3, padding=1)
    layer = relay.nn.relu(relay.nn.bias_add(layer, relay.var("b")))
    layer = relay.nn.dense(relay.nn.batch_flatten(layer), relay.var("d"), units=10)
    assert shape_of(relay.nn.softmax(layer)) == (ANY, 10)


# --- refusing ----------------------------------------------------------------------------------

x23, x34 = tensor(2, 3), tensor(3, 4)
i23 = tensor(2, 3, dtype="int32")
image, kernel = tensor(1, 4, 8, 8), tensor(6, 4, 3, 3)

REFUSED: list[tuple[Any, str]] = [
    # broadcasting and element types
    (relay.add(x23, x34), "`add`: operands do not broadcast"),
    (relay.add(x23, i23), "`add`: element types differ"),
    (relay.where(x23, x23, x23), "`where`: argument `condition` has the wrong element type"),
    (relay.exp(i23), "`exp`: argument `data` has the wrong element type"),
    (relay.subtract(tensor(dtype="bool"), tensor(dtype="bool")), "`subtract`: argument `lhs`"),
    (relay.bitwise_and(x23, x23), "`bitwise_and`: argument `lhs` has the wrong element type"),
    (relay.left_shift(tensor(dtype="bool"), tensor(dtype="bool")), "`left_shift`: argument `lhs`"),
    (relay.logical_not(i23), "`logical_not`: argument `data`"),
    (relay.prod(tensor(2, dtype="bool")), "`prod`: argument `data`"),
    (relay.all(x23), "`all`: argument `data`"),
    (relay.exp(relay.Tuple((x23,))), "`exp`: argument `data` must be a tensor"),
    # axes
    (relay.sum(x23, axis=2), "`sum`: `axis` is out of range"),
    (relay.sum(x23, axis=(0, -2)), "`sum`: `axis` names an axis twice"),
    (relay.nn.softmax(x23, axis=-3), "`nn.softmax`: `axis` is out of range"),
    (relay.transpose(x23, (0,)), "`transpose`: `axes` is no permutation"),
    (relay.transpose(x23, (0, 0)), "`transpose`: `axes` names an axis twice"),
    (relay.expand_dims(x23, 4), "`expand_dims`: `axis` is out of range"),
    (relay.expand_dims(x23, 0, -1), "`expand_dims`: `num_newaxis` is negative"),
    (relay.reverse(x23, 5), "`reverse`: `axis` is out of range"),
    (relay.nn.batch_flatten(tensor()), "`nn.batch_flatten`: argument `data` has too few axes"),
    # shapes
    (relay.reshape(x23, (4,)), "`reshape`: the number of elements changes"),
    (relay.reshape(x23, (-1, 4)), "`reshape`: -1 has no whole value"),
    (relay.reshape(tensor(2 * n + 1), (-1, 2)), "`reshape`: -1 has no whole value"),
    (relay.reshape(x23, (-1, -1)), "`reshape`: `newshape`: -1 stands twice"),
    (relay.reshape(x23, (2, 3, 0)), "`reshape`: code 0 of `newshape` finds no extent"),
    (relay.reshape(x23, (-5,)), "`reshape`: `newshape`: -5 means nothing"),
    (relay.reshape(x23, (-4, 2)), "`reshape`: `newshape`: -4 is not followed by two values"),
    (relay.reshape(x23, (0, -4, 2, -1)), "`reshape`: `newshape`: -4 cannot split 3"),
    (relay.reshape(x23, (-4, 3, 3, 0)), "extents before and after the split differ"),
    (relay.reshape(x23, (-1, 0), allowzero=True), "-1 has no value when another extent is 0"),
    (relay.reshape(tensor(n), (3,)), "`reshape`: the number of elements changes"),
    (relay.reshape_like(x23, x34), "`reshape_like`: the number of elements changes"),
    (relay.reshape_like(x23, x23, lhs_begin=5), "`reshape_like`: `lhs_begin` is out of range"),
    (relay.squeeze(x23, 0), "`squeeze`: axis 0 is not of extent 1"),
    (relay.squeeze(tensor(1, n)), "`squeeze`: axis 1 may or may not have extent 1"),
    (relay.broadcast_to(x23, (3, 3)), "`broadcast_to`: the shape does not broadcast"),
    (relay.broadcast_to(x23, (3,)), "`broadcast_to`: the shape does not broadcast"),
    (relay.collapse_sum_like(x23, x34), "`collapse_sum_like`: the shape does not broadcast"),
    (relay.zeros((2, -1), "float32"), "`zeros`: an extent is negative"),
    (relay.full(x23, (2,)), "`full`: argument `fill_value` has the wrong rank"),
    (relay.tile(x23, (-1,)), "`tile`: `reps` has a negative value"),
    (relay.repeat(x23, -1), "`repeat`: `repeats` is negative"),
    # joining and taking apart
    (relay.concatenate(x23, 0), "`concatenate`: argument `data` must be a tuple of tensors"),
    (relay.concatenate([], 0), "`concatenate`: there is nothing to join"),
    (relay.concatenate([x23, tensor(2)], 0), "`concatenate`: ranks differ"),
    (relay.concatenate([x23, x34], 0), "`concatenate`: extents of axis 1 differ"),
    (relay.concatenate([x23, i23], 0), "`concatenate`: element types differ"),
    (relay.stack([x23, x34], 0), "`stack`: extents of axis 0 differ"),
    (relay.split(x23, 2, axis=1), "`split`: axis 1 has no 2 equal parts"),
    (relay.split(x23, 0), "`split`: the number of parts is not positive"),
    (relay.split(x23, (2, 1), axis=1), "`split`: the places to cut do not ascend"),
    (relay.split(x23, (4,), axis=1), "`split`: the places to cut do not ascend"),
    # indexing
    (relay.strided_slice(x23, [0], [1], [0]), "`strided_slice`: a stride is zero"),
    (relay.strided_slice(x23, [0], [1], axes=[2]), "`strided_slice`: `axes` is out of range"),
    (relay.strided_slice(x23, [0, 0, 0], [1, 1, 1]), "`strided_slice`: `axes` is out of range"),
    (relay.strided_slice(x23, [0], [1], axes=[0, 1]), "`axes` and `begin` differ in length"),
    (relay.take(x23, x23), "`take`: argument `indices` has the wrong element type"),
    (relay.take(x23, i23, axis=2), "`take`: `axis` is out of range"),
    (relay.take(x23, i23, axis=0, batch_dims=1), "`take`: `batch_dims` is out of range"),
    (relay.take(x34, i23, axis=1, batch_dims=1), "`take`: batch extents of axis 0 differ"),
    (relay.gather(x23, 0, tensor(2, dtype="int32")), "`gather`: argument `indices`"),
    (
        relay.gather(x23, 0, tensor(2, 4, dtype="int32")),
        "`gather`: axis 1 of indices is longer than that of data",
    ),
    (relay.one_hot(x23, relay.const(1), relay.const(0), 3), "`one_hot`: argument `indices`"),
    (relay.arange(relay.const(0), relay.const(1), relay.const(0)), "`arange`: the step is zero"),
    # products
    (relay.nn.dense(x23, x34), "`nn.dense`: last extents of data and weight differ"),
    (relay.nn.dense(x23, tensor(4, 3), units=5), "`nn.dense`: rows and `units` differ"),
    (relay.nn.dense(x23, tensor(3)), "`nn.dense`: argument `weight` has the wrong rank"),
    (relay.nn.dense(x23, tensor(4, 3), out_dtype="int32"), "`out_dtype` would cut off fractions"),
    (relay.nn.dense(i23, tensor(4, 3, dtype="int8")), "`nn.dense`: element types differ"),
    (relay.nn.matmul(x23, x23), "`nn.matmul`: inner extents differ"),
    (relay.nn.batch_matmul(x23, x23), "`nn.batch_matmul`: argument `tensor_a` has the wrong rank"),
    (relay.nn.batch_matmul(tensor(2, 3, 4), tensor(5, 3, 4)), "`nn.batch_matmul`: batches differ"),
    # convolutions, pools, channels
    (relay.nn.conv2d(x23, kernel), "`nn.conv2d`: argument `data` has the wrong rank"),
    (relay.nn.conv2d(image, tensor(6, 3, 3, 3)), "`nn.conv2d`: input channels differ"),
    (relay.nn.conv2d(image, kernel, channels=7), "output channels and `channels` differ"),
    (relay.nn.conv2d(image, kernel, kernel_size=5), "extents of weight and `kernel_size` differ"),
    (relay.nn.conv2d(image, kernel, groups=0), "`nn.conv2d`: `groups` is not positive"),
    (relay.nn.conv2d(image, tensor(6, 1, 3, 3), groups=4), "output channels do not form 4 groups"),
    (relay.nn.conv2d(image, kernel, strides=(1, 1, 1)), "`nn.conv2d`: `strides` does not fit"),
    (relay.nn.conv2d(image, kernel, padding=(1, 2, 3)), "`nn.conv2d`: `padding` does not fit"),
    (relay.nn.conv2d(image, kernel, dilation=4), "the window is larger than the padded input"),
    (relay.nn.conv2d(image, kernel, data_layout="NHW"), "`data_layout` is no layout"),
    (relay.nn.max_pool2d(image, pool_size=9), "the window is larger than the padded input"),
    (relay.nn.max_pool2d(x23), "`nn.max_pool2d`: argument `data` has the wrong rank"),
    (relay.nn.bias_add(x23, tensor(2)), "`nn.bias_add`: argument `bias` has the wrong shape"),
    (relay.nn.bias_add(x23, i23), "`nn.bias_add`: argument `bias` has the wrong type"),
    (relay.nn.pad(x23, ((1, 1),)), "`nn.pad`: `pad_width` does not fit the rank"),
    (relay.nn.pad(x23, ((-2, -1), (0, 0))), "`nn.pad`: axis 0 is too short for so many elements"),
    (relay.nn.pad(x23, ((2, 0), (0, 0)), pad_mode="reflect"), "axis 0 is too short"),
    (relay.nn.dropout(x23, rate=2.0), "`nn.dropout`: `rate` is no share"),
]


@pytest.mark.parametrize(("expr", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_has_no_type_is_refused_in_words(expr: Any, message: str) -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(expr.astuple() if isinstance(expr, relay.TupleWrapper) else expr)
    first = error.value.diagnostics[0]
    assert message in first.message
    assert first.expected and first.found


def test_an_error_shows_what_was_expected_and_found() -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(relay.nn.bias_add(tensor(2, 3), tensor(4)))
    found = error.value.diagnostics[0]
    assert found.message == "type mismatch in `nn.bias_add`: argument `bias` has the wrong shape"
    assert found.expected == "Tensor[(3), float32]"
    assert found.found == "Tensor[(4), float32]"


def test_relations_wait_while_nothing_is_known() -> None:
    unknown: list[Expr] = [relay.var("a"), relay.var("b")]
    for call in (relay.add(*unknown), relay.nn.dense(*unknown), relay.nn.conv2d(*unknown)):
        with pytest.raises(TypeCheckError):
            infer_expr(Function(tuple(unknown), call))


def test_a_running_site_fails_as_a_run_does() -> None:
    site = running("split", ("data",), (TensorType((3,)),), None)
    with pytest.raises(EvaluationError, match=r"^`split`: no"):
        site.fail("no", "this", "that")


@pytest.mark.parametrize("dtype", dtypes.MICROSCALING)
def test_microscaling_floats_are_moved_and_not_computed_with(dtype: str) -> None:
    x = relay.var("x", shape=(2, 3), dtype=dtype)
    for wrong in (relay.add(x, x), relay.exp(x), relay.sum(x), relay.nn.relu(x)):
        with pytest.raises(TypeCheckError, match=r"numeric|floating-point"):
            infer_expr(wrong)
    moved = relay.concatenate([relay.transpose(x), relay.cast(relay.transpose(x), dtype)], 1)
    assert str(infer_expr(moved).checked_type) == f"Tensor[(3, 4), {dtype}]"
