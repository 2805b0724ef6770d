"""Sizes that programs compute are those of the dimensions they are said to be."""

import numpy as np

import relay
from relay.ir import dims
from relay.ir.expr import Function, Var
from relay.ir.types import ShapeVar, TensorType
from relay.program.builder import Builder
from relay.program.program import ComputeSize, Literal, ScalarSpec
from relay.program.scalar_code import SIZE, emit_dim

K, N = ShapeVar("k"), ShapeVar("n")
FUNCTIONS = {"mul": lambda a, b: a * b, "add": lambda a, b: a + b}


def computed(dim, values):
    """What the instructions of a dimension compute, without minima, maxima and quotients."""
    builder = Builder("sizes")
    sizes = {variable: builder.new(ScalarSpec(SIZE)) for variable in values}
    found = {sizes[variable]: value for variable, value in values.items()}
    result = emit_dim(builder, dim, sizes)
    for instruction in builder.current.instructions:
        match instruction:
            case Literal(register, value):
                found[register] = value
            case ComputeSize(register, op, left, right):
                found[register] = FUNCTIONS[op](found[left], found[right])
    return found[result]


def test_polynomials_with_powers_and_factors():
    for dim in (2 * K * K, K * K * K, 3 * K * K * N + 2 * N * N + K + 5, 2 * K * N * N):
        for k, n in ((1, 1), (2, 3), (5, 4)):
            wanted = dims.substitute(dim, {K: k, N: n}.__getitem__)
            assert computed(dim, {K: k, N: n}) == wanted, dim


def test_a_declared_power_of_a_size_is_what_a_run_finds():
    x = Var("x", TensorType((K, 2, K, K), "float32"))
    rows = Var("rows", TensorType((2 * K * K * K,), "float32"))
    wanted = relay.const(np.array([-1]))
    body = relay.Let(rows, relay.reshape(x, relay.abs(wanted) * wanted), rows)
    exe = relay.compile(Function((x,), body, type_params=(K,)))
    for k in (1, 2, 3):
        assert exe(np.zeros((k, 2, k, k), "float32")).shape == (2 * k * k * k,)
