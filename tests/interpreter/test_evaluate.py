"""What programs mean: order, sharing, closures, recursion, patterns, references, errors."""

import gc

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, SourceName, Span
from relay.interpreter.evaluate import call, evaluate
from relay.interpreter.frames import Frame
from relay.ir.expr import get_op
from relay.op.opdef import OpDef
from tests.support.sampling import deep

DEEP = deep(30_000)  # deeper than any stack of Python goes
NESTED = deep(20_000)

INT = relay.scalar_type("int32")


def int_const(value):
    return relay.const(value, "int32")


def int_var(name):
    return relay.var(name, INT)


def sequence(*exprs):
    """`e0; e1; …`, with the value of the last."""
    result = exprs[-1]
    for e in reversed(exprs[:-1]):
        result = relay.Let(relay.var("_"), e, result)
    return result


def counter():
    """(cell, tick): `tick()` adds one to the cell and gives what it holds then."""
    cell = relay.var("cell")
    write = relay.RefWrite(cell, relay.RefRead(cell) + int_const(1))
    return cell, relay.Function([], sequence(write, relay.RefRead(cell)))


def with_cell(cell, body, start=0):
    return relay.Let(cell, relay.RefCreate(int_const(start)), body)


def lists():
    """A module with `List[A]`, and its constructors."""
    a = relay.TypeVar("A")
    header = relay.GlobalTypeVar("List")
    cons = relay.ir.expr.Constructor("Cons", [a, header(a)], header)
    nil = relay.ir.expr.Constructor("Nil", [], header)
    module = relay.IRModule()
    module[header] = relay.TypeData(header, [a], [cons, nil])
    return module, cons, nil


def to_python(value):
    """The elements of a list value."""
    found = []
    while value.fields:
        head, value = value.fields
        found.append(head.item())
    return found


# --- values and operators


def test_a_constant_is_its_tensor():
    assert evaluate(relay.const([1.0, 2.0])).numpy().tolist() == [1.0, 2.0]


def test_an_operator_computes_what_numpy_does():
    x, y = np.random.rand(2, 3), np.random.rand(3)
    result = evaluate(relay.add(relay.const(x, "float64"), relay.const(y, "float64")))
    np.testing.assert_array_equal(result.numpy(), x + y)


def test_operators_and_constructors_are_values():
    _, cons, nil = lists()
    assert evaluate(relay.Tuple([get_op("add"), cons])).fields == (get_op("add"), cons)
    f = relay.var("f")
    apply = relay.Function([f], relay.Call(f, [int_const(2), int_const(3)]))
    assert evaluate(apply(get_op("multiply"))).item() == 6
    made = evaluate(relay.Function([f], f(int_const(1), nil()))(cons))
    assert to_python(made) == [1]


def test_free_variables_get_their_values_from_the_bindings():
    x, y = relay.var("x"), relay.var("y")
    assert evaluate(relay.subtract(x, y), bindings={x: 5, y: np.int32(3)}).item() == 2


def test_what_overflows_or_has_no_value_is_a_result_and_no_warning():
    zero = relay.const(0.0)
    assert np.isnan(evaluate(zero / zero).numpy())
    assert evaluate(relay.const(1.0) / zero).item() == np.inf
    assert evaluate(int_const(2**31 - 1) + int_const(1)).item() == -(2**31)


# --- order


def test_callee_then_arguments_from_left_to_right():
    cell, tick = counter()
    t = relay.var("t")
    a, b, c = int_var("a"), int_var("b"), int_var("c")
    callee = sequence(t(), relay.Function([a, b, c], relay.Tuple([a, b, c])))
    program = with_cell(cell, relay.Let(t, tick, callee(t(), t(), t())))
    assert [v.item() for v in evaluate(program)] == [2, 3, 4]


def test_tuples_are_built_from_left_to_right():
    cell, tick = counter()
    t = relay.var("t")
    program = with_cell(cell, relay.Let(t, tick, relay.Tuple([t(), t(), t()])))
    assert [v.item() for v in evaluate(program)] == [1, 2, 3]


def test_a_let_is_evaluated_where_it_stands_and_once():
    cell, tick = counter()
    t, first, second = relay.var("t"), relay.var("first"), relay.var("second")
    body = relay.Tuple([second, first, first])
    program = with_cell(
        cell, relay.Let(t, tick, relay.Let(first, t(), relay.Let(second, t(), body)))
    )
    assert [v.item() for v in evaluate(program)] == [2, 1, 1]


