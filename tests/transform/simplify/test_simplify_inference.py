"""At inference batch normalization is a multiplication and an addition, and dropout is nothing."""

import numpy as np
import pytest
import torch

import relay
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops, resnet
from relay.transform import FoldConstant, InferType, PassContext, Sequential, SimplifyInference
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
PARAMS = (
    "%x: Tensor[(2, 3, 4), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32], "
    "%m: Tensor[(3), float32], %v: Tensor[(3), float32]"
)
CALL = "nn.batch_norm(%x, %g, %b, %m, %v)"
ARITHMETIC = """
    %0 = divide(%g, sqrt(add(%v, 1e-5f)));
    %1 = subtract(%b, multiply(%m, %0));
    %2 = add(multiply(%x, expand_dims(%0, axis=1)), expand_dims(%1, axis=1));
"""


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def assert_rewrites(before, after, **options):
    result = SimplifyInference(**options)(parse(before))
    assert_structural_equal(result, parse(after))
    assert SimplifyInference(**options)(result)["main"] is result["main"]


def assert_stays(source, **options):
    before = parse(source)
    assert SimplifyInference(**options)(before)["main"] is before["main"]


# --- batch normalization -------------------------------------------------------------------------


def test_batch_norm_is_a_scale_and_a_shift():
    assert_rewrites(
        f"def @main({PARAMS}) {{ {CALL}.0 }}", f"def @main({PARAMS}) {{ {ARITHMETIC} %2 }}"
    )


def test_the_moving_statistics_pass_through():
    assert_rewrites(f"def @main({PARAMS}) {{ {CALL}.1 }}", f"def @main({PARAMS}) {{ %m }}")
    assert_rewrites(f"def @main({PARAMS}) {{ {CALL}.2 }}", f"def @main({PARAMS}) {{ %v }}")
    assert_rewrites(
        f"def @main({PARAMS}) {{ {CALL} }}", f"def @main({PARAMS}) {{ {ARITHMETIC} (%2, %m, %v) }}"
    )


def test_a_shared_call_is_computed_once():
    assert_rewrites(
        f"def @main({PARAMS}) {{ %0 = {CALL}; (%0.0, nn.relu(%0.0), %0.2) }}",
        f"def @main({PARAMS}) {{ {ARITHMETIC} (%2, nn.relu(%2), %v) }}",
    )


def test_without_gamma_and_beta():
    assert_rewrites(
        f"def @main({PARAMS}) {{ nn.batch_norm(%x, %g, %b, %m, %v, scale=False, center=False).0 }}",
        f"""
        def @main({PARAMS}) {{
          %0 = divide(1f, sqrt(add(%v, 1e-5f)));
          %1 = negative(multiply(%m, %0));
          add(multiply(%x, expand_dims(%0, axis=1)), expand_dims(%1, axis=1))
        }}
        """,
    )


def test_named_results_keep_a_name():
    assert_rewrites(
        f"def @main({PARAMS}) {{ let %t = {CALL}; let %y = nn.relu(%t.0); (%y, %t.0, %t.1) }}",
        f"""
        def @main({PARAMS}) {{
          {ARITHMETIC}
          let %t_0 = %2;
          let %t = (%t_0, %m, %v);
          let %y = nn.relu(%t_0);
          (%y, %t_0, %m)
        }}
        """,
    )


def test_narrow_floats_are_computed_with_32_bits():
    narrow = PARAMS.replace("float32", "float16")
    assert_rewrites(
        f"def @main({narrow}) {{ {CALL}.0 }}",
        f"""
        def @main({narrow}) {{
          %0 = divide(cast(%g, dtype="float32"), sqrt(add(cast(%v, dtype="float32"), 1e-5f)));
          %1 = subtract(cast(%b, dtype="float32"), multiply(cast(%m, dtype="float32"), %0));
          %2 = multiply(cast(%x, dtype="float32"), expand_dims(%0, axis=1));
          cast(add(%2, expand_dims(%1, axis=1)), dtype="float16")
        }}
        """,
    )


