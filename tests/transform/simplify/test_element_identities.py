"""Arithmetic and choices, shorter."""

import numpy as np
import pytest

import relay
from relay.transform import SimplifyExpr
from tests.transform.rewriting import assert_rewrites, assert_stays

PASS = SimplifyExpr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("negative(negative(%x))", "%x"),
        ("negative(negative(%i))", "%i"),
        ("logical_not(logical_not(%c))", "%c"),
        ("bitwise_not(bitwise_not(%i))", "%i"),
        ("abs(abs(%x))", "abs(%x)"),
        ("floor(floor(%x))", "floor(%x)"),
        ("round(%i)", "%i"),
        ("sign(sign(%x))", "sign(%x)"),
        ("reverse(reverse(%x, axis=1), axis=-1)", "%x"),
        ("copy(%x)", "%x"),
        ("add(%x, negative(%y))", "subtract(%x, %y)"),
        ("add(negative(%x), %y)", "subtract(%y, %x)"),
        ("subtract(%x, negative(%y))", "add(%x, %y)"),
        ("add(%x, %x)", "multiply(%x, 2f)"),
        ("add(%k, %k)", "multiply(%k, 2)"),
        ("add(%c, %c)", "%c"),
        ("maximum(%x, %x)", "%x"),
    ],
)
def test_one_operator_less(before, after):
    assert_rewrites(PASS, before, after, rtol=None)


@pytest.mark.parametrize(
    "body",
    [
        "negative(abs(negative(%x)))",
        "reverse(reverse(%x, axis=1), axis=0)",
        "floor(ceil(%x))",
        "add(%x, %y)",
        "exp(exp(%x))",
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body)


@pytest.mark.parametrize("dtype", ["int4", "uint8", "float16", "bfloat16", "float64"])
def test_twice_the_same_is_exact_in_every_type(dtype):
    x = relay.var("x", shape=(5,), dtype=dtype)
    module = relay.IRModule.from_expr(relay.add(x, x))
    after = PASS(module)
    assert after["main"].body.op.name == "multiply"
    given = np.array([0, 1, 3, 5, 7]).astype(relay.dtypes.to_numpy(dtype))
    results = [relay.create_executor("debug", m).evaluate()(given).numpy() for m in (after, module)]
    assert results[0].tobytes() == results[1].tobytes()


# --- roots and powers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("divide(1f, sqrt(%x))", "rsqrt(%x)"),
        ("divide(ones(shape=[2, 3]), sqrt(%x))", "rsqrt(%x)"),
        ("divide(%x, sqrt(%v))", "multiply(%x, rsqrt(%v))"),
        ("power(%x, 2f)", "multiply(%x, %x)"),
        ("power(%k, 2)", "multiply(%k, %k)"),
        ("power(%x, 3f)", "%0 = multiply(%x, %x); multiply(%0, %x)"),
        ("power(%x, full(2f, shape=[2, 3]))", "multiply(%x, %x)"),
    ],
)
def test_roots_and_powers_become_products(before, after):
    assert_rewrites(PASS, before, after)


@pytest.mark.parametrize(
    "body",
    [
        "divide(%x, sqrt(%y))",  # as many roots as quotients
        "%0 = sqrt(%v); (divide(%x, %0), %0)",  # the root is needed anyway
        "power(%x, 2.5f)",
        "power(2f, %x)",
        "power(%t, full(2f, shape=[2, 3]))",
    ],
)
def test_where_nothing_is_won_they_stay(body):
    assert_stays(PASS, body)


def test_quotients_by_extreme_roots_stay_what_they_are():
    x, v = relay.var("x", shape=(6, 2)), relay.var("v", shape=(6, 1))
    module = relay.IRModule.from_expr(relay.Function([x, v], x / relay.sqrt(v)))
    after = PASS(module)
    assert after["main"].body.op.name == "multiply"
    roots = np.array([[0.0], [1e-45], [1e-38], [3e38], [np.inf], [np.nan]], "float32")
    data = np.array([[0.0, -1.0]] * 6, "float32")
    results = [relay.create_executor("debug", m).evaluate()(data, roots) for m in (after, module)]
    np.testing.assert_allclose(*(r.numpy() for r in results), rtol=3e-7)


# --- choices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("where(True, %x, %y)", "%x"),
        ('where(zeros(shape=[2, 3], dtype="bool"), %x, %y)', "%y"),
        ("where(less(%x, %y), %x, %x)", "%x"),
        ("if (True) { exp(%x) } else { %y }", "exp(%x)"),
        ("if (False) { exp(%x) } else { %y }", "%y"),
        ("(exp(%x), %y).1", "%y"),
        ("let %p = (%x, %y); %p.0", "let %p = (%x, %y); %x"),
    ],
)
def test_what_is_known_is_taken(before, after):
    assert_rewrites(PASS, before, after)


@pytest.mark.parametrize(
    "body",
    [
        "where(True, %v, %y)",  # %y gives the shape
        'where(ones(shape=[4, 2, 3], dtype="bool"), %x, %y)',
        "if (%c) { %x } else { %y }",
    ],
)
def test_what_is_not_known_stays(body):
    assert_stays(PASS, body)


def test_what_does_something_is_not_left_out():
    params = "%f: fn () -> Tensor[(2, 3), float32], %x: Tensor[(2, 3), float32]"
    assert_stays(PASS, "where(True, %x, %f())", params)
    assert_stays(PASS, "(%f(), %x).1", params)


def test_what_does_something_is_done_once():
    assert_rewrites(
        PASS,
        "let %r = ref(%x); let %f = fn () { let %_ = ref_write(%r, add(ref_read(%r), %y)); "
        "ref_read(%r) }; %0 = %f(); add(%0, %0)",
        "let %r = ref(%x); let %f = fn () { let %_ = ref_write(%r, add(ref_read(%r), %y)); "
        "ref_read(%r) }; multiply(%f(), 2f)",
    )
