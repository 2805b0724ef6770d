"""Operators written as loops, at sizes and values that their samples do not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay import dtypes, te
from relay.op.opdef import Sample, Tensor, get, sample
from relay.op.random import threefry
from relay.op.shapes import output_type, value_type
from relay.te.evaluate import evaluate

GENERATOR = np.random.default_rng(7)


def boxes(*shape: int) -> np.ndarray:
    """Boxes, two corners each, that overlap a good deal."""
    corner = GENERATOR.integers(0, 12, (*shape, 2))
    return np.concatenate((corner, corner + GENERATOR.integers(-2, 9, (*shape, 2))), -1)


def rows(batch: int, count: int) -> np.ndarray:
    """Class, score, and a box; some have no class, some scores are equal and one is no number."""
    found = np.empty((batch, count, 6), "float32")
    found[..., 0] = GENERATOR.integers(-1, 3, (batch, count))
    found[..., 1] = GENERATOR.integers(0, 20, (batch, count)) / 20
    found[..., 2:] = boxes(batch, count)
    found[0, 3, 1] = np.nan
    return found


def sparse(height: int, width: int, blocks: tuple[int, ...] = ()) -> list[np.ndarray]:
    """The parts of a sparse matrix; one row of blocks is empty, one place is stored twice."""
    counts = GENERATOR.integers(0, width, height)
    counts[height // 2] = 0
    indices = GENERATOR.integers(0, width, counts.sum()).astype("int32")
    data = GENERATOR.normal(size=(len(indices), *blocks)).astype("float32")
    return [data, indices, np.concatenate(([0], np.cumsum(counts))).astype("int32")]


def scalar(value: float, dtype: str = "float32") -> np.ndarray:
    return np.array(value, dtype)


NMS_ROWS = rows(2, 40)
NMS_ARGS = (NMS_ROWS, np.array([40, 31], "int32"), np.arange(80, dtype="int32").reshape(2, 40))

CASES: list[tuple[str, Sample]] = [
    ("sort", sample((3, 37), dtype="int8")),
    ("sort", sample((2, 17, 3), axis=1, is_ascend=False)),
    ("argsort", sample((33, 2), axis=0, dtype="int32", is_ascend=False)),
    ("topk", sample((3, 40), k=4, dtype="int32")),
    ("topk", sample((50, 2), k=7, axis=0, is_ascend=True, dtype="int8")),
    ("topk", sample(np.full((40,), np.nan, "float32"), k=3)),
    ("searchsorted", sample(np.sort(GENERATOR.integers(0, 9, (3, 20))), Tensor((3, 11), "int64"))),
    ("unique", sample(Tensor((50,), "int32", -4, 5), return_counts=True)),
    ("unique", sample(Tensor((50,), "int32", -4, 5), sorted=False, return_counts=True)),
    (
        "scatter_elements",
        sample((3, 5, 4), Tensor((3, 9, 4), "int32", -6, 6), (3, 9, 4), axis=1, reduction="add"),
    ),
    (
        "scatter_elements",
        sample((4, 6), np.full((4, 6), 2**64 - 1, "uint64"), (4, 6), axis=1, dtype="int32"),
    ),
    ("scatter_nd", sample((5, 4, 3), Tensor((2, 30), "int64", -6, 6), (30, 3), mode="mul")),
    ("dft", sample((2, 3, 24), (2, 3, 24))),
    ("dft", sample((37, 60), (37, 60), inverse=True)),
    ("dft", sample((3, 74), (3, 74))),
    ("rfft", sample((3, 2, 96))),
    ("stft", sample((3, 100), (16,), n_fft=16, hop_length=3, onesided=False)),
    ("stft", sample((2, 60), (11,), n_fft=11, hop_length=7, win_length=11)),
    ("random.threefry_generate", sample(threefry.make_key(5), out_shape=(3, 5, 2))),
    ("random.multinomial", sample(threefry.make_key(6), Tensor((4, 33), low=0), num_samples=20)),
    ("nn.sparse_dense", sample((7, 12), *sparse(9, 12))),
    ("nn.sparse_dense", sample((5, 12), *sparse(4, 3, (3, 4)), sparse_lhs=True)),
    ("nn.sparse_add", sample((9, 12), *sparse(9, 12))),
    ("nn.sparse_transpose", sample(*sparse(11, 11))),
    ("nn.sparse_conv2d", sample((1, 2, 4, 3), *sparse(5, 30), layout="NCHW", kernel_size=(5, 3))),
    ("vision.get_valid_counts", sample(NMS_ROWS, scalar(0.4))),
    ("vision.non_max_suppression", sample(*NMS_ARGS, scalar(-1, "int32"), scalar(0.3))),
    (
        "vision.non_max_suppression",
        sample(*NMS_ARGS, scalar(9, "int32"), scalar(0.2), top_k=25, return_indices=False),
    ),
    (
        "vision.all_class_non_max_suppression",
        sample(
            boxes(2, 25).astype("float32"),
            Tensor((2, 3, 25), "float32", 0, 1),
            scalar(6, "int32"),
            scalar(0.3),
            scalar(0.2),
        ),
    ),
    (
        "vision.regular_non_max_suppression",
        sample(
            boxes(2, 25).astype("float32"),
            Tensor((2, 25, 4), "float32", 0, 1),
            max_detections_per_class=5,
            max_detections=9,
            num_classes=3,
            iou_threshold=0.3,
            score_threshold=0.3,
        ),
    ),
    (
        "vision.proposal",
        sample(
            Tensor((2, 6, 4, 5), low=0, high=1),
            Tensor((2, 12, 4, 5), low=-0.4, high=0.4),
            np.array([[60, 70, 1], [50, 80, 2]], "float32"),
            scales=(1.0, 3.0, 0.5),
            ratios=(1.0,),
            threshold=0.4,
            rpn_pre_nms_top_n=40,
            rpn_post_nms_top_n=13,
            rpn_min_size=6,
        ),
    ),
    (
        "vision.roi_align",
        sample(
            (2, 2, 5, 7, 2),
            np.array([[0, 1, 2, 30, 19], [1, -7, -3, 4, 2], [5, 3, 3, 3, 3]], "float32"),
            pooled_size=(3, 2),
            spatial_scale=0.4,
            layout="NCHW2c",
        ),
    ),
    (
        "vision.roi_pool",
        sample(
            (2, 2, 5, 7, 2),
            np.array([[0, 1, 2, 30, 19], [1, -7, -3, 4, 2], [5, 50, 60, 70, 80]], "float32"),
            pooled_size=(3, 2),
            spatial_scale=0.4,
            layout="NCHW2c",
        ),
    ),
]


def specs(ty: Any) -> Any:
    if hasattr(ty, "fields"):
        return tuple(map(specs, ty.fields))
    return te.Spec(tuple(map(te.index, ty.shape)), ty.dtype)


@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(CASES)]
)
def test_the_loops_do_what_the_reference_does(name: str, case: Sample) -> None:
    op, values = get(name), case.values()
    made = op.make_attrs(case.attrs)
    attrs = dict(made.items()) if made is not None else {}
    tensors = [te.placeholder(v.shape, dtypes.canonical(v.dtype), "x") for v in values]
    out = specs(output_type(op, tuple(map(value_type, values)), made, values))
    found = op.compute(*tensors, out=out, **attrs)
    expected = op.reference(*values, **attrs)
    results = evaluate(
        found if isinstance(found, tuple) else (found,), dict(zip(tensors, values, strict=True))
    )
    parts = expected if isinstance(expected, tuple) else (expected,)
    for mine, theirs in zip(results, parts, strict=True):
        assert mine.dtype == theirs.dtype
        if dtypes.is_float(dtypes.canonical(mine.dtype)):
            np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(mine, theirs)
