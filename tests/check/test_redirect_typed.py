"""Redirected functions keep their types, unless these change."""

import relay
from relay import tree
from relay.check.infer import infer_changed, infer_module
from relay.check.redirect_typed import redirect_typed
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Expr, Let, Op
from relay.ir.redirect import redirect


def typed(text):
    return infer_module(relay.parse('#[version = "0.0.5"]\n' + text))


def calls(function, name):
    return [e for e in tree.postorder(function) if isinstance(e, Call) and e.op.name == name]


MODULE = """
def @main(%x: Tensor[(3), float32]) {
  let %a = exp(%x);
  nn.relu(add(%a, abs(exp(%x))))
}
"""


def test_types_are_handed_on():
    module = typed(MODULE)
    main = module["main"]
    first, second = calls(main, "exp")
    after = redirect_typed(main, {second: first})
    assert all(
        e.ty is not None
        for e in tree.postorder(after)
        if isinstance(e, Expr) and not isinstance(e, Op)
    )
    module["main"] = after
    again, inferred = infer_changed(module)
    assert not inferred
    assert again["main"] is after


def test_it_is_the_redirected_function():
    main = typed(MODULE)["main"]
    (let,) = (e for e in tree.postorder(main) if isinstance(e, Let))
    leads = {let: let.body, let.variable: let.value}
    assert_structural_equal(redirect_typed(main, leads), redirect(main, leads))


def test_nothing_is_copied_when_nothing_changes():
    main = typed(MODULE)["main"]
    assert redirect_typed(main, {}) is main


def test_where_a_type_changes_it_is_inferred():
    module = typed("""
def @main(%x: Tensor[(3), float32]) {
  let %a: Tensor[(?), float32] = exp(%x);
  nn.relu(%a)
}
""")
    main = module["main"]
    (let,) = (e for e in tree.postorder(main) if isinstance(e, Let))
    module["main"] = redirect_typed(main, {let: let.body, let.variable: let.value})
    (relu,) = calls(infer_module(module)["main"], "nn.relu")
    assert relu.checked_type == relay.TensorType((3,), "float32")
