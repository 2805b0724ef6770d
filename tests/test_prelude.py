"""The standard library: every function against the same thing said in Python."""

from functools import reduce
from itertools import accumulate, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relay
from relay.check.infer import infer_module
from relay.errors import EvaluationError, RelayError
from relay.interpreter.evaluate import call, evaluate
from relay.interpreter.values import ConstructorValue, TupleValue, to_value
from relay.prelude import FILES, Prelude, import_from_std
from relay.testing.nat import add_nat_definitions, count, make_nat_expr, make_nat_value

LONG = 5_000
INT = relay.scalar_type("int32")

small = st.integers(-1000, 1000)
lists = st.lists(small, max_size=12)


# --- between Python and Relay


class Library:
    """The functions of a module on Python data: lists, trees as (value, [trees]), options."""

    def __init__(self, *files):
        self.mod = relay.IRModule()
        for file in files:
            self.mod.import_from_std(file)
        self.typed = infer_module(self.mod)
        self.constructors = {
            c.name_hint: c for d in self.mod.type_definitions.values() for c in d.constructors
        }

    def make(self, name, *fields):
        constructor = self.constructors[name]
        return ConstructorValue(constructor.tag, fields, constructor)

    def list(self, items, convert=to_value):
        made = self.make("Nil")
        for item in reversed(items):
            made = self.make("Cons", convert(item), made)
        return made

    def tree(self, tree):
        value, below = tree
        return self.make("Rose", to_value(value), self.list(below, self.tree))

    def __call__(self, name, *args):
        return to_python(call(evaluate(relay.GlobalVar(name), self.typed), args))

    def function(self, params, result, body):
        """A closure written as `body` over parameters of the given types."""
        variables = [relay.var(f"x{i}", ty) for i, ty in enumerate(params)]
        function = relay.Function(variables, body(*variables), result)
        return evaluate(function, self.typed)


def to_python(value):
    """Tensors as numbers, lists as lists, options as values or None, trees as (value, [trees])."""
    if isinstance(value, TupleValue):
        return tuple(map(to_python, value))
    if not isinstance(value, ConstructorValue):
        return value.item() if isinstance(value, relay.nd.NDArray) else value
    match value.constructor.name_hint:
        case "Cons" | "Nil":
            found = []
            while value.fields:
                found.append(to_python(value.fields[0]))
                value = value.fields[1]
            return found
        case "Rose":
            return tuple(map(to_python, value.fields))
    return value


@pytest.fixture(scope="module")
def std():
    return Library("prelude.rly")


@pytest.fixture(scope="module")
def binary(std):
    """Functions of two integers, as closures."""
    return lambda body: std.function([INT, INT], INT, body)


@pytest.fixture(scope="module")
def unary(std):
    return lambda body: std.function([INT], INT, body)


def number(value):
    return relay.const(value, "int32")


# --- loading


@pytest.mark.parametrize("file", sorted(FILES))
def test_every_file_has_types(file):
    module = relay.IRModule()
    module.import_from_std(file)
    typed = infer_module(module)
    assert all(function.checked_type is not None for function in typed.functions.values())


@pytest.mark.parametrize("file", sorted(FILES))
def test_every_file_prints_and_parses_to_itself(file):
    module = relay.IRModule()
    module.import_from_std(file)
    again = relay.parse(module.astext())
    relay.ir.assert_structural_equal(again, module)


def test_importing_twice_changes_nothing():
    module = relay.IRModule()
    module.import_from_std("prelude.rly")
    functions, types = module.functions, module.type_definitions
    module.import_from_std("prelude.rly")
    Prelude(module)
    assert all(module.functions[name] is function for name, function in functions.items())
    assert all(module.type_definitions[name] is made for name, made in types.items())
    assert len(module.functions) == len(functions)


def test_what_a_file_builds_on_is_imported_with_it():
    module = relay.IRModule()
    module.import_from_std("nat.rly")
    assert "map" in module
    assert "nat_add" in module


