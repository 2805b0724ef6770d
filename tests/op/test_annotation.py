"""Annotations: any value passes through them unchanged, and `debug` shows it."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, RelayError, TypeCheckError
from relay.interpreter.evaluate import evaluate
from relay.op.annotation import device_name

ANNOTATIONS = (
    relay.annotation.stop_fusion,
    relay.annotation.checkpoint,
    relay.annotation.with_funcid,
    lambda x: relay.annotation.compiler_begin(x, "dnnl"),
    lambda x: relay.annotation.compiler_end(x, "dnnl"),
    relay.annotation.bitpack_start,
    relay.annotation.bitpack_end,
    lambda x: relay.annotation.cast_hint(x, "int8"),
    lambda x: relay.annotation.on_device(x, "cpu"),
    lambda x: relay.device_copy(x, relay.cpu(), "cpu:1"),
    lambda x: relay.op.debug(x, repr),
)


@pytest.mark.parametrize("annotate", ANNOTATIONS)
def test_a_function_passes_through_and_can_be_called(annotate):
    x = relay.var("x", shape=(2,), dtype="int32")
    double = relay.Function([x], relay.add(x, x))
    call = relay.Call(annotate(double), [relay.const([1, 2])])
    assert infer_expr(call).checked_type == relay.TensorType((2,), "int32")
    assert evaluate(call).numpy().tolist() == [2, 4]


@pytest.mark.parametrize("annotate", ANNOTATIONS)
def test_data_and_references_pass_through_as_themselves(annotate):
    prelude = relay.Prelude()
    one = prelude.cons(relay.const(1), prelude.nil())
    call = relay.Call(prelude.mod.get_global_var("hd"), [annotate(one)])
    assert evaluate(call, prelude.mod).item() == 1
    cell = relay.var("cell")
    changed = relay.Let(
        relay.var("_"), relay.RefWrite(annotate(cell), relay.const(5)), relay.RefRead(cell)
    )
    assert evaluate(relay.Let(cell, relay.RefCreate(relay.const(4)), changed)).item() == 5


def test_the_argument_gets_its_type_from_the_result():
    x = relay.var("x")
    body = relay.annotation.stop_fusion(x)
    function = infer_expr(relay.Function([x], body, relay.TensorType((3,), "int8")))
    assert function.params[0].checked_type == relay.TensorType((3,), "int8")


def test_debug_calls_a_function_each_time_a_value_is_computed():
    seen = []
    x = relay.var("x", shape=(), dtype="int32")
    shown = relay.op.debug(relay.add(x, relay.const(1)), seen.append)
    function = relay.var("f")
    twice = relay.Call(function, [relay.Call(function, [relay.const(5)])])
    assert evaluate(relay.Let(function, relay.Function([x], shown), twice)).item() == 7
    assert [value.item() for value in seen] == [6, 7]


def test_debug_prints_when_it_has_no_function(capsys):
    evaluate(relay.op.debug(relay.Tuple([relay.const(1), relay.const(2.5)])))
    assert capsys.readouterr().out == "(1, 2.5)\n"


def test_only_a_function_can_be_shown_a_value():
    with pytest.raises(RelayError, match="`debug_func` of `debug` must be a function or None"):
        relay.op.debug(relay.const(1), "print")


def test_an_error_of_the_debug_function_is_one_of_the_program():
    def broken(value):
        raise ValueError("no")

    with pytest.raises(EvaluationError, match="`debug` failed: no"):
        evaluate(relay.op.debug(relay.const(1), broken))


def test_a_debug_function_is_noted_in_the_text_but_not_read_back():
    x = relay.var("x", shape=(), dtype="int32")
    text = relay.IRModule.from_expr(relay.Function([x], relay.op.debug(x, repr))).astext()
    assert "debug(%x, debug_func=meta[relay.Unreadable][0])" in text
    with pytest.raises(RelayError, match="has no text form"):
        relay.parse(text)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (relay.cpu(), "cpu(0)"),
        (relay.nd.Device("cuda", 2), "cuda(2)"),
        ("cuda", "cuda(0)"),
        ("cuda:3", "cuda(3)"),
        ("ext_dev(1)", "ext_dev(1)"),
        (None, ""),
        ("", ""),
    ],
)
def test_devices_have_one_spelling(given, name):
    assert device_name(given) == name
    assert relay.annotation.on_device(relay.var("x"), given).attrs.virtual_device == name


@pytest.mark.parametrize("given", ["cuda(", "CUDA 1", "cuda(x)", 7])
def test_what_is_no_device_is_refused(given):
    with pytest.raises(RelayError, match="is no device"):
        device_name(given)


def test_a_function_says_where_its_parameters_and_its_result_are():
    x = relay.var("x", shape=(2,), dtype="float32")
    placed = relay.annotation.function_on_device(relay.Function([x], x), ["cpu:1"], relay.cpu())
    assert placed.attrs["param_devices"] == ("cpu(1)",)
    assert placed.attrs["result_device"] == "cpu(0)"
    read = relay.parse(relay.IRModule.from_expr(placed).astext())
    assert read["main"].attrs == placed.attrs
    with pytest.raises(RelayError, match="1 parameters needs as many devices, found 2"):
        relay.annotation.function_on_device(placed, ["cpu", "cpu"], None)


PLACED = (
    lambda x: relay.annotation.on_device(x, "cuda(0)"),
    lambda x: relay.device_copy(x, "cuda:1", relay.cpu()),
    lambda x: relay.device_copy(x, relay.cpu(), "cuda:1"),
)


@pytest.mark.parametrize("place", PLACED)
@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_a_program_for_another_device_does_not_run_on_the_cpu(place, kind):
    x = relay.var("x", shape=(2,), dtype="float32")
    mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(place(relay.exp(x)))))
    with pytest.raises(RelayError, match=r"there is no device `cuda\("):
        relay.create_executor(kind, mod).evaluate()(np.zeros(2, "float32"))


def test_a_function_cannot_be_placed_on_another_device():
    x = relay.var("x", shape=(2,), dtype="float32")
    for where, result in ((["cuda"], None), ([None], "cuda")):
        with pytest.raises(RelayError, match=r"there is no device `cuda\(0\)`"):
            relay.annotation.function_on_device(relay.Function([x], x), where, result)


def test_simulated_quantization_refuses_an_unknown_kind():
    x = relay.var("x", shape=(2,), dtype="float32")
    ends = [relay.const(v, "float32") for v in (0.5, -2, 2)]
    with pytest.raises(TypeCheckError, match="`kind` is out of range"):
        infer_expr(relay.annotation.simulated_quantize(x, *ends, kind=4))


def test_simulated_quantization_is_as_far_off_as_integers_are():
    x = np.linspace(-1, 1, 100, dtype="float32")
    ends = [relay.const(v, "float32") for v in (1 / 128, -127, 127)]
    found = evaluate(relay.annotation.simulated_quantize(relay.const(x), *ends, kind=1)).numpy()
    assert np.abs(found - x).max() <= 1 / 128
    assert (found * 128 == np.round(found * 128)).all()
