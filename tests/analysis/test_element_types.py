"""The element types a program works with."""

import relay
from relay.analysis import all_dtypes


def test_annotations_and_constants_are_seen_without_types():
    x = relay.var("x", relay.TupleType([relay.scalar_type("int8"), relay.scalar_type("bool")]))
    f = relay.Function([x], relay.const(1, "int64"), relay.scalar_type("int64"))
    assert all_dtypes(f) == {"int8", "bool", "int64"}


def test_inferred_types_are_seen():
    x = relay.var("x", shape=(2,), dtype="float16")
    module = relay.IRModule.from_expr(relay.less(x, x))
    assert all_dtypes(module["main"]) == {"float16"}
    typed = relay.transform.InferType()(module)
    assert all_dtypes(typed["main"]) == {"float16", "bool"}