def test_a_function_that_is_already_there_stays():
    x = relay.var("x", INT)
    mine = relay.Function([x], x, INT)
    module = relay.IRModule({"id": mine})
    Prelude(module)
    assert module["id"] is mine


def test_a_printed_prelude_can_be_completed():
    # a module that went through text has constructors of its own, and misses some functions
    full = Prelude().mod
    part = relay.IRModule()
    for header in full.type_definitions:
        part[header] = full[header]
    part["hd"] = full["hd"]
    part = relay.parse(part.astext())
    Prelude(part)
    typed = infer_module(part)
    _, cons, nil = part.get_type("List")
    xs = cons(number(1), cons(number(2), nil()))
    assert evaluate(part.get_global_var("sum")(xs), typed).item() == 3
    used = {
        e for e in relay.tree.postorder(part["map"]) if isinstance(e, relay.ir.expr.Constructor)
    }
    assert used == {cons, nil}


def test_another_type_of_the_same_name_is_refused():
    header = relay.GlobalTypeVar("List")
    module = relay.IRModule()
    module[header] = relay.TypeData(header, [], [relay.ir.expr.Constructor("Empty", [], header)])
    with pytest.raises(RelayError, match="a type `List` of its own"):
        Prelude(module)


@pytest.mark.parametrize("file", ["../prelude.py", "/etc/passwd", "prelude", "", "std/core.rly"])
def test_only_files_of_the_library_can_be_imported(file):
    with pytest.raises(RelayError, match="the standard library has no file"):
        import_from_std(relay.IRModule(), file)


# --- the prelude in Python

FUNCTIONS = (
    "id compose flip hd tl nth length update map foldl foldr foldr1 sum concat filter zip rev "
    "map_accumr map_accuml unfoldr unfoldl tmap size iterate"
)


def test_every_function_is_an_attribute():
    p = Prelude()
    for name in FUNCTIONS.split():
        assert getattr(p, name) == relay.GlobalVar(name)
        assert getattr(p, name) is p.mod.get_global_var(name)


def test_types_and_constructors_are_attributes():
    p = Prelude()
    assert (p.l, p.cons, p.nil) == p.mod.get_type("List")
    assert (p.optional, p.some, p.none) == p.mod.get_type("Option")
    assert (p.tree, p.rose) == p.mod.get_type("Tree")


def test_the_module_given_is_the_one_that_is_extended():
    module = relay.IRModule()
    p = Prelude(module)
    assert p.mod is module
    assert "foldl" in module


def test_a_misspelt_name_gets_a_hint():
    with pytest.raises(AttributeError, match="did you mean `foldl`"):
        _ = Prelude().foldle


def test_a_program_built_with_the_prelude_runs():
    p = Prelude()
    x = relay.var("x", INT)
    xs = p.cons(number(1), p.cons(number(2), p.nil()))
    squares = p.map(relay.Function([x], x * x), xs)
    assert relay.create_executor("debug", p.mod).evaluate(p.sum(squares)).item() == 5


# --- functions on functions


def test_id(std):
    assert std("id", 3) == 3


def test_compose(std, unary):
    f = std("compose", unary(lambda x: x * number(2)), unary(lambda x: x + number(1)))
    assert f(5).item() == 12


def test_flip(std, binary):
    assert std("flip", binary(lambda a, b: a - b))(1, 10).item() == 9


@pytest.mark.parametrize("n", [-1, 0, 1, 10, LONG])
def test_iterate(std, unary, n):
    assert std("iterate", unary(lambda x: x + number(3)), n)(1).item() == 1 + 3 * max(n, 0)


# --- functions on lists


@given(xs=st.lists(small, min_size=1, max_size=12), data=st.data())
def test_parts_of_lists(std, xs, data):
    n = data.draw(st.integers(0, len(xs) - 1))
    value = std.list(xs)
    assert std("hd", value) == xs[0]
    assert std("tl", value) == xs[1:]
    assert std("nth", value, n) == xs[n]
    assert std("update", value, n, 77) == [*xs[:n], 77, *xs[n + 1 :]]


