"""A function of scalars is one row of a table, and its expansion."""

import inspect
import sys
from importlib import import_module
from types import ModuleType

import numpy as np

from relay import te
from relay.program.scalars import OF_FLOATS, OPERATIONS
from relay.scalar_functions import FUNCTIONS, ScalarFunction
from relay.te.evaluate import evaluate
from relay.te.legalize import Facts
from relay.te.math import expand


def test_every_function_is_written_out_or_an_instruction():
    instructions = {name for name, function in FUNCTIONS.items() if not function.module}
    assert instructions == {"sqrt", "copysign", "fma", "popcount", "clz"}
    for name in FUNCTIONS.keys() - instructions:
        module = import_module(f"relay.te.math.{FUNCTIONS[name].module}")
        parameters = inspect.signature(getattr(module, name)).parameters
        assert len(parameters) == 1 + FUNCTIONS[name].arguments, name


def test_programs_know_all_functions():
    assert {name: OPERATIONS[name] for name in FUNCTIONS} == {
        name: function.arguments for name, function in FUNCTIONS.items()
    }
    assert {"exp", "pow", "fma"} <= OF_FLOATS and not {"floor", "isnan", "clz"} & OF_FLOATS


def test_a_new_function_is_a_row_and_an_expansion(monkeypatch):
    module = ModuleType("relay.te.math.extra")
    module.cube = lambda f, x: x * x * x
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(FUNCTIONS, "cube", ScalarFunction(lambda x: x**3, "extra", 2, 2))
    x = te.placeholder((3,), "float32", "x")
    values = np.array([1, -2, 0.5], "float32")
    cubes = te.compute(x.shape, lambda i: te.call("cube", x[i]))
    np.testing.assert_array_equal(evaluate([cubes], {x: values})[0], values**3)
    variable = te.Var("float32", "v")
    assert expand(te.call("cube", variable), Facts()) == variable * variable * variable
