"""Compile Python functions: a recurrent network and a tree LSTM, compared with PyTorch."""

from __future__ import annotations

import numpy as np
import torch

import relay
from relay import Tensor

INPUT, HIDDEN = 6, 4
n = relay.ShapeVar("n")

# --- a loop ------------------------------------------------------------------------------------


@relay.function
def rnn(
    xs: Tensor[n, INPUT], w: Tensor[HIDDEN, INPUT], u: Tensor[HIDDEN, HIDDEN], b: Tensor[HIDDEN]
):
    h = relay.zeros((1, HIDDEN), "float32")
    for x in xs:
        h = relay.tanh(relay.nn.dense(x[None], w) + relay.nn.dense(h, u) + b)
    return h


torch.manual_seed(0)
peer = torch.nn.RNN(INPUT, HIDDEN)
for steps in (1, 5, 12):  # one program for every sequence length
    xs = torch.randn(steps, INPUT)
    expected, _ = peer(xs)
    bias = peer.bias_ih_l0 + peer.bias_hh_l0
    h = rnn(xs, peer.weight_ih_l0, peer.weight_hh_l0, bias)
    assert np.allclose(h.numpy()[0], expected[-1].detach(), atol=1e-6)
print(rnn.module)

# --- a tree ------------------------------------------------------------------------------------


@relay.data
class Tree:
    value: Tensor[1, INPUT]
    children: list[Tree]


@relay.data
class Weights:
    w: Tensor[3 * HIDDEN, INPUT]  # input, output and update gates
    u: Tensor[3 * HIDDEN, HIDDEN]
    b: Tensor[3 * HIDDEN]
    w_forget: Tensor[HIDDEN, INPUT]  # forget gate, one per child
    u_forget: Tensor[HIDDEN, HIDDEN]
    b_forget: Tensor[HIDDEN]


@relay.function
def tree_lstm(tree: Tree, p: Weights) -> tuple[Tensor[1, HIDDEN], Tensor[1, HIDDEN]]:
    """Child-sum tree LSTM: the state and cell of a tree from those of its children."""
    hidden = relay.zeros((1, HIDDEN), "float32")
    kept = relay.zeros((1, HIDDEN), "float32")
    at_node = relay.nn.dense(tree.value, p.w_forget) + p.b_forget
    for child in tree.children:
        h, c = tree_lstm(child, p)
        hidden += h
        kept += relay.sigmoid(at_node + relay.nn.dense(h, p.u_forget)) * c
    gates = relay.nn.dense(tree.value, p.w) + relay.nn.dense(hidden, p.u) + p.b
    i, o, update = relay.split(gates, 3, axis=1)
    c = relay.sigmoid(i) * relay.tanh(update) + kept
    return relay.sigmoid(o) * relay.tanh(c), c


class TreeLSTM(torch.nn.Module):
    """The same network in PyTorch."""

    def __init__(self):
        super().__init__()
        self.w, self.u = torch.nn.Linear(INPUT, 3 * HIDDEN), torch.nn.Linear(HIDDEN, 3 * HIDDEN)
        self.w_forget, self.u_forget = (
            torch.nn.Linear(INPUT, HIDDEN),
            torch.nn.Linear(HIDDEN, HIDDEN),
        )

    def forward(self, tree):
        value = torch.as_tensor(tree.value)
        states = [self(child) for child in tree.children]
        hidden = sum((h for h, _ in states), torch.zeros(1, HIDDEN))
        kept = torch.zeros(1, HIDDEN)
        for h, c in states:
            kept = kept + torch.sigmoid(self.w_forget(value) + self.u_forget(h)) * c
        i, o, update = (self.w(value) + self.u(hidden)).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(update) + kept
        return torch.sigmoid(o) * torch.tanh(c), c


def random_tree(random, depth):
    children = [random_tree(random, depth - 1) for _ in range(random.integers(4) if depth else 0)]
    return Tree(random.standard_normal((1, INPUT)).astype("float32"), children)


network = TreeLSTM()
weights = Weights(
    network.w.weight,
    network.u.weight,
    network.w.bias + network.u.bias,
    network.w_forget.weight,
    network.u_forget.weight,
    network.w_forget.bias + network.u_forget.bias,
)
random = np.random.default_rng(0)
for _ in range(5):
    tree = random_tree(random, 4)
    h, c = tree_lstm(tree, weights)
    for found, expected in zip((h, c), network(tree), strict=True):
        assert np.allclose(found.numpy(), expected.detach(), atol=1e-6)
print(tree_lstm.module)
