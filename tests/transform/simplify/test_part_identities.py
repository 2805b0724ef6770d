"""Slices, joins, splits and pads that need not be."""

import numpy as np
import pytest

import relay
from relay.testing import count_ops
from relay.transform import SimplifyExpr
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays

PASS = SimplifyExpr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("strided_slice(%n, begin=[0, 0], end=[4, 6])", "%n"),
        ("strided_slice(%n, begin=[0], end=[100])", "%n"),
        ("strided_slice(%n, begin=[-6], end=[2147483647], axes=[1])", "%n"),
        (
            "strided_slice(strided_slice(%n, begin=[1, 1], end=[4, 6]), begin=[0, 1], end=[2, 3])",
            "strided_slice(%n, begin=[1, 2], end=[3, 4])",
        ),
        (
            "strided_slice(strided_slice(%n, begin=[1], end=[6], strides=[2], axes=[1]), "
            "begin=[1], end=[3], axes=[1])",
            "strided_slice(%n, begin=[3], end=[6], strides=[2], axes=[1])",
        ),
        (
            "strided_slice(strided_slice(%n, begin=[1], end=[3]), begin=[2], end=[5], axes=[1])",
            "strided_slice(%n, begin=[1, 2], end=[3, 5])",
        ),
        ("strided_slice(concatenate((%x, %y)), begin=[0], end=[2])", "%x"),
        (
            "strided_slice(concatenate((%x, %y)), begin=[3, 1], end=[4, 3])",
            "strided_slice(%y, begin=[1, 1], end=[2, 3])",
        ),
        ("concatenate((%x,))", "%x"),
        ("concatenate((concatenate((%x, %y)), %x))", "concatenate((%x, %y, %x))"),
        (
            "%0 = split(%n, indices_or_sections=[1, 4], axis=1); "
            "concatenate((%0.0, %0.1, %0.2), axis=-1)",
            "%n",
        ),
        ("split(concatenate((%x, %y)), indices_or_sections=2).1", "%y"),
        ("split(concatenate((%x, %v), axis=1), indices_or_sections=[3], axis=1).0", "%x"),
        ("split(%n, indices_or_sections=1).0", "%n"),
        (
            "let %s = split(%n, indices_or_sections=2); let %a = %s.0; let %b = %s.1; "
            "let %p = (%a, %b); let %c = concatenate(%p); %c",
            "let %s = split(%n, indices_or_sections=2); let %a = %s.0; let %b = %s.1; "
            "let %p = (%a, %b); let %c = %n; %c",
        ),
    ],
)
def test_parts_that_need_not_be_taken(before, after):
    assert_rewrites(PASS, before, after, rtol=None)


@pytest.mark.parametrize(
    "body",
    [
        "strided_slice(%n, begin=[0], end=[3])",
        "strided_slice(%n, begin=[3], end=[-5], strides=[-1])",
        "strided_slice(concatenate((%x, %y)), begin=[1], end=[3])",
        "%0 = split(%n, indices_or_sections=2); concatenate((%0.1, %0.0))",
        "%0 = split(%n, indices_or_sections=2); concatenate((%0.0, %0.1), axis=1)",
        "%0 = split(%n, indices_or_sections=[1, 2]); concatenate((%0.0, %0.1))",
        "split(concatenate((%x, %y)), indices_or_sections=[1]).0",
        "%0 = concatenate((%x, %y)); (concatenate((%0, %x)), %0)",
        "concatenate((concatenate((%x, %y), axis=1), concatenate((%x, %y), axis=1)))",
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body)


def test_slices_of_slices_of_all_kinds_agree_with_numpy():
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(7, 5))
    merged = 0
    for _ in range(60):
        begins, ends = rng.integers(-9, 9, (2, 2, 2)).tolist()
        steps = rng.choice([-2, -1, 1, 2], (2, 2)).tolist()
        e = x
        for begin, end, stride in zip(begins, ends, steps, strict=True):
            e = relay.strided_slice(e, begin, end, stride)
        module = relay.IRModule.from_expr(relay.Function([x], e))
        after = PASS(module)
        merged += count_ops(after["main"]).get("strided_slice", 0) < 2
        assert_means_the_same(after, module, rtol=None)
    assert merged == 60


