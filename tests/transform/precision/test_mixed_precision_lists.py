"""Every operator is of one kind, and has a type with the element types of that kind."""

import relay
from relay.ir.expr import Call, Function, Tuple, TupleGetItem, Var, op_names
from relay.ir.types import TupleType
from relay.op.opdef import get, register_op_attr, temporary_operators
from relay.testing import assert_generated_ok
from relay.transform import ToMixedPrecision
from relay.transform.precision import mixed_precision_lists as lists
from relay.transform.precision.to_mixed_precision import ATTRIBUTE, MIXED_PRECISION_ALWAYS


def test_every_operator_is_in_one_list():
    listed = lists.ALWAYS | lists.FOLLOW | lists.NEVER
    assert not set(op_names()) - listed, "say of which kind these are"
    assert not listed - set(op_names()), "these are no operators"
    assert not lists.ALWAYS & lists.FOLLOW
    assert not (lists.ALWAYS | lists.FOLLOW) & lists.NEVER


def narrowed(e, ty):
    if isinstance(ty, TupleType):
        parts = enumerate(ty.fields)
        return Tuple(tuple(narrowed(TupleGetItem(e, i), part) for i, part in parts))
    return relay.op.copy(e) if ty.dtype == "float32" else e


def test_every_operator_has_a_type_with_narrow_arguments():
    tried = set()
    with temporary_operators():
        register_op_attr("copy", ATTRIBUTE, MIXED_PRECISION_ALWAYS)
        for name in sorted(lists.ALWAYS | lists.FOLLOW):
            op = get(name)
            for sample in op.samples[:4]:
                params = [Var(f"x{i}", ty) for i, ty in enumerate(sample.types())]
                args = tuple(narrowed(p, p.type_annotation) for p in params)
                call = Call(op, args, op.make_attrs(dict(sample.attrs)))
                after = ToMixedPrecision()(relay.IRModule.from_expr(Function(params, call)))
                assert_generated_ok(after)
                if "float16" in str(after["main"].checked_type):
                    tried.add(name)
    assert len(tried) > 90
