"""A code generator of a user: BLAS through NumPy, called as a Python callback."""

import io

import numpy as np
import pytest

import relay
import relay.contrib
from relay import tree
from relay.dataflow_pattern import is_constant, is_op, wildcard
from relay.errors import EvaluationError, LowerError, TargetError
from relay.external import ExternalCompiler, register_compiler
from relay.op.contrib import register
from relay.target import Target


class Blas(ExternalCompiler):
    """Chains of `x @ w.T + b`, with constant weights."""

    name = "blas"

    def patterns(self):
        product = is_op("nn.dense")(wildcard(), is_constant())
        return [
            ("blas.dense_bias", is_op("nn.bias_add")(product, is_constant()), takes),
            ("blas.dense", product, takes),
        ]

    def compile(self, part):
        steps = [node for node in tree.postorder(part.plain.body) if isinstance(node, relay.Call)]
        arrays = {f"{i}.{c.op.name}": c.args[1].data.numpy() for i, c in enumerate(steps)}
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    def load(self, code, kernel):
        stored = np.load(io.BytesIO(code))
        steps = sorted(stored, key=lambda name: int(name.split(".")[0]))
        arrays = [(name.endswith("dense"), stored[name]) for name in steps]

        def run(inputs, outputs):
            (x,), (y,) = inputs, outputs
            if not np.isfinite(x).all():
                raise ValueError("an input is not finite")
            for is_product, array in arrays:
                x = x @ array.T if is_product else x + array
            y[...] = x

        return run


def takes(call):
    return call.checked_type.dtype == "float32" and len(call.checked_type.shape) == 2


# --- the tests


@pytest.fixture(autouse=True)
def compilers(monkeypatch):
    monkeypatch.setattr(register, "_compilers", {})
    register_compiler(Blas())


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def chain():
    x, w, v = (relay.var(n, shape=s) for n, s in (("x", (2, 8)), ("w", (16, 8)), ("v", (4, 16))))
    b = relay.const(numbers(16))
    hidden = relay.nn.bias_add(relay.nn.dense(x, w), b)
    function = relay.Function([x, w, v], relay.nn.softmax(relay.nn.dense(hidden, v)))
    return function, {"w": numbers(16, 8), "v": numbers(4, 16)}


def test_a_chain_is_one_part_with_its_constants():
    function, params = chain()
    divided = relay.contrib.partition(function, params, ["blas"])
    assert len(divided.functions) == 2
    exe = relay.compile(divided)
    assert {kernel.compiler for kernel in exe.kernels} == {"", "blas"}
    assert "blas" in str(exe.kernels)
    expected = relay.compile(function, params)(numbers(2, 8))
    np.testing.assert_allclose(exe(numbers(2, 8)), expected, rtol=1e-5)


def test_what_it_raises_ends_the_call_and_no_more():
    exe = relay.compile(relay.contrib.partition(*chain(), "blas"))
    fine = exe(numbers(2, 8))
    for _ in range(2):
        with pytest.raises(EvaluationError, match=r"`blas` failed.*not finite") as error:
            exe(np.full((2, 8), np.inf, "float32"))
        assert isinstance(error.value.__cause__, ValueError)
        np.testing.assert_array_equal(exe(numbers(2, 8)), fine)


def test_it_is_pickled_and_copied_with_its_code():
    exe = relay.compile(relay.contrib.partition(*chain(), "blas"))
    import copy

    np.testing.assert_array_equal(copy.copy(exe)(numbers(2, 8)), exe(numbers(2, 8)))


def test_mistakes_of_a_compiler_are_named(monkeypatch):
    def compiled():
        return relay.compile(relay.contrib.partition(*chain(), "blas"))

    monkeypatch.setattr(Blas, "load", lambda self, code, kernel: 3)
    with pytest.raises(TargetError, match="loads nothing that can be called"):
        compiled()
    monkeypatch.setattr(Blas, "load", lambda self, code, kernel: 1 / 0)
    with pytest.raises(TargetError, match="cannot be loaded: ZeroDivisionError"):
        compiled()
    monkeypatch.setattr(Blas, "compile", lambda self, part: "text")
    with pytest.raises(LowerError, match="gives no code"):
        compiled()
    monkeypatch.setattr(Blas, "compile", lambda self, part: 1 / 0)
    with pytest.raises(LowerError, match="`blas` failed: ZeroDivisionError"):
        compiled()


def test_a_target_without_calls_of_compilers_says_so():
    class Far(Target):
        kind = relay.target.TargetKind("far")

    with pytest.raises(TargetError, match="`far` gives no calls of external compilers"):
        relay.compile(relay.contrib.partition(*chain(), "blas"), target=Far())


def test_unknown_sizes_stay_with_us():
    x = relay.var("x", shape=(relay.Any(), 8))
    function = relay.Function([x], relay.nn.dense(x, relay.const(numbers(4, 8))))
    exe = relay.compile(relay.contrib.partition(function, None, "blas"))
    assert {kernel.compiler for kernel in exe.kernels} == {""}
    np.testing.assert_allclose(exe(numbers(3, 8)), numbers(3, 8) @ numbers(4, 8).T, rtol=1e-5)
