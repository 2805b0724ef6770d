"""Conversions and bounds that change nothing go; those that do stay."""

import numpy as np
import pytest

import relay
from relay import dtypes
from relay.transform import SimplifyExpr
from tests.transform.rewriting import assert_rewrites, assert_stays

PASS = SimplifyExpr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('cast(%x, dtype="float32")', "%x"),
        ('reinterpret(%i, dtype="int8")', "%i"),
        ('cast(cast(%x, dtype="float64"), dtype="float32")', "%x"),
        ('cast(cast(%i, dtype="int32"), dtype="int8")', "%i"),
        ('cast(cast(%i, dtype="int16"), dtype="int32")', 'cast(%i, dtype="int32")'),
        ('cast(cast(%k, dtype="int16"), dtype="int8")', 'cast(%k, dtype="int8")'),
        ('cast(cast(%i, dtype="float32"), dtype="float64")', 'cast(%i, dtype="float64")'),
        ('cast(cast(%i, dtype="float32"), dtype="int32")', 'cast(%i, dtype="int32")'),
        ('cast(cast(%c, dtype="float32"), dtype="int8")', 'cast(%c, dtype="int8")'),
        ('cast(cast(%x, dtype="float64"), dtype="int8")', 'cast(%x, dtype="int8")'),
        ('cast(cast(%x, dtype="float64"), dtype="float16")', 'cast(%x, dtype="float16")'),
    ],
)
def test_a_conversion_that_loses_nothing_is_left_out(before, after):
    assert_rewrites(PASS, before, after, rtol=None)


@pytest.mark.parametrize(
    "body",
    [
        'cast(cast(%x, dtype="float16"), dtype="float32")',
        'cast(cast(%k, dtype="int8"), dtype="int32")',
        'cast(cast(%i, dtype="uint8"), dtype="int32")',
        'cast(cast(%k, dtype="float32"), dtype="float64")',
        'cast(cast(%k, dtype="float64"), dtype="int8")',  # floats saturate, integers wrap
        'cast(cast(%i, dtype="bool"), dtype="int8")',
        'cast(cast(%x, dtype="int32"), dtype="float32")',
    ],
)
def test_one_that_does_stays(body):
    assert_stays(PASS, body)


EDGES = {
    "bool": [False, True],
    "float32": [np.nan, np.inf, -np.inf, -0.0, 1e-45, 300.7, -300.7, 3e38, 65519.0, 1 / 3],
    "float16": [np.nan, np.inf, -np.inf, -0.0, 6e-8, 300.7, -300.7, 65504.0, 1 / 3],
    "bfloat16": [np.nan, np.inf, -np.inf, -0.0, 1e-40, 300.7, -300.7, 3e38, 1 / 3],
}


def values(dtype):
    if dtype in EDGES:
        return np.array(EDGES[dtype]).astype(dtypes.to_numpy(dtype))
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    found = {low, low + 1, -1, 0, 1, 2, 127, 128, 255, 256, 2**24 + 1, high - 1, high}
    return np.array(sorted(v for v in found if low <= v <= high), dtype)


def test_two_conversions_and_what_is_left_of_them_agree_on_all_edges():
    names = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32"]
    shortened = 0
    for source in names:
        given = values(source)
        for between in names:
            x = relay.var("x", shape=given.shape, dtype=source)
            several = [relay.cast(relay.cast(x, between), target) for target in names]
            module = relay.IRModule.from_expr(relay.Function([x], relay.Tuple(several)))
            after = PASS(module)
            shortened += sum(
                not (isinstance(e, relay.Call) and isinstance(e.args[0], relay.Call))
                for e in after["main"].body
            )
            results = [relay.create_executor("debug", m).evaluate()(given) for m in (after, module)]
            for mine, theirs in zip(*results, strict=True):
                assert mine.dtype == theirs.dtype
                # NumPy does not know the NaN of bfloat16
                np.testing.assert_array_equal(
                    *(r.numpy().astype("float64") for r in (mine, theirs))
                )
    assert shortened > 350


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("clip(clip(%x, a_min=0f, a_max=2f), a_min=1f, a_max=6f)", "clip(%x, a_min=1f, a_max=2f)"),
        ("clip(clip(%x, a_min=0f, a_max=1f), a_min=2f, a_max=6f)", "clip(%x, a_min=2f, a_max=2f)"),
        ("clip(clip(%x, a_min=2f, a_max=3f), a_min=0f, a_max=1f)", "clip(%x, a_min=1f, a_max=1f)"),
        ("clip(nn.relu(%x), a_min=-1f, a_max=2f)", "clip(%x, a_min=0f, a_max=2f)"),
        ("nn.relu(clip(%x, a_min=1f, a_max=2f))", "clip(%x, a_min=1f, a_max=2f)"),
        ("nn.relu(nn.relu(%x))", "nn.relu(%x)"),
        ("nn.relu(%u)", "%u"),
        ("clip(%u, a_min=0f, a_max=255f)", "%u"),
        ("clip(%i, a_min=-128f, a_max=200f)", "%i"),
        ('clip(cast(%u, dtype="int32"), a_min=0f, a_max=255f)', 'cast(%u, dtype="int32")'),
        ('cast(clip(cast(%u, dtype="int32"), a_min=0f, a_max=255f), dtype="uint8")', "%u"),
        (
            'cast(cast(clip(%k, a_min=0f, a_max=255f), dtype="uint8"), dtype="int32")',
            "clip(%k, a_min=0f, a_max=255f)",
        ),
    ],
)
def test_bounds_are_taken_together(before, after):
    assert_rewrites(PASS, before, after, rtol=None)


@pytest.mark.parametrize(
    "body",
    [
        "clip(%i, a_min=-100f, a_max=200f)",
        'clip(cast(%i, dtype="uint8"), a_min=0f, a_max=127f)',
        'cast(cast(clip(%k, a_min=0f, a_max=256f), dtype="uint8"), dtype="int32")',
        "clip(clip(%x, a_min=2f, a_max=1f), a_min=0f, a_max=3f)",  # the bounds are turned
        "nn.relu(%x)",
    ],
)
def test_bounds_that_matter_stay(body):
    assert_stays(PASS, body)


def test_nan_stays_nan():
    x = relay.var("x", shape=(3,))
    module = relay.IRModule.from_expr(relay.clip(relay.clip(x, 0.0, 1.0), 2.0, 3.0))
    given = np.array([np.nan, -np.inf, np.inf], "float32")
    result = relay.create_executor("debug", PASS(module)).evaluate()(given).numpy()
    np.testing.assert_array_equal(result, [np.nan, 2, 2])
