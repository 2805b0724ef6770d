"""From models to executables: what can be compiled, with which weights, for which machine."""

import logging
import os
import re
import subprocess
import sys
from functools import partial

import numpy as np
import onnx
import pytest

import relay
from relay.cache import Cache
from relay.driver import compile_graph
from relay.errors import DiagnosticError, EvaluationError, PassError, RelayError, TargetError

HEAD = '#[version = "0.0.5"]\n'
CHANCE = np.random.default_rng(0)
X = CHANCE.standard_normal((4, 8)).astype("float32")
W = CHANCE.standard_normal((6, 8)).astype("float32")
B = CHANCE.standard_normal(6).astype("float32")

DENSE = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(6, 8), float32], %b: Tensor[(6), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, exp(%w)), %b))
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def dense(cache):
    return relay.compile(relay.parse(HEAD + DENSE), {"w": W, "b": B}, cache=cache)


def expected(x=X, w=W, b=B):
    return np.maximum(x.astype("float64") @ np.exp(w.astype("float64")).T + b, 0)


def test_a_model_becomes_a_function(dense):
    np.testing.assert_allclose(dense(X), expected(), rtol=1e-5)
    assert [i.name for i in dense.inputs] == ["x"]


def test_without_weights_all_parameters_are_inputs(cache):
    exe = relay.compile(relay.parse(HEAD + DENSE), cache=cache)
    assert [i.name for i in exe.inputs] == ["x", "w", "b"]
    np.testing.assert_allclose(exe(X, W, B), expected(), rtol=1e-5)


@pytest.mark.parametrize("level", range(5))
def test_every_level_computes_the_same(cache, level):
    exe = relay.compile(relay.parse(HEAD + DENSE), {"w": W, "b": B}, level=level, cache=cache)
    np.testing.assert_allclose(exe(X), expected(), rtol=1e-5)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_checks_change_no_bit(cache, dense, checked, threads):
    module = relay.parse(HEAD + DENSE)
    exe = relay.compile(module, {"w": W, "b": B}, threads=threads, checked=checked, cache=cache)
    assert exe.threads == threads
    np.testing.assert_array_equal(exe(X), dense(X))


def test_weights_are_computed_once_and_can_be_changed(dense, cache):
    exe = relay.compile(relay.parse(HEAD + DENSE), {"w": W, "b": B}, cache=cache)
    assert all("exp" not in kernel.operators for kernel in exe.kernels)
    exe.set_params(w=W / 2)
    np.testing.assert_allclose(exe(X), expected(w=W / 2), rtol=1e-5)
    exe.set_params(w=W, b=B + 1)
    np.testing.assert_allclose(exe(X), expected(b=B + 1), rtol=1e-5)


def test_a_later_change_of_the_callers_arrays_is_not_seen(cache):
    w, b = W.copy(), B.copy()
    exe = relay.compile(relay.parse(HEAD + DENSE), {"w": w, "b": b}, cache=cache)
    w[...] = b[...] = 0
    np.testing.assert_allclose(exe(X), expected(), rtol=1e-5)
    exe.set_params(b=B + 1)
    np.testing.assert_allclose(exe(X), expected(b=B + 1), rtol=1e-5)


def test_functions_and_expressions_are_models(cache):
    x = relay.var("x", shape=(3,))
    ones = np.ones(3, "float32")
    np.testing.assert_array_equal(relay.compile(relay.Function([x], x + x), cache=cache)(ones), 2)
    np.testing.assert_array_equal(relay.compile(x + x, cache=cache)(ones), 2 * ones)
    assert relay.compile(relay.const(1) + relay.const(2), cache=cache)() == 3


def test_inputs_and_constants_may_be_results(cache):
    x = relay.var("x", shape=(3,))
    twice = x + x
    body = relay.Tuple([x, relay.const(7.0), twice, twice, relay.reshape(twice, (3, 1))])
    exe = relay.compile(relay.Function([x], body), cache=cache)
    given = np.arange(3, dtype="float32")
    same, seven, two, again, column = exe(given)
    np.testing.assert_array_equal(same, given)
    assert seven == 7
    np.testing.assert_array_equal(two, 2 * given)
    np.testing.assert_array_equal(again, 2 * given)
    np.testing.assert_array_equal(column, 2 * given.reshape(3, 1))
    same[...] = two[...] = -1
    np.testing.assert_array_equal(given, [0, 1, 2])
    np.testing.assert_array_equal(again, [0, 2, 4])


