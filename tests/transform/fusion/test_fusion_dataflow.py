"""Where the values of operators go, as far as kernels are concerned."""

import pytest

import relay
from relay.op.opdef import FusionKind
from relay.transform.fusion.fusion_dataflow import Dataflow, post_dominators

HEADER = '#[version = "0.0.5"]\n'


def dataflow(body, params="%x: Tensor[(4, 4), float32]", more=""):
    return Dataflow(relay.parse(f"{HEADER}def @main({params}) {{ {body} }} {more}")["main"])


def edges(flow):
    """(producer, consumer) for every edge, and (producer, None) for values that leave."""
    found = []
    for node in flow.nodes:
        found += [(node.name, flow.nodes[user].name) for user, _ in node.outputs]
        if node.leaves_to is not None:
            found.append((node.name, None))
    return found


def test_operators_tuples_and_fields_are_nodes():
    flow = dataflow("%0 = (exp(%x), %x); add(%0.0, sqrt(%0.1))")
    assert edges(flow) == [
        ("exp", "Tuple"),
        ("Tuple", ".0"),
        ("Tuple", ".1"),
        (".0", "add"),
        (".1", "sqrt"),
        ("sqrt", "add"),
        ("add", None),
    ]


def test_what_is_no_tensor_is_outside():
    flow = dataflow("let %r = ref(exp(%x)); (sqrt(ref_read(%r)), fn () { 1 })")
    assert edges(flow) == [("exp", None), ("sqrt", None)]


@pytest.mark.parametrize(
    ("value", "flows"),
    [
        ("exp(%x)", True),
        ("exp(sqrt(%x))", True),
        ("exp(@f(%x))", False),
        ("exp(ref_read(ref(%x)))", False),
        ("exp(if (True) { %x } else { sqrt(%x) })", True),
    ],
)
def test_values_flow_through_a_binding_when_their_time_does_not_matter(value, flows):
    more = "def @f(%x: Tensor[(4, 4), float32]) { %x }"
    flow = dataflow(f"let %y = {value}; let %z = %y; tanh(%z)", more=more)
    assert (("exp", "tanh") in edges(flow)) is flows
    assert (("exp", None) in edges(flow)) is not flows


def test_values_do_not_flow_through_a_binding_that_promises_more():
    unknown = "%x: Tensor[(?), float32]"
    assert ("exp", "tanh") in edges(dataflow("let %y = exp(%x); tanh(%y)", unknown))
    promised = dataflow("let %y: Tensor[(4), float32] = exp(%x); tanh(%y)", unknown)
    assert edges(promised) == [("exp", None), ("tanh", None)]


def test_values_do_not_flow_between_blocks():
    branches = dataflow(
        "%0 = exp(%x); if (%c) { sqrt(%0) } else { tanh(negative(%0)) }",
        "%x: Tensor[(4, 4), float32], %c: bool",
    )
    assert set(edges(branches)) == {
        ("exp", None),
        ("sqrt", None),
        ("negative", "tanh"),
        ("tanh", None),
    }
    closure = dataflow("let %y = exp(%x); fn () { sqrt(%y) }")
    assert edges(closure) == [("exp", None), ("sqrt", None)]


def test_what_one_branch_needs_belongs_to_that_branch():
    flow = dataflow(
        "%0 = exp(%x); if (%c) { sqrt(%0) } else { %x }", "%x: Tensor[(4, 4), float32], %c: bool"
    )
    assert edges(flow) == [("exp", "sqrt"), ("sqrt", None)]


def test_what_is_inside_a_kernel_is_not_looked_at():
    flow = dataflow("fn (%p: Tensor[(4, 4), float32], Primitive=1) { sqrt(exp(%p)) }(tanh(%x))")
    assert edges(flow) == [("tanh", None)]


def test_a_broadcast_that_does_not_stretch_is_elementwise():
    flow = dataflow(
        "add(exp(%x), sqrt(%b))", "%x: Tensor[(2, 4), float32], %b: Tensor[(4), float32]"
    )
    kinds = {node.name: [edge for _, edge in node.outputs] for node in flow.nodes}
    assert kinds == {"exp": [FusionKind.ELEMWISE], "sqrt": [FusionKind.BROADCAST], "add": []}


def test_post_dominators_are_where_all_paths_meet():
    mod = relay.parse(
        f"{HEADER}def @main(%x: Tensor[(4), float32]) {{ "
        "%0 = exp(%x); %1 = sqrt(%0); %2 = add(%1, sin(%1)); (add(%0, %2), cos(%2)) }"
    )
    nodes = Dataflow(mod["main"]).nodes
    names = [node.name for node in nodes]
    found = {
        (names[i], None if end is None else names[end])
        for i, end in enumerate(post_dominators(nodes))
    }
    assert found == {
        ("exp", "Tuple"),
        ("sqrt", "add"),
        ("sin", "add"),
        ("add", "Tuple"),
        ("cos", "Tuple"),
        ("Tuple", None),
    }
