"""Composite functions become the operators they are made of."""

import numpy as np
import pytest

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.dataflow_pattern import is_op, wildcard
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value
from relay.transform import FuseOps, InferType, InlineComposites, MergeComposite
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
X = "%x: Tensor[(4), float32]"
BRANCH = f"""
def @main({X}, %c: bool) {{
  if (%c) {{ fn (%p: Tensor[(4), float32], Composite="a.b") {{ exp(add(%p, %p)) }}(%x) }}
  else {{ %x }}
}}
"""


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def inlined(mod, target=""):
    after = InlineComposites(target)(mod)
    check_well_formed(after)
    return after


def assert_rewrites(before, after, target=""):
    assert_structural_equal(inlined(parse(before), target), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_operators_stand_where_the_function_was_called():
    assert_rewrites(
        f"""
        def @main({X}) {{
          sqrt(fn (%p: Tensor[(4), float32], Composite="a.b", PartitionedFromPattern="add_exp_") {{
            exp(add(%p, %p))
          }}(negative(%x)))
        }}
        """,
        f"def @main({X}) {{ %0 = negative(%x); sqrt(exp(add(%0, %0))) }}",
    )


def test_composites_inside_of_composites_go_too():
    assert_rewrites(
        """
        def @main(%x: int32) {
          fn (%p: int32, Composite="a.b") {
            negative(fn (%q: int32, Composite="a.c") { add(%q, 1) }(%p))
          }(%x)
        }
        """,
        "def @main(%x: int32) { negative(add(%x, 1)) }",
    )


def test_only_those_for_one_compiler_go_if_it_is_named():
    text = """
    def @main(%x: int32) {
      fn (%p: int32, Composite="a.b") { negative(%p) }(
        fn (%q: int32, Composite="ab.c") { add(%q, 1) }(%x))
    }
    """
    assert_rewrites(
        text,
        """
        def @main(%x: int32) {
          negative(fn (%q: int32, Composite="ab.c") { add(%q, 1) }(%x))
        }
        """,
        "a",
    )
    mod = parse(text)
    assert inlined(mod, "c")["main"] is mod["main"]


def test_a_composite_that_is_a_value_becomes_a_plain_function():
    assert_rewrites(
        """
        def @main(%x: int32) {
          let %f = fn (%p: int32, Composite="a.b") { negative(%p) };
          add(%f(%x), @g(%f(1)))
        }
        def @g(%x: int32, Composite="a.g") { add(%x, 1) }
        """,
        """
        def @main(%x: int32) {
          let %f = fn (%p: int32) { negative(%p) };
          add(%f(%x), @g(%f(1)))
        }
        def @g(%x: int32) { add(%x, 1) }
        """,
    )


def test_what_others_compile_keeps_its_composites():
    mod = parse(
        """
        def @main(%x: int32) { @f(%x) }
        def @f(%x: int32, Compiler="a") { fn (%p: int32, Composite="a.b") { negative(%p) }(%x) }
        """
    )
    after = inlined(mod)
    assert all(after[name] is mod[name] for name in ("main", "f"))


def test_what_has_effects_happens_once_and_in_order():
    before = parse(
        """
        def @main(%x: float32) {
          let %r = ref(%x);
          let %next = fn () -> float32 {
            let %_ = ref_write(%r, multiply(ref_read(%r), 3f));
            ref_read(%r)
          };
          let %y = fn (%p: float32, %q: float32, Composite="a.b") {
            subtract(%q, multiply(%p, %p))
          }(%next(), %next());
          (%y, ref_read(%r))
        }
        """
    )
    assert_same_value(evaluate(inlined(before), np.float32(2)), evaluate(before, np.float32(2)))


def test_a_program_without_composites_stays_as_it_is():
    mod = parse("def @main(%x: int32) { fn (%p: int32) { negative(%p) }(%x) }")
    assert inlined(mod)["main"] is mod["main"]


def test_long_chains_are_inlined():
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(deep(10_000)):
        body = relay.nn.relu(relay.add(body, x))
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    table = [("a.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]
    assert_structural_equal(inlined(MergeComposite(table)(mod)), mod)


# --- and so programs with composite functions compile -------------------------------------------


@pytest.mark.parametrize("level", [0, 1, 3])
def test_whole_programs_with_composites_compile(level):
    exe = relay.compile(parse(BRANCH), level=level)
    x = np.array([-1, 0, 0.5, 2], "float32")
    np.testing.assert_allclose(exe(x, True), np.exp(x + x), 1e-6)
    np.testing.assert_array_equal(exe(x, False), x)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_straight_line_code_with_composites_compiles(level):
    mod = parse(
        f"""
        def @main({X}) {{
          sqrt(fn (%p: Tensor[(4), float32], Composite="a.b") {{ exp(add(%p, %p)) }}(%x))
        }}
        """
    )
    x = np.array([-1, 0, 0.5, 2], "float32")
    np.testing.assert_allclose(relay.compile(mod, level=level)(x), np.exp(x), 1e-6)


def test_composite_functions_of_the_module_compile():
    mod = parse(
        """
        def @main(%x: float32, %n: int32) {
          if (greater(%n, 0)) { @f(@main(%x, subtract(%n, 1))) } else { %x }
        }
        def @f(%x: float32, Composite="a.f") { multiply(%x, 2f) }
        """
    )
    assert float(relay.compile(mod)(np.float32(3), np.int32(4))) == 48


def test_operators_are_fused_with_those_around():
    mod = relay.pipeline.passes(3)(
        parse(
            f"""
            def @main({X}) {{
              sqrt(fn (%p: Tensor[(4), float32], Composite="a.b") {{ exp(add(%p, %p)) }}(%x))
            }}
            """
        )
    )
    kernels = [
        node
        for node in tree.postorder(mod["main"].body)
        if isinstance(node, relay.Function) and node.attrs.get("Primitive")
    ]
    assert len(kernels) == 1
    assert FuseOps()(mod)["main"] is mod["main"]
