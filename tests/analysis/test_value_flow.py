"""Values have users and origins, whatever they are called."""

import relay
from relay.analysis.value_flow import Flow
from relay.transform import InferType

HEADER = '#[version = "0.0.5"]\n'


def flow_of(source):
    return Flow(InferType()(relay.parse(HEADER + source))["main"])


def call(flow, name):
    (found,) = (c for c in flow.calls if c.op.name == name)
    return found


def test_a_name_is_what_it_is_bound_to():
    flow = flow_of(
        """
        def @main(%x: Tensor[(2), float32]) {
          let %y = nn.relu(%x); let %z = %y; (tanh(%z), exp(%y), %z)
        }
        """
    )
    relu = call(flow, "nn.relu")
    users = [(getattr(user, "op", user), index) for user, index in flow.users(relu)]
    assert {user.name for user, _ in users if isinstance(user, relay.Op)} == {"tanh", "exp"}
    assert sorted(index for _, index in users) == [-1, 0, 0]
    assert flow.call(call(flow, "exp").args[0]) is relu
    assert flow.call(relu.args[0]) is None


def test_what_depends_on_constants_and_weights_alone_is_fixed():
    flow = flow_of(
        """
        def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32], Weights=["w"]) {
          let %a = exp(%w);
          let %t = (%a, 2f);
          let %b = tanh(%t.0 * %t.1);
          let %c = sqrt(%x + %b);
          let %f = fn (%v: Tensor[(2), float32]) { sigmoid(%v * %b) };
          %f(%c)
        }
        """
    )
    assert [name for name in ("exp", "tanh") if flow.is_fixed(call(flow, name))] == ["exp", "tanh"]
    assert not any(flow.is_fixed(call(flow, name)) for name in ("add", "sqrt", "sigmoid"))


def test_random_numbers_and_what_fusion_stops_at_are_not_fixed():
    assert not relay.op.get("random.uniform").is_repeatable
    assert not relay.op.get("annotation.stop_fusion").is_repeatable
    assert relay.op.get("nn.conv2d").is_repeatable


def test_a_fixed_value_without_names_may_stand_anywhere():
    flow = flow_of(
        """
        def @main(%w: Tensor[(2), float32], Weights=["w"]) {
          let %a = exp(%w); let %b = tanh(%a); sqrt(%b)
        }
        """
    )
    found = flow.anywhere(call(flow, "sqrt"))
    assert relay.analysis.free_vars(found) == [flow.function.params[0]]
    assert flow.anywhere(call(flow, "exp")) is call(flow, "exp")


def test_what_is_in_primitive_functions_is_used_but_not_rewritten():
    flow = flow_of(
        """
        def @main(%x: Tensor[(2), float32]) {
          let %y = exp(%x);
          fn (%p: Tensor[(2), float32], Primitive=1) { tanh(%p) }(%y)
        }
        """
    )
    assert [c.op.name for c in flow.calls] == ["exp"]
    assert len(flow.users(call(flow, "exp"))) == 1
