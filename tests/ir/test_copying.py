"""A function written once more has nothing in common with the first."""

from hypothesis import given

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.ir.copying import copied
from relay.ir.expr import is_atom
from relay.testing.strategies import modules


def parse(text):
    return relay.parse('#[version = "0.0.5"]\n' + text)["main"]


@given(modules())
def test_a_copy_is_equal_and_shares_no_computation(module):
    for function in module.functions.values():
        copy = copied(function)
        assert_structural_equal(copy, function)
        check_well_formed(copy)
        nodes = {id(e) for e in tree.postorder(function) if not is_atom(e)}
        assert not any(id(e) in nodes for e in tree.postorder(copy))
        assert not set(relay.analysis.bound_vars(function)) & set(relay.analysis.bound_vars(copy))


def test_sharing_inside_is_kept():
    copy = copied(parse("def @main(%x: float32) { %0 = exp(%x); (%0, %0) }"))
    assert copy.body.fields[0] is copy.body.fields[1]


def test_what_is_free_stays():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    copy = copied(relay.Function([x], relay.add(x, y)))
    assert relay.analysis.free_vars(copy) == [y]
    assert copy.params[0] is not x


def test_type_parameters_are_replaced_where_types_are_given():
    function = parse(
        """
        def @main[A, n](%x: A, %y: Tensor[(n, 2), float32]) {
          let %f = fn [B](%z: B) -> (A, B, Tensor[(n), int32]) {
            (%x, %z, argmax(%y, axis=[1]))
          };
          %f[A](%x)
        }
        """
    )
    a, n = function.type_params
    copy = copied(function, {a: relay.scalar_type("bool"), n: 3})
    assert copy.type_params == ()
    assert [str(p.type_annotation) for p in copy.params] == ["bool", "Tensor[(3, 2), float32]"]
    inner = copy.body.value
    assert len(inner.type_params) == 1
    assert str(inner.ret_type) == "(bool, B, Tensor[(3), int32])"
    assert [str(t) for t in copy.body.body.type_args] == ["bool"]


def test_other_type_parameters_are_new_ones():
    function = parse("def @main[A](%x: A) -> A { %x }")
    copy = copied(function)
    assert copy.type_params[0] is not function.type_params[0]
    assert copy.params[0].type_annotation == copy.ret_type == copy.type_params[0]
