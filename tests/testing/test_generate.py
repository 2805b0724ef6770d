"""The generator keeps its promises: well typed, ending, tame, and only what the switches allow."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.ir import dims
from relay.ir.compare import assert_structural_equal, structural_hash
from relay.ir.expr import (
    Call,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    PatternConstructor,
    RefCreate,
    RefRead,
    RefWrite,
    TupleGetItem,
    Var,
)
from relay.ir.scopes import Scopes
from relay.ir.types import FuncType, Occurs, RefType, TensorType, TypeKind
from relay.ir.variables import types_in
from relay.nd import NDArray
from relay.testing import (
    Features,
    Seeded,
    assert_generated_ok,
    assert_has_type,
    extents_of,
    random_inputs,
    random_module,
)
from relay.testing.generator.features import SMOOTH
from relay.testing.strategies import modules, programs

SEEDS = range(40)


def nodes(module):
    return [e for function in module.functions.values() for e in tree.postorder(function)]


def written_types(module):
    found = [t for e in nodes(module) for t in types_in(e)]
    for definition in module.type_definitions.values():
        found += [t for c in definition.constructors for t in c.inputs]
    return [part for ty in found for part in tree.postorder(ty)]


@pytest.mark.parametrize("seed", SEEDS)
def test_modules_are_well_formed_and_well_typed(seed):
    assert_generated_ok(random_module(Seeded(seed)))


@given(modules())
def test_modules_that_hypothesis_makes_are_well_formed_and_well_typed(module):
    assert_generated_ok(module)


@pytest.mark.parametrize("seed", range(5))
def test_the_same_seed_gives_the_same_program(seed):
    a, b = random_module(Seeded(seed)), random_module(Seeded(seed))
    assert_structural_equal(a, b)
    assert a.astext() == b.astext()
    for x, y in zip(random_inputs(a, Seeded(3)), random_inputs(b, Seeded(3)), strict=True):
        assert repr(x) == repr(y)


def test_different_seeds_give_different_programs():
    assert len({structural_hash(random_module(Seeded(seed))) for seed in SEEDS}) > 35


def test_size_says_about_how_large_programs_are():
    def average(size):
        made = [random_module(Seeded(seed), size=size, functions=0) for seed in range(15)]
        return sum(len(nodes(m)) for m in made) / len(made)

    assert average(10) < average(60) < average(300)


def test_large_programs_are_no_deeper_than_python_can_go():
    assert_generated_ok(random_module(Seeded(1), size=3000))


def kinds(module):
    """What there is in a module, in words."""
    found = {type(e).__name__ for e in nodes(module)}
    names = {v.name_hint for v in module.functions}
    for name, function in module.functions.items():
        scopes = Scopes(function)
        found.update(f"{p.kind.name} parameter" for p in function.type_params)
        for e in tree.postorder(function):
            match e:
                case Call(op=GlobalVar() as callee):
                    found.add("recursion" if callee == name else "call of a global")
                    caller = module[callee.name_hint]
                    called = {x.name_hint for x in tree.postorder(caller) if type(x) is GlobalVar}
                    if callee != name and name.name_hint in called and callee.name_hint in names:
                        found.add("mutual recursion")
                case Call(op=Var()):
                    found.add("call of a closure")
                case Match(complete=False):
                    found.add("match?")
                case PatternConstructor() if any(
                    isinstance(p, PatternConstructor) for p in e.patterns
                ):
                    found.add("nested pattern")
                case Let(value=Function() as value) if e.variable in tree.postorder(value):
                    found.add("recursive let")
            if scopes.is_shared(e) and isinstance(e, Call | If | TupleGetItem | Let):
                found.add("sharing")
    for ty in written_types(module):
        if isinstance(ty, TensorType):
            found.add(ty.dtype)
            found.update(type(d).__name__ for d in ty.shape)
    return found


def test_programs_have_everything_the_language_has():
    found = set().union(*(kinds(random_module(Seeded(seed))) for seed in range(80)))
    assert found >= {
        "Let",
        "If",
        "Match",
        "match?",
        "nested pattern",
        "PatternTuple",
        "PatternWildcard",
        "Tuple",
        "TupleGetItem",
        "RefCreate",
        "RefRead",
        "RefWrite",
        "Constructor",
        "Constant",
        "recursion",
        "mutual recursion",
        "recursive let",
        "call of a global",
        "call of a closure",
        "sharing",
        "Type parameter",
        "ShapeVar parameter",
        "DimExpr",
        "Any",
        "float32",
        "float16",
        "float64",
        "int32",
        "int64",
        "int8",
        "uint8",
        "bool",
    }


def test_sharing_crosses_branches_and_closures():
    across = set()
    for seed in range(60):
        for function in random_module(Seeded(seed)).functions.values():
            scopes = Scopes(function)
            for parent in tree.postorder(function):
                for child, scope in scopes._edges(parent):
                    if isinstance(child, Call) and scopes.uses(child) > 1:
                        home = scopes.home(child)
                        if home is not scope:
                            across.add(
                                "closure" if home.function is not scope.function else "branch"
                            )
    assert across == {"branch", "closure"}


# --- switches ----------------------------------------------------------------------------------


def without(**switches):
    return [random_module(Seeded(seed), **switches) for seed in SEEDS]


def test_without_references():
    for module in without(references=False):
        assert not any(isinstance(e, RefCreate | RefRead | RefWrite) for e in nodes(module))
        assert not any(isinstance(t, RefType) for t in written_types(module))


def test_without_data_types():
    for module in without(adts=False):
        assert not module.type_definitions
        assert not any(isinstance(e, Match) for e in nodes(module))


def test_without_unknown_dimensions():
    for module in without(unknown_dims=False):
        assert not any(t.occurs & Occurs.ANY for t in written_types(module))


def test_without_dynamic_dimensions():
    for module in without(named_dims=False, unknown_dims=False):
        for ty in written_types(module):
            if isinstance(ty, TensorType):
                assert all(isinstance(d, int) for d in ty.shape)


def test_without_type_parameters():
    for module in without(polymorphism=False):
        for e in nodes(module):
            if isinstance(e, Function):
                assert all(p.kind is TypeKind.ShapeVar for p in e.type_params)


def test_without_closures():
    for module in without(closures=False):
        assert not any(isinstance(t, FuncType) for t in written_types(module))
        assert not any(isinstance(e, Call) and isinstance(e.op, Function) for e in nodes(module))


def test_without_branches():
    for module in without(branches=False, recursion=False):
        assert not any(isinstance(e, If) for e in nodes(module))


def test_without_recursion():
    for module in without(recursion=False):
        assert "recursion" not in kinds(module)
        assert "recursive let" not in kinds(module)


def test_without_sharing():
    for module in without(sharing=False):
        for function in module.functions.values():
            scopes = Scopes(function)
            assert not any(scopes.is_shared(e) for e in tree.postorder(function))


def test_with_one_element_type():
    for module in without(dtypes=("float32",), smooth=False):
        found = {t.dtype for t in written_types(module) if isinstance(t, TensorType)}
        # counters of recursive functions are int32, conditions are bool
        assert found <= {"float32", "int32", "bool"}


def test_features_can_be_given_as_one_object():
    features = Features(size=10, functions=0)
    module = random_module(Seeded(0), features, adts=False)
    assert [v.name_hint for v in module.functions] == ["main"]


# --- running -----------------------------------------------------------------------------------


def run(module, inputs):
    return relay.create_executor("debug", module).evaluate()(*inputs)


def arrays(value):
    pending, found = [value], []
    while pending:
        part = pending.pop()
        if isinstance(part, NDArray):
            found.append(part.array)
        else:
            pending.extend(part.fields)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_end_with_small_numbers_that_are_exact(seed):
    module = random_module(Seeded(seed))
    for array in arrays(run(module, random_inputs(module, Seeded(seed)))):
        values = array.astype("float64")
        assert (np.abs(values) <= 8).all()
        if array.dtype != SMOOTH:
            assert (values == np.round(values)).all()


@given(programs())
def test_inputs_are_what_main_takes(program):
    module, inputs = program
    extents = extents_of(module, inputs)
    for param, value in zip(module["main"].params, inputs, strict=True):
        value = relay.interpreter.values.to_value(value)
        assert_has_type(value, param.type_annotation, module, extents)


def test_a_symbolic_dimension_has_one_extent_and_every_unknown_one_its_own():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n, relay.Any()))
    y = relay.var("y", shape=(relay.Any(), n + 1))
    module = relay.IRModule.from_expr(relay.Function((x, y), x, None, (n,)))
    seen = set()
    for seed in range(30):
        a, b = random_inputs(module, Seeded(seed))
        assert a.shape[0] + 1 == b.shape[1]
        seen.add(a.shape[1] == b.shape[0])
    assert seen == {True, False}
    assert not isinstance(n + 1, dims.Any)


def test_parameters_that_are_no_tensors_are_refused():
    f = relay.var("f", relay.FuncType((), relay.TupleType(())))
    module = relay.IRModule.from_expr(relay.Function((f,), f()))
    with pytest.raises(relay.RelayError, match="tensors and tuples of them"):
        random_inputs(module, Seeded(0))
