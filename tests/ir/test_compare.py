"""Structural equality and hash: the same program under other names, and nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relay
from relay import nd, tree
from relay.ir.attrs import DictAttrs
from relay.ir.compare import assert_structural_equal, structural_equal, structural_hash
from relay.ir.dims import Symbol
from relay.ir.types import map_leaves
from tests.support.sampling import deep

F32 = relay.scalar_type("float32")
ADD, RELU = relay.op.get("add"), relay.op.get("nn.relu")
A, B = relay.TypeVar("A"), relay.TypeVar("B")
N, M = relay.ShapeVar("n"), relay.ShapeVar("m")


def same(a, b, map_free_vars: bool = False) -> bool:
    """Structural equality, with what must follow from it."""
    verdict = structural_equal(a, b, map_free_vars)
    assert structural_equal(b, a, map_free_vars) is verdict
    if verdict:
        assert structural_hash(a, map_free_vars) == structural_hash(b, map_free_vars)
        assert_structural_equal(a, b, map_free_vars)
    else:
        with pytest.raises(ValueError, match="not structurally equal"):
            assert_structural_equal(a, b, map_free_vars)
    return verdict


def difference(a, b) -> str:
    """The first line of what the error says."""
    with pytest.raises(ValueError, match="not structurally equal") as caught:
        assert_structural_equal(a, b)
    text = str(caught.value)
    assert re.fullmatch(r"not structurally equal: .*:\n  left:  .*\n  right: .*", text)
    return text.removeprefix("not structurally equal: ").split("\n")[0].removesuffix(":")


def scalar(name: str = "x") -> relay.Var:
    return relay.var(name, "float32")


def lambda_(build, *names: str) -> relay.Function:
    """`fn (names…) { build(names…) }`"""
    params = [scalar(name) for name in names]
    return relay.Function(params, build(*params))


def list_module(header: str = "List", param: str = "A", cons: str = "Cons") -> relay.IRModule:
    handle, a = relay.GlobalTypeVar(header), relay.TypeVar(param)
    constructors = [
        relay.Constructor(cons, [a, handle(a)], handle),
        relay.Constructor("Nil", [], handle),
    ]
    return relay.IRModule({}, {handle: relay.TypeData(handle, [a], constructors)})


# --- names


def test_names_of_parameters_do_not_matter():
    assert same(lambda_(lambda x, y: x + y, "x", "y"), lambda_(lambda x, y: x + y, "a", "b"))
    assert not same(lambda_(lambda x, y: x + y, "x", "y"), lambda_(lambda x, y: y + x, "x", "y"))
    assert not same(lambda_(lambda x, y: x, "x", "y"), lambda_(lambda x, y: y, "x", "y"))


def test_names_of_lets_do_not_matter():
    def let(name: str) -> relay.Expr:
        v = scalar(name)
        return relay.Let(v, relay.const(1.0), v + v)

    assert same(let("a"), let("b"))


def test_names_of_pattern_variables_do_not_matter():
    data = relay.Tuple([relay.const(1.0), relay.const(2.0)])

    def match(first: str, second: str, result: int) -> relay.Expr:
        variables = [scalar(first), scalar(second)]
        pattern = relay.PatternTuple([relay.PatternVar(v) for v in variables])
        return relay.Match(data, [relay.Clause(pattern, variables[result])])

    assert same(match("a", "b", 0), match("c", "d", 0))
    assert not same(match("a", "b", 0), match("a", "b", 1))


def test_a_name_that_hides_another_is_another_variable():
    def nested(outer: str, inner: str, pick: int) -> relay.Expr:
        variables = [scalar(outer), scalar(inner)]
        return relay.Function([variables[0]], relay.Function([variables[1]], variables[pick]))

    assert same(nested("x", "x", 0), nested("a", "b", 0))
    assert not same(nested("x", "x", 0), nested("x", "x", 1))


def test_free_variables_are_themselves():
    x, y = scalar("x"), scalar("x")
    assert same(x + x, x + x)
    assert not same(x + x, y + y)
    assert not same(relay.Function([], x), relay.Function([], y))


def test_free_variables_may_be_taken_as_they_come():
    x, y, z = scalar("x"), scalar("y"), scalar("z")
    assert same(x + y, y + z, map_free_vars=True)
    assert not same(x + x, x + y, map_free_vars=True)
    assert not same(x, relay.var("x", shape=(2,)), map_free_vars=True)
    assert not same(relay.Function([x], x), relay.Function([x], y), map_free_vars=True)


def test_annotations_are_compared():
    v, w = relay.var("v", "float32"), relay.var("w", "int32")
    assert not same(relay.Function([v], v), relay.Function([w], w))
    u = relay.var("u")
    assert not same(relay.Function([v], v), relay.Function([u], u))
    assert not same(relay.Function([v], v, F32), relay.Function([v], v))


def test_globals_operators_and_constructors_are_known_by_name():
    assert same(relay.GlobalVar("f"), relay.GlobalVar("f"))
    assert not same(relay.GlobalVar("f"), relay.GlobalVar("g"))
    assert not same(ADD, RELU)
    first, second = list_module(), list_module()
    assert same(first.get_constructor("Nil"), second.get_constructor("Nil"))
    assert not same(first.get_constructor("Nil"), first.get_constructor("Cons"))
    other = list_module("Other").get_constructor("Nil")
    assert not same(first.get_constructor("Nil"), other)


# --- sharing


def test_a_shared_computation_differs_from_two():
    x = scalar()
    shared = x + x
    assert same(relay.Tuple([shared, shared]), relay.Tuple([(s := x + x), s]))
    assert not same(relay.Tuple([shared, shared]), relay.Tuple([x + x, x + x]))
    assert same(relay.Tuple([x + x, x + x]), relay.Tuple([x + x, x + x]))


def test_sharing_is_compared_place_by_place():
    x = scalar()
    a, b = x + x, x + x
    assert not same(relay.Tuple([a, b, a]), relay.Tuple([a, b, b]))
    assert same(relay.Tuple([a, b, a]), relay.Tuple([b, a, b]))


def test_functions_are_shared_like_other_computations():
    f, g = lambda_(lambda x: x, "x"), lambda_(lambda x: x, "x")
    assert not same(relay.Tuple([f, f]), relay.Tuple([f, g]))


def test_atoms_are_not_shared():
    one, uno = relay.const(1), relay.const(1)
    assert same(relay.Tuple([one, one]), relay.Tuple([one, uno]))
    f, g = relay.GlobalVar("f"), relay.GlobalVar("f")
    assert same(relay.Tuple([f, f]), relay.Tuple([f, g]))


def test_patterns_and_clauses_are_not_shared():
    x = scalar()
    wildcard = relay.PatternWildcard()
    clause = relay.Clause(wildcard, x)
    one = relay.Match(x, [clause, clause])
    several = relay.Match(
        x, [relay.Clause(relay.PatternWildcard(), x), relay.Clause(relay.PatternWildcard(), x)]
    )
    assert same(one, several)
    pair = relay.PatternTuple([wildcard, wildcard])
    spread = relay.PatternTuple([relay.PatternWildcard(), relay.PatternWildcard()])
    assert same(relay.Clause(pair, x), relay.Clause(spread, x))


def test_empty_tuples_are_not_shared():
    unit = relay.Tuple([])
    one, two = relay.Tuple([unit, unit]), relay.Tuple([relay.Tuple([]), relay.Tuple([])])
    assert_structural_equal(one, two)
    assert structural_hash(one) == structural_hash(two)


def test_numbers_among_attributes_may_differ_by_rounding():
    x = relay.var("x", shape=(2,))

    def leaky(alpha):
        return relay.Function([x], relay.nn.leaky_relu(x, alpha=alpha))

    assert_structural_equal(leaky(0.3), leaky(0.1 + 0.2))
    assert_structural_equal(leaky(0.0), leaky(5e-10))
    assert_structural_equal(leaky(0.0), leaky(-0.0))
    assert not structural_equal(leaky(0.1), leaky(0.1 + 2e-9))
    assert not structural_equal(leaky(float("nan")), leaky(0.1))
    assert not structural_equal(leaky(float("inf")), leaky(-float("inf")))


def test_a_graph_of_exponentially_many_paths_takes_linear_time():
    def bushy() -> relay.Expr:
        expr: relay.Expr = relay.Tuple([])
        for _ in range(200):
            expr = relay.Tuple([expr, expr])
        return expr

    assert same(bushy(), bushy())


# --- every kind of node


def test_every_kind_of_node_is_compared():
    x, c = scalar(), relay.var("c", "bool")
    other = scalar("other")
    r = relay.var("r")
    nodes = {
        "let": (relay.Let(x, other, x), relay.Let(x, x, x)),
        "if": (relay.If(c, x, other), relay.If(c, other, x)),
        "tuple": (relay.Tuple([x]), relay.Tuple([x, x])),
        "field": (relay.TupleGetItem(r, 0), relay.TupleGetItem(r, 1)),
        "create": (relay.RefCreate(x), relay.RefCreate(other)),
        "read": (relay.RefRead(r), relay.RefRead(x)),
        "write": (relay.RefWrite(r, x), relay.RefWrite(r, other)),
        "match": (
            relay.Match(r, [relay.Clause(relay.PatternWildcard(), x)]),
            relay.Match(r, [relay.Clause(relay.PatternWildcard(), x)], complete=False),
        ),
        "call": (relay.Call(r, [x]), relay.Call(r, [x, x])),
        "type args": (relay.Call(r, [x], type_args=[F32]), relay.Call(r, [x])),
        "dim args": (relay.Call(r, [x], type_args=[3]), relay.Call(r, [x], type_args=[4])),
        "params": (relay.Function([x], other), relay.Function([x, c], other)),
        "kinds": (relay.RefCreate(x), relay.RefRead(x)),
    }
    for name, (a, b) in nodes.items():
        assert same(a, tree.replace(a)), name
        assert not same(a, b), name


def test_patterns_are_compared():
    mod = list_module()
    cons, nil = mod.get_constructor("Cons"), mod.get_constructor("Nil")
    any_ = relay.PatternWildcard()

    def clause(pattern: relay.Pattern) -> relay.Clause:
        return relay.Clause(pattern, relay.const(1))

    patterns = [
        any_,
        relay.PatternVar(scalar()),
        relay.PatternConstructor(nil),
        relay.PatternConstructor(cons, [any_, any_]),
        relay.PatternConstructor(cons, [any_, relay.PatternConstructor(nil)]),
        relay.PatternTuple([any_, any_]),
        relay.PatternTuple([any_]),
    ]
    for i, a in enumerate(patterns):
        for j, b in enumerate(patterns):
            assert same(clause(a), clause(b)) is (i == j)


# --- attributes and constants


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ({"x": 1}, {"x": 1}, True),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True),
        ({"x": [1, 2]}, {"x": (1, 2)}, True),
        ({"x": float("nan")}, {"x": float("nan")}, True),
        ({"x": 0.25}, {"x": -0.25}, False),
        ({"x": 1}, {"x": 2}, False),
        ({"x": 1}, {"y": 1}, False),
        ({"x": 1}, {}, False),
        ({"x": 1}, {"x": True}, False),
        ({"x": 1}, {"x": 1.0}, False),
        ({"x": [1.0, 2.0]}, {"x": [1, 2]}, False),
        ({"x": "1"}, {"x": 1}, False),
        ({"x": {"y": float("nan")}}, {"x": {"y": float("nan")}}, True),
        ({"x": F32}, {"x": relay.scalar_type("float32")}, True),
        ({"x": nd.array([1])}, {"x": nd.array([1])}, True),
        ({"x": nd.array([1])}, {"x": nd.array([2])}, False),
    ],
    ids=str,
)
def test_attributes_are_compared_by_value(a, b, verdict):
    x, f = scalar(), relay.var("f")
    assert same(relay.Call(f, [x], a), relay.Call(f, [x], b)) is verdict
    assert same(relay.Function([x], x, attrs=a), relay.Function([x], x, attrs=b)) is verdict
    assert same(DictAttrs(a), DictAttrs(b)) is verdict
    assert same(relay.IRModule(attrs=a), relay.IRModule(attrs=b)) is verdict


def test_attributes_of_operators_are_compared():
    x = relay.var("x", shape=(1, 3, 8, 8))
    a, b = relay.nn.max_pool2d(x, (2, 2)), relay.nn.max_pool2d(x, (2, 3))
    assert same(a, relay.nn.max_pool2d(x, [2, 2]))
    assert not same(a, b)
    assert not same(a.attrs, b.attrs)
    assert not same(a, relay.nn.avg_pool2d(x, (2, 2)))


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, False),
        (1, np.int64(1).astype("int8"), False),
        (True, 1, False),
        ([1, 2], [[1, 2]], False),
        ([1.0, np.nan], [1.0, np.nan], True),
        (0.0, -0.0, False),
        (np.zeros((0, 2), "float32"), np.zeros((2, 0), "float32"), False),
        (np.zeros((0, 2), "float32"), np.zeros((0, 2), "float32"), True),
        (np.arange(6, dtype="float32").reshape(2, 3), np.arange(6).reshape(2, 3) * 1.0, True),
        (np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2).T, False),
    ],
    ids=str,
)
def test_constants_are_compared_by_their_bits(a, b, verdict):
    assert same(relay.const(a), relay.const(b)) is verdict
    assert same(relay.const(a).data, relay.const(b).data) is verdict


def test_constants_in_any_layout_are_compared_element_by_element():
    data = np.arange(6, dtype="float32").reshape(2, 3)
    assert same(relay.const(data), relay.const(np.asfortranarray(data)))
    assert same(nd.NDArray(data.T), nd.NDArray(np.ascontiguousarray(data.T)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4", "bool", "float16"])
def test_constants_of_every_element_type(dtype):
    a, b = relay.const([0, 1, 1], dtype), relay.const([0, 1, 0], dtype)
    assert same(a, relay.const([0, 1, 1], dtype))
    assert not same(a, b)


# --- types


def test_types_are_compared_up_to_bound_names():
    assert same(relay.FuncType([A], A, [A]), relay.FuncType([B], B, [B]))
    assert not same(relay.FuncType([A], A, [A]), relay.FuncType([A], A))
    assert not same(F32, relay.scalar_type("int32"))
    assert not same(F32, relay.TupleType([F32]))


def test_free_type_variables_are_themselves():
    assert same(A, A)
    assert not same(A, B)
    assert not same(relay.TensorType((N, 2)), relay.TensorType((M, 2)))
    x, y = relay.var("x", A), relay.var("y", B)
    assert not same(relay.Function([x], x), relay.Function([y], y))


def test_free_type_variables_may_be_taken_as_they_come():
    assert same(A, B, map_free_vars=True)
    assert not same(A, N, map_free_vars=True)
    assert same(relay.TensorType((N, M)), relay.TensorType((M, N)), map_free_vars=True)
    assert not same(relay.TensorType((N, N)), relay.TensorType((N, M)), map_free_vars=True)
    x, y = relay.var("x", A), relay.var("y", B)
    assert same(relay.Function([x], x), relay.Function([y], y), map_free_vars=True)


def test_polymorphic_functions_are_compared_up_to_their_names():
    def first(a: relay.TypeVar, b: relay.TypeVar, pick: int) -> relay.Function:
        x, y = relay.var("x", a), relay.var("y", relay.TupleType([b, a]))
        return relay.Function([x, y], (x, y)[pick], (a, y.type_annotation)[pick], [a, b])

    assert same(first(A, B, 0), first(B, A, 0))
    assert not same(first(A, B, 0), first(A, B, 1))
    swapped = tree.replace(first(A, B, 0), type_params=(B, A))
    assert not same(first(A, B, 0), swapped)


def test_shape_polymorphic_functions_are_compared_up_to_their_names():
    def grow(n: relay.TypeVar, m: relay.TypeVar, extent) -> relay.Function:
        x = relay.var("x", shape=(n, m))
        y = relay.var("y", shape=(extent(n, m),))
        return relay.Function([x], relay.Call(y, [], type_args=[n * m]), None, [n, m])

    def linear(n: Symbol, m: Symbol) -> Symbol:
        return n + 2 * m

    a = grow(N, M, linear)
    b = grow(relay.ShapeVar("z"), relay.ShapeVar("a"), linear)
    assert same(a, b, map_free_vars=True)
    assert not same(a, grow(N, M, lambda n, m: 2 * n + m), map_free_vars=True)


def test_a_function_type_that_hides_a_name_is_compared_in_its_scope():
    def holder(outer: relay.TypeVar, inner: relay.TypeVar) -> relay.Function:
        f = relay.var("f", relay.FuncType([inner], inner, [inner]))
        x = relay.var("x", outer)
        return relay.Function([f, x], x, outer, [outer])

    assert same(holder(A, A), holder(A, B))


# --- definitions and modules


def test_definitions_are_compared_up_to_the_names_of_parameters():
    handle = relay.GlobalTypeVar("List")
    assert same(list_module()[handle], list_module(param="T")[handle])
    assert not same(list_module()[handle], list_module(cons="Push")[handle])
    fewer = relay.TypeData(handle, [A], [relay.Constructor("Nil", [], handle)])
    assert not same(list_module()[handle], fewer)
    extern = relay.TypeData(handle, extern=True)
    assert not same(extern, relay.TypeData(handle))


def test_modules_are_compared_by_name_in_any_order():
    f, g = lambda_(lambda x: x, "x"), lambda_(lambda x: x + x, "x")
    assert same(relay.IRModule({"f": f, "g": g}), relay.IRModule({"g": g, "f": f}))
    assert not same(relay.IRModule({"f": f, "g": g}), relay.IRModule({"f": g, "g": f}))
    assert not same(relay.IRModule({"f": f}), relay.IRModule({"g": f}))
    assert not same(relay.IRModule({"f": f}), relay.IRModule({"f": f, "g": g}))
    assert not same(relay.IRModule({"f": f}), relay.IRModule())
    assert same(relay.IRModule(), relay.IRModule())
    assert not same(list_module(), list_module("Other"))
    assert not same(list_module(), relay.IRModule())


def test_functions_of_a_module_have_their_own_variables():
    x, y = scalar("x"), scalar("y")
    shared = relay.IRModule({"f": relay.Function([x], x), "g": relay.Function([x], x)})
    apart = relay.IRModule({"f": relay.Function([x], x), "g": relay.Function([y], y)})
    assert same(shared, apart)


def test_different_kinds_of_things_differ():
    x = scalar()
    things = [x, F32, relay.IRModule(), relay.const(1).data, DictAttrs(), relay.Tuple([])]
    for i, a in enumerate(things):
        for j, b in enumerate(things):
            assert structural_equal(a, b) is (i == j)


# --- what differs, in words


def test_the_operator_is_named():
    x, f = scalar("x"), relay.var("f")
    assert difference(x + x, RELU(x)) == "calls of operator `add` and operator `nn.relu`"
    call = relay.Call(relay.GlobalVar("g"), [x])
    assert difference(f(x), call) == "calls of free variable `f` and global `g`"
    assert difference(f(x), f(x, x)) == "a call has 2 parts on one side and 3 on the other"


def test_the_argument_is_named():
    x, y, one = scalar("x"), scalar("y"), relay.const(1.0)
    first = "argument 0 of a call to `nn.relu` differs"
    second = "argument 1 of a call to `add` differs"
    assert difference(RELU(x), RELU(one)) == f"{first}: free variable `x` and a constant"
    assert difference(x + y, x + x).startswith(f"{second}: another free variable (map_free_vars")
    for other, text in [
        (relay.const(2.0), "constants of different values"),
        (relay.const(1), "constants of element types float32 and int32"),
        (relay.const([1.0]), "constants of shapes () and (1,)"),
    ]:
        assert difference(x + one, x + other) == f"{second}: {text}"


def test_the_data_of_a_node_is_named():
    x, f = scalar("x"), relay.var("f")
    with_attrs = [relay.Call(f, [x], {"a": i}) for i in range(2)]
    assert difference(*with_attrs) == "different attributes in a call"
    with_types = relay.Call(f, [x], None, [F32])
    assert difference(with_types, f(x)) == "different type arguments in a call"
    fields = [relay.TupleGetItem(f, i) for i in range(2)]
    assert difference(*fields) == "different index in a TupleGetItem"


def test_the_part_of_a_function_is_named():
    x, y, c = scalar("x"), scalar("y"), relay.var("c", "bool")
    plain = relay.Function([x, y], x)
    for other, text in [
        (relay.Function([x], x), "different number of parameters in a Function"),
        (relay.Function([x, y], x, F32), "different result type in a Function"),
        (relay.Function([x, y], x, None, [A]), "different type parameters in a Function"),
        (plain.with_attr("Primitive", 1), "different attributes in a Function"),
        (relay.Function([x, c], x), "part 1 of a Function differs: a variable of another type"),
        (relay.Function([x, y], y), "part 2 of a Function differs: another variable"),
    ]:
        assert difference(plain, other) == text


def test_another_kind_of_node_is_named():
    x = scalar("x")
    function, wrapped = relay.Function([x], relay.Tuple([x])), relay.Function([x], RELU(x))
    assert difference(function, wrapped) == "Tuple differs from Call"
    with pytest.raises(ValueError, match="Var differs from Constant"):
        assert_structural_equal(x, relay.const(1))


def test_another_way_of_sharing_is_named():
    x = scalar()
    shared = x + x
    other = x + x
    text = difference(relay.Tuple([shared, other, shared]), relay.Tuple([shared, other, other]))
    assert text == (
        "part 2 of a Tuple differs: it is another computation, or one that is shared in another way"
    )


def test_the_function_of_a_module_is_named():
    f, g = lambda_(lambda x: x + x, "x"), lambda_(lambda x: RELU(x), "x")
    a, b = relay.IRModule({"f": f, "g": f}), relay.IRModule({"f": f, "g": g})
    assert difference(a, b) == "calls of operator `add` and operator `nn.relu` in @g"
    assert difference(list_module(), list_module(cons="Push")).endswith("in type List")


def test_what_only_one_module_has_is_named():
    f = lambda_(lambda x: x, "x")
    with pytest.raises(ValueError, match="only the right module has function @f"):
        assert_structural_equal(relay.IRModule(), relay.IRModule({"f": f}))
    with pytest.raises(ValueError, match="only the left module has type List"):
        assert_structural_equal(list_module(), relay.IRModule())


def test_both_sides_are_shown():
    with pytest.raises(ValueError, match=r"left:  .*add.*\n  right: .*relu"):
        assert_structural_equal(lambda_(lambda x: x + x, "x"), lambda_(lambda x: RELU(x), "x"))


# --- random programs


@st.composite
def programs(draw) -> relay.Function:
    """Closed programs of every kind of node, with sharing and polymorphism. They need no type."""
    a, n = relay.TypeVar("A"), relay.ShapeVar("n")
    annotations = [None, a, F32, relay.TensorType((n, n + 1)), relay.FuncType([a], B, [B])]
    cons = list_module().get_constructor("Cons")
    made: list[relay.Expr] = [relay.GlobalVar("g"), ADD]

    def variable() -> relay.Var:
        return relay.var(draw(st.sampled_from("xyz")), draw(st.sampled_from(annotations)))

    def pick() -> relay.Expr:
        return draw(st.sampled_from(made))

    params = [variable() for _ in range(draw(st.integers(0, 2)))]
    made.extend(params)
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.integers(0, 9))
        if kind == 0:
            made.append(relay.const(draw(st.integers(0, 2))))
        elif kind == 1:
            made.append(relay.Call(pick(), [pick(), pick()], {"k": draw(st.booleans())}))
        elif kind == 2:
            v = variable()
            made.append(relay.Let(v, pick(), relay.Tuple([v, pick()])))
        elif kind == 3:
            made.append(relay.If(pick(), pick(), pick()))
        elif kind == 4:
            made.append(relay.TupleGetItem(pick(), draw(st.integers(0, 1))))
        elif kind == 5:
            made.append(relay.RefWrite(relay.RefCreate(pick()), relay.RefRead(pick())))
        elif kind == 6:
            v = variable()
            made.append(relay.Function([v], relay.Call(pick(), [v]), a))
        elif kind == 7:
            v = variable()
            pattern = relay.PatternConstructor(cons, [relay.PatternVar(v), relay.PatternWildcard()])
            clauses = [relay.Clause(pattern, relay.Tuple([v, pick()]))]
            made.append(relay.Match(pick(), clauses, complete=draw(st.booleans())))
        elif kind == 8:
            made.append(relay.Call(pick(), [pick()], type_args=[a, n * 2]))
        else:
            made.append(relay.Tuple([pick() for _ in range(draw(st.integers(0, 3)))]))
    return relay.Function(params, made[-1], None, [a, n])


def renamed(program: relay.Function) -> relay.Function:
    """New objects under new names for everything that is bound."""
    types: dict[relay.TypeVar, relay.TypeVar] = {}

    def leaf(variable):
        if not isinstance(variable, relay.TypeVar):
            return variable
        return types.setdefault(variable, relay.TypeVar("other", variable.kind))

    def retype(ty):
        if isinstance(ty, relay.Type):
            return map_leaves(ty, leaf, relay.ir.types.Occurs.VARIABLE)
        return ty if ty is None else relay.ir.dims.substitute(ty, leaf)

    def visit(before, after):
        match after:
            case relay.Var():
                return relay.Var("other", retype(after.type_annotation))
            case relay.Function():
                return tree.replace(
                    after,
                    ret_type=retype(after.ret_type),
                    type_params=tuple(map(leaf, after.type_params)),
                )
            case relay.Call():
                return tree.replace(after, type_args=tuple(map(retype, after.type_args)))
        return tree.replace(after) if not isinstance(after, relay.Op) else after

    return tree.transform(program, visit)


@given(programs())
def test_a_program_equals_itself_under_other_names(program):
    other = renamed(program)
    assert other is not program
    assert same(program, other)
    assert same(relay.IRModule({"main": program}), relay.IRModule({"main": other}))


def test_the_hash_tells_bound_variables_apart():
    def program(extent) -> relay.Function:
        x = relay.var("x", shape=(N, M))
        return relay.Function([x], x, relay.TensorType((extent(N, M),)), [N, M])

    extents = [
        lambda n, m: n,
        lambda n, m: m,
        lambda n, m: n + 2 * m,
        lambda n, m: 2 * n + m,
        lambda n, m: n // m,
        lambda n, m: m // n,
    ]
    assert len({structural_hash(program(extent)) for extent in extents}) == len(extents)


@given(programs(), st.data())
def test_a_small_change_makes_a_difference(program, data):
    calls = [n for n in tree.postorder(program) if isinstance(n, relay.Call)]
    if not calls:
        return
    target = data.draw(st.sampled_from(calls))
    changes = [
        tree.replace(target, attrs=DictAttrs({"other": 1})),
        tree.replace(target, op=relay.GlobalVar("other")),
        tree.replace(target, args=(*target.args, relay.const(7))),
        tree.replace(target, type_args=(*target.type_args, F32)),
        relay.RefCreate(target),
    ]
    change = data.draw(st.sampled_from(changes))
    changed = tree.transform(program, lambda before, after: after, {target: change})
    assert not same(program, changed)
    assert structural_hash(program) != structural_hash(changed)


@given(programs())
def test_what_is_used_twice_differs_from_two_copies(program):
    """Every computation that is shared makes a difference when it is not."""
    uses: dict[relay.Expr, int] = {}
    for node in tree.postorder(program):
        for child in tree.children(node):
            uses[child] = uses.get(child, 0) + 1
    shared = [e for e in uses if uses[e] > 1 and isinstance(e, relay.Tuple | relay.Call)]
    shared = [e for e in shared if tree.children(e)]  # `()` is the same wherever it stands
    for target in shared:
        parents = [n for n in tree.postorder(program) if target in tree.children(n)]
        parent = parents[-1]
        children = tree.children(parent)
        children[children.index(target)] = tree.replace(target)
        seeds = {parent: tree.rebuild(parent, children)}
        assert not same(program, tree.transform(program, lambda before, after: after, seeds))


# --- depth


@pytest.mark.parametrize("kind", ["calls", "lets", "functions"])
def test_deep_programs_take_linear_time(kind):
    def nested(bottom: float) -> relay.Expr:
        x = scalar()
        expr: relay.Expr = relay.const(bottom)
        for _ in range(deep(20_000)):
            v = scalar()
            if kind == "calls":
                expr = relay.Call(RELU, (expr,))
            elif kind == "lets":
                expr = relay.Let(v, expr, v)
            else:
                expr = relay.Function((v,), expr)
        return relay.Function([x], expr)

    a = nested(1.0)
    assert structural_equal(a, nested(1.0))
    with pytest.raises(ValueError, match="constants of different values"):
        assert_structural_equal(a, nested(2.0))


def test_a_large_constant_is_looked_at_once():
    big = relay.const(np.zeros(1_000_000, "float32"))
    x = relay.var("x")
    program = relay.Function([x], relay.Tuple([big] * deep(20_000)))
    assert structural_equal(program, tree.replace(program))
