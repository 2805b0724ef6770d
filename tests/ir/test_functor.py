"""Visitors and mutators: one method per kind, memory, and nesting without end."""

from __future__ import annotations

import contextvars
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import relay
from relay.errors import RelayError
from relay.ir.compare import assert_structural_equal
from tests.support.sampling import deep

DEEP = deep(100_000)
ADD, RELU, LEAKY = (relay.op.get(name) for name in ("add", "nn.relu", "nn.leaky_relu"))


def tensor(name: str = "x") -> relay.Var:
    return relay.var(name, shape=(2, 3))


def deep_calls(depth: int) -> relay.Expr:
    expr: relay.Expr = tensor()
    for _ in range(depth):
        expr = relay.Call(RELU, (expr,))
    return expr


def deep_lets(depth: int) -> relay.Expr:
    expr: relay.Expr = tensor()
    for _ in range(depth):
        v = tensor("v")
        expr = relay.Let(v, RELU(v), expr)
    return expr


def deep_functions(depth: int) -> relay.Expr:
    expr: relay.Expr = tensor()
    for _ in range(depth):
        expr = relay.Function((), expr)
    return expr


def at_depth(frames: int, f: Callable[[], Any]) -> Any:
    return f() if frames <= 0 else at_depth(frames - 1, f)


class CountOperators(relay.ExprVisitor):
    """How often each operator is called."""

    def __init__(self):
        super().__init__()
        self.counts: dict[str, int] = {}

    def visit_call(self, call):
        if isinstance(call.op, relay.Op):
            self.counts[call.op.name] = self.counts.get(call.op.name, 0) + 1
        super().visit_call(call)


class SoftenRelu(relay.ExprMutator):
    """nn.relu becomes nn.leaky_relu."""

    def visit_call(self, call):
        call = super().visit_call(call)
        if call.op is RELU:
            return relay.nn.leaky_relu(call.args[0], alpha=0.1)
        return call


# --- what people write


def test_a_visitor_counts_operators():
    x = tensor()
    shared = RELU(x)
    program = relay.Function([x], (shared + RELU(shared)) + relay.const(1.0))
    visitor = CountOperators()
    visitor.visit(program)
    assert visitor.counts == {"add": 2, "nn.relu": 2}


def test_a_mutator_replaces_operators():
    def program(op: Callable[[relay.Expr], relay.Expr]) -> relay.Function:
        x, v = tensor(), tensor("v")
        return relay.Function([x], relay.Let(v, op(x), relay.Tuple([v + op(v), relay.const(1.0)])))

    made = SoftenRelu().visit(program(RELU))
    assert_structural_equal(made, program(lambda e: relay.nn.leaky_relu(e, alpha=0.1)))


def test_a_visitor_lists_the_shapes_of_calls():
    class Shapes(relay.ExprVisitor):
        def __init__(self):
            super().__init__()
            self.found: list[tuple[str, tuple[int, ...]]] = []

        def visit_call(self, call):
            super().visit_call(call)
            self.found.append((call.op.name, call.checked_type.concrete_shape))

    x, y = tensor(), relay.var("y", shape=(3,))
    mod = relay.transform.InferType()(relay.IRModule.from_expr(RELU(x + y)))
    visitor = Shapes()
    visitor.visit(mod["main"])
    assert visitor.found == [("add", (2, 3)), ("nn.relu", (2, 3))]


def test_what_an_override_does_not_go_on_to_is_not_visited():
    class OutsideFunctions(CountOperators):
        def visit_function(self, fn):
            pass

    x, y = tensor(), tensor("y")
    inside = relay.Function([y], RELU(y))
    visitor = OutsideFunctions()
    visitor.visit(relay.Tuple([RELU(x), inside]))
    assert visitor.counts == {"nn.relu": 1}


def test_an_override_acts_before_and_after():
    class Trace(relay.ExprVisitor):
        def __init__(self):
            super().__init__()
            self.events: list[str] = []

        def visit_call(self, call):
            self.events.append(f"enter {call.op.name}")
            super().visit_call(call)
            self.events.append(f"leave {call.op.name}")

    x = tensor()
    trace = Trace()
    trace.visit(RELU(x + x))
    assert trace.events == ["enter nn.relu", "enter add", "leave add", "leave nn.relu"]


