"""The constructs a program uses."""

import pytest

import relay
from relay.analysis import Feature, detect_feature


def test_every_construct_is_a_feature():
    x, y, f = relay.var("x"), relay.var("y"), relay.var("f")
    header = relay.GlobalTypeVar("Box")
    put = relay.Constructor("Put", [relay.scalar_type("int32")], header)
    cases = {
        Feature.fVar: x,
        Feature.fGlobalVar: relay.GlobalVar("g"),
        Feature.fConstant: relay.const(1),
        Feature.fTuple: relay.Tuple([]),
        Feature.fTupleGetItem: relay.TupleGetItem(x, 0),
        Feature.fFunction: relay.Function([], x),
        Feature.fOp: relay.op.get("add"),
        Feature.fCall: relay.Call(x, []),
        Feature.fLet: relay.Let(x, y, x),
        Feature.fIf: relay.If(x, x, x),
        Feature.fRefCreate: relay.RefCreate(x),
        Feature.fRefRead: relay.RefRead(x),
        Feature.fRefWrite: relay.RefWrite(x, x),
        Feature.fConstructor: put,
        Feature.fMatch: relay.Match(x, []),
        Feature.fGraph: relay.Tuple([relay.add(x, x)] * 2),
        Feature.fLetRec: relay.Let(f, relay.Function([x], f(x)), f),
    }
    assert set(cases) == set(Feature)
    for feature, program in cases.items():
        assert feature in detect_feature(program)
        assert feature not in detect_feature(relay.const(1)) or feature is Feature.fConstant


def test_what_is_not_used_is_not_reported():
    x = relay.var("x")
    assert detect_feature(relay.Function([x], relay.add(x, x))) == {
        Feature.fVar,
        Feature.fFunction,
        Feature.fOp,
        Feature.fCall,
    }


def test_atoms_are_not_shared_computations():
    one, x = relay.const(1), relay.var("x")
    assert Feature.fGraph not in detect_feature(relay.Tuple([one, one, x, x]))


def test_a_function_in_a_let_is_not_always_recursive():
    f, g, x = relay.var("f"), relay.var("g"), relay.var("x")
    inner = relay.Let(f, relay.Function([x], x), relay.Let(g, f, g(f(g))))
    assert Feature.fLetRec not in detect_feature(inner)


def test_expressions_and_modules_in_either_order():
    x = relay.var("x")
    module = relay.IRModule.from_expr(relay.TupleGetItem(x, 0))
    expr = relay.RefRead(relay.var("r"))
    both = detect_feature(expr, module)
    assert both == detect_feature(module, expr) == detect_feature(module) | detect_feature(expr)
    with pytest.raises(relay.RelayError):
        detect_feature(expr, expr)
