"""Functions come back from other compilers."""

import numpy as np
import pytest

import relay
from relay.check.wellformed import check_well_formed
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value
from relay.transform import InferType, InlineCompilerFunctionsBoundTo

HEADER = '#[version = "0.0.5"]\n'
F = 'def @f(%y: int32, Primitive=1, Compiler="c", global_symbol="f") -> int32 { add(%y, 1) }'
G = """
def @g(%y: int32, Compiler="c", global_symbol="g") -> int32 {
  fn (%p: int32, Composite="c.two") -> int32 { negative(negative(%p)) }(%y)
}
"""


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def assert_rewrites(names, before, after):
    result = InlineCompilerFunctionsBoundTo(names)(parse(before))
    check_well_formed(result)
    assert_structural_equal(result, parse(after))


def test_the_body_stands_where_the_function_was_called():
    assert_rewrites(
        [relay.GlobalVar("f")],
        f"def @main(%x: int32) {{ negative(@f(@f(%x))) }} {F}",
        "def @main(%x: int32) { negative(add(add(%x, 1), 1)) }",
    )


def test_composite_functions_inside_come_back_too():
    assert_rewrites(
        ["g"],
        f"def @main(%x: int32) {{ add(@g(%x), 1) }} {G}",
        "def @main(%x: int32) { add(negative(negative(%x)), 1) }",
    )


def test_only_what_is_named_comes_back():
    assert_rewrites(
        ["g"],
        f"def @main(%x: int32) {{ @f(@g(%x)) }} {F} {G}",
        f"def @main(%x: int32) {{ @f(negative(negative(%x))) }} {F}",
    )


def test_a_function_that_is_a_value_becomes_a_plain_one():
    assert_rewrites(
        ["f"],
        f"def @main(%x: int32) {{ let %h = @f; %h(%x) }} {F}",
        "def @main(%x: int32) { let %h = @f; %h(%x) } def @f(%y: int32) -> int32 { add(%y, 1) }",
    )


def test_other_functions_stay():
    mod = parse("def @main(%x: int32) { @f(%x) } def @f(%x: int32) { %x }")
    after = InlineCompilerFunctionsBoundTo(["f", "nobody"])(mod)
    assert all(after[name] is mod[name] for name in ("main", "f"))


def test_what_has_effects_happens_once_and_in_order():
    mod = parse(
        """
        def @main(%x: float32) {
          let %r = ref(%x);
          let %next = fn () -> float32 {
            let %_ = ref_write(%r, multiply(ref_read(%r), 3f));
            ref_read(%r)
          };
          let %y = @f(%next(), %next());
          (%y, ref_read(%r))
        }
        def @f(%p: float32, %q: float32, Compiler="c") { subtract(%q, multiply(%p, %p)) }
        """
    )
    after = InlineCompilerFunctionsBoundTo(["f"])(mod)
    results = [relay.create_executor("debug", m).evaluate()(np.float32(2)) for m in (mod, after)]
    assert_same_value(*results)


def test_a_single_name_is_no_list():
    with pytest.raises(PassError, match="a list of global variables is needed"):
        InlineCompilerFunctionsBoundTo("f")
