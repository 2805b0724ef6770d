"""Convolutions: short forms of attributes, types learnt, what is refused, and how they belong
together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import relay
from relay import nn
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, RelayError, TypeCheckError
from relay.ir.expr import Function, Var
from relay.ir.types import ShapeVar, TensorType
from relay.lower.lower_dynamic import lower_dynamic
from relay.op.opdef import get
from relay.target.target import Target
from tests.frontend.onnx.oracle import model, runtime
from tests.support.dynamic_kernels import DynamicFunction

ANY = relay.Any()
n = ShapeVar("n")
GENERATOR = np.random.default_rng(0)


def tensor(*shape: Any, dtype: str = "float32") -> Var:
    return relay.var("x", TensorType(shape, dtype))


def shape_of(expr: Any) -> tuple[Any, ...]:
    return infer_expr(expr).checked_type.shape


def learnt(expr: Any, *unknown: Var) -> list[str]:
    """The types that inference finds for parameters without one."""
    return [str(param.type_annotation) for param in infer_expr(Function(unknown, expr)).params]


def run(name: str, *args: Any, **attrs: Any) -> Any:
    return get(name).reference(*args, **dict(get(name).make_attrs(attrs).items()))


def uniform(*shape: int) -> np.ndarray:
    return GENERATOR.uniform(-1, 1, shape)


# --- attributes --------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", [1, (1,), (1, 1), [1, 1, 1, 1], np.array([1, 1])])
def test_padding_has_one_form_however_it_was_given(padding: Any) -> None:
    call = nn.conv2d(tensor(1, 3, 5, 5), tensor(4, 3, 3, 3), padding=padding, strides=2)
    assert call.attrs.padding == (1, 1, 1, 1)
    assert call.attrs.strides == (2, 2)
    pool = nn.max_pool3d(tensor(1, 3, 5, 5, 5), pool_size=2, padding=(0, 1, 0))
    assert (pool.attrs.pool_size, pool.attrs.padding) == ((2, 2, 2), (0, 1, 0, 0, 1, 0))


def test_text_with_short_forms_reads_as_the_same_program() -> None:
    text = """
    #[version = "0.0.5"]
    def @main(%x: Tensor[(1, 3, 5, 5), float32], %w: Tensor[(4, 3, 3, 3), float32]) {{
      nn.conv2d(%x, %w, padding={})
    }}
    """
    short, long = (relay.parse(text.format(form)) for form in ("[1, 1]", "[1, 1, 1, 1]"))
    assert short.astext() == long.astext()


def test_padding_helpers() -> None:
    assert nn.utils.get_pad_tuple1d(3) == (3, 3)
    assert nn.utils.get_pad_tuple1d((1, 2)) == (1, 2)
    assert nn.utils.get_pad_tuple2d((1, 2)) == (1, 2, 1, 2)
    assert nn.utils.get_pad_tuple2d([1, 2, 3, 4]) == (1, 2, 3, 4)
    assert nn.utils.get_pad_tuple3d((1, 2, 3)) == (1, 2, 3, 1, 2, 3)
    with pytest.raises(RelayError, match="1 or 2 or 4 values"):
        nn.utils.get_pad_tuple2d((1, 2, 3))


# --- types -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (lambda w: nn.conv1d(tensor(1, 4, 9), w, channels=8, kernel_size=3, groups=2), "8, 2, 3"),
        (
            lambda w: nn.conv3d(tensor(1, 4, 9, 9, 9), w, channels=8, kernel_size=(1, 2, 3)),
            "8, 4, 1, 2, 3",
        ),
        (
            lambda w: nn.conv2d_transpose(
                tensor(1, 4, 9, 9), w, channels=6, kernel_size=2, groups=2
            ),
            "4, 3, 2, 2",
        ),
        (
            lambda w: nn.conv2d_transpose(
                tensor(1, 9, 9, 4),
                w,
                channels=6,
                kernel_size=2,
                data_layout="NHWC",
                kernel_layout="HWOI",
            ),
            "2, 2, 6, 4",
        ),
        (
            lambda w: nn.contrib_conv2d_nchwc(
                tensor(1, 2, 9, 9, 8), w, channels=32, kernel_size=3, kernel_layout="OIHW8i16o"
            ),
            "2, 2, 3, 3, 8, 16",
        ),
        (
            lambda w: nn.contrib_conv2d_winograd_without_weight_transform(
                tensor(1, 4, 9, 9), w, 4, channels=8, kernel_size=3
            ),
            "6, 6, 8, 4",
        ),
        (
            lambda w: nn.contrib_conv3d_winograd_without_weight_transform(
                tensor(1, 4, 9, 9, 9), w, 4, channels=8, kernel_size=(1, 3, 3)
            ),
            "1, 6, 6, 8, 4",
        ),
        (lambda w: nn.contrib_dense_pack(tensor(2, 6), w, "NC4n2c", units=8), "2, 3, 4, 2"),
    ],
)
def test_channels_and_window_give_the_weight_its_type(build: Any, found: str) -> None:
    weight = relay.var("w")
    assert learnt(build(weight), weight) == [f"Tensor[({found}), float32]"]


def test_offsets_and_gradients_get_their_types() -> None:
    offset, weight = relay.var("o"), relay.var("w")
    call = nn.deformable_conv2d(
        tensor(2, 4, 9, 9), offset, weight, deformable_groups=2, channels=8, kernel_size=3
    )
    assert learnt(call, offset, weight) == [
        "Tensor[(2, 36, 7, 7), float32]",
        "Tensor[(8, 4, 3, 3), float32]",
    ]
    grad = relay.var("g")
    call = nn.conv2d_backward_weight(
        grad, tensor(2, 4, 9, 9), kernel_size=3, channels=8, strides=2, grad_layout="NHWC"
    )
    assert learnt(call, grad) == ["Tensor[(2, 4, 4, 8), float32]"]


def test_symbolic_extents_go_through() -> None:
    assert shape_of(nn.conv1d(tensor(1, 4, n), tensor(8, 4, 3), strides=2, padding=1)) == (
        1,
        8,
        (n - 1) // 2 + 1,
    )
    call = nn.conv2d_transpose(
        tensor(n, 4, n, 7), tensor(4, 8, 4, 4), strides=2, padding=1, output_padding=1
    )
    assert shape_of(call) == (n, 8, 2 * n + 1, 15)
    blocked = nn.contrib_conv2d_nchwc(tensor(1, n, 7, 7, 8), tensor(16, 8 * n, 3, 3))
    assert shape_of(blocked) == (1, 2, 5, 5, 8)
    assert shape_of(nn.conv2d(tensor(1, ANY, 7, 7), tensor(8, 4, 3, 3))) == (1, 8, 5, 5)


image, kernel = tensor(1, 4, 8, 8), tensor(6, 4, 3, 3)
REFUSED: list[tuple[Any, str]] = [
    (nn.conv1d(image, kernel), "`nn.conv1d`: argument `data` has the wrong rank"),
    (nn.conv2d(image, kernel, data_layout="NCHW3c"), "argument `data` has the wrong rank"),
    (nn.conv2d(image, kernel, out_layout="NCHW4c"), "axis C does not fall into blocks"),
    (nn.conv2d(image, kernel, kernel_layout="OIHWc"), "`kernel_layout` is no layout"),
    (nn.conv2d(image, kernel, padding=-1), "`padding` does not fit"),
    (
        nn.contrib_conv2d_nchwc(tensor(1, 2, 8, 8, 4), kernel),
        "argument `data` does not have the blocks of its layout",
    ),
    (
        nn.contrib_depthwise_conv2d_nchwc(
            tensor(1, 1, 8, 8, 8), tensor(8, 1, 3, 3), groups=4, kernel_layout="OIHW"
        ),
        "input channels and `groups` differ",
    ),
    (nn.conv2d_transpose(image, kernel), "input channels of weight and data differ"),
    (
        nn.conv2d_transpose(image, tensor(4, 6, 3, 3), padding=6),
        "padding cuts off more than there is",
    ),
    (
        nn.conv2d_transpose(image, tensor(4, 6, 3, 3), output_padding=-1),
        "`output_padding` does not fit",
    ),
    (nn.conv2d_transpose(image, tensor(4, 6, 3, 3), groups=3), "channels do not form 3 groups"),
    (nn.conv2d_backward_weight(image, image), "`kernel_size` is missing"),
    (
        nn.conv2d_backward_weight(image, image, kernel_size=3),
        "extents of gradient and windows of data differ",
    ),
    (
        nn.deformable_conv2d(image, tensor(1, 18, 6, 5), kernel),
        "argument `offset` has the wrong shape",
    ),
    (
        nn.deformable_conv2d(image, tensor(1, 18, 6, 6), kernel, deformable_groups=3),
        "input channels do not form 3 deformable_groups",
    ),
    (
        nn.deformable_conv2d(
            tensor(1, 4, 8, 8, dtype="int8"), tensor(1, 18, 6, 6), tensor(6, 4, 3, 3, dtype="int8")
        ),
        "argument `data` has the wrong element type",
    ),
    (
        nn.contrib_conv2d_winograd_without_weight_transform(image, tensor(6, 6, 8, 4), 4),
        "`kernel_size` is missing",
    ),
    (
        nn.contrib_conv2d_winograd_without_weight_transform(
            image, tensor(5, 6, 8, 4), 4, kernel_size=3
        ),
        "extents of weight and transformed window differ",
    ),
    (nn.contrib_conv2d_winograd_weight_transform(kernel, 12), "does not take a window"),
    (nn.contrib_conv2d_winograd_weight_transform(kernel, 0), "`tile_size` is not positive"),
    (
        nn.contrib_conv2d_winograd_nnpack_weight_transform(kernel, 1),
        "`convolution_algorithm` is none of Winograd's",
    ),
    (
        nn.contrib_conv2d_winograd_nnpack_weight_transform(tensor(6, 4, 5, 3), 3),
        "extents of the window and 3 differ",
    ),
    (nn.contrib_conv2d_gemm_weight_transform(kernel, 0, 4), "tiles are empty"),
    (
        nn.contrib_conv2d_gemm_without_weight_transform(image, tensor(2, 9, 4, 4)),
        "`channels` or `kernel_size` is missing",
    ),
    (
        nn.contrib_conv2d_gemm_without_weight_transform(
            image, tensor(2, 8, 4, 4), channels=6, kernel_size=3
        ),
        "tiles of the products of a channel differ",
    ),
]


@pytest.mark.parametrize(("expr", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_has_no_type_is_refused_in_words(expr: Any, message: str) -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(expr)
    first = error.value.diagnostics[0]
    assert message in first.message
    assert first.expected and first.found


# --- how they belong together ------------------------------------------------------------------

STEPS: list[dict[str, Any]] = [
    {},
    {"strides": (2, 1), "padding": (1, 0, 2, 1)},
    {"dilation": (1, 2), "padding": 2, "strides": 3},
    {"groups": 2, "padding": (0, 1)},
]


@pytest.mark.parametrize("steps", STEPS)
def test_a_transposed_convolution_is_the_transpose_of_a_convolution(steps: dict[str, Any]) -> None:
    groups = steps.get("groups", 1)
    x, w = uniform(2, 4, 7, 8), uniform(6, 4 // groups, 3, 2)
    result = run("nn.conv2d", x, w, **steps)
    y = uniform(*result.shape)
    shortest = run("nn.conv2d_transpose", y, w, **steps)
    more = tuple(a - b for a, b in zip(x.shape[2:], shortest.shape[2:], strict=True))
    back = run("nn.conv2d_transpose", y, w, output_padding=more, **steps)
    np.testing.assert_allclose((result * y).sum(), (x * back).sum(), rtol=1e-10)


@pytest.mark.parametrize("steps", STEPS)
def test_the_gradient_of_a_weight_is_another_transpose(steps: dict[str, Any]) -> None:
    groups = steps.get("groups", 1)
    x, w = uniform(2, 4, 7, 8), uniform(6, 4 // groups, 3, 2)
    result = run("nn.conv2d", x, w, **steps)
    y = uniform(*result.shape)
    back = run("nn.conv2d_backward_weight", y, x, kernel_size=(3, 2), **steps)
    np.testing.assert_allclose((result * y).sum(), (w * back).sum(), rtol=1e-10)


@pytest.mark.parametrize("steps", STEPS)
def test_offsets_of_zero_bend_nothing(steps: dict[str, Any]) -> None:
    groups = steps.get("groups", 1)
    x, w = uniform(2, 4, 7, 8), uniform(6, 4 // groups, 3, 2)
    expected = run("nn.conv2d", x, w, **steps)
    offsets = np.zeros((2, 12, *expected.shape[2:]))
    found = run("nn.deformable_conv2d", x, offsets, w, **steps)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_an_offset_that_leads_far_away_or_nowhere_finds_zero() -> None:
    x, w = uniform(1, 1, 3, 3), np.ones((1, 1, 1, 1))
    for far in (99.0, -99.0, np.inf, -np.inf, np.nan):
        offsets = np.full((1, 2, 3, 3), far)
        assert not run("nn.deformable_conv2d", x, offsets, w).any()


def test_at_a_border_the_elements_there_fade_as_in_onnx_runtime() -> None:
    x, w = uniform(1, 1, 3, 3).astype("float32"), np.ones((1, 1, 1, 1), "float32")
    for move in (-1.25, -1.0, -0.5, 0.5, 1.0, 1.25):
        offsets = np.full((1, 2, 3, 3), move, "float32")
        (expected,) = runtime(model("DeformConv", x, w, offsets, opset=19), x, w, offsets)
        found = run("nn.deformable_conv2d", x, offsets, w)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("layout", ["".join(p) for p in itertools.permutations("NCHW")][::5])
@pytest.mark.parametrize("name", ["nn.conv2d", "nn.conv2d_transpose"])
def test_a_layout_changes_where_elements_stand_and_nothing_else(name: str, layout: str) -> None:
    rows = "OI" if name == "nn.conv2d" else "IO"
    x, w = uniform(2, 3, 5, 6), uniform(4, 3, 3, 2) if rows == "OI" else uniform(3, 4, 3, 2)
    steps: dict[str, Any] = {"strides": (2, 1), "padding": (0, 1), "dilation": (1, 2)}
    expected = run(name, x, w, **steps)
    order = ["NCHW".index(letter) for letter in layout]
    kernel_layout = layout.replace("N", rows[0]).replace("C", rows[1])
    kernel_order = [(rows + "HW").index(letter) for letter in kernel_layout]
    found = run(
        name,
        x.transpose(order),
        w.transpose(kernel_order),
        data_layout=layout,
        kernel_layout=kernel_layout,
        **steps,
    )
    np.testing.assert_allclose(found, expected.transpose(order), rtol=1e-10, atol=1e-12)


def test_integers_wrap_in_the_type_of_the_result() -> None:
    data, weight = np.full((1, 1, 3), 100, "int8"), np.full((1, 1, 3), 100, "int8")
    assert run("nn.conv1d", data, weight).item() == np.int64(30000).astype("int8")
    found = run("nn.conv1d_transpose", data, weight)
    assert (
        found.ravel().tolist() == np.array([1e4, 2e4, 3e4, 2e4, 1e4], int).astype("int8").tolist()
    )
    assert run("nn.conv1d", data, weight, out_dtype="int32").item() == 30000


# --- sizes that a run finds ----------------------------------------------------------------------


def dynamic(expr: Any, *params: Var) -> DynamicFunction:
    target = Target.host()
    function = infer_expr(Function(params, expr))
    return DynamicFunction(lower_dynamic(function, [False] * len(params), target), target)


@pytest.mark.parametrize(
    ("data", "weight"),
    [
        ((1, 4, 5), (6, 2, 3)),  # two groups of two input channels
        ((1, 2, 5), (2, 3, 3)),  # (channels, multiplier)
        ((2, 2, 5), (2, 1, 3)),
        ((1, 2, 5), (6, 1, 3)),
    ],
)
def test_how_a_weight_of_groups_is_written_shows_in_a_run(data: Any, weight: Any) -> None:
    x, w = tensor(ANY, ANY, ANY), relay.var("w", TensorType((ANY, ANY, 3)))
    compiled = dynamic(nn.conv1d(x, w, groups=2), x, w)
    arrays = [GENERATOR.standard_normal(shape).astype("float32") for shape in (data, weight)]
    (found,) = compiled.run(arrays)
    np.testing.assert_allclose(found, run("nn.conv1d", *arrays, groups=2), 1e-5, 1e-6)


def test_a_run_refuses_a_weight_of_groups_that_does_not_fit() -> None:
    x, w = tensor(ANY, ANY, ANY), relay.var("w", TensorType((ANY, ANY, 3)))
    compiled = dynamic(nn.conv1d(x, w, groups=2), x, w)
    with pytest.raises(EvaluationError):
        compiled.run([np.zeros(shape, "float32") for shape in ((1, 6, 5), (2, 2, 3))])
