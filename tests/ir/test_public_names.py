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