def test_only_the_branch_that_is_taken_runs():
    cell, tick = counter()
    t = relay.var("t")
    branch = relay.If(relay.const(True), int_const(0), t())
    program = with_cell(cell, relay.Let(t, tick, sequence(branch, relay.RefRead(cell))))
    assert evaluate(program).item() == 0


# --- references


def test_references_alias():
    a, b = relay.var("a"), relay.var("b")
    program = relay.Let(
        a,
        relay.RefCreate(int_const(1)),
        relay.Let(b, a, sequence(relay.RefWrite(b, int_const(2)), relay.RefRead(a))),
    )
    assert evaluate(program).item() == 2


def test_every_ref_is_a_new_cell():
    make = relay.var("make")
    a, b = relay.var("a"), relay.var("b")
    program = relay.Let(
        make,
        relay.Function([], relay.RefCreate(int_const(0))),
        relay.Let(
            a,
            make(),
            relay.Let(
                b,
                make(),
                sequence(
                    relay.RefWrite(a, int_const(1)),
                    relay.Tuple([relay.RefRead(a), relay.RefRead(b)]),
                ),
            ),
        ),
    )
    assert [v.item() for v in evaluate(program)] == [1, 0]


def test_writing_a_reference_gives_unit():
    assert len(evaluate(relay.RefWrite(relay.RefCreate(int_const(0)), int_const(1)))) == 0


def test_a_cell_may_hold_a_function_that_reads_it():
    # recursion through the store: the cell gets a function that calls what the cell holds
    cell, n = relay.var("cell"), int_var("n")
    again = relay.RefRead(cell)(n - int_const(1))
    count_down = relay.Function([n], relay.If(relay.equal(n, int_const(0)), n, again))
    program = relay.Let(
        cell,
        relay.RefCreate(relay.Function([n0 := int_var("n0")], n0)),
        sequence(relay.RefWrite(cell, count_down), relay.RefRead(cell)(int_const(10))),
    )
    assert evaluate(program).item() == 0


# --- sharing


def test_a_shared_expression_is_evaluated_once():
    cell, tick = counter()
    t = relay.var("t")
    shared = t()
    program = with_cell(cell, relay.Let(t, tick, relay.Tuple([shared, shared, t()])))
    assert [v.item() for v in evaluate(program)] == [1, 1, 2]


def test_a_diamond_of_sums_takes_linear_time():
    e = int_const(1) + int_const(0)
    for _ in range(1000):
        e = e + e
    assert evaluate(e).item() == 0  # 2 ** 1000 in 32 bits; exponential time would not end


def test_what_two_branches_share_is_evaluated_once_and_only_when_reached():
    cell, tick = counter()
    t, c = relay.var("t"), relay.var("c")
    shared = t()
    pick = relay.Function(
        [c], relay.If(c, relay.Tuple([shared, shared]), relay.Tuple([shared, t()]))
    )
    p = relay.var("p")
    both = relay.Tuple([p(relay.const(True)), p(relay.const(False)), relay.RefRead(cell)])
    program = with_cell(cell, relay.Let(t, tick, relay.Let(p, pick, both)))
    first, second, total = evaluate(program)
    assert [v.item() for v in first] == [1, 1]
    assert [v.item() for v in second] == [2, 3]
    assert total.item() == 3


def test_what_is_shared_inside_a_function_is_evaluated_once_per_call():
    cell, tick = counter()
    t, f = relay.var("t"), relay.var("f")
    shared = t()
    program = with_cell(
        cell,
        relay.Let(
            t,
            tick,
            relay.Let(f, relay.Function([], shared + shared), relay.Tuple([f(), f()])),
        ),
    )
    assert [v.item() for v in evaluate(program)] == [2, 4]


def test_what_two_closures_share_is_evaluated_once_per_call_of_the_function_around_them():
    cell, tick = counter()
    t, f, g, h = (relay.var(name) for name in "tfgh")
    shared = t()
    around = relay.Function(
        [],
        relay.Let(
            g,
            relay.Function([], shared + int_const(10)),
            relay.Let(
                h,
                relay.Function([], shared + int_const(20)),
                relay.Tuple([relay.RefRead(cell), g(), h(), g()]),
            ),
        ),
    )
    program = with_cell(
        cell, relay.Let(t, tick, relay.Let(f, around, relay.Tuple([f(), f(), relay.RefRead(cell)])))
    )
    first, second, total = evaluate(program)
    assert [v.item() for v in first] == [0, 11, 21, 11]  # not before one of them needs it
    assert [v.item() for v in second] == [1, 12, 22, 12]
    assert total.item() == 2


