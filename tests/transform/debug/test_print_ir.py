"""Printing inside a sequence."""

import relay
from relay.transform import PrintIR, Sequential


def test_the_program_is_printed_and_not_changed(capsys):
    x = relay.var("x", shape=(2,))
    module = relay.IRModule.from_expr(relay.add(x, x))
    made = Sequential([PrintIR("here")])(module)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("PrintIR(here):\n")
    assert "add(%x, %x)" in captured.err
    assert made["main"] is module["main"]


def test_metadata_is_printed_on_demand(capsys):
    x = relay.var("x", shape=(2,))
    module = relay.IRModule.from_expr(relay.add(x, relay.const([1.0, 2.0])))
    PrintIR()(module)
    assert "#[metadata]" not in capsys.readouterr().err
    PrintIR(show_meta_data=True)(module)
    assert "#[metadata]" in capsys.readouterr().err