def test_data_that_does_something_is_evaluated_as_before():
    params = PARAMS + ", %f: fn () -> Tensor[(2, 3, 4), float32]"
    call = CALL.replace("%x", "%f()")
    assert_rewrites(
        f"def @main({params}) {{ {call}.1 }}",
        f"""
        def @main({params}) {{
          %0 = divide(%g, sqrt(add(%v, 1e-5f)));
          %1 = subtract(%b, multiply(%m, %0));
          (add(multiply(%f(), expand_dims(%0, axis=1)), expand_dims(%1, axis=1)), %m, %v).1
        }}
        """,
    )


def test_parameters_that_do_something_keep_their_order():
    params = PARAMS + ", %f: fn () -> Tensor[(3), float32]"
    assert_stays(f"def @main({params}) {{ {CALL.replace('%b', '%f()')}.0 }}")


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3), 1), ((4, 3, 5), -1), ((2, 6, 3, 4), 1), ((2, 3, 4, 5), 3)]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("scale", [True, False])
def test_the_meaning_of_batch_norm_stays(shape, axis, dtype, scale):
    channels = (shape[axis],)
    x = relay.var("x", shape=shape, dtype=dtype)
    vectors = [relay.var(name, shape=channels, dtype=dtype) for name in "gbmv"]
    call = relay.nn.batch_norm(x, *vectors, axis=axis, scale=scale, center=scale, epsilon=1e-3)
    before = relay.IRModule.from_expr(relay.Function([x, *vectors], call.astuple()))
    after = SimplifyInference()(before)
    assert "nn.batch_norm" not in count_ops(after["main"])
    rng = np.random.default_rng(0)
    numpy_dtype = relay.dtypes.to_numpy(dtype)
    inputs = [rng.uniform(0.5, 1.5, s).astype(numpy_dtype) for s in (shape, *[channels] * 4)]
    results = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (after, before)]
    # one rounding in the last place of the data's type
    tolerance = {"float64": 1e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}[dtype]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(
            one.numpy().astype("float64"), other.numpy().astype("float64"), tolerance, tolerance
        )


def test_named_and_unknown_dimensions_are_taken():
    n = relay.ShapeVar("n")
    for extent in (n, relay.Any()):
        x = relay.var("x", shape=(extent, 3, extent))
        vectors = [relay.var(name, shape=(3,)) for name in "gbmv"]
        before = relay.IRModule.from_expr(relay.nn.batch_norm(x, *vectors)[0])
        after = SimplifyInference()(before)
        assert count_ops(after["main"])["multiply"] == 2
        data = np.ones((4, 3, 4), "float32")
        inputs = [data, *[np.full(3, 0.5, "float32")] * 4]
        results = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (after, before)]
        np.testing.assert_allclose(*(r.numpy() for r in results), rtol=1e-6)


# --- dropout -------------------------------------------------------------------------------------


def test_dropout_drops_nothing():
    data = "Tensor[(2, 3), float32]"
    assert_rewrites(
        f"def @main(%x: {data}) {{ nn.relu(nn.dropout(exp(%x)).0) }}",
        f"def @main(%x: {data}) {{ nn.relu(exp(%x)) }}",
    )
    assert_rewrites(
        f"def @main(%x: {data}) {{ nn.dropout(%x) }}",
        f"def @main(%x: {data}) {{ (%x, ones_like(%x)) }}",
    )
    assert_rewrites(
        f"def @main(%x: {data}) {{ let %d = nn.dropout(%x); (%d.0, %d.1) }}",
        f"def @main(%x: {data}) {{ let %d = (%x, ones_like(%x)); (%x, %d.1) }}",
    )


# --- the other normalizations --------------------------------------------------------------------

NORMS = {
    "nn.layer_norm": lambda x, g, b, **a: relay.nn.layer_norm(x, g, b, **a),
    "nn.instance_norm": lambda x, g, b, **a: relay.nn.instance_norm(x, g, b, **a),
    "nn.group_norm": lambda x, g, b, **a: relay.nn.group_norm(x, g, b, num_groups=2, **a),
    "nn.l2_normalize": lambda x, g, b, axis=1, **_: relay.nn.l2_normalize(x, 1e-3, axis=axis),
}


