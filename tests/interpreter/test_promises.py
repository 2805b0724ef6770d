"""Types checked against values: what inference could not see is seen when the program runs."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError
from relay.interpreter.evaluate import evaluate
from relay.interpreter.promises import check
from relay.interpreter.values import to_value

n, m = relay.ShapeVar("n"), relay.ShapeVar("m")


def tensor(*shape, dtype="float32"):
    return relay.TensorType(shape, dtype)


def run(types, shapes, dtype="float32", type_params=(n, m)):
    """Call a function with parameters of `types` on zeros of `shapes`."""
    params = [relay.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    function = relay.Function(params, relay.Tuple(params), type_params=type_params)
    return evaluate(function)(*(np.zeros(shape, dtype) for shape in shapes))


@pytest.mark.parametrize(
    ("types", "shapes"),
    [
        ([tensor(2, 3)], [(2, 3)]),
        ([tensor(relay.Any(), 3)], [(7, 3)]),
        ([tensor(n, n)], [(4, 4)]),
        ([tensor(n, n + 1)], [(4, 5)]),
        ([tensor(n + 1), tensor(n)], [(5,), (4,)]),
        ([tensor(n * m), tensor(n), tensor(m)], [(6,), (2,), (3,)]),
        ([tensor(n * m), tensor(m), tensor(n // 2)], [(15,), (3,), (2,)]),
        ([tensor(2 * n + m), tensor(m)], [(7,), (3,)]),
        ([tensor(n * n)], [(5,)]),  # nothing says what n is, so nothing is promised
        ([relay.TupleType([tensor(n), tensor(n)])], [()]),
    ],
)
def test_arguments_that_keep_their_promises(types, shapes):
    if isinstance(types[0], relay.TupleType):
        x = relay.Var("x", types[0])
        pair = (np.zeros(3, "float32"), np.zeros(3, "float32"))
        assert len(evaluate(relay.Function([x], x, type_params=[n]))(pair)) == 2
        return
    assert len(run(types, shapes)) == len(shapes)


@pytest.mark.parametrize(
    ("types", "shapes", "message", "expected", "found"),
    [
        ([tensor(2, 3)], [(2, 4)], "`%x0` .* extent in dimension 1", "3, in Ten", "4, in Ten"),
        ([tensor(2, 3)], [(2,)], "`%x0` .* the wrong rank", "Tensor[(2, 3)", "Tensor[(2)"),
        ([tensor(n, n)], [(2, 3)], "`%x0` .* extent in dimension 1", "n = 2, in", "3, in"),
        ([tensor(n, n + 1)], [(2, 4)], "extent in dimension 1", "n + 1 = 3, in", "4, in"),
        ([tensor(n), tensor(n)], [(2,), (3,)], "`%x1` .* dimension 0", "n = 2, in", "3, in"),
        ([tensor(n + 3)], [(2,)], "dimension 0", "n + 3, in", "2, in"),
        ([tensor(2 * n)], [(3,)], "dimension 0", "2 * n, in", "3, in"),
        ([tensor(6 // n), tensor(n)], [(2,), (0,)], "`%x0` .* dimension 0", "6 // n", "2, in"),
    ],
)
def test_arguments_that_break_their_promises(types, shapes, message, expected, found):
    with pytest.raises(EvaluationError, match=message) as caught:
        run(types, shapes)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.expected.startswith(expected)
    assert diagnostic.found.startswith(found)


def test_the_element_type_is_checked():
    with pytest.raises(
        EvaluationError, match="parameter `%x0` of a function has the wrong element"
    ):
        run([tensor(2)], [(2,)], dtype="float64")


@pytest.mark.parametrize(
    ("ty", "value"),
    [
        (tensor(), (1.0, 2.0)),
        (relay.TupleType([tensor()]), 1.0),
        (relay.TupleType([tensor(), tensor()]), (1.0,)),
        (relay.RefType(tensor()), 1.0),
        (relay.FuncType([tensor()], tensor()), 1.0),
        (relay.GlobalTypeVar("List")(tensor()), 1.0),
    ],
)
def test_a_value_of_another_kind_is_the_wrong_type(ty, value):
    with pytest.raises(EvaluationError, match="has the wrong type"):
        check(to_value(value), ty, {}, "`%x`", None)


def test_an_inner_function_knows_the_dimensions_of_the_one_around_it():
    x, y = relay.Var("x", tensor(n)), relay.Var("y", tensor(n))
    outer = relay.Function([x], relay.Function([y], relay.add(x, y)), type_params=[n])
    inner = evaluate(outer)(np.zeros(3, "float32"))
    assert inner(np.ones(3, "float32")).shape == (3,)
    with pytest.raises(EvaluationError, match="`%y`"):
        inner(np.ones(1, "float32"))


def test_each_call_binds_its_dimensions_anew():
    f, x = relay.GlobalVar("f"), relay.Var("x", tensor(n))
    module = relay.IRModule({f: relay.Function([x], x, type_params=[n])})
    function = evaluate(f, module)
    assert function(np.zeros(2, "float32")).shape == (2,)
    assert function(np.zeros(3, "float32")).shape == (3,)


def test_the_result_of_an_operator_has_the_type_that_inference_found():
    x, y = relay.Var("x", tensor(n)), relay.Var("y", tensor(relay.Any()))
    function = infer_expr(relay.Function([x, y], relay.add(x, y), type_params=[n]))
    run_it = evaluate(function)
    assert run_it(np.zeros(3, "float32"), np.zeros(1, "float32")).shape == (3,)
    with pytest.raises(EvaluationError, match="the result of `add`"):
        run_it(np.zeros(1, "float32"), np.zeros(3, "float32"))


def test_a_let_annotation_is_a_promise():
    x, y = relay.Var("x", tensor(relay.Any())), relay.Var("y", tensor(3))
    function = evaluate(infer_expr(relay.Function([x], relay.Let(y, x, y))))
    assert function(np.zeros(3, "float32")).shape == (3,)
    with pytest.raises(EvaluationError, match="`%y` has the wrong extent"):
        function(np.zeros(4, "float32"))


def test_a_result_type_that_says_more_than_the_body_is_a_promise():
    x = relay.Var("x", tensor(relay.Any()))
    function = evaluate(infer_expr(relay.Function([x], x, tensor(3))))
    assert function(np.zeros(3, "float32")).shape == (3,)
    with pytest.raises(EvaluationError, match="the result of a function has the wrong extent"):
        function(np.zeros(4, "float32"))


def test_data_types_are_checked_by_name_only():
    header = relay.GlobalTypeVar("Box")
    box = relay.ir.expr.Constructor("Box", [tensor(3)], header)
    value = evaluate(box(relay.const(np.zeros(3))))
    check(value, header(), {}, "`%x`", None)
    with pytest.raises(EvaluationError, match="a Box made by `Box`"):
        check(value, relay.GlobalTypeVar("Other")(), {}, "`%x`", None)


def test_what_a_pattern_takes_out_of_a_data_type_is_checked():
    header = relay.GlobalTypeVar("Box")
    box = relay.ir.expr.Constructor("Box", [tensor(relay.Any())], header)
    x, y = relay.Var("x", tensor(relay.Any())), relay.Var("y", tensor(3))
    pattern = relay.PatternConstructor(box, [relay.PatternVar(y)])
    function = evaluate(relay.Function([x], relay.Match(box(x), [relay.Clause(pattern, y)])))
    assert function(np.zeros(3, "float32")).shape == (3,)
    with pytest.raises(EvaluationError, match="`%y` has the wrong extent"):
        function(np.zeros(4, "float32"))


def test_what_a_reference_holds_is_checked_when_it_is_read():
    # the cell is filled through a type that says less than the one it is read with
    cell = relay.Var("cell", relay.RefType(tensor(3)))
    x = relay.Var("x", tensor(relay.Any()))
    wide = relay.Var("wide", relay.RefType(tensor(relay.Any())))
    written = relay.Let(relay.var("_"), relay.RefWrite(wide, x), relay.RefRead(cell))
    start = relay.RefCreate(relay.const(np.zeros(3), "float32"))
    program = relay.Let(wide, start, relay.Let(cell, wide, written))
    function = evaluate(infer_expr(relay.Function([x], program)))
    assert function(np.ones(3, "float32")).numpy().tolist() == [1, 1, 1]
    with pytest.raises(EvaluationError, match="what the reference holds has the wrong extent"):
        function(np.ones(4, "float32"))


def test_what_goes_into_a_data_type_keeps_its_promise():
    mod = relay.parse(
        """#[version = "0.0.5"]
type Box { Box(Tensor[(2, 3), float32]) }
def @main(%x: Tensor[(?, 3), float32]) { Box(%x) }
"""
    )
    run = relay.create_executor("debug", mod).evaluate()
    assert run(np.ones((2, 3), "float32")).fields[0].shape == (2, 3)
    with pytest.raises(EvaluationError, match="field 0 of `Box`"):
        run(np.ones((1, 3), "float32"))