def test_functions_of_the_module_are_called(cache):
    exe = relay.compile(
        relay.parse(
            HEAD
            + """
            def @layer(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 3), float32]) {
              nn.relu(nn.dense(%x, %w))
            }
            def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 3), float32]) {
              @layer(@layer(%x, %w), %w)
            }
            """
        ),
        {"w": np.eye(3, dtype="float32")},
        cache=cache,
    )
    given = CHANCE.standard_normal((2, 3)).astype("float32")
    np.testing.assert_allclose(exe(given), np.maximum(given, 0))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nowhere/net.onnx", "`nowhere/net.onnx` cannot be read: No such file"),
        (b"none", "this is no ONNX model"),
        (5, "cannot compile a int"),
        (None, "cannot compile a NoneType"),
        (relay.IRModule(), "no function `@main`"),
    ],
)
def test_what_is_no_model_is_refused(model, message):
    with pytest.raises(RelayError, match=message):
        relay.compile(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"params": [W]}, "`params` is a mapping of names to arrays, found a list"),
        ({"params": {"w": "heavy"}}, "parameter `w`: cannot make a tensor of str"),
        ({"cache": "kernels"}, "`cache` is a relay.cache.Cache, found a str"),
        ({"level": 7}, "levels go from 0 to 4, found 7"),
        ({"threads": 0}, "a call uses 1 to 1024 threads, not 0"),
    ],
)
def test_options_of_another_kind_are_refused_by_name(cache, options, message):
    with pytest.raises(RelayError, match=message):
        relay.compile(relay.parse(HEAD + DENSE), **{"cache": cache, **options})


def test_a_program_built_in_python_is_quoted_when_it_is_refused(cache):
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    with pytest.raises(DiagnosticError) as error:
        compile_graph(relay.Function([x, c], relay.If(c, x, x + x)), cache=cache)
    assert "--> the program, as printed" in str(error.value)
    assert "|   if (%c) {" in str(error.value)
    with pytest.raises(DiagnosticError, match="a result of `argwhere` of type") as error:
        compile_graph(relay.Function([x], relay.argwhere(x)), cache=cache)
    assert "whose shape shows at run time" in str(error.value)


def test_results_for_which_there_is_no_memory_are_an_error(cache):
    x = relay.var("x", shape=(1,))
    large = relay.Function([x], relay.broadcast_to(x, (2**44,)))
    with pytest.raises(EvaluationError, match="no memory for 70,368,744,177,664 bytes"):
        relay.compile(large, cache=cache)


def test_branches_are_refused_by_the_graph_executor_and_compiled_as_a_whole(cache):
    text = "def @main(%x: float32) { if (%x < 1f) { %x } else { exp(%x) } }"
    with pytest.raises(DiagnosticError) as error:
        compile_graph(relay.parse(HEAD + text), cache=cache)
    assert "an `if`" in str(error.value)
    assert 'relay.create_executor("debug")' in str(error.value)
    exe = relay.compile(relay.parse(HEAD + text), cache=cache)
    assert exe(np.float32(0.5)) == np.float32(0.5)
    np.testing.assert_allclose(exe(np.float32(2)), np.exp(2), rtol=1e-6)


def test_the_weights_of_a_whole_program_can_be_changed(cache):
    text = (
        "def @main(%n: int32, %x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32]) "
        "-> Tensor[(1, 2), float32] "
        "{ if (%n == 0) { %x } else { @main(%n - 1, nn.dense(%x, %w), %w) } }"
    )
    w = np.array([[0, 1], [2, 0]], "float32")
    x = np.array([[1, 10]], "float32")
    exe = relay.compile(relay.parse(HEAD + text), {"w": w}, cache=cache)
    np.testing.assert_array_equal(exe(2, x), x @ w.T @ w.T)
    exe.set_params(w=-3 * w)
    np.testing.assert_array_equal(exe(1, x), -3 * x @ w.T)
    assert exe.live_objects == 0


def test_weights_that_do_not_fit_are_refused(cache, caplog):
    module = relay.parse(HEAD + DENSE)
    with pytest.raises(RelayError, match="parameter `w` is a Tensor"):
        relay.compile(module, {"w": W.T.copy()}, cache=cache)
    with caplog.at_level(logging.WARNING, "relay"):
        relay.compile(module, {"w": W, "b": B, "v": W}, cache=cache)
    assert "no parameters for the weights v" in caplog.text


@pytest.mark.parametrize("typo", ["weigth", "Weight", "weights", "wieght"])
def test_a_name_that_is_nearly_that_of_a_weight_without_a_value_is_a_mistake(cache, typo):
    text = (
        "def @main(%data: Tensor[(2, 3), float32], %weight: Tensor[(4, 3), float32]) "
        "{ nn.dense(%data, %weight) }"
    )
    module = relay.parse(text)
    with pytest.raises(RelayError, match=f"no parameter `{typo}`.*did you mean `weight`"):
        relay.compile(module, {typo: np.ones((4, 3), "float32")}, cache=cache)
    both = {"weight": np.ones((4, 3), "float32"), typo: np.ones(2)}
    assert [info.name for info in relay.compile(module, both, cache=cache).inputs] == ["data"]


