"""Numbers that are made of integers, and into integers, are computed with as integers."""

import numpy as np
import pytest

import relay
from relay.analysis import list_fake_quantized_op_freqs, list_op_freqs
from relay.errors import PassError
from relay.op import register_op_attr, temporary_operators
from relay.testing import run_opt_pass
from relay.transform import FakeQuantizationToInteger
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays, parse

PASS = FakeQuantizationToInteger()
PARAMS = """
    %q: Tensor[(1, 2, 6, 6), uint8], %p: Tensor[(1, 2, 6, 6), uint8],
    %w: Tensor[(4, 2, 3, 3), int8], %x: Tensor[(1, 2, 6, 6), float32]
"""
FLOAT = 'out_dtype="float32"'
BYTES = 'out_dtype="uint8"'
EVEN = 'rounding="TOEVEN", compute_dtype="float32"'


def real(name: str, scale: str = "0.5f", zero: int = 3) -> str:
    return f"qnn.dequantize({name}, {scale}, {zero}, {FLOAT})"


def whole(body: str, scale: str = "0.25f", zero: int = 7) -> str:
    return f"qnn.quantize({body}, {scale}, {zero}, {BYTES})"


def test_a_layer_of_a_network_is_one_of_integers():
    before = f"""
    let %a = {real("%q")};
    let %b = {real("%w", "0.25f", 0)};
    let %c = nn.conv2d(%a, %b, padding=[1, 1, 1, 1]);
    let %d = nn.relu(%c);
    {whole("%d", "4f", 9)}
    """
    after = f"""
    %0 = qnn.conv2d(%q, %w, 3, 0, 0.5f, 0.25f, padding=[1, 1, 1, 1]);
    %1 = qnn.requantize(%0, 0.125f, 0, 4f, 9, {EVEN}, {BYTES});
    maximum(%1, 9u8)
    """
    assert_rewrites(PASS, before, after, PARAMS)


def test_what_several_use_is_seen_through_its_name():
    body = f"""
    let %a = {real("%q")};
    let %b = nn.conv2d(%a, {real("%w", "0.25f", 0)});
    let %c = {whole("%b", "4f", 9)};
    let %d = {real("%c", "4f", 9)};
    let %e = add(%d, nn.relu(%d));
    {whole("%e", "8f", 0)}
    """
    module = parse(body, PARAMS)
    result = PASS(module)
    assert_means_the_same(result, module)
    found = list_op_freqs(result)
    assert found["qnn.conv2d"] == 1 and "nn.conv2d" not in found


@pytest.mark.parametrize(
    "body",
    [
        # no integers to begin with
        whole("exp(%x)"),
        # none to end with, and nothing that adds up many products
        f"tanh({real('%q')})",
        f"add({real('%q')}, {real('%p')})",
        # scales that only a run knows
        f"nn.conv2d(qnn.dequantize(%q, mean(%x), 3, {FLOAT}), {real('%w')})",
        # numbers that are no integers
        f"nn.conv2d(%x, {real('%w')})",
        # a function that no operator on integers has
        whole(f"sin({real('%q')})"),
        # integers of other types
        f'qnn.quantize(add({real("%q")}, {real("%p")}), 0.1f, 0, out_dtype="int8")',
    ],
)
def test_it_leaves_alone(body):
    assert_stays(PASS, body, PARAMS)


def test_nothing_is_looked_at_without_conversions():
    assert_stays(PASS, "nn.relu(%x)", PARAMS)


def test_sums_that_may_not_fit_stay():
    params = "%a: Tensor[(1, 80000), uint8], %b: Tensor[(2, 80000), int8]"
    assert_stays(PASS, f"nn.dense({real('%a')}, {real('%b')})", params)


def test_what_is_left_can_be_an_error():
    strict = FakeQuantizationToInteger(hard_fail=True)
    with pytest.raises(PassError, match="left on floats"):
        strict(parse(whole(f"sin({real('%q')})"), PARAMS))
    strict(parse(whole(f"tanh({real('%q')})"), PARAMS))


def test_some_operators_are_exchanged_on_request():
    body = whole(f"nn.softmax({real('%q')}, axis=1)", "0.0625f", 0)
    assert_stays(PASS, body, PARAMS)
    assert_rewrites(
        FakeQuantizationToInteger(optional_qnn_ops=("nn.softmax",)),
        body,
        "qnn.softmax(%q, 0.5f, 3, 0.0625f, 0, axis=1)",
        PARAMS,
    )


def test_an_operator_may_have_a_rule_of_its_own():
    def negative(call, window):
        step = window.call_of(call.args[0], "negative")
        if step is None or (real := window.call_of(step.args[0], "qnn.dequantize")) is None:
            return None
        data, scale, zero = real.args
        none = relay.const(3, "uint8")
        return relay.qnn.op.subtract(none, data, scale, zero, scale, zero, *call.args[1:])

    body = whole(f"negative({real('%q')})")
    assert_stays(PASS, body, PARAMS)
    with temporary_operators():
        register_op_attr("qnn.quantize", "FTVMFakeQuantizationToInteger", negative)
        module = PASS(parse(body, PARAMS))
    assert set(list_op_freqs(module)) == {"qnn.subtract"}


def test_operators_between_conversions_are_counted():
    module = parse(
        f"""
        let %a = nn.conv2d({real("%q")}, {real("%w")});
        let %b = {whole("nn.relu(%a)")};
        (%b, {whole("exp(%x)")}, nn.relu(%x))
        """,
        PARAMS,
    )
    assert list_fake_quantized_op_freqs(module) == {"nn.conv2d": 1, "nn.relu": 1}
    assert list_fake_quantized_op_freqs(PASS(module)) == {}


def test_a_network_is_compiled_to_integer_kernels():
    rng = np.random.default_rng(0)
    weight = relay.const(rng.integers(-128, 128, (4, 2, 3, 3)).astype("int8"))
    bias = relay.const(rng.normal(size=4).astype("float32"))
    q = relay.var("q", shape=(1, 2, 6, 6), dtype="uint8")
    scale, zero = relay.const(0.5, "float32"), relay.const(3, "int32")
    fine, none = relay.const(0.25, "float32"), relay.const(0, "int32")
    data = relay.qnn.op.dequantize(q, scale, zero)
    kernel = relay.qnn.op.dequantize(weight, fine, none)
    sums = relay.nn.bias_add(relay.nn.conv2d(data, kernel, padding=(1, 1)), bias)
    function = relay.Function(
        [q], relay.qnn.op.quantize(relay.nn.relu(sums), relay.const(4.0, "float32"), none)
    )
    module, _ = relay.optimize(relay.IRModule.from_expr(function))
    found = list_op_freqs(module)
    assert found["nn.conv2d"] == 1
    assert not any(name in found for name in ("qnn.dequantize", "qnn.quantize", "qnn.conv2d"))
    given = rng.integers(0, 256, (1, 2, 6, 6)).astype("uint8")
    compiled = relay.compile(relay.IRModule.from_expr(function))(given)
    exact = relay.create_executor("debug", relay.IRModule.from_expr(function)).evaluate()(given)
    difference = np.asarray(compiled).astype(int) - np.asarray(exact).astype(int)
    assert np.abs(difference).max() <= 1


def test_the_pass_is_found_by_its_name():
    assert relay.transform.FakeQuantizationToInteger is FakeQuantizationToInteger
    assert run_opt_pass(relay.Function([], relay.const(1.0)), PASS) is not None
