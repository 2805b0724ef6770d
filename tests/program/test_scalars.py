"""Operations on scalars: those of tensor expressions, and the types they go with."""

import pytest

from relay.program.scalars import OPERATIONS, result_type
from relay.scalar_functions import FUNCTIONS
from relay.te import expr


def test_the_operations_are_those_of_tensor_expressions():
    of_expressions = {
        **dict.fromkeys(expr.BINARY, 2),
        **dict.fromkeys(expr.COMPARE, 2),
        **dict.fromkeys(expr.UNARY, 1),
        **{name: function.arguments for name, function in FUNCTIONS.items()},
    }
    assert {**of_expressions, "cast": 1, "bitcast": 1, "select": 3} == OPERATIONS


@pytest.mark.parametrize(
    ("op", "operands", "result"),
    [
        ("add", ("int32", "int32"), "int32"),
        ("add", ("int32", "int64"), None),
        ("add", ("int32",), None),
        ("div", ("float32", "float32"), "float32"),
        ("div", ("int32", "int32"), None),
        ("lt", ("float16", "float16"), "bool"),
        ("isnan", ("float64",), "bool"),
        ("floor", ("int8",), "int8"),
        ("exp", ("int8",), None),
        ("shl", ("float32", "float32"), None),
        ("not", ("bool",), "bool"),
        ("cast", ("int8",), "float32"),
        ("bitcast", ("int32",), "float32"),
        ("bitcast", ("int64",), None),
        ("select", ("bool", "int8", "int8"), "int8"),
        ("select", ("int8", "int8", "int8"), None),
        ("plus", ("int8", "int8"), None),
    ],
)
def test_operands_decide_the_type_of_the_result(op, operands, result):
    assert result_type(op, operands, "float32") == result
