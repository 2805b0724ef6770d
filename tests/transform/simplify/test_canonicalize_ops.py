"""A bias is added like anything else."""

import numpy as np
import pytest

import relay
from relay.ir.compare import assert_structural_equal
from relay.transform import CanonicalizeOps, PassContext, Sequential

HEADER = '#[version = "0.0.5"]\n'


def assert_rewrites(before, after):
    result = CanonicalizeOps()(relay.parse(HEADER + before))
    assert_structural_equal(result, relay.parse(HEADER + after))


def test_a_bias_gets_an_axis_for_every_axis_behind_the_channels():
    assert_rewrites(
        """
        def @main(%x: Tensor[(1, 8, 4, 5), float32], %b: Tensor[(8), float32]) {
          nn.relu(nn.bias_add(%x, %b))
        }
        """,
        """
        def @main(%x: Tensor[(1, 8, 4, 5), float32], %b: Tensor[(8), float32]) {
          nn.relu(add(%x, expand_dims(%b, axis=1, num_newaxis=2)))
        }
        """,
    )


def test_channels_at_the_end_need_none():
    for axis in (-1, 2):
        assert_rewrites(
            f"""
            def @main(%x: Tensor[(2, 3, 4), int32], %b: Tensor[(4), int32]) {{
              nn.bias_add(%x, %b, axis={axis})
            }}
            """,
            """
            def @main(%x: Tensor[(2, 3, 4), int32], %b: Tensor[(4), int32]) { add(%x, %b) }
            """,
        )


def test_every_bias_of_a_program_is_rewritten_in_functions_and_branches_too():
    assert_rewrites(
        """
        def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32], %c: bool) {
          let %f = fn (%y: Tensor[(2, 3), float32]) { nn.bias_add(nn.bias_add(%y, %b), %b) };
          if (%c) { %f(%x) } else { nn.bias_add(%x, %b) }
        }
        """,
        """
        def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32], %c: bool) {
          let %f = fn (%y: Tensor[(2, 3), float32]) { add(add(%y, %b), %b) };
          if (%c) { %f(%x) } else { add(%x, %b) }
        }
        """,
    )


def test_a_program_without_a_bias_stays_as_it_is():
    before = relay.parse(HEADER + "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    assert CanonicalizeOps()(before)["main"] is before["main"]


def test_it_belongs_to_level_three():
    before = relay.parse(
        HEADER
        + "def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) "
        + "{ nn.bias_add(%x, %b) }"
    )
    passes = Sequential([CanonicalizeOps()])
    with PassContext(opt_level=2):
        assert passes(before)["main"].body.op.name == "nn.bias_add"
    with PassContext(opt_level=3):
        assert passes(before)["main"].body.op.name == "add"


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4, 5), 1), ((2, 3, 4, 5), -1), ((6,), 0)],
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_the_meaning_stays(shape, axis, dtype):
    x = relay.var("x", shape=shape, dtype=dtype)
    b = relay.var("b", shape=(shape[axis],), dtype=dtype)
    before = relay.IRModule.from_expr(relay.nn.bias_add(x, b, axis=axis))
    after = CanonicalizeOps()(before)
    assert "nn.bias_add" not in after.astext()
    rng = np.random.default_rng(0)
    arguments = [(rng.normal(size=s) * 9).astype(dtype) for s in (shape, (shape[axis],))]
    results = [
        relay.create_executor("debug", mod).evaluate()(*arguments).numpy()
        for mod in (before, after)
    ]
    np.testing.assert_array_equal(*results)


def test_named_dimensions_are_kept():
    n, c = relay.ShapeVar("n"), relay.ShapeVar("c")
    x, b = relay.var("x", shape=(n, c, 4)), relay.var("b", shape=(c,))
    after = CanonicalizeOps()(relay.IRModule.from_expr(relay.nn.bias_add(x, b)))
    body = after["main"].body
    assert body.op.name == "add"
    assert body.checked_type.shape == (*body.args[0].checked_type.shape,)


def test_a_bias_that_may_not_fit_stays_one():
    x, b = relay.var("x", shape=(2, relay.Any(), 4)), relay.var("b", shape=(relay.Any(),))
    before = relay.IRModule.from_expr(relay.nn.bias_add(x, b))
    assert CanonicalizeOps()(before)["main"].body.op.name == "nn.bias_add"