@pytest.mark.parametrize("name", NORMS)
def test_other_normalizations_stay_one_operator_unless_asked(name):
    x, g, b = (relay.var(n, shape=s) for n, s in (("x", (2, 4, 5)), ("g", (4,)), ("b", (4,))))
    before = InferType()(relay.IRModule.from_expr(NORMS[name](x, g, b, axis=1)))
    assert SimplifyInference()(before)["main"] is before["main"]
    assert name not in count_ops(SimplifyInference(all_norms=True)(before)["main"])


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize(("shape", "axis"), [((2, 4, 5), 1), ((2, 3, 5, 4), -1), ((3, 4), 1)])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_the_meaning_of_the_others_stays_when_they_are_unpacked(name, shape, axis, dtype):
    x = relay.var("x", shape=shape, dtype=dtype)
    g, b = (relay.var(n, shape=(4,), dtype=dtype) for n in "gb")
    call = NORMS[name](x, g, b, axis=axis)
    before = relay.IRModule.from_expr(relay.Function([x, g, b], call))
    after = SimplifyInference(all_norms=True)(before)
    rng = np.random.default_rng(1)
    inputs = [rng.normal(size=s).astype(dtype) for s in (shape, (4,), (4,))]
    results = [
        relay.create_executor("debug", m).evaluate()(*inputs).numpy().astype("float64")
        for m in (after, before)
    ]
    tolerance = {"float64": 1e-12, "float16": 2e-3}[dtype]
    np.testing.assert_allclose(*results, tolerance, tolerance)


def test_unpacked_group_norm_agrees_with_torch():
    rng = np.random.default_rng(2)
    data, gamma, beta = (rng.normal(size=s) for s in ((2, 6, 3, 4), (6,), (6,)))
    x, g, b = (
        relay.var(n, shape=v.shape, dtype="float64")
        for n, v in (("x", data), ("g", gamma), ("b", beta))
    )
    call = relay.nn.group_norm(x, g, b, num_groups=3)
    module = SimplifyInference(all_norms=True)(
        relay.IRModule.from_expr(relay.Function([x, g, b], call))
    )
    found = relay.create_executor("debug", module).evaluate()(data, gamma, beta).numpy()
    expected = torch.nn.functional.group_norm(
        *map(torch.tensor, (data,)), 3, *map(torch.tensor, (gamma, beta))
    )
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-10, atol=1e-12)


# --- whole programs ------------------------------------------------------------------------------


def test_a_network_loses_its_batch_norms_and_means_the_same():
    module, params = resnet.get_workload(
        batch_size=1, num_classes=10, num_layers=18, image_shape=(3, 32, 32)
    )
    rng = np.random.default_rng(0)
    params = {
        # means and variances other than 0 and 1, so that they count
        name: rng.uniform(0.5, 1.5, value.shape).astype("float32")
        if name.endswith(("mean", "var", "gamma", "beta"))
        else value
        for name, value in params.items()
    }
    module["main"] = relay.build_module.bind_params_by_name(module["main"], params)
    before = InferType()(module)
    after = FoldConstant()(SimplifyInference()(before))
    counts = count_ops(after["main"])
    norms = count_ops(before["main"])["nn.batch_norm"]
    assert counts["nn.batch_norm"] == counts["sqrt"] == counts["divide"] == 0
    assert counts["expand_dims"] == 0
    assert counts["multiply"] == norms
    image = rng.normal(size=(1, 3, 32, 32)).astype("float32")
    results = [relay.create_executor("debug", m).evaluate()(image).numpy() for m in (after, before)]
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-6)


def test_it_belongs_to_level_zero():
    before = parse(f"def @main({PARAMS}) {{ {CALL}.0 }}")
    with PassContext(opt_level=0):
        after = Sequential([SimplifyInference()])(before)
    assert after["main"].body.op.name == "add"


def test_programs_may_be_deep():
    x = relay.var("x", shape=(3,))
    body = x
    for _ in range(deep(20_000)):
        body = relay.nn.relu(body)
    body = relay.nn.dropout(body)
    for _ in range(100):
        body = relay.nn.dropout(body)
    result = SimplifyInference()(relay.IRModule.from_expr(relay.Function([x], body)))
    assert count_ops(result["main"]) == {"nn.relu": deep(20_000)}