@pytest.mark.parametrize("name", ["hd", "tl"])
def test_the_empty_list_has_no_parts(std, name):
    with pytest.raises(EvaluationError, match="no clause of this match fits") as caught:
        std(name, std.list([]))
    assert "std/prelude.rly" in str(caught.value)


@pytest.mark.parametrize("n", [-1, 3])
def test_there_is_no_element_outside_the_list(std, n):
    with pytest.raises(EvaluationError):
        std("nth", std.list([1, 2, 3]), n)
    with pytest.raises(EvaluationError):
        std("update", std.list([1, 2, 3]), n, 0)


@given(xs=lists, ys=lists)
def test_new_lists(std, unary, xs, ys):
    assert std("length", std.list(xs)) == len(xs)
    assert std("sum", std.list(xs)) == sum(xs)
    assert std("rev", std.list(xs)) == xs[::-1]
    assert std("concat", std.list(xs), std.list(ys)) == xs + ys
    assert std("zip", std.list(xs), std.list(ys)) == list(zip(xs, ys, strict=False))
    assert std("map", unary(lambda x: x * number(2)), std.list(xs)) == [2 * x for x in xs]


@given(xs=lists, limit=small)
def test_filter(std, xs, limit):
    keep = std.function([INT], relay.scalar_type("bool"), lambda x: relay.less(x, number(limit)))
    assert std("filter", keep, std.list(xs)) == [x for x in xs if x < limit]


@given(xs=st.lists(st.integers(-9, 9), max_size=6), init=small)
def test_folds(std, binary, xs, init):
    # neither commutative nor associative, so that order and direction show
    step = binary(lambda a, b: a * number(3) - b)

    def python(a, b):
        return 3 * a - b

    assert std("foldl", step, init, std.list(xs)) == reduce(python, xs, init)
    assert std("foldr", step, init, std.list(xs)) == reduce(
        lambda acc, x: python(x, acc), xs[::-1], init
    )
    if xs:
        assert std("foldr1", step, std.list(xs)) == reduce(lambda acc, x: python(x, acc), xs[::-1])


def test_foldr1_needs_an_element(std, binary):
    with pytest.raises(EvaluationError, match="no clause"):
        std("foldr1", binary(lambda a, b: a + b), std.list([]))


@given(xs=lists, init=small)
def test_map_with_an_accumulator(std, xs, init):
    # the accumulator is the sum so far, the new element what it was before
    pair = relay.TupleType([INT, INT])
    step = std.function([INT, INT], pair, lambda acc, x: relay.Tuple([acc + x, acc]))
    sums = list(accumulate(xs, initial=init))
    assert std("map_accuml", step, init, std.list(xs)) == (sums[-1], sums[:-1])
    sums = list(accumulate(xs[::-1], initial=init))
    assert std("map_accumr", step, init, std.list(xs)) == (sums[-1], sums[:-1][::-1])


@given(start=st.integers(0, 12))
def test_unfold(std, start):
    some, none = std.constructors["Some"], std.constructors["None"]
    pair = relay.TupleType([INT, INT])
    option = std.mod.get_global_type_var("Option")(pair)

    def body(n):
        return relay.If(
            relay.equal(n, number(0)), none(), some(relay.Tuple([n - number(1), n * n]))
        )

    step = std.function([INT], option, body)
    squares = [n * n for n in takewhile(lambda n: n > 0, range(start, -1, -1))]
    assert std("unfoldr", step, start) == squares
    assert std("unfoldl", step, start) == squares[::-1]


# --- functions on trees

trees = st.recursive(
    small.map(lambda x: (x, [])),
    lambda below: st.tuples(small, st.lists(below, max_size=3)),
    max_leaves=10,
)


def python_tmap(f, tree):
    return (f(tree[0]), [python_tmap(f, below) for below in tree[1]])


def python_size(tree):
    return 1 + sum(map(python_size, tree[1]))


@given(tree=trees)
def test_trees(std, unary, tree):
    twice = unary(lambda x: x * number(2))
    assert std("tmap", twice, std.tree(tree)) == python_tmap(lambda x: 2 * x, tree)
    assert std("size", std.tree(tree)) == python_size(tree)


