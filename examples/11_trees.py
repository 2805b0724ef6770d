"""Recursion over trees: a tree LSTM over dependency trees of sentences, in native code.

`relay/testing/tree_lstm.py` writes the network three times: as Python, as text, and with the
builders and prelude functions.
"""

from __future__ import annotations

import time

import numpy as np
import torch

import relay
from relay.frontend.python.standard import Rose
from relay.testing import tree_lstm

INPUT, HIDDEN = 300, 150
random = np.random.default_rng(0)
words: dict[str, np.ndarray] = {}
torch.set_num_threads(1)


def parsed(text: str) -> Rose:
    """Parse `sat(cat(the) on(mat(the)))`, words with their dependents, into word vectors."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()

    def read() -> Rose:
        word, children = tokens.pop(0), []
        if word not in words:
            words[word] = random.standard_normal((1, INPUT)).astype("float32")
        if tokens and tokens[0] == "(":
            tokens.pop(0)
            while tokens[0] != ")":
                children.append(read())
            tokens.pop(0)
        return Rose(words[word], children)

    return read()


def in_pytorch(w, tree):
    """The same network in PyTorch."""

    def visit(node):
        x = torch.from_numpy(node.value)
        below = [visit(child) for child in node.children]
        total = sum((h for h, _ in below), torch.zeros(1, HIDDEN))
        gates = x @ w["i2h_weight"].T + w["bias"] + total @ w["h2h_weight"].T
        i, o, u = gates.chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        for h, cell in below:
            forget = x @ w["forget_i2h_weight"].T + w["forget_bias"] + h @ w["forget_h2h_weight"].T
            c = c + torch.sigmoid(forget) * cell
        return torch.sigmoid(o) * torch.tanh(c), c

    return visit(tree)


def seconds(call, *arguments, times=30):
    """Seconds per call, the best of several."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call(*arguments)
        found.append(time.perf_counter() - start)
    return min(found)


def size(tree):
    return 1 + sum(map(size, tree.children))


sentences = [
    "slept(cat(the))",
    "sat(cat(the black) on(mat(the old)))",
    "said(she that(saw(he man(the with(telescope(a))) yesterday)))",
]
ways = {"Python": tree_lstm.get_net, "text": tree_lstm.as_text, "prelude": tree_lstm.by_prelude}
for way, net in ways.items():
    module, params = tree_lstm.get_workload(INPUT, HIDDEN, net=net)
    program = relay.compile(module, params)
    weights = {name: torch.tensor(value.numpy()) for name, value in params.items()}
    print(f"written as {way}:", program)
    for sentence in sentences:
        tree = parsed(sentence)
        state, _ = program(tree)
        with torch.no_grad():
            expected, _ = in_pytorch(weights, tree)
            theirs = seconds(in_pytorch, weights, tree)
        ours = seconds(program, tree)
        assert np.allclose(np.asarray(state), expected, atol=1e-5)
        nodes = size(tree)
        print(
            f"  {nodes:2} words, {ours / nodes * 1e6:6.1f} µs each"
            f" (PyTorch: {theirs / nodes * 1e6:6.1f})  {sentence}"
        )
