"""Networks whose loops and recursion are inside of the program, against the same in PyTorch:
float64, with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import relay
from relay.frontend.python.standard import Rose
from relay.ir.compare import assert_structural_equal
from relay.testing import attention_decoder, beam_search, char_rnn, gru, lstm_loop, rnn, tree_lstm
from tests.models import dynamic_in_pytorch as in_pytorch
from tests.models.dynamic_in_pytorch import load
from tests.models.in_pytorch import scrambled

KINDS = ["debug", "vm", "aot"]


def every_kind(test):
    return pytest.mark.rotate(3)(pytest.mark.parametrize("kind", KINDS)(test))


SEQUENCES = {
    "rnn": (rnn, torch.nn.RNN, ("state",)),
    "gru": (gru, torch.nn.GRU, ("state",)),
    "lstm": (lstm_loop, torch.nn.LSTM, ("state", "cell")),
}
# (inputs, hidden, steps, batch): those of the paper are of batch 1
SIZES = [(128, 128, 5, 1), (256, 256, 32, 1), (7, 5, 3, 4)]


def normal(random, *shape):
    return random.standard_normal(shape).astype("float32")


def with_scrambled(workload):
    module, params = workload
    return module, scrambled(params)


def near(found, expected):
    np.testing.assert_allclose(found, expected, atol=2e-5)


# --- sequences ---------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_loop_over_steps_of_a_tensor(name, sizes, kind):
    model, peer, states = SEQUENCES[name]
    inputs, hidden, steps, batch = sizes
    random = np.random.default_rng(0)
    workload = with_scrambled(model.get_workload(inputs, hidden, batch))
    data = normal(random, steps, batch, inputs)
    start = {state: normal(random, batch, hidden) for state in states}
    _, expected = in_pytorch.recurrent(peer, workload[1], data, *start.values())
    found = load(kind, workload)(data=data, **start)
    near(found if len(states) > 1 else [found], expected)


@every_kind
@pytest.mark.parametrize("name", SEQUENCES)
def test_the_same_program_takes_every_length(name, kind):
    model, peer, states = SEQUENCES[name]
    workload = model.get_workload(3, 4)
    run = load(kind, workload)
    start = {state: np.ones((1, 4), "float32") for state in states}
    for steps in (0, 1, 9):
        data = normal(np.random.default_rng(steps), steps, 1, 3)
        found = run(data=data, **start)
        expected = list(start.values())
        if steps:
            _, expected = in_pytorch.recurrent(peer, workload[1], data, *start.values())
        near(found if len(states) > 1 else [found], expected)


@every_kind
@pytest.mark.parametrize(
    ("name", "net"),
    [
        *((name, "over_list") for name in SEQUENCES),
        ("rnn", "as_text"),
        ("rnn", "by_prelude"),
    ],
)
def test_a_list_of_steps_gives_a_list_of_outputs(name, net, kind):
    model, peer, states = SEQUENCES[name]
    workload = with_scrambled(model.get_workload(6, 5, 2, net=getattr(model, net)))
    random = np.random.default_rng(1)
    data = normal(random, 4, 2, 6)
    start = {state: normal(random, 2, 5) for state in states}
    outputs, expected = in_pytorch.recurrent(peer, workload[1], data, *start.values())
    *last, found = load(kind, workload)(data=list(data), **start)
    near(found, outputs)
    near(last, expected)


def test_the_loop_is_what_one_would_write_as_text():
    written = """#[version = "0.0.5"]
