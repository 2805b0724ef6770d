"""Programs go through the passes of a level."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import pipeline, tree
from relay.testing import assert_generated_ok, assert_same_value, mlp
from relay.testing.strategies import programs
from relay.transform import PassContext, Sequential

HEADER = '#[version = "0.0.5"]\n'


def primitives(module):
    return [
        e
        for f in module.functions.values()
        for e in tree.postorder(f)
        if isinstance(e, relay.Function) and e.attrs.get("Primitive")
    ]


def operators(function):
    return [e.op.name for e in tree.postorder(function) if isinstance(e, relay.Call)]


def test_a_level_is_a_sequence_of_passes():
    for level in range(5):
        assert isinstance(pipeline.passes(level), Sequential)
    assert [p.name for p in pipeline.passes(0).passes][-1] == "FuseOps"


@pytest.mark.parametrize("level", [-1, 5, 2.0, True, "2"])
def test_there_are_five_levels(level):
    with pytest.raises(relay.PassError, match="levels go from 0 to 4"):
        pipeline.passes(level)


def test_at_level_zero_every_operator_is_a_kernel():
    module = relay.parse(HEADER + "def @main(%x: Tensor[(3), float32]) { exp(add(%x, 1f + 2f)) }")
    kernels = primitives(pipeline.passes(0)(module))
    assert sorted(map(operators, kernels)) == [["add"], ["add"], ["exp"]]


def test_at_level_one_work_that_need_not_be_done_is_not_done():
    module = relay.parse(
        HEADER
        + """
        def @main(%x: Tensor[(3), float32]) {
          let %unused = sqrt(%x);
          exp(add(nn.dropout(%x).0, 1f + 2f))
        }
        def @other(%x: Tensor[(3), float32]) { %x }
        """
    )
    result = pipeline.passes(1)(module)
    assert [name.name_hint for name in result.functions] == ["main"]
    assert sorted(map(operators, primitives(result))) == [["add"], ["exp"]]


def test_at_level_two_operators_share_kernels_and_nothing_is_done_twice():
    module = relay.parse(
        HEADER
        + """
        def @main(%x: Tensor[(3), float32]) {
          let %a = add(%x, 1f);
          multiply(exp(%a), exp(add(%x, 1f)))
        }
        """
    )
    (kernel,) = primitives(pipeline.passes(2)(module))
    assert operators(kernel) == ["add", "exp", "multiply"]


def test_the_level_of_the_context_does_not_count_but_disabled_passes_do():
    module = relay.parse(HEADER + "def @main() { 1f + 2f }")
    with PassContext(opt_level=0):
        assert isinstance(pipeline.passes(2)(module)["main"].body, relay.Constant)
    with PassContext(opt_level=4, disabled_pass=["FoldConstant"]):
        assert isinstance(pipeline.passes(2)(module)["main"].body, relay.Call)


def test_optimize_binds_parameters_and_takes_the_level_of_the_context():
    module, params = mlp.get_workload(batch_size=1)
    left = {"nobody": np.ones(1)}
    for level in (0, 2):
        with PassContext(opt_level=level):
            result, rest = relay.optimize(module, "llvm", {**params, **left})
        assert rest == left
        assert [p.name_hint for p in result["main"].params] == ["data"]
        data = np.random.default_rng(0).normal(size=(1, 1, 28, 28)).astype("float32")
        expected = relay.create_executor("debug", module).evaluate()(data, **params)
        found = relay.create_executor("debug", result).evaluate()(data)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    assert len(module["main"].params) == 1 + len(params)


def test_optimize_takes_an_expression():
    x = relay.var("x", shape=(3,))
    result, rest = relay.optimize(relay.Function([x], relay.exp(x)))
    assert rest == {}
    assert len(primitives(result)) == 1


@pytest.mark.parametrize("level", [1, 2])
@given(program=programs(size=30))
def test_programs_mean_the_same_afterwards(program, level):
    module, inputs = program
    result = pipeline.passes(level)(module)
    assert_generated_ok(result)
    run = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (result, module)]
    assert_same_value(*run)
