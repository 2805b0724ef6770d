"""Batch normalization in training becomes arithmetic, which shares statistics with its gradient."""

import numpy as np
import pytest
import torch

import relay
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops
from relay.transform import ExpandOperators, InferType, SimplifyInference

PARAMS = (
    "%x: Tensor[(4, 3, 5), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32], "
    "%m: Tensor[(3), float32], %v: Tensor[(3), float32]"
)


def parse(body, params=PARAMS):
    return InferType()(relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'))


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("options", ["", ", center=False, scale=False", ", momentum=0.5f64"])
def test_the_results_are_those_of_pytorch(level, options):
    module = parse(f"nn.batch_norm_training(%x, %g, %b, %m, %v{options})")
    draw = np.random.default_rng(0)
    shapes = [(4, 3, 5), *[(3,)] * 4]
    args = [draw.uniform(0.1, 2, shape).astype("float32") for shape in shapes]
    found = relay.compile(module, level=level)(*args)
    x, gamma, beta, mean, var = (torch.tensor(one) for one in args)
    if "scale" in options:
        gamma = beta = None
    share = 0.5 if "momentum" in options else 0.1
    wanted = torch.nn.functional.batch_norm(x, mean, var, gamma, beta, True, share)
    for one, other in zip(found, (wanted, mean, var), strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6)


def test_the_statistics_of_the_gradient_are_shared():
    module = parse("nn.batch_norm_training(%x, %g, %b, %m, %v).0")
    module["main"] = relay.transform.gradient(module["main"], module, "first_order")
    merged = relay.transform.EliminateCommonSubexpr()(ExpandOperators()(module))
    counts = count_ops(merged["main"])
    assert (counts["mean"], counts["variance"]) == (1, 1)


def test_nothing_else_is_expanded():
    for body in ("nn.batch_norm(%x, %g, %b, %m, %v).0", "nn.layer_norm(%b, %g, %m)"):
        module = parse(body)
        assert_structural_equal(ExpandOperators()(module), module)


def test_a_call_stays_where_only_a_run_shows_whether_the_sizes_fit():
    params = PARAMS.replace("(4, 3, 5)", "(?, ?, ?)")
    for body in (
        "nn.batch_norm_training(%x, %g, %b, %m, %v).0",
        "nn.batch_norm(%x, %g, %b, %m, %v).0",
    ):
        module = parse(body, params)
        assert_structural_equal(SimplifyInference()(ExpandOperators()(module)), module)


def test_operators_of_training_stay_in_inference():
    key = "%k: Tensor[(10), uint64]"
    for body in (
        "nn.batch_norm_training(%x, %g, %b, %m, %v).0",
        "nn.dropout_training(%k, %x, rate=0.2f64).1",
    ):
        module = parse(body, f"{PARAMS}, {key}")
        assert_structural_equal(SimplifyInference(all_norms=True)(module), module)


def test_dropout_drops_its_share_and_its_gradient_the_same():
    module = parse(
        "nn.dropout_training(%k, %x, rate=0.25f64).1",
        "%x: Tensor[(100, 100), float32], %k: Tensor[(10), uint64]",
    )
    module["main"] = relay.transform.gradient(module["main"], module, wrt=[0])
    key = relay.random.threefry_key(5).data.numpy()
    value, (slope,) = relay.compile(module)(np.ones((100, 100), "float32"), key)
    assert sorted({*value.flat}) == [0, np.float32(4 / 3)]
    assert abs((value == 0).mean() - 0.25) < 0.02
    assert (slope == value).all()