def @main[steps: Shape](
  %data: Tensor[(steps, 1, 6), float32],
  %state: Tensor[(1, 4), float32],
  %i2h_weight: Tensor[(4, 6), float32],
  %h2h_weight: Tensor[(4, 4), float32],
  %bias: Tensor[(4,), float32],
) -> Tensor[(1, 4), float32] {
  let %from_inputs = nn.dense(%data, %i2h_weight) + %bias;
  let %steps: int32 = take(shape_of(%from_inputs, dtype="int32"), 0, axis=0);
  let %loop = fn (%step: int32, %state: Tensor[(1, 4), float32]) -> Tensor[(1, 4), float32] {
    if (%step < %steps) {
      let %from_input = take(%from_inputs, %step, axis=0, mode="fast");
      let %next = tanh(nn.dense(%state, %h2h_weight) + %from_input);
      %loop(%step + 1, %next)
    } else {
      %state
    }
  };
  let %last = %loop(0, %state);
  %last
}
"""
    assert_structural_equal(rnn.get_net(6, 4), relay.parse(written))


# --- trees -------------------------------------------------------------------------------------


def random_tree(random, nodes, inputs):
    """A tree of that many nodes, in which each but the first hangs on a random one before it."""
    below = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        below[random.integers(node)].append(node)
    made = [None] * nodes
    for node in reversed(range(nodes)):
        made[node] = Rose(normal(random, 1, inputs), [made[child] for child in below[node]])
    return made[0]


TREES = ["get_net", "as_text", "by_prelude"]


@every_kind
@pytest.mark.parametrize("net", TREES)
def test_a_tree_lstm(net, kind):
    workload = with_scrambled(tree_lstm.get_workload(6, 5, net=getattr(tree_lstm, net)))
    run = load(kind, workload)
    random = np.random.default_rng(2)
    for nodes in (1, 2, 7, 40):
        tree = random_tree(random, nodes, 6)
        near(run(data=tree), in_pytorch.tree_lstm(workload[1], tree))


@every_kind
def test_a_tree_lstm_of_the_size_in_the_paper(kind):
    workload = tree_lstm.get_workload()
    tree = random_tree(np.random.default_rng(3), 20, 300)
    near(load(kind, workload)(data=tree), in_pytorch.tree_lstm(workload[1], tree))


# --- generators --------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("hidden", [16, 128])
def test_a_generator_of_characters(hidden, kind):
    workload = with_scrambled(char_rnn.get_workload(hidden))
    run = load(kind, workload)
    random = np.random.default_rng(4)
    names = set()
    for first in (26, 30, 51):
        for noise in (np.zeros((20, char_rnn.SYMBOLS)), random.gumbel(size=(60, 58)) * 2):
            noise = noise.astype("float32")
            found = run(data=first, category=first % 18, noise=noise)
            assert found == in_pytorch.char_rnn(workload[1], first, first % 18, noise)
            names.add((tuple(found), len(noise)))
    assert any(len(name) <= length for name, length in names), "none came to its end"
    assert len({name for name, _ in names}) == 6


@every_kind
@pytest.mark.parametrize("likely", [0.0, 4.0, 9.0], ids="end={}".format)
def test_beam_search(likely, kind):
    module, params = beam_search.get_workload(beam=3, symbols=8, hidden_size=6)
    params = {name: relay.nd.array(3 * p.numpy()) for name, p in scrambled(params).items()}
    bias = params["output_bias"].numpy()
    params["output_bias"] = relay.nd.array(bias + likely * np.eye(8, dtype="float32")[0])
    run = load(kind, (module, params))
    ended = set()
    for most in (0, 1, 12):
        data = normal(np.random.default_rng(5), 1, 6)
        found = run(data=data, most=most)
        expected = in_pytorch.beam_search(params, 3, data, most)
        assert [symbols for symbols, _ in found][: len(expected)] == [s for s, _ in expected]
        near([score for _, score in found][: len(expected)], [score for _, score in expected])
        ended |= {symbols[-1:] == [beam_search.END] for symbols, _ in found}
    assert ended == ({True, False} if likely else {False})


@every_kind
@pytest.mark.parametrize(("prompt", "count"), [([5], 6), ([3, 1, 4, 1, 5, 9, 2], 11), ([7], 0)])
def test_a_decoder_with_a_growing_cache(prompt, count, kind):
    workload = with_scrambled(attention_decoder.get_workload(symbols=20, hidden_size=24, heads=3))
    found = load(kind, workload)(data=np.array(prompt, "int32"), count=count)
    assert found == in_pytorch.attention_decoder(workload[1], 3, prompt, count)