# --- every kind


def everything() -> relay.Function:
    x, v, w, c = tensor("x"), tensor("v"), tensor("w"), relay.var("c", "bool")
    header = relay.GlobalTypeVar("Box")
    box = relay.Constructor("Box", [x.type_annotation], header)
    ref = relay.RefCreate(RELU(x))
    match = relay.Match(
        relay.Call(box, [x]),
        [relay.Clause(relay.PatternConstructor(box, [relay.PatternVar(w)]), RELU(w))],
    )
    fields = [
        relay.If(c, x, v),
        relay.TupleGetItem(relay.Tuple([x]), 0),
        relay.RefRead(ref),
        relay.RefWrite(ref, relay.const(1.0)),
        relay.Call(relay.GlobalVar("f"), [x]),
        match,
    ]
    return relay.Function([x, c], relay.Let(v, x, relay.Tuple(fields)))


KINDS = (
    *("function", "call", "let", "var", "global_var", "if", "tuple", "tuple_getitem", "constant"),
    *("ref_create", "ref_read", "ref_write", "op", "constructor", "match"),
)


def test_every_kind_has_its_method():
    seen: set[str] = set()

    def override(name: str):
        def method(self, expr):
            seen.add(name)
            return getattr(relay.ExprVisitor, f"visit_{name}")(self, expr)

        return method

    visitor = type("All", (relay.ExprVisitor,), {f"visit_{k}": override(k) for k in KINDS})()
    visitor.visit(everything())
    assert seen == set(KINDS)


def test_a_mutator_that_changes_nothing_gives_the_same_object():
    program = everything()
    object.__setattr__(program, "ty", relay.TupleType([]))
    made = relay.ExprMutator().visit(program)
    assert made is program
    assert made.ty is not None


def test_a_mutator_reaches_every_part():
    class Rename(relay.ExprMutator):
        def visit_var(self, var):
            return relay.Var(var.name_hint + "_", var.type_annotation)

    program = everything()
    made = Rename().visit(program)
    assert_structural_equal(made, program)
    names = {v.name_hint for v in relay.ir.variables.all_vars(made)}
    assert names == {"x_", "v_", "w_", "c_"}
    assert relay.ir.variables.is_closed(made)


def test_what_is_rebuilt_has_no_type():
    x = tensor()
    inner, other = RELU(x), relay.Tuple([x])
    outer = relay.Tuple([inner, other])
    for node in (inner, other, outer):
        object.__setattr__(node, "ty", relay.TupleType([]))
    made = SoftenRelu().visit(outer)
    assert made.ty is None
    assert made.fields[0].ty is None
    assert made.fields[1] is other
    assert other.ty is not None


def test_a_functor_says_which_method_is_missing():
    with pytest.raises(RelayError, match="ExprFunctor does not define a method for Var"):
        relay.ExprFunctor().visit(tensor())
    with pytest.raises(RelayError, match="TypeFunctor has no method for TensorType"):
        relay.TypeFunctor().visit(relay.scalar_type("int8"))


@pytest.mark.parametrize("thing", [None, 3, "x", relay.PatternWildcard(), relay.TensorType(())])
def test_what_is_no_expression_cannot_be_visited(thing):
    with pytest.raises(RelayError, match="ExprVisitor cannot visit a"):
        relay.ExprVisitor().visit(thing)


def test_a_missing_method_is_also_what_python_calls_it():
    with pytest.raises(NotImplementedError) as caught:
        relay.ExprFunctor().visit(relay.var("x"))
    assert isinstance(caught.value, relay.RelayError)
    with pytest.raises(NotImplementedError):
        relay.TypeFunctor().visit(relay.TensorType(()))


def test_a_functor_gives_values():
    class Size(relay.ExprFunctor):
        def visit_var(self, var):
            return 1

        def visit_tuple(self, tup):
            return 1 + sum(self.visit(f) for f in tup.fields)

    x = tensor()
    assert Size().visit(relay.Tuple([x, relay.Tuple([x, x])])) == 5


def test_temporary_expressions_are_visited():
    class Scaled(relay.TempExpr):
        pass

    class Realize(relay.ExprMutator):
        def visit_temp(self, temp):
            return relay.const(1.0)

    made = Realize().visit(relay.Tuple([Scaled()]))
    assert isinstance(made.fields[0], relay.Constant)