def test_options_that_mean_nothing_are_refused(cache):
    with pytest.raises(TargetError):
        relay.compile(relay.const(1), target="abacus", cache=cache)
    with pytest.raises(PassError, match="levels go from 0 to 4"):
        relay.compile(relay.const(1), level=9, cache=cache)
    with pytest.raises(RelayError, match="1 to 1024 threads"):
        relay.compile(relay.const(1), threads=0, cache=cache)
    for limit in ({"stack": -1}, {"memory": "1 GB"}, {"memory": True}):
        with pytest.raises(RelayError, match=f"`{next(iter(limit))}` is a number of bytes"):
            relay.compile(relay.const(1), cache=cache, **limit)


def test_the_module_is_left_as_it_is(cache):
    module = relay.parse(HEAD + DENSE)
    before = module.astext()
    relay.compile(module, {"w": W, "b": B}, cache=cache)
    assert module.astext() == before


def test_the_same_model_gives_the_same_code(tmp_path):
    made = []
    for _ in range(2):
        exe = relay.compile(relay.parse(HEAD + DENSE), {"w": W, "b": B}, cache=Cache(None))
        exe.save(tmp_path / "m.relayx")
        made.append((tmp_path / "m.relayx").read_bytes())
    assert made[0] == made[1]


def test_other_machines_get_code_of_their_own(cache, dense):
    """What every x86-64 machine has is enough to compile, and on one of them to run."""
    exe = relay.compile(
        relay.parse(HEAD + DENSE), {"w": W, "b": B}, target="llvm -level=baseline", cache=cache
    )
    np.testing.assert_allclose(exe(X), expected(), rtol=1e-5)
    assert not set(exe.kernels) & set(dense.kernels)


def test_code_for_machines_that_are_not_here_is_refused_before_it_runs(cache):
    arm = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"
    exe = relay.compile(relay.const(1) + relay.const(2), target=arm, cache=cache)
    with pytest.raises(TargetError, match="another processor"):
        exe()


def test_a_saved_model_runs_in_a_fresh_process(dense, tmp_path):
    dense.save(tmp_path / "m.relayx")
    np.save(tmp_path / "x.npy", X)
    code = (
        "import sys, numpy as np, relay\n"
        "exe = relay.load('m.relayx')\n"
        "np.save('y.npy', exe(np.load('x.npy')))\n"
        "assert not {'relay.ir', 'relay.te', 'relay.lower.lower'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "RELAY_CACHE_DIR": "off"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env=environment)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), dense(X))


def test_a_program_in_the_cache_needs_neither_passes_nor_lowering(tmp_path):
    code = (
        "import sys, relay\n"
        "x = relay.var('x', shape=(3, 4))\n"
        "relay.compile(relay.Function([x], relay.nn.softmax(relay.exp(x))))\n"
        "print(*(name for name in sys.modules if name.startswith('relay.')))\n"
    )
    run = partial(subprocess.run, [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    environment = {**os.environ, "RELAY_CACHE_DIR": str(tmp_path), "RELAY_CHECKED": ""}
    cold, warm = (set(run(env=environment).stdout.decode().split()) for _ in range(2))
    parts = ("analysis.", "dataflow_pattern", "interpreter", "program.lower", "te.schedule")
    unwanted = tuple(
        f"relay.{part}"
        for part in (*parts, "lower.lower", "target.llvm.codegen", "target.llvm.conventions")
    )
    passes = {name for name in cold if re.fullmatch(r"relay\.transform\.\w+\.\w+", name)}
    assert passes
    assert all(any(name.startswith(part) for name in cold) for part in unwanted)
    assert not passes & warm
    assert not [name for name in warm if name.startswith(unwanted)]


# --- the surface people know ---------------------------------------------------------------------


def test_build_gives_a_library_for_the_graph_executor():
    with relay.transform.PassContext(opt_level=3):
        library = relay.build(relay.parse(HEAD + DENSE), target="llvm", params={"w": W, "b": B})
    module = relay.graph_executor.GraphModule(library["default"](relay.cpu(0)))
    module.set_input("x", X)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), expected(), rtol=1e-5)
    assert set(library.get_params()) == {"w", "b"}


def test_a_model_of_onnx_is_compiled_from_its_file(tmp_path, cache):
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 3])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph)
    onnx.save(model, tmp_path / "net.onnx")
    given = CHANCE.standard_normal((2, 3)).astype("float32")
    for form in (tmp_path / "net.onnx", str(tmp_path / "net.onnx"), model):
        np.testing.assert_array_equal(relay.compile(form, cache=cache)(x=given), given.clip(0))


def test_approximations_are_left_out_where_exact_results_are_wanted(cache):
    x = relay.var("x", shape=(4,))
    net = relay.Function([x], relay.exp(x))
    loose = relay.compile(net, level=4, cache=cache)
    exact = relay.compile(net, level=4, exact=True, cache=cache)
    assert any(kernel.approximate for kernel in loose.program.kernels)
    assert not any(kernel.approximate for kernel in exact.program.kernels)
