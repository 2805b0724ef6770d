"""Shape functions: every operator tells its concrete result type in a run."""

import numpy as np
import pytest

from relay import dtypes
from relay.errors import RelayError
from relay.ir.types import TensorType, TupleType
from relay.op.opdef import get
from relay.op.shapes import output_type
from tests.op.samples import every_sample


def type_of(value):
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    return TensorType(value.shape, dtypes.canonical(value.dtype))


@every_sample
def test_the_shape_function_agrees_with_what_is_computed(op, sample):
    attrs = op.make_attrs(sample.attrs)
    values = sample.values()
    computed = op.reference(*values, **(dict(attrs.items()) if attrs else {}))
    assert output_type(op, sample.types(), attrs, values) == type_of(computed)


def test_an_operator_whose_shape_depends_on_values_asks_for_them():
    arange = get("arange")
    scalar = np.float32(1)
    args = [TensorType((), "float32")] * 3
    attrs = arange.make_attrs({"dtype": "float32"})
    with pytest.raises(RelayError, match="depends on the values"):
        output_type(arange, args, attrs)
    values = [scalar * 0, scalar * 5, scalar]
    assert output_type(arange, args, attrs, values) == TensorType((5,))


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(RelayError, match="broadcast"):
        output_type(get("add"), [TensorType((2,)), TensorType((3,))])
