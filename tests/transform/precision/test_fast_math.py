"""Approximations, which are seen as such."""

import numpy as np
import pytest

import relay
from relay import tree
from relay.errors import RelayError
from relay.ir.expr import find_op
from relay.op.opdef import records
from relay.transform import FastMath, FuseOps, PassContext, Sequential
from tests.transform.rewriting import assert_rewrites, assert_stays, parse

PASS = FastMath()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("exp(%x)", "fast_exp(%x)"),
        ("tanh(%x)", "fast_tanh(%x)"),
        ("erf(%x)", "fast_erf(%x)"),
        ("nn.softmax(%x, axis=0)", "nn.fast_softmax(%x, axis=0)"),
        ("let %y1 = exp(%x); exp(%y1)", "let %y1 = fast_exp(%x); fast_exp(%y1)"),
        (
            "if (%c) { exp(%x) } else { fn (%z: Tensor[(2, 3), float32]) { tanh(%z) }(%y) }",
            "if (%c) { fast_exp(%x) } else "
            "{ fn (%z: Tensor[(2, 3), float32]) { fast_tanh(%z) }(%y) }",
        ),
    ],
)
def test_exponentials_are_approximated(before, after):
    assert_rewrites(PASS, before, after, rtol=1e-5)


def test_others_are_not():
    assert_stays(PASS, "log(sqrt(%x))")
    assert_stays(PASS, "nn.log_softmax(%x)")
    assert_stays(PASS, "exp(%x)", "%x: Tensor[(2, 3), float64]")


def test_it_belongs_to_level_four():
    module = parse("exp(%x)")
    for level, name in ((3, "exp"), (4, "fast_exp")):
        with PassContext(opt_level=level):
            assert Sequential([PASS])(module)["main"].body.op.name == name


def test_operators_and_kernels_say_that_they_approximate():
    assert find_op("fast_exp").approximates == "exp"
    assert find_op("nn.fast_softmax").approximates == "nn.softmax"
    assert find_op("exp").approximates == ""
    module = parse("(nn.relu(exp(%x)), sqrt(%y))", "%x: Tensor[(4), float32], %y: float32")
    exact = relay.compile(module)
    assert not any(kernel.approximate for kernel in exact.program.kernels)
    fast = relay.compile(PASS(module))
    by_name = {kernel.operators: kernel.approximate for kernel in fast.program.kernels}
    assert by_name[("fast_exp", "nn.relu")] and not by_name[("sqrt",)]
    with pytest.raises(RelayError, match="approximations: relay_fast_exp"):
        relay.compile(PASS(module), exact=True)
    x = np.linspace(-3, 3, 4, dtype="float32")
    mine, theirs = (exe(x, np.float32(2))[0] for exe in (fast, exact))
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_what_is_fused_already_stays():
    module = FuseOps(fuse_opt_level=2)(parse("exp(%x)"))
    assert PASS(module)["main"] is module["main"]


def test_no_record_is_a_part_of_another():
    assert not [op.name for op in records() if tree.children(op)]
    x = relay.var("x", shape=(relay.Any(), 3))
    exe = relay.compile(relay.Function([x], relay.nn.fast_softmax(x, axis=0)))
    np.testing.assert_allclose(exe(np.zeros((2, 3), "float32")), 0.5)