# --- length


def test_long_lists(std, unary, binary):
    xs = list(range(LONG))
    value = std.list(xs)
    assert std("length", value) == LONG
    assert std("rev", value) == xs[::-1]
    assert std("map", unary(lambda x: x + number(1)), value) == [x + 1 for x in xs]
    assert std("foldr", binary(lambda a, b: a + b), 0, value) == sum(xs)
    assert std("nth", value, LONG - 1) == LONG - 1


# --- natural numbers


@pytest.fixture(scope="module")
def nat():
    p = Prelude()
    add_nat_definitions(p)
    return p


@given(m=st.integers(0, 20), n=st.integers(0, 20))
def test_arithmetic_of_natural_numbers(nat, m, n):
    executor = relay.create_executor("debug", nat.mod)
    assert (
        count(nat, executor.evaluate(nat.nat_add(make_nat_expr(nat, m), make_nat_expr(nat, n))))
        == m + n
    )
    assert count(nat, executor.evaluate(nat.nat_double(make_nat_expr(nat, m)))) == 2 * m


def test_natural_numbers_go_to_values_and_back(nat):
    assert count(nat, make_nat_value(nat, 20_000)) == 20_000
    assert count(nat, evaluate(make_nat_expr(nat, 20_000), nat.mod)) == 20_000
    with pytest.raises(RelayError, match="-1 is not a natural number"):
        make_nat_value(nat, -1)


@given(xs=st.lists(small, min_size=1, max_size=8), data=st.data())
def test_lists_indexed_by_natural_numbers(xs, data):
    std = Library("nat.rly")
    p = Prelude(std.mod)
    n = data.draw(st.integers(0, len(xs) - 1))
    value = std.list(xs)
    assert std("nat_nth", value, make_nat_value(p, n)) == xs[n]
    assert std("nat_update", value, make_nat_value(p, n), 77) == [*xs[:n], 77, *xs[n + 1 :]]


def test_iterating_a_natural_number_of_times(nat):
    x = relay.var("x", INT)
    f = evaluate(relay.Function([x], x + number(3)))
    iterate = evaluate(nat.nat_iterate, nat.mod)
    assert iterate(f, make_nat_value(nat, 1000))(1).item() == 3001


# --- gradients that know when they are zero or one

CELLS = {"raw": 5.0, "one": 1.0, "zero": 0.0}


@pytest.fixture(scope="module")
def gradient():
    return Library("gradient.rly")


def cell(library, kind):
    if kind == "raw":
        return library.make("Raw", to_value(CELLS[kind]))
    make = relay.Function([], relay.const(CELLS[kind]))
    return library.make(kind.capitalize(), evaluate(make))


@pytest.mark.parametrize("a", sorted(CELLS))
@pytest.mark.parametrize("b", sorted(CELLS))
def test_cells_add_and_multiply(gradient, a, b):
    for name, op, expected in (
        ("AddGradCell", "add", CELLS[a] + CELLS[b]),
        ("MultiplyGradCell", "multiply", CELLS[a] * CELLS[b]),
    ):
        result = gradient(name, relay.op.get(op), cell(gradient, a), cell(gradient, b))
        assert gradient("FromGradCell", result) == expected
        computed = a == b == "raw" or (op == "add" and "zero" not in (a, b))
        assert (result.constructor.name_hint == "Raw") == (computed or "raw" in _kept(op, a, b))


def _kept(op, a, b):
    """The kind of the cell that is passed on when nothing has to be computed."""
    if op == "add":
        return b if a == "zero" else a
    if "zero" in (a, b):
        return "zero"
    return b if a == "one" else a


def test_zero_times_anything_makes_no_tensor(gradient):
    failing = evaluate(relay.Function([], relay.RefRead(relay.const(0.0))))
    zero = gradient.make("Zero", failing)
    result = gradient("MultiplyGradCell", relay.op.get("multiply"), zero, cell(gradient, "raw"))
    assert result.constructor.name_hint == "Zero"
