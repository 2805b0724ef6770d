"""What holds for every program, tried on random ones."""

import numpy as np
from hypothesis import given

import relay
from relay import tree
from relay.check.infer import infer_module
from relay.ir.compare import (
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from relay.ir.expr import Call, Constant, Function, Var
from relay.ir.scopes import Scopes
from relay.ir.types import TypeVar, substitute
from relay.ir.variables import bound_type_vars, bound_vars
from relay.serialize import load_json, save_json
from relay.testing import (
    assert_generated_ok,
    assert_has_type,
    assert_same_value,
    extents_of,
)
from relay.testing.strategies import modules, programs


def evaluate(module, inputs):
    return relay.create_executor("debug", module).evaluate()(*inputs)


# --- inference ---------------------------------------------------------------------------------


@given(modules())
def test_inferring_again_changes_nothing(module):
    typed = infer_module(module)
    again = infer_module(typed)
    assert_structural_equal(again, typed)
    for name, function in typed.functions.items():
        assert again[name] is function
    assert_structural_equal(infer_module(module), typed)


@given(modules())
def test_every_expression_of_a_typed_module_has_a_type(module):
    for function in infer_module(module).functions.values():
        for e in tree.postorder(function):
            if isinstance(e, Call | Constant | Var | Function):
                assert e.checked_type is not None


# --- text and JSON -----------------------------------------------------------------------------


@given(modules())
def test_what_is_printed_is_read_back_the_same(module):
    typed = infer_module(module)
    assert_structural_equal(relay.parse(typed.astext()), typed)
    assert_structural_equal(relay.parse(module.astext()), typed)


@given(modules())
def test_what_is_saved_is_loaded_the_same(module):
    assert_structural_equal(load_json(save_json(module)), module)
    typed = infer_module(module)
    loaded = load_json(save_json(typed))
    assert_structural_equal(loaded, typed)
    assert_structural_equal(infer_module(loaded), typed)


# --- names and sharing -------------------------------------------------------------------------


def renamed(function):
    """`function` with every variable and type variable replaced by a new one of another name."""
    types = {v: TypeVar(f"{v.name_hint}_", v.kind) for v in bound_type_vars(function)}

    def retyped(ty):
        return ty if ty is None else substitute(ty, types)

    def argument(given):
        return types.get(given, given) if not hasattr(given, "occurs") else retyped(given)

    seeds = {v: Var(f"{v.name_hint}_", retyped(v.type_annotation)) for v in bound_vars(function)}

    def visit(_, after):
        match after:
            case Function():
                params = tuple(types.get(p, p) for p in after.type_params)
                return tree.replace(after, ret_type=retyped(after.ret_type), type_params=params)
            case Call() if after.type_args:
                return tree.replace(after, type_args=tuple(map(argument, after.type_args)))
        return after

    return tree.transform(function, visit, seeds)


@given(modules())
def test_names_mean_nothing(module):
    other = module.copy()
    for name, function in module.functions.items():
        other[name] = renamed(function)
    assert_generated_ok(other)
    assert structural_equal(other, module)
    assert structural_hash(other) == structural_hash(module)


def with_a_copy(function, parent, child):
    """`function` where `parent` uses a copy of `child`."""

    def visit(before, after):
        if before is not parent:
            return after
        kids = [tree.replace(c) if c is child else c for c in tree.children(parent)]
        return tree.rebuild(parent, kids)

    return tree.transform(function, visit)


@given(modules())
def test_sharing_means_something(module):
    """A computation that is no longer shared makes another program."""
    for function in module.functions.values():
        scopes = Scopes(function)
        edges = ((e, c) for e in tree.postorder(function) for c in tree.children(e))
        for parent, child in edges:
            if isinstance(child, Call) and scopes.is_shared(child):
                assert not structural_equal(with_a_copy(function, parent, child), function)
                break


# --- running -----------------------------------------------------------------------------------


@given(programs())
def test_results_are_of_the_type_that_was_inferred(program):
    module, inputs = program
    typed = infer_module(module)
    result = evaluate(typed, inputs)
    extents = extents_of(typed, inputs)
    assert_has_type(result, typed["main"].ret_type, typed, extents)


@given(programs())
def test_running_again_gives_the_same(program):
    module, inputs = program
    kept = [np.array(i) if not isinstance(i, tuple) else tuple(map(np.array, i)) for i in inputs]
    assert_same_value(evaluate(module, inputs), evaluate(module, inputs))
    assert all(np.array_equal(a, b) for a, b in zip(_flat(kept), _flat(inputs), strict=True))


@given(programs())
def test_a_program_means_the_same_after_its_travels(program):
    """Printed and parsed, saved and loaded: the result stays."""
    module, inputs = program
    expected = evaluate(module, inputs)
    assert_same_value(evaluate(relay.parse(module.astext()), inputs), expected)
    assert_same_value(evaluate(load_json(save_json(module)), inputs), expected)


def _flat(values):
    return [a for v in values for a in (v if isinstance(v, tuple) else (v,))]