def test_unknown_extents_stay():
    params = "%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), float32]"
    assert_stays(PASS, "strided_slice(%x, begin=[0], end=[3])", params)
    assert_stays(PASS, "strided_slice(concatenate((%x, %y)), begin=[0], end=[3])", params)
    assert_rewrites(PASS, "strided_slice(%x, begin=[0], end=[3], axes=[1])", "%x", params)


def test_what_does_something_is_not_left_out():
    params = "%f: fn () -> Tensor[(2, 3), float32], %x: Tensor[(2, 3), float32]"
    assert_stays(PASS, "strided_slice(concatenate((%x, %f())), begin=[0], end=[2])", params)
    assert_stays(PASS, "split(concatenate((%x, %f())), indices_or_sections=2).0", params)


def test_a_long_chain_of_joins_takes_no_time():
    x = relay.var("x", shape=(1, 2))
    e = x
    for _ in range(2000):
        e = relay.concatenate([e, x], axis=0)
    after = PASS(relay.IRModule.from_expr(relay.Function([x], e)))
    assert count_ops(after["main"])["concatenate"] < 40


# --- padding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0]])", "%x"),
        ('nn.mirror_pad(%x, mode="REFLECT", pad_width=[[0, 0], [0, 0]])', "%x"),
        (
            "nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]]), 1f, pad_width=[[1, 1], [0, 3]])",
            "nn.pad(%x, 1f, pad_width=[[2, 1], [2, 5]])",
        ),
        (
            "nn.pad(nn.pad(%x, %t, pad_width=[[1, 0], [2, 2]]), %t, pad_width=[[1, 1], [0, 3]])",
            "nn.pad(%x, %t, pad_width=[[2, 1], [2, 5]])",
        ),
        (
            'nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]], pad_mode="edge"), 2f, '
            'pad_width=[[1, 1], [0, 3]], pad_mode="edge")',
            'nn.pad(%x, 1f, pad_width=[[2, 1], [2, 5]], pad_mode="edge")',
        ),
        (
            "nn.pad(nn.pad(%i, 2.7f, pad_width=[[1, 0]]), 2, pad_width=[[1, 1]])",
            "nn.pad(%i, 2.7f, pad_width=[[2, 1]])",
        ),
        (
            "nn.pad(nn.pad(%x, 1f, pad_width=[[-1, 0], [0, 0]]), 1f, pad_width=[[0, 0], [0, -1]])",
            "nn.pad(%x, 1f, pad_width=[[-1, 0], [0, -1]])",
        ),
    ],
)
def test_pads_are_put_together(before, after):
    assert_rewrites(PASS, before, after, rtol=None)


@pytest.mark.parametrize(
    "body",
    [
        "nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]]), 2f, pad_width=[[1, 1], [0, 3]])",
        "nn.pad(nn.pad(%x, 0f, pad_width=[[1, 0], [2, 2]]), -0f, pad_width=[[1, 1], [0, 3]])",
        'nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]], pad_mode="reflect"), 1f, '
        'pad_width=[[1, 1], [0, 3]], pad_mode="reflect")',
        'nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]], pad_mode="wrap"), 1f, '
        'pad_width=[[1, 1], [0, 3]], pad_mode="wrap")',
        'nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]], pad_mode="edge"), 1f, '
        "pad_width=[[1, 1], [0, 3]])",
        # what is taken away does not come back
        "nn.pad(nn.pad(%x, 1f, pad_width=[[-1, 0], [2, 2]]), 1f, pad_width=[[1, 1], [0, 3]])",
        "nn.pad(nn.pad(%x, 1f, pad_width=[[1, 0], [2, 2]]), 1f, pad_width=[[-2, 0], [0, 0]])",
    ],
)
def test_pads_that_differ_stay(body):
    assert_stays(PASS, body)
