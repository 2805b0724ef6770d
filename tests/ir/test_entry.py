"""Where a program begins."""

import relay
from relay.ir.entry import with_main, with_main_apart

HEAD = '#[version = "0.0.5"]\n'


def text(module):
    return relay.transform.InferType()(module).astext()


def test_a_main_that_calls_itself_gets_another_name():
    module = relay.parse(
        HEAD + "def @main(%n: int32) -> int32 { if (%n == 0) { 0 } else { @main(%n - 1) } }"
    )
    apart = with_main_apart(module)
    expected = relay.parse(
        HEAD + "def @main_0(%n: int32) -> int32 { if (%n == 0) { 0 } else { @main_0(%n - 1) } }\n"
        "def @main(%n: int32) -> int32 { @main_0(%n) }"
    )
    relay.ir.assert_structural_equal(relay.transform.InferType()(apart), expected)
    assert "main_0" not in module


def test_a_main_that_nobody_calls_stays():
    module = relay.parse(HEAD + "def @main(%n: int32) -> int32 { %n }")
    assert with_main_apart(module) is module


def test_another_function_becomes_main():
    module = relay.parse(
        HEAD + "def @main(%n: int32) -> int32 { @f(%n) }\n"
        "def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @main(%n - 1) } }"
    )
    moved = with_main(module, "f")
    assert "@main_0(" in text(moved)
    assert relay.create_executor("debug", moved).evaluate()(5).item() == 0
    assert with_main(module, "main")["main"] is module["main"]
