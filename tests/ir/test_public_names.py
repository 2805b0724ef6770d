"""The names people use as `relay.ir.X`."""

import pytest

import relay
from relay import ir


def test_every_public_name_resolves():
    for name in ir.__all__:
        assert getattr(ir, name) is not None
    assert dir(ir) == ir.__all__


def test_they_are_the_same_things_as_elsewhere():
    assert ir.IRModule is relay.IRModule and ir.Op is relay.Op and ir.Span is relay.Span
    assert ir.save_json is relay.save_json
    assert ir.register_op_attr.__module__ == "relay.op.opdef"


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match=r"'relay\.ir' has no attribute 'Nonsense'"):
        _ = ir.Nonsense


def test_modules_are_found_by_the_names_older_programs_use():
    assert relay.expr.Call is relay.Call and relay.ty.TensorType is relay.TensorType
    assert relay.adt.Match is relay.Match and relay.adt.TypeData is relay.TypeData
    assert relay.expr_functor.ExprMutator is relay.ExprMutator
    assert relay.type_functor.TypeMutator is relay.TypeMutator
    assert relay.scope_builder.ScopeBuilder is relay.ScopeBuilder
    assert relay.param_dict.save_param_dict is relay.save_param_dict
    assert relay.build_module.build is relay.build
    assert relay.build_module.create_executor is relay.create_executor
