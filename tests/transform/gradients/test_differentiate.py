"""Gradients of the whole language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay import tree
from relay.errors import GradientError
from relay.testing import check_grad
from relay.transform.gradients.differentiate import gradient
from tests.support.looping import each, naming
from tests.transform.gradients.random_programs import random_program

AT = [np.array(0.7), np.array(-0.4)]


def program(text: str) -> relay.IRModule:
    return relay.fromtext(f'#[version = "0.0.5"]\n{text}')


def evaluate(module: relay.IRModule, function: Any, *args: Any, kind: str = "debug") -> Any:
    module = module.copy()
    module["main"] = function
    return relay.create_executor(kind, relay.transform.InferType()(module)).evaluate()(*args)


PROGRAMS = {
    "branches": """def @main(%x: float64, %y: float64) {
      if (%x > %y) { %x * sin(%y) } else { %y }
    }""",
    "recursion": """
    def @power(%x: float64, %n: int32) -> float64 {
      if (%n == 0) { 1f64 } else { %x * @power(%x, %n - 1) }
    }
    def @main(%x: float64, %y: float64) { @power(%x, 5) * @power(%y, 2) }""",
    "mutual recursion": """
    def @even(%x: float64, %n: int32) -> float64 {
      if (%n == 0) { %x } else { sin(@odd(%x, %n - 1)) }
    }
    def @odd(%x: float64, %n: int32) -> float64 {
      if (%n == 0) { %x * %x } else { cos(@even(%x, %n - 1)) }
    }
    def @main(%x: float64, %y: float64) { @even(%x, 5) * %y }""",
    "local recursion": """def @main(%x: float64, %y: float64) {
      let %f = fn (%a: float64, %n: int32) -> float64 {
        if (%n == 0) { %a } else { %f(%a * %y, %n - 1) }
      };
      %f(%x, 4)
    }""",
    "aliases": """
    def @product(%a: float64, %b: float64) { %a * %b }
    def @main(%x: float64, %y: float64) { @product(%x, %x) + @product(%y, %x) }""",
    "tuples": """
    def @swap(%p: (float64, (float64, int32))) { ((%p.1).0, (%p.0, (%p.1).1)) }
    def @main(%x: float64, %y: float64) {
      let %q = @swap((%x, (%y, 3)));
      %q.0 * exp((%q.1).0)
    }""",
    "operators as values": """
    def @twice(%f: fn (float64) -> float64, %x: float64) { %f(%f(%x)) }
    def @main(%x: float64, %y: float64) { @twice(tanh, %x) * @twice(sin, %y) }""",
    "constructors as values": """
    type Box { Full(float64), Empty }
    def @open(%b: Box) -> float64 { match (%b) { Full(%x) => %x * %x, Empty => 0f64 } }
    def @use(%f: fn (float64) -> Box, %x: float64) { @open(%f(%x)) + @open(Empty) }
    def @main(%x: float64, %y: float64) { @use(Full, %x * %y) }""",
    "several results of an operator": """def @main(%x: float64, %y: float64) {
      let %s = split(stack((%x, %y * %y)), indices_or_sections=2);
      let %f = fn (%p: (Tensor[(1), float64], Tensor[(1), float64])) { %p.0 * %p.1 };
      sum(%f(%s))
    }""",
    "a reference to a function that calls itself": """def @main(%x: float64, %y: float64) {
      let %r = ref(fn (%a: float64, %n: int32) -> float64 { %a });
      let %f = fn (%a: float64, %n: int32) -> float64 {
        let %g = ref_read(%r);
        if (%n == 0) { %a * %y } else { %g(sin(%a), %n - 1) }
      };
      let %u = ref_write(%r, %f);
      %f(%x, 3)
    }""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_agree_with_differences(name: str) -> None:
    module = program(PROGRAMS[name])
    check_grad(module.get_global_var("main"), AT, mod=module, rtol=1e-7)


