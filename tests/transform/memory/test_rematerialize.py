"""Values are computed again where keeping them takes too much memory."""

import numpy as np
import pytest

import relay
from relay.errors import PassError, RelayError
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops
from relay.transform import InferType, Rematerialize, ToANormalForm

PARAMS = "%x: Tensor[(16, 16), float32]"
KEPT = """let %a = exp(%x); let %b = sin(%a); let %c = sum(%b, axis=[1], keepdims=True);
let %d = add(%a, %c); %d"""


def parse(body, params=PARAMS):
    return InferType()(relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'))


def test_a_value_is_computed_again_before_its_late_use():
    wanted = KEPT.replace("let %d = add(%a,", "let %e = exp(%x); let %d = add(%e,")
    assert_structural_equal(Rematerialize(memory=1500)(parse(KEPT)), parse(wanted))


def test_what_fits_stays():
    module = parse(KEPT)
    assert_structural_equal(Rematerialize(memory=1 << 20)(module), module)


def test_random_numbers_are_drawn_once():
    body = """let %r = random.uniform(%k, 0f, 1f, out_shape=[16, 16]); let %u = %r.1;
    let %a = multiply(%u, %x); let %b = sin(%a); let %c = sum(%b, axis=[1], keepdims=True);
    let %d = add(%u, %c); %d"""
    after = Rematerialize(memory=1)(parse(body, f"{PARAMS}, %k: Tensor[(10), uint64]"))
    assert count_ops(after["main"])["random.uniform"] == 1


def test_programs_that_are_more_than_dataflow_stay():
    module = ToANormalForm()(
        parse("if (%c) { let %a = exp(%x); add(%a, sin(%a)) } else { %x }", f"{PARAMS}, %c: bool")
    )
    assert_structural_equal(Rematerialize(memory=1)(module), module)
    with pytest.raises(PassError, match="memory is a number of bytes above 0"):
        Rematerialize()(module)


def a_step(depth=6, size=64):
    """A training step that keeps the results of `depth` layers."""
    x = relay.var("x", shape=(size, size))
    weights = {f"w{n}": np.eye(size, dtype="float32") * 0.9 for n in range(depth)}
    params = [relay.var(name, shape=(size, size)) for name in weights]
    value = x
    for weight in params:
        value = relay.nn.relu(relay.tanh(relay.nn.dense(value, weight)) * value)
    loss = relay.Function([x, *params], relay.mean(value * value))
    return relay.optim.training_step(loss, weights, relay.optim.SGD(0.1))


def test_a_training_step_keeps_below_a_limit_and_gives_the_same_bits():
    step, state = a_step()
    x = np.random.default_rng(0).uniform(0, 2, (64, 64)).astype("float32")
    plain = relay.compile(step, state, threads=1)
    limit = plain.memory.arena * 3 // 4
    small = relay.compile(step, state, threads=1, memory=limit)
    assert small.memory.arena <= limit
    assert [small(x) for _ in range(3)] == [plain(x) for _ in range(3)]
    for name, value in plain.state.items():
        assert (small.state[name].numpy() == value.numpy()).all()
    with pytest.raises(RelayError, match="the values of a call take"):
        relay.compile(step, state, memory=1000)
