"""The networks of `relay.testing` that loop and recurse a second time, as Python and PyTorch have
them: float64, with the same weights.

Where PyTorch has the network itself (`torch.nn.LSTM`), that is the oracle. The others are written
as in their papers: one product for every gate, inputs that are 1 in one place, no cache.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

import relay
from relay.frontend.python import values
from relay.frontend.python.standard import CLASSES
from tests.models.in_pytorch import Weights


def load(kind, workload):
    """A network of the zoo, as what is called with data of Python and gives such data."""
    module, params = workload
    types = {p.name_hint: p.checked_type for p in module["main"].params}
    call = relay.create_executor(kind, module, params=params).evaluate()

    def run(**inputs):
        given = {name: values.from_python(data, types[name]) for name, data in inputs.items()}
        return plain(values.to_python(call(**given), CLASSES))

    return run


def plain(value):
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    return value.item() if value.shape == () else value.numpy()


def double(x):
    return torch.from_numpy(np.asarray(x)).double()


# --- sequences -----------------------------------------------------------------------------------


def recurrent(network, params, data, *state):
    """(outputs of all steps, last states) of `torch.nn.RNN`, `.GRU` or `.LSTM`."""
    w = Weights(params).of
    peer = network(data.shape[-1], state[0].shape[-1]).double()
    with torch.no_grad():
        peer.weight_ih_l0.copy_(w["i2h_weight"])
        peer.weight_hh_l0.copy_(w["h2h_weight"])
        peer.bias_ih_l0.copy_(w["bias"] if "bias" in w else w["i2h_bias"])
        peer.bias_hh_l0.copy_(w.get("h2h_bias", torch.tensor(0.0)))
        states = tuple(double(s)[None] for s in state)
        outputs, last = peer(double(data), states if len(states) > 1 else states[0])
    return outputs.numpy(), [s[0].numpy() for s in (last if isinstance(last, tuple) else (last,))]


# --- trees ---------------------------------------------------------------------------------------


def tree_lstm(params, tree):
    """The equations of Tai, Socher and Manning, a gate at a time; (state, cell) of a tree."""
    w = Weights(params).of
    layers = zip(w["i2h_weight"].chunk(3), w["bias"].chunk(3), strict=True)
    of_value = dict(zip("iou", layers, strict=True))
    of_value["f"] = w["forget_i2h_weight"], w["forget_bias"]
    of_states = dict(zip("iou", w["h2h_weight"].chunk(3), strict=True))

    def visit(node):
        x = double(node.value)
        below = [visit(child) for child in node.children]
        total = sum((h for h, _ in below), torch.zeros(1, len(w["forget_bias"])).double())
        i, o, u = (F.linear(x, *of_value[g]) + F.linear(total, of_states[g]) for g in "iou")
        c = torch.sigmoid(i) * torch.tanh(u)
        for h, cell in below:
            c = c + torch.sigmoid(F.linear(x, *of_value["f"]) + h @ w["forget_h2h_weight"].T) * cell
        return torch.sigmoid(o) * torch.tanh(c), c

    return [state.numpy() for state in visit(tree)]


# --- generators ----------------------------------------------------------------------------------


def char_rnn(params, first, category, noise):
    """As in PyTorch's tutorial: layers over category, symbol and state side by side."""
    w = Weights(params).of
    symbols, both = w["symbol_weight"].shape
    hidden = both - symbols
    i2both = torch.cat([w["category_weight"].T, w["symbol_weight"].T, w["state_weight"]], 1)
    kind = F.one_hot(torch.tensor([category]), len(w["category_weight"])).double()
    state, symbol, found = torch.zeros(1, hidden).double(), first, [first]
    for row in double(noise):
        x = torch.cat([kind, F.one_hot(torch.tensor([symbol]), symbols).double(), state], 1)
        state = F.linear(x, i2both[:hidden], w["bias"][:hidden])
        output = F.linear(x, i2both[hidden:], w["bias"][hidden:])
        output = F.linear(torch.cat([state, output], 1), w["output_weight"], w["output_bias"])
        symbol = int((F.log_softmax(output, 1) + row).argmax())
        if symbol == symbols - 1:
            break
        found.append(symbol)
    return found


def beam_search(params, beam, state, most):
    """Sequences one by one: (score, symbols, state, whether it has ended)."""
    w = Weights(params).of
    hypotheses = [(0.0, [], double(state), False)]
    for _ in range(most):
        candidates = []
        for score, symbols, state, ended in hypotheses:
            if ended:
                candidates.append((score, symbols, state, True))
                continue
            last = symbols[-1] if symbols else 0
            state = torch.tanh(state @ w["state_weight"].T + w["embedding_weight"][last])
            output = F.log_softmax(F.linear(state, w["output_weight"], w["output_bias"]), 1)[0]
            for symbol, more in enumerate(output.tolist()):
                candidates.append((score + more, [*symbols, symbol], state, symbol == 0))
        hypotheses = sorted(candidates, key=lambda c: -c[0])[:beam]
    return [(symbols, score) for score, symbols, _, _ in hypotheses]


def attention_decoder(params, heads, prompt, count):
    """Attention over everything so far, computed anew for every symbol."""
    w = Weights(params).of
    symbols, found = list(prompt), []
    for _ in range(count):
        x = w["embedding_weight"][symbols]
        qkv = (x @ w["qkv_weight"].T).reshape(len(symbols), 3, heads, -1)
        query, key, value = qkv.permute(1, 2, 0, 3)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + seen.transpose(0, 1).flatten(1) @ w["projection_weight"].T
        wide = F.relu(F.linear(x, w["wide_weight"], w["wide_bias"]))
        x = x + F.linear(wide, w["narrow_weight"], w["narrow_bias"])
        found.append(int((x[-1] @ w["output_weight"].T).argmax()))
        symbols.append(found[-1])
    return found