def test_one_function_object_under_two_names_keeps_its_sharing_apart():
    x = int_var("x")
    doubled = x + x
    function = relay.Function([x], doubled + doubled)
    module = relay.IRModule({"f": function, "g": function})
    f, g = module.get_global_var("f"), module.get_global_var("g")
    assert evaluate(relay.Tuple([f(g(int_const(1))), f(int_const(3))]), module)[0].item() == 16


# --- functions


def test_closures_capture_the_variables_around_them():
    x, y, add = int_var("x"), int_var("y"), relay.var("add")
    make = relay.Function([x], relay.Function([y], x + y))
    program = relay.Let(
        add, make, relay.Tuple([add(int_const(1))(int_const(10)), add(int_const(2))(int_const(10))])
    )
    assert [v.item() for v in evaluate(program)] == [11, 12]


def test_each_call_has_variables_of_its_own():
    # f(n) makes a closure before it calls itself; the closure still sees its own n afterwards
    f, n, g = relay.GlobalVar("f"), int_var("n"), relay.var("g")
    body = relay.Let(
        g,
        relay.Function([], n),
        relay.If(relay.equal(n, int_const(0)), n, f(n - int_const(1)) + g()),
    )
    module = relay.IRModule({f: relay.Function([n], body, INT)})
    assert evaluate(f(int_const(10)), module).item() == 55


def test_a_let_bound_function_may_call_itself():
    f, n = relay.var("f"), int_var("n")
    factorial = relay.Function(
        [n], relay.If(relay.equal(n, int_const(0)), int_const(1), n * f(n - int_const(1)))
    )
    assert evaluate(relay.Let(f, factorial, f(int_const(10)))).item() == 3628800


def test_globals_may_call_each_other():
    even, odd, n = relay.GlobalVar("even"), relay.GlobalVar("odd"), int_var("n")
    m = int_var("m")
    zero, one = int_const(0), int_const(1)
    module = relay.IRModule(
        {
            even: relay.Function(
                [n], relay.If(relay.equal(n, zero), relay.const(True), odd(n - one))
            ),
            odd: relay.Function(
                [m], relay.If(relay.equal(m, zero), relay.const(False), even(m - one))
            ),
        }
    )
    assert bool(evaluate(even(int_const(1001)), module)) is False
    assert bool(evaluate(odd(int_const(1001)), module)) is True


def test_a_primitive_function_is_a_function():
    x = int_var("x")
    fused = relay.Function([x], x + x).with_attr("Primitive", 1)
    assert evaluate(fused(int_const(3))).item() == 6


def test_python_can_call_a_closure():
    x, y = int_var("x"), int_var("y")
    add_two = evaluate(relay.Function([x], relay.Function([y], x + y))(int_const(2)))
    assert add_two(40).item() == 42
    assert call(add_two, [1]).item() == 3
    assert call(get_op("add"), [1, 2]).item() == 3


def test_a_closure_from_one_module_can_be_used_in_another():
    here, there = relay.GlobalVar("f"), relay.GlobalVar("g")
    x, y = int_var("x"), int_var("y")
    first = relay.IRModule(
        {here: relay.Function([x], x + int_const(1)), there: relay.Function([y], here(y))}
    )
    g = evaluate(there, first)
    f, z = relay.var("f"), int_var("z")
    second = relay.IRModule({here: relay.Function([z], z * int_const(100))})
    assert evaluate(f(here(int_const(1))), second, {f: g}).item() == 101


# --- depth


def test_a_long_chain_of_calls():
    e = int_const(0)
    for _ in range(DEEP):
        e = e + int_const(1)
    assert evaluate(e).item() == DEEP


def test_a_long_chain_of_lets():
    variables = [int_var("x") for _ in range(DEEP)]
    e = variables[-1]
    for before, after in zip(variables[-2::-1], variables[:0:-1], strict=True):
        e = relay.Let(after, before + int_const(1), e)
    assert evaluate(relay.Let(variables[0], int_const(0), e)).item() == DEEP - 1


def test_deep_recursion_that_is_not_a_tail_call():
    f, n = relay.GlobalVar("f"), int_var("n")
    body = relay.If(relay.equal(n, int_const(0)), n, int_const(1) + f(n - int_const(1)))
    module = relay.IRModule({f: relay.Function([n], body, INT)})
    assert evaluate(f(int_const(DEEP)), module).item() == DEEP


