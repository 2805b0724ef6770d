"""Values: from Python, back to Python, and as text."""

import numpy as np
import pytest
import torch

import relay
from relay.errors import RelayError
from relay.interpreter.values import (
    ConstructorValue,
    RefValue,
    TupleValue,
    describe,
    show,
    to_value,
    type_of,
)
from relay.ir.expr import Constructor
from tests.support.sampling import deep

NESTED = deep(20_000)
LIST = relay.GlobalTypeVar("List")
A = relay.TypeVar("A")
CONS = Constructor("Cons", [A, LIST(A)], LIST)
NIL = Constructor("Nil", [], LIST)


def list_value(*items):
    made = ConstructorValue(1, (), NIL)
    for item in reversed(items):
        made = ConstructorValue(0, (to_value(item), made), CONS)
    return made


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, "bool"),
        (1, "int32"),
        (2**40, "int64"),
        (1.5, "float32"),
        (np.float64(1.5), "float64"),
        (np.int8(1), "int8"),
        (np.ones(3), "float64"),
        (np.ones(3, "uint8"), "uint8"),
        (relay.const(1.5), "float32"),
        (relay.nd.array(np.ones(2, "float16")), "float16"),
        (torch.ones(3), "float32"),
        (torch.ones(3, requires_grad=True), "float32"),
    ],
)
def test_python_data_becomes_a_tensor(data, dtype):
    value = to_value(data)
    assert value.dtype == dtype
    plain = data.data if isinstance(data, relay.Constant) else data
    plain = plain.detach() if isinstance(data, torch.Tensor) else plain
    np.testing.assert_array_equal(value.numpy(), np.asarray(plain))


def test_a_python_number_takes_the_element_type_that_is_expected():
    assert to_value(1, relay.scalar_type("float16")).dtype == "float16"
    assert to_value(1, relay.scalar_type("int64")).dtype == "int64"
    assert to_value(1.5, relay.scalar_type("float64")).dtype == "float64"
    assert to_value(1.5, relay.scalar_type("int32")).dtype == "float64"  # and fails as a mismatch
    assert to_value([1, 2], relay.TensorType((2,), "float16")).dtype == "float16"
    assert to_value((1, 2), relay.TupleType([relay.scalar_type("int8")] * 2))[1].dtype == "int8"
    with pytest.raises(RelayError, match="300 does not fit into int8"):
        to_value(300, relay.scalar_type("int8"))


def test_tuples_and_lists_become_tuples():
    value = to_value((1, [2.0, (np.ones(2),)]))
    assert isinstance(value, TupleValue)
    assert len(value) == 2
    assert value[1][1][0].shape == (2,)
    assert [type(part).__name__ for part in value] == ["NDArray", "TupleValue"]


def test_a_value_does_not_change_when_the_array_it_came_from_does():
    array = np.zeros(2)
    value = to_value(array)
    array[0] = 1
    assert value.numpy().tolist() == [0, 0]


def test_what_is_no_data_is_refused_with_a_reason():
    with pytest.raises(RelayError, match="cannot make a tensor of object"):
        to_value(object())
    with pytest.raises(RelayError, match="a Var is an expression, not a value"):
        to_value(relay.var("x"))


def test_nesting_has_no_limit():
    data = 1
    for _ in range(NESTED):
        data = (data,)
    value = to_value(data)
    assert repr(value).startswith("((((")
    assert type_of(value) is not None


def test_values_show_in_the_notation_of_programs():
    assert repr(to_value((1, (2.5, True), ()))) == "(1, (2.5, True), ())"
    assert repr(to_value((1,))) == "(1,)"
    assert repr(list_value(1, 2)) == "Cons(1, Cons(2, Nil))"
    assert repr(RefValue(to_value((1, 2)))) == "ref((1, 2))"
    assert repr(TupleValue([relay.ir.expr.get_op("add"), CONS])) == (
        "(<the operator `add`>, <the constructor `Cons`>)"
    )
    assert show(to_value(np.arange(3))) == "[0, 1, 2]"


def test_long_lists_and_cycles_are_cut_short():
    assert repr(list_value(*range(NESTED))).endswith("…")
    cell = RefValue(to_value(0))
    cell.value = cell
    assert repr(cell).endswith("…")


def test_describe_names_the_kind():
    assert describe(to_value(np.ones((2, 3), "float32"))) == "Tensor[(2, 3), float32]"
    assert describe(to_value((1, 2))) == "a tuple of 2"
    assert describe(list_value()) == "a List made by `Nil`"


def test_the_type_of_tensors_and_tuples():
    ty = type_of(to_value((1, np.ones((2, 3)))))
    assert ty == relay.TupleType([relay.scalar_type("int32"), relay.TensorType((2, 3), "float64")])
    assert type_of(list_value()) is None
    assert type_of(TupleValue([list_value()])) is None


def test_data_indexes_and_iterates_over_its_fields():
    prelude = relay.Prelude()
    expr = prelude.cons(relay.const(1), prelude.nil())
    value = relay.create_executor("debug", prelude.mod).evaluate(expr)
    first, rest = value
    assert len(value) == 2 and first is value[0] and rest is value[-1] and int(first) == 1
    assert len(rest) == 0 and list(rest) == [] and rest