# --- memory


def test_a_shared_expression_is_visited_once():
    x = tensor()
    shared = RELU(x)
    visitor = CountOperators()
    visitor.visit(relay.Tuple([shared, shared, relay.Tuple([shared])]))
    assert visitor.counts == {"nn.relu": 1}
    visitor.visit(shared)
    assert visitor.counts == {"nn.relu": 1}


def test_a_shared_expression_is_replaced_by_a_shared_one():
    x = tensor()
    shared = RELU(x)
    made = SoftenRelu().visit(relay.Tuple([shared, relay.Tuple([shared])]))
    assert made.fields[0] is made.fields[1].fields[0]
    assert made.fields[0].op is LEAKY


def test_a_graph_of_exponentially_many_paths_takes_linear_time():
    expr: relay.Expr = tensor()
    for _ in range(2000):
        expr = expr + expr
    visitor = CountOperators()
    visitor.visit(expr)
    assert visitor.counts == {"add": 2000}
    made = relay.ExprMutator().visit(expr)
    assert made is expr


def test_none_is_remembered_too():
    class Touch(relay.ExprFunctor):
        times = 0

        def visit_var(self, var):
            self.times += 1

    touch, x = Touch(), tensor()
    assert touch.visit(x) is None
    assert touch.visit(x) is None
    assert touch.times == 1


# --- depth


@pytest.mark.parametrize("build", [deep_calls, deep_lets, deep_functions])
def test_deep_programs_are_visited_and_rebuilt(build):
    limit = sys.getrecursionlimit()
    depth = DEEP if build is deep_calls else DEEP // 4
    program = build(depth)
    visitor = CountOperators()
    visitor.visit(program)
    assert sum(visitor.counts.values()) == (0 if build is deep_functions else depth)
    made = SoftenRelu().visit(program)
    assert type(made) is type(program)
    assert sys.getrecursionlimit() == limit


def test_an_override_with_many_frames_of_its_own():
    class Deep(CountOperators):
        def visit_call(self, call):
            at_depth(30, lambda: super(Deep, self).visit_call(call))

    visitor = Deep()
    visitor.visit(deep_calls(3000))
    assert visitor.counts == {"nn.relu": 3000}


@pytest.mark.parametrize("frames", [300, 600])
def test_visiting_from_a_deep_stack(frames):
    def visit() -> int:
        visitor = CountOperators()
        visitor.visit(deep_calls(5000))
        return visitor.counts["nn.relu"]

    assert at_depth(frames, visit) == 5000


def test_visitors_inside_an_override():
    class Outer(relay.ExprVisitor):
        total = 0

        def visit_call(self, call):
            if len(self.memo_map) % 500 == 2:
                inner = CountOperators()
                inner.visit(deep_calls(1500))
                self.total += inner.counts["nn.relu"]
            super().visit_call(call)

    program = deep_calls(3000)
    outer = Outer()
    at_depth(500, lambda: outer.visit(program))
    assert outer.total % 1500 == 0

    class Nested(CountOperators):
        level = 6

        def visit_var(self, var):
            if self.level:
                below = Nested()
                below.level = self.level - 1
                below.visit(deep_calls(400))
                self.counts["nn.relu"] += below.counts["nn.relu"]

    nested = Nested()
    nested.visit(deep_calls(400))
    assert nested.counts == {"nn.relu": 7 * 400}


def test_visitors_that_call_each_other():
    class Turn(relay.ExprVisitor):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.other = self

        def visit_call(self, call):
            self.calls += 1
            for arg in call.args:
                self.other.visit(arg)

    a, b = Turn(), Turn()
    a.other, b.other = b, a
    a.visit(deep_calls(10_000))
    assert (a.calls, b.calls) == (5000, 5000)


def test_a_visitor_used_again_after_an_error():
    class Fails(CountOperators):
        fails = True

        def visit_var(self, var):
            if self.fails:
                raise ValueError("not now")

    program = deep_calls(2000)
    visitor = Fails()
    with pytest.raises(ValueError, match="not now"):
        visitor.visit(program)
    visitor.fails, visitor.counts = False, {}
    visitor.visit(program)
    assert visitor.counts == {"nn.relu": 2000}