def test_recursion_without_an_end_is_an_error_with_the_place():
    text = "def @f(%n: int32) -> int32 { @f(%n) + 1 }"
    module = relay.parse('#[version = "0.0.5"]\n' + text, "here.relay")
    with pytest.raises(EvaluationError, match="`@f` recurses deeper than its stack") as caught:
        evaluate(module.get_global_var("f")(int_const(1)), module, depth=1000)
    said = str(caught.value)
    assert "--> here.relay:2:30" in said and "a stack of 1000 expressions" in said
    assert len(caught.traceback) < 5


def test_a_function_from_another_evaluation_has_an_end_too():
    text = "def @f(%n: int32) -> int32 { @f(%n) + 1 }"
    module = relay.parse('#[version = "0.0.5"]\n' + text)
    function = evaluate(module.get_global_var("f"), module)
    with pytest.raises(EvaluationError, match="`@f` recurses deeper than its stack"):
        call(function, [1], depth=1000)


@pytest.mark.parametrize("named", [False, True])
def test_a_tail_call_takes_no_room(named):
    alive = []
    probe = OpDef(
        "probe",
        arguments=(("data", ""),),
        reference=lambda data: alive.append(_frames_alive()) or data,
    )
    f, n = relay.GlobalVar("f"), int_var("n")
    again, result = f(n - int_const(1)), relay.var("result")
    if named:  # let %result = f(…); %result
        again = relay.Let(result, again, result)
    body = relay.If(relay.equal(n, int_const(0)), probe(n), again)
    evaluate(f(int_const(1000)), relay.IRModule({f: relay.Function([n], body, INT)}))
    assert alive[0] < 100  # a few are left over from other evaluations


def _frames_alive():
    return sum(type(o) is Frame for o in gc.get_objects())


def test_a_long_loop():
    f, n, total = relay.GlobalVar("f"), int_var("n"), int_var("total")
    body = relay.If(relay.equal(n, int_const(0)), total, f(n - int_const(1), total + int_const(2)))
    module = relay.IRModule({f: relay.Function([n, total], body, INT)})
    assert evaluate(f(int_const(DEEP), int_const(0)), module).item() == 2 * DEEP


def test_an_error_deep_down_arrives_with_a_short_traceback():
    f, n = relay.GlobalVar("f"), int_var("n")
    oops = relay.TupleGetItem(n, 0)
    body = relay.If(relay.equal(n, int_const(0)), oops, int_const(1) + f(n - int_const(1)))
    module = relay.IRModule({f: relay.Function([n], body, INT)})
    with pytest.raises(EvaluationError, match="there is no field 0") as caught:
        evaluate(f(int_const(NESTED)), module)
    assert len(caught.traceback) < 5


# --- matching


def list_of(cons, nil, *items):
    made = nil()
    for item in reversed(items):
        made = cons(item, made)
    return made


def test_the_first_clause_that_fits_is_taken():
    _, cons, nil = lists()
    x, y = relay.var("x"), relay.var("y")
    clauses = [
        relay.Clause(relay.PatternConstructor(nil), int_const(0)),
        relay.Clause(
            relay.PatternConstructor(cons, [relay.PatternVar(x), relay.PatternConstructor(nil)]), x
        ),
        relay.Clause(
            relay.PatternConstructor(
                cons,
                [
                    relay.PatternWildcard(),
                    relay.PatternConstructor(cons, [relay.PatternVar(y), relay.PatternWildcard()]),
                ],
            ),
            y,
        ),
        relay.Clause(relay.PatternWildcard(), int_const(-1)),
    ]
    for items, expected in (((), 0), ((7,), 7), ((7, 8), 8), ((7, 8, 9), 8)):
        data = list_of(cons, nil, *map(int_const, items))
        assert evaluate(relay.Match(data, clauses)).item() == expected


def test_patterns_of_tuples_nest():
    a, b, c = relay.var("a"), relay.var("b"), relay.var("c")
    pattern = relay.PatternTuple(
        [relay.PatternVar(a), relay.PatternTuple([relay.PatternVar(b), relay.PatternVar(c)])]
    )
    data = relay.Tuple([int_const(1), relay.Tuple([int_const(2), int_const(3)])])
    result = evaluate(relay.Match(data, [relay.Clause(pattern, relay.Tuple([c, b, a]))]))
    assert [v.item() for v in result] == [3, 2, 1]


def test_a_deep_pattern():
    _, cons, nil = lists()
    pattern, data = relay.PatternConstructor(nil), nil()
    for _ in range(NESTED):
        pattern = relay.PatternConstructor(cons, [relay.PatternWildcard(), pattern])
        data = cons(int_const(0), data)
    assert evaluate(relay.Match(data, [relay.Clause(pattern, int_const(1))])).item() == 1


