"""Functions that are worth no call are put where they are called."""

from hypothesis import given, settings

import relay
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import AutoInline, InferType

HEADER = '#[version = "0.0.5"]\n'
LARGE = " ".join(f"let %v{i} = add(%x, {i});" for i in range(20)) + " %v19"


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def inlined(mod):
    after = AutoInline()(mod)
    assert_generated_ok(after)
    return after


def assert_rewrites(before, after):
    assert_structural_equal(inlined(parse(before)), parse(after))


def assert_stays(text):
    before = parse(text)
    after = AutoInline()(before)
    assert all(after[name] is function for name, function in before.functions.items())


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_small_functions_go_everywhere():
    assert_rewrites(
        """
        def @twice(%x: int32) { add(%x, %x) }
        def @main(%y: int32) { @twice(@twice(%y)) }
        """,
        "def @main(%y: int32) { let %x = add(%y, %y); add(%x, %x) }",
    )


def test_what_is_called_once_goes_there_however_large():
    assert_rewrites(
        f"def @large(%x: int32) {{ {LARGE} }} def @main(%x: int32) {{ @large(%x) }}",
        f"def @main(%x: int32) {{ {LARGE} }}",
    )


def test_large_functions_stay():
    assert_stays(
        f"def @large(%x: int32) {{ {LARGE} }} def @main(%x: int32) {{ @large(@large(%x)) }}"
    )


def test_what_is_put_into_a_function_counts():
    levels = "".join(
        f"def @f{i + 1}(%x: int32) {{ add(@f{i}(%x), @f{i}(add(%x, 1))) }} " for i in range(30)
    )
    after = inlined(
        parse(f"def @f0(%x: int32) {{ negative(%x) }} {levels} def @main(%x: int32) {{ @f30(%x) }}")
    )
    assert 3 < len(after.functions) < 30
    assert len(str(after)) < 40_000


def test_a_function_that_calls_itself_stays():
    assert_stays(
        """
        def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @f(%n - 1) } }
        def @main(%n: int32) { @f(%n) }
        """
    )


def test_of_a_circle_one_stays():
    assert_rewrites(
        """
        def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
        def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
        def @main(%n: int32) { @even(%n) }
        """,
        """
        def @even(%n: int32) -> bool {
          if (%n == 0) { True } else {
            let %m = %n - 1;
            if (%m == 0) { False } else { @even(%m - 1) }
          }
        }
        def @main(%n: int32) { @even(%n) }
        """,
    )


def test_values_closures_and_what_nobody_calls_stay():
    assert_stays(
        """
        def @f(%x: int32) -> int32 { %x }
        def @apply(%g: fn (int32) -> int32, %x: int32) -> int32 { %g(%g(%g(%x))) }
        def @make(%x: int32, Closure=1) -> fn () -> int32 { fn () -> int32 { %x } }
        def @theirs(%x: int32, Compiler="theirs") -> int32 { %x }
        def @main(%x: int32) { (@f, @make(%x), @theirs(%x)) }
        """
    )


@settings(deadline=None)
@given(programs())
def test_programs_compute_the_same(program):
    mod, inputs = program
    after = inlined(InferType()(mod))
    try:
        expected = evaluate(mod, *inputs)
    except relay.RelayError:
        return
    assert_same_value(evaluate(after, *inputs), expected)