@each("kind", ["vm", "aot"])
def test_every_executor_runs_gradients(kind: str) -> None:
    for seed in (3,):
        module = relay.fromtext(random_program(seed, depth=1))
        function = gradient(module["main"], module)
        wanted = evaluate(module, function, *AT)
        found = evaluate(module, function, *AT, kind=kind)
        for one, other in zip(found[1], wanted[1], strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


def check_programs(seeds: range) -> None:
    for seed in seeds:
        with naming(f"seed {seed}"):
            module = relay.fromtext(random_program(seed))
            slopes = check_grad(module.get_global_var("main"), AT, mod=module, rtol=1e-5)
            assert all(slope != 0 for slope in slopes)


def test_random_programs_agree_with_differences() -> None:
    check_programs(range(8))


@pytest.mark.full
def test_many_random_programs_agree_with_differences() -> None:
    check_programs(range(500))


def chain(length: int) -> Any:
    """A function that binds the results of `length` operators to variables."""
    x = relay.var("x", "float64")
    scope = relay.ScopeBuilder()
    value: Any = x
    for number in range(length):
        value = scope.let(f"v{number}", relay.negative(value))
    scope.ret(value)
    return relay.Function([x], scope.get())


def test_the_size_of_a_gradient_is_linear() -> None:
    sizes = [sum(1 for _ in tree.postorder(gradient(chain(length)))) for length in (100, 300, 500)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


@pytest.mark.full
def test_chains_of_any_length_are_differentiated() -> None:
    made = gradient(chain(100_000))
    found = evaluate(relay.IRModule(), made, np.array(2.0))
    assert float(found[1][0].numpy()) == 1


def test_loops_of_many_rounds_are_differentiated() -> None:
    module = program(
        """def @loop(%x: float64, %a: float64, %n: int32) -> float64 {
          if (%n == 0) { %a } else { @loop(%x, %a * %x, %n - 1) }
        }
        def @main(%x: float64, %n: int32) -> float64 { @loop(%x, 1f64, %n) }"""
    )
    rounds, at = 5_000, 1 - 1e-5
    function = gradient(module["main"], module, wrt=[0])
    found = evaluate(module, function, np.array(at), np.array(rounds, "int32"), kind="vm")
    np.testing.assert_allclose(found[1][0].numpy(), rounds * at ** (rounds - 1), rtol=1e-7)


# --- again ------------------------------------------------------------------------------------


def second(module: relay.IRModule, mode: str = "higher_order") -> Any:
    """The gradient of the first gradient of main."""
    once = gradient(module["main"], module)
    first = relay.Function(
        once.params, relay.TupleGetItem(relay.TupleGetItem(once.body, 1), 0), None
    )
    return first, gradient(first, module)


def check_second(seeds: range) -> None:
    for seed in seeds:
        with naming(f"seed {seed}"):
            module = relay.fromtext(random_program(seed))
            first, twice = second(module)
            found = evaluate(module, twice, *AT)
            eps = 1e-5
            for place in range(2):
                ends = []
                for step in (eps, -eps):
                    at = [one + (step if i == place else 0) for i, one in enumerate(AT)]
                    ends.append(float(evaluate(module, first, *at).numpy()))
                wanted = (ends[0] - ends[1]) / (2 * eps)
                np.testing.assert_allclose(
                    float(found[1][place].numpy()), wanted, rtol=1e-5, atol=1e-7
                )


def test_second_derivatives_agree_with_differences_of_the_first() -> None:
    check_second(range(1))


@pytest.mark.full
def test_many_second_derivatives_agree_with_differences_of_the_first() -> None:
    check_second(range(100))


# --- data in parameters and results -----------------------------------------------------------

TREES = """
type Tree { Node(Tree, Tensor[(2), float64], int32, Tree), Leaf }
def @total(%t: Tree) -> Tensor[(2), float64] {
  match (%t) {
    Node(%l, %x, %n, %r) => sin(@total(%l) + %x) * @total(%r) * cast(%n, dtype="float64"),
    Leaf => zeros(shape=[2], dtype="float64") + 0.5f64,
  }
}
"""


def test_gradients_of_data_have_its_type() -> None:
    module = program(
        f"""{TREES}
        def @value(%t: Tree) -> float64 {{
          match (%t) {{ Node(%l, %x, %n, %r) => sum(%x * %x) + @value(%l), Leaf => 0f64 }}
        }}
        def @main(%a: Tensor[(2), float64]) {{
          let %t = Node(Node(Leaf, %a * %a, 3, Leaf), %a, 7, Leaf);
          let %g = @slope(%t);
          (@value((%g.1).0), %g.0)
        }}
        def @slope(%t: Tree) {{ (@total(%t), (%t,)) }}"""
    )
    slope = gradient(module.get_global_var("total"), module)
    module["slope"] = slope
    at = np.array([0.3, -0.8])
    result = evaluate(module, module["main"], at)
    inside = np.sin(0.5 + at**2) * 0.5 * 3
    outer = np.cos(inside + at) * 0.5 * 7
    inner = outer * np.cos(0.5 + at**2) * 0.5 * 3
    np.testing.assert_allclose(result[1].numpy(), np.sin(inside + at) * 0.5 * 7)
    np.testing.assert_allclose(result[0].numpy(), (outer**2 + inner**2).sum())


def test_a_tensor_at_several_places_of_the_result_counts_several_times() -> None:
    module = program("def @main(%x: float64, %y: float64) { (%x, (%x * %y, %x)) }")
    found = evaluate(module, gradient(module["main"], module), *AT)
    assert [float(one.numpy()) for one in found[1]] == [AT[1] + 2, AT[0]]


def test_integers_have_zeros_and_are_refused_by_name() -> None:
    module = program("def @main(%x: float64, %n: int32) { if (%n > 3) { %x } else { %x * %x } }")
    found = evaluate(module, gradient(module["main"], module), AT[0], np.array(2, "int32"))
    assert [float(one.numpy()) for one in found[1]] == [2 * AT[0], 0]
    only = evaluate(module, gradient(module["main"], module, wrt=[0]), AT[0], np.array(9, "int32"))
    assert [float(one.numpy()) for one in only[1]] == [1]
    with pytest.raises(GradientError, match="parameter `n` has no gradient"):
        gradient(module["main"], module, wrt=[1])


# --- errors ----------------------------------------------------------------------------------


@each(
    "text, message",
    [
        ("def @main(%f: fn (float64) -> float64) { %f(1f64) }", "a function in parameter `f`"),
        ("def @main(%r: ref(float64)) { ref_read(%r) }", "a reference in parameter `r`"),
        ("def @main(%x: float64) { ref(%x) }", "a reference in the result"),
        ("def @main(%x: float64) { fn (%y: float64) { %x * %y } }", "a function in the result"),
        (
            'def @main(%x: Tensor[(4), float64]) { reinterpret(%x, dtype="float64") }',
            "`reinterpret` has no gradient: its result depends on the bits",
        ),
    ],
)
def test_errors_say_what_and_where(text: str, message: str) -> None:
    module = program(text)
    with pytest.raises(GradientError, match=message) as raised:
        gradient(module["main"], module)
    assert raised.value.diagnostics[0].span is not None


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(GradientError, match="no function"):
        gradient(relay.const(1.0))
    with pytest.raises(GradientError, match="no such mode"):
        gradient(relay.Function([], relay.const(1.0)), mode="forward")


# --- what has no gradient ---------------------------------------------------------------------

READ = """
type Tree { Node(Tree, float64, Tree), Leaf }
def @total(%t: Tree, %x: float64) -> float64 {
  match (%t) {
    Node(%l, %a, %r) => {
      let %s = @total(%l, %x * %a);
      %s * @total(%r, %x + %a) + sin(%a * %x)
    },
    Leaf => %x,
  }
}
def @main(%t: Tree, %x: float64) { @total(%t, %x) }
def @run(%a: float64, %x: float64) { @slope(Node(Node(Leaf, %a, Leaf), 2f64, Leaf), %x) }
def @slope(%t: Tree, %x: float64) { (%x, (%x,)) }
"""


def test_data_that_is_only_read_has_no_duals() -> None:
    module = program(READ)
    module["slope"] = gradient(module["main"], module, wrt=[1])
    assert "Tree_dual" not in {header.name_hint for header in module.type_definitions}
    value, (slope,) = evaluate(module, module["run"], np.array(0.3), np.array(0.7))

    def total(x: float) -> float:
        inner = (x * 2 * 0.3) * (x * 2 + 0.3) + np.sin(0.3 * x * 2)
        return inner * (x + 2) + np.sin(2 * x)

    np.testing.assert_allclose(value.numpy(), total(0.7))
    np.testing.assert_allclose(
        slope.numpy(), (total(0.7 + 1e-6) - total(0.7 - 1e-6)) / 2e-6, rtol=1e-8
    )


def test_data_that_is_made_or_wanted_has_duals() -> None:
    for before, after, wrt in (
        (
            "Leaf => %x,",
            "Leaf => match? (Node(Leaf, %x, Leaf)) { Node(_, %y, _) => %y * %x },",
            [1],
        ),
        ("", "", [0, 1]),
    ):
        module = program(READ.replace(before, after) if before else READ)
        gradient(module["main"], module, wrt=wrt)
        assert "Tree_dual" in {header.name_hint for header in module.type_definitions}


def test_nothing_is_computed_for_what_depends_on_no_wanted_parameter() -> None:
    module = program(
        """def @main(%x: float64, %y: float64) {
          let %z = if (%y > 0f64) { sin(%y) } else { cos(%y) };
          let %u = exp(%z) * %y;
          let %v = if (%y > 1f64) { %u } else { %z };
          %x * %v
        }"""
    )
    found = str(gradient(module["main"], module, wrt=[0]))
    assert "multiply" in found
    # the cells of the result and of x
    assert found.count("ref_write(") == 3  # with the tape
    _value, (slope,) = evaluate(module, gradient(module["main"], module, wrt=[0]), *AT)
    np.testing.assert_allclose(slope.numpy(), np.cos(AT[1]))
