"""Operations on scalars give what they are defined to give, whatever the type."""

import numpy as np
import pytest

from relay import dtypes
from relay.program.program import (
    Block,
    Function,
    Parameter,
    Program,
    Return,
    Scalar,
    ScalarSpec,
)
from relay.program.scalars import OPERATIONS, result_type
from relay.program.text import to_text
from relay.scalar_functions import FUNCTIONS
from relay.target.llvm.program.scalars import expression
from relay.te import arithmetic
from relay.te.expr import Var
from tests.target.llvm.program.machine import Machine

VALUES = {
    "float32": [0.5, -1.25, 0.0, 3.0, np.nan, -np.inf, 1e30, 7.5],
    "float16": [0.5, -1.25, 0.0, 3.0, np.nan, np.inf],
    "float64": [0.5, -1.25, 0.0, 3.0, np.nan, 1e300],
    "bfloat16": [0.5, -1.25, 3.0],
    "int64": [0, 1, -1, 7, -8, 2**63 - 1, -(2**63), 63],
    "int32": [0, 1, -1, 7, 2**31 - 1, -(2**31), 33],
    "uint8": [0, 1, 7, 255, 128],
    "int4": [0, 1, -8, 7],
    "bool": [False, True],
}
OTHERS = {"float32": "int32", "float64": "float32", "float16": "float32", "int64": "float32"}

BITS = [name for name, function in FUNCTIONS.items() if function.kind == "bits"]
# what may differ in the last places
EXACT = {"atan2", "copysign", "fma"}
LOOSE = {name for name, function in FUNCTIONS.items() if function.kind == "float"} - EXACT
LOOSE |= {"mod", "floordiv", "truncdiv"}


def operations(dtype):
    """(name, types of its operands, type of its result)"""
    for op, count in OPERATIONS.items():
        kinds = ("bool", dtype, dtype) if op == "select" else (dtype,) * count
        wanted = OTHERS.get(dtype, "int64") if op == "cast" else dtype
        result = result_type(op, kinds, wanted)
        if result is None or op == "bitcast" or (op in BITS and dtype == "bool"):
            continue
        if dtype == "bool" and op not in ("and", "or", "xor", "not", "eq", "ne", "select", "cast"):
            continue
        yield op, kinds, result


def function_of(op, kinds, result):
    inputs = tuple(range(len(kinds)))
    specs = tuple(map(ScalarSpec, (*kinds, result)))
    steps = (Scalar(len(kinds), op, inputs), Return(len(kinds)))
    params = tuple(Parameter(f"x{i}", i) for i in inputs)
    return Function(op, params, specs, (Block(steps),), specs[-1])


def defined(expr, op, operands):
    return np.where(*operands) if op == "select" else arithmetic.apply(expr, operands)


def check(dtype):
    cases = list(operations(dtype))
    program = Program((), (), tuple(function_of(*case) for case in cases))
    machine = Machine(to_text(program).removeprefix("relay program 1"))
    random = np.random.default_rng(1)
    for op, kinds, result in cases:
        expr = expression(op, [Var(kind, "x") for kind in kinds], result)
        for _ in range(12):
            args = [
                np.asarray(random.choice(VALUES[kind])).astype(dtypes.to_numpy(kind))[()]
                for kind in kinds
            ]
            word = np.array([machine.run(op, *args).value])
            found = arithmetic.load(word.view(dtypes.to_numpy(result))[:1], result)
            pairs = zip(args, kinds, strict=True)
            carried = [arithmetic.load(np.array([arg]), kind) for arg, kind in pairs]
            with np.errstate(all="ignore"):
                expected = defined(expr, op, carried)
                expected = arithmetic.load(arithmetic.store(expected, result), result)
            tolerance = 2e-6 if op in LOOSE and dtypes.is_float(result) else 0
            if dtype in ("float16", "bfloat16"):
                tolerance = 1e-2
            np.testing.assert_allclose(
                np.asarray(found, np.float64),
                np.asarray(expected, np.float64),
                rtol=tolerance,
                err_msg=f"{op}{args}",
            )


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_operations(dtype):
    check(dtype)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "uint8", "int4"])
def test_operations_of_other_types(dtype):
    check(dtype)