# --- errors, contexts, threads


class Stop(BaseException):
    """Like KeyboardInterrupt."""


@pytest.mark.parametrize("error", [KeyError("deep"), relay.RelayError("deep"), Stop("deep")])
def test_an_exception_keeps_its_kind(error):
    class Fails(CountOperators):
        def visit_var(self, var):
            raise error

    with pytest.raises(type(error), match="deep") as caught:
        Fails().visit(deep_calls(5000))
    assert caught.value is error


def test_an_override_may_catch_what_comes_from_below():
    class Careful(relay.ExprVisitor):
        caught = 0

        def visit_var(self, var):
            raise KeyError("deep")

        def visit_call(self, call):
            try:
                super().visit_call(call)
            except KeyError:
                self.caught += 1
                if self.caught < 1000:
                    raise

    visitor = Careful()
    visitor.visit(deep_calls(3000))
    assert visitor.caught == 1000


def test_context_variables_reach_the_bottom():
    depth = contextvars.ContextVar("depth", default=0)

    class Scoped(relay.ExprVisitor):
        seen = -1

        def visit_call(self, call):
            token = depth.set(depth.get() + 1)
            try:
                super().visit_call(call)
            finally:
                depth.reset(token)

        def visit_var(self, var):
            self.seen = depth.get()

    visitor = Scoped()
    visitor.visit(deep_calls(3000))
    assert visitor.seen == 3000
    assert depth.get() == 0


def test_visitors_in_several_threads():
    program = deep_calls(deep(10_000))
    results: list[int] = []

    def work() -> None:
        visitor = CountOperators()
        visitor.visit(program)
        results.append(visitor.counts["nn.relu"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [deep(10_000)] * 4


def test_a_visitor_passed_on_to_another_thread():
    visitor = CountOperators()
    visitor.visit(deep_calls(2000))
    thread = threading.Thread(target=lambda: visitor.visit(deep_calls(2000)))
    thread.start()
    thread.join()
    assert visitor.counts == {"nn.relu": 4000}


def test_nothing_stays_behind():
    program = deep_calls(3000)
    visitor, mutator = CountOperators(), SoftenRelu()
    visitor.visit(program)
    mutator.visit(program)
    gone = [weakref.ref(visitor), weakref.ref(mutator), weakref.ref(program)]
    del visitor, mutator, program
    gc.collect()
    assert not any(ref() for ref in gone)


# --- types


def test_a_type_visitor_sees_every_type():
    class Kinds(relay.TypeVisitor):
        def __init__(self):
            super().__init__()
            self.tensors: list[str] = []
            self.variables: list[str] = []

        def visit_tensor_type(self, ty):
            self.tensors.append(ty.dtype)

        def visit_type_var(self, ty):
            self.variables.append(ty.name)

    a = relay.TypeVar("A")
    ty = relay.FuncType(
        [relay.TupleType([relay.scalar_type("int8"), a]), relay.RefType(relay.scalar_type("bool"))],
        relay.TypeCall(relay.GlobalTypeVar("List"), [a]),
        [a],
    )
    visitor = Kinds()
    visitor.visit(ty)
    assert visitor.tensors == ["int8", "bool"]
    assert visitor.variables == ["A"]


def test_a_type_mutator_rebuilds_types():
    class Widen(relay.TypeMutator):
        def visit_tensor_type(self, ty):
            return relay.TensorType(ty.shape, "float64")

    ty = relay.TupleType([relay.TensorType((2,)), relay.RefType(relay.TensorType((3,)))])
    made = Widen().visit(ty)
    wide = [relay.TensorType((n,), "float64") for n in (2, 3)]
    assert made == relay.TupleType([wide[0], relay.RefType(wide[1])])
    assert relay.TypeMutator().visit(ty) is ty


def test_deep_types_are_visited_and_rebuilt():
    ty: relay.Type = relay.TypeVar("A")
    for _ in range(deep(20_000)):
        ty = relay.TupleType((ty,))

    class Fill(relay.TypeMutator):
        def visit_type_var(self, ty):
            return relay.TupleType(())

    relay.TypeVisitor().visit(ty)
    made = Fill().visit(ty)
    assert not made.occurs