def test_a_match_that_no_clause_fits_is_an_error_with_its_place():
    _, cons, nil = lists()
    span = Span(SourceName("here.relay", "match? (%xs) { Nil => 0 }"), 1, 1, 1, 26)
    match = relay.Match(
        cons(int_const(1), nil()),
        [relay.Clause(relay.PatternConstructor(nil), int_const(0))],
        complete=False,
        span=span,
    )
    with pytest.raises(EvaluationError, match="no clause of this match fits") as caught:
        evaluate(match)
    assert "here.relay:1:1" in str(caught.value)
    assert "List made by `Cons`" in str(caught.value)


def test_constructors_of_the_same_name_in_two_types_are_different():
    (one, two) = (relay.GlobalTypeVar(name) for name in ("One", "Two"))
    first = relay.ir.expr.Constructor("C", [], one)
    second = relay.ir.expr.Constructor("C", [], two)
    match = relay.Match(
        first(),
        [
            relay.Clause(relay.PatternConstructor(second), int_const(2)),
            relay.Clause(relay.PatternConstructor(first), int_const(1)),
        ],
    )
    assert evaluate(match).item() == 1


# --- errors


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda: relay.var("x"), "`%x` has no value here"),
        (lambda: relay.GlobalVar("f"), "no function `@f`"),
        (lambda: int_const(1)(int_const(2)), "cannot be called"),
        (lambda: relay.Function([], int_const(1))(int_const(2)), "wrong number of arguments"),
        (lambda: lists()[1](int_const(1)), "wrong number of arguments for `Cons`"),
        (lambda: relay.Call(get_op("add"), [int_const(1)]), "wrong number of arguments for `add`"),
        (lambda: relay.Call(get_op("add"), [int_const(1), get_op("add")]), "`rhs` of `add`"),
        (lambda: relay.If(int_const(1), int_const(1), int_const(1)), "not a truth value"),
        (lambda: relay.TupleGetItem(relay.Tuple([int_const(1)]), 1), "no field 1"),
        (lambda: relay.RefRead(int_const(1)), "only a reference"),
        (lambda: relay.TempExpr(), "TempExpr has no value"),
    ],
)
def test_a_program_that_makes_no_sense_is_an_evaluation_error(program, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(program())


def test_a_let_bound_value_that_is_no_function_does_not_see_itself():
    x = int_var("x")
    with pytest.raises(EvaluationError, match="`%x` has no value here"):
        evaluate(relay.Let(x, x + int_const(1), x))


# --- programs as text


def run_text(text, *args):
    return relay.create_executor("debug", relay.parse(f'#[version = "0.0.5"]\n{text}')).evaluate()(
        *args
    )


def test_a_program_with_a_loop_a_closure_and_sharing():
    x = np.array([[-1, 0.5, 2]], "float32")
    result = run_text(
        """
        def @main(%x: Tensor[(1, 3), float32], %n: int32) -> Tensor[(1, 3), float32] {
          %0 = nn.relu(%x);
          let %f = fn (%y: Tensor[(1, 3), float32]) { %y + %0 };
          if (%n == 0) { %f(%x) } else { @main(%f(%x), %n - 1) }
        }
        """,
        x,
        2,
    )
    expected = x
    for _ in range(3):
        expected = expected + np.maximum(expected, 0)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_a_graph_binding_is_computed_once_and_a_let_in_order():
    result = run_text(
        """
        def @main() {
          let %log = ref(1);
          let %tick = fn () -> int32 {
            let %_ = ref_write(%log, ref_read(%log) * 2);
            ref_read(%log)
          };
          %0 = %tick();
          let %a = %tick();
          (%0, %a, %0, %tick())
        }
        """
    )
    assert [v.item() for v in result] == [4, 2, 4, 8]


def test_dimensions_by_name_are_checked():
    text = """
        def @main[n](%x: Tensor[(n, 3), float32], %y: Tensor[(n + 1), float32]) {
          (%x, %y)
        }
    """
    assert len(run_text(text, np.zeros((2, 3), "float32"), np.zeros(3, "float32"))) == 2
    with pytest.raises(EvaluationError, match="`%y` of `@main` has the wrong extent") as caught:
        run_text(text, np.zeros((2, 3), "float32"), np.zeros(4, "float32"))
    assert "n + 1 = 3" in str(caught.value)
