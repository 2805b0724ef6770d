"""Networks with loops and recursion, as users of other frameworks write them.

    run = tree_lstm(weights)                      weights: PyTorch tensors by their Relay names
    state, cell = run(tree)

They are written for speed: concatenated gate weights, fused bias, no module attributes, inference
mode. With float64 weights the same functions are the oracle.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from engines import in_onnx_runtime, in_openvino
from torch import Tensor

from relay.frontend.python.standard import Rose

Weights = Mapping[str, Tensor]
States = tuple[Tensor, Tensor]


def weights_of(params: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(value.numpy())) for name, value in params.items()}


def widened(weights: Weights) -> dict[str, Tensor]:
    return {name: weight.double() for name, weight in weights.items()}


# --- trees -------------------------------------------------------------------------------------


def with_tensors(tree: Rose, kind: torch.dtype = torch.float32) -> Rose:
    """The tree with PyTorch tensors instead of arrays."""
    value = torch.from_numpy(tree.value).to(kind)
    return Rose(value, [with_tensors(child, kind) for child in tree.children])


def tree_lstm(weights: Weights) -> Callable[[Rose], States]:
    """One node at a time, one product for all gates."""
    weight, bias, finish = _tree_parts(weights)
    leaf_weight, leaf_bias = weights["i2h_weight"], weights["bias"]

    def state_of(tree: Rose) -> States:
        if not tree.children:
            return finish(F.linear(tree.value, leaf_weight, leaf_bias), [])
        of_value = F.linear(tree.value, weight, bias)
        return finish(of_value, [state_of(child) for child in tree.children])

    return state_of


def tree_lstm_values_first(weights: Weights) -> Callable[[Rose], States]:
    """One product for the values of all nodes, then one node at a time."""
    weight, bias, finish = _tree_parts(weights)

    def gather(tree: Rose, values: list[Tensor]) -> None:
        values.append(tree.value)
        for child in tree.children:
            gather(child, values)

    def state_of(tree: Rose, rows: Iterator[Tensor]) -> States:
        of_value = next(rows)
        return finish(of_value, [state_of(child, rows) for child in tree.children])

    def run(tree: Rose) -> States:
        values: list[Tensor] = []
        gather(tree, values)
        return state_of(tree, iter(F.linear(torch.cat(values), weight, bias).split(1)))

    return run


def _tree_parts(weights: Weights) -> tuple[Tensor, Tensor, Callable[..., States]]:
    size = len(weights["forget_bias"])
    weight = torch.cat([weights["i2h_weight"], weights["forget_i2h_weight"]])
    bias = torch.cat([weights["bias"], weights["forget_bias"]])
    of_states, of_state = weights["h2h_weight"].T, weights["forget_h2h_weight"].T

    def finish(of_value: Tensor, below: list[States]) -> States:
        gates = of_value[:, : 3 * size]
        if not below:
            opened = gates[:, : 2 * size].sigmoid()
            cell = opened[:, :size] * gates[:, 2 * size :].tanh()
            return opened[:, size:] * cell.tanh(), cell
        if len(below) == 1:
            ((states, cells),) = below
            total = states
        else:
            states, cells = (torch.cat(part) for part in zip(*below, strict=True))
            total = states.sum(0, keepdim=True)
        forget = torch.addmm(of_value[:, 3 * size :], states, of_state).sigmoid_()
        kept = (forget.mul_(cells)).sum(0, keepdim=True) if len(below) > 1 else forget.mul_(cells)
        gates = torch.addmm(gates, total, of_states)
        opened = gates[:, : 2 * size].sigmoid_()
        cell = torch.addcmul(kept, opened[:, :size], gates[:, 2 * size :].tanh())
        return opened[:, size:] * cell.tanh(), cell

    return weight, bias, finish


# --- characters --------------------------------------------------------------------------------


def char_rnn(weights: Weights) -> Callable[[int, int, Tensor], list[int]]:
    """The network with the optimizations of our program: the row of the category and the bias are
    added once, a symbol selects a row, the two layers over the state are one."""
    table, of_state = weights["symbol_weight"], weights["state_weight"].T
    of_both, bias = weights["output_weight"].T, weights["output_bias"]
    hidden, end = len(of_state), len(bias) - 1

    def generate(first: int, category: int, noise: Tensor) -> list[int]:
        rows = (table + (weights["category_weight"][category] + weights["bias"])).split(1)
        extras = (noise + bias).split(1)
        state, symbol, found = table.new_zeros(1, hidden), first, [first]
        for extra in extras:
            both = torch.addmm(rows[symbol], state, of_state)
            symbol = int(torch.addmm(extra, both, of_both).argmax())
            if symbol == end:
                break
            found.append(symbol)
            state = both[:, :hidden]
        return found

    return generate


def char_rnn_as_published(weights: Weights) -> Callable[[int, int, Tensor], list[int]]:
    """The network of the PyTorch tutorial, with concatenated one-hot inputs."""
    symbols, both = weights["symbol_weight"].shape
    hidden = both - symbols
    parts = [weights["category_weight"].T, weights["symbol_weight"].T, weights["state_weight"]]
    weight, bias = torch.cat(parts, 1), weights["bias"]
    i2h, i2h_bias = weight[:hidden].clone(), bias[:hidden].clone()
    i2o, i2o_bias = weight[hidden:].clone(), bias[hidden:].clone()
    o2o, o2o_bias = weights["output_weight"], weights["output_bias"]
    kinds = torch.eye(len(weights["category_weight"]), dtype=bias.dtype)
    letters = torch.eye(symbols, dtype=bias.dtype)

    def generate(first: int, category: int, noise: Tensor) -> list[int]:
        kind = kinds[category : category + 1]
        state, symbol, found = bias.new_zeros(1, hidden), first, [first]
        for extra in noise:
            x = torch.cat([kind, letters[symbol : symbol + 1], state], 1)
            state = F.linear(x, i2h, i2h_bias)
            output = F.linear(torch.cat([state, F.linear(x, i2o, i2o_bias)], 1), o2o, o2o_bias)
            symbol = int((F.log_softmax(output, 1) + extra).argmax())
            if symbol == symbols - 1:
                break
            found.append(symbol)
        return found

    return generate


class CharRNN(torch.nn.Module):
    """`char_rnn` in TorchScript, which compiles the loop too."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.hidden: int = weights["state_weight"].shape[1]
        self.end: int = len(weights["output_bias"]) - 1
        self.register_buffer("category_weight", weights["category_weight"])
        self.register_buffer("symbol_weight", weights["symbol_weight"])
        self.register_buffer("of_state", weights["state_weight"].T)
        self.register_buffer("of_both", weights["output_weight"].T)
        self.register_buffer("bias", weights["bias"])
        self.register_buffer("output_bias", weights["output_bias"])

    def forward(self, first: int, category: int, noise: Tensor) -> list[int]:
        rows = self.symbol_weight + (self.category_weight[category] + self.bias)
        extras = (noise + self.output_bias).split(1)
        state = torch.zeros([1, self.hidden], dtype=noise.dtype)
        symbol, found = first, [first]
        for extra in extras:
            both = torch.addmm(rows[symbol].unsqueeze(0), state, self.of_state)
            symbol = int(torch.addmm(extra, both, self.of_both).argmax())
            if symbol == self.end:
                break
            found.append(symbol)
            state = both[:, : self.hidden]
        return found


def scripted_char_rnn(weights: Weights) -> Callable[[int, int, Tensor], list[int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, but runs without a C++ compiler
        scripted = torch.jit.freeze(torch.jit.script(CharRNN(weights).eval()))
    return partial(scripted)


def char_rnn_compiled_step(weights: Weights) -> Callable[[int, int, Tensor], list[int]]:
    """A step compiled by inductor, in a Python loop."""
    table, of_state = weights["symbol_weight"], weights["state_weight"].T
    of_both, bias = weights["output_weight"].T, weights["output_bias"]
    hidden, end = len(of_state), len(bias) - 1

    def advance(row: Tensor, extra: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.addmm(row, state, of_state)
        return torch.addmm(extra, both, of_both).argmax(), both[:, :hidden].clone()

    torch.compiler.reset()  # of another size there is nothing to be known
    faster = torch.compile(advance, dynamic=False)

    def generate(first: int, category: int, noise: Tensor) -> list[int]:
        rows = table + (weights["category_weight"][category] + weights["bias"])
        extras = noise + bias
        state, symbol, found = table.new_zeros(1, hidden), first, [first]
        for index in range(len(extras)):
            best, state = faster(rows[symbol][None].clone(), extras[index][None].clone(), state)
            symbol = int(best)
            if symbol == end:
                break
            found.append(symbol)
        return found

    return generate


# --- sequences ---------------------------------------------------------------------------------


class Recurrent(torch.nn.Module):
    """`torch.nn.RNN`, `.GRU` or `.LSTM`: (steps, states) -> the last states"""

    def __init__(self, kind: type[torch.nn.RNNBase], weights: Weights) -> None:
        super().__init__()
        hidden = weights["h2h_weight"].shape[1]
        self.layer = kind(weights["i2h_weight"].shape[1], hidden)
        self.layer.to(weights["h2h_weight"].dtype).requires_grad_(False)
        self.layer.weight_ih_l0.copy_(weights["i2h_weight"])
        self.layer.weight_hh_l0.copy_(weights["h2h_weight"])
        self.layer.bias_ih_l0.copy_(weights["bias" if "bias" in weights else "i2h_bias"])
        self.layer.bias_hh_l0.copy_(weights.get("h2h_bias", torch.tensor(0.0)))
        self.layer.flatten_parameters()
        self.eval()

    def forward(self, data: Tensor, *states: Tensor) -> Any:
        return self.layer(data, states if len(states) > 1 else states[0])[1]


def recurrent(
    kind: type[torch.nn.RNNBase], weights: Weights, inputs: Sequence[Tensor], threads: int
) -> tuple[dict[str, Callable[[], Any]], list[str]]:
    """The implementations of the layer, and why others are left out."""
    module = Recurrent(kind, weights)
    found: dict[str, Callable[[], Any]] = {"torch": lambda: module(*inputs)}
    notes = []

    def without_onednn() -> Any:
        torch._C._set_mkldnn_enabled(False)  # like torch.backends.mkldnn.flags, with less overhead
        try:
            return module(*inputs)
        finally:
            torch._C._set_mkldnn_enabled(True)

    if kind is torch.nn.LSTM:  # the only one for which PyTorch uses oneDNN
        found["torch without oneDNN"] = without_onednn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module, tuple(inputs))
        frozen = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
    found["torchscript"] = lambda: frozen(*inputs)
    for name, make, needed in (
        (
            "onnxruntime",
            in_onnx_runtime,
            ("onnx", "onnxruntime"),
        ),  # PyTorch's exporter needs `onnx`
        ("openvino", in_openvino, ("openvino",)),
    ):
        if missing := [one for one in needed if importlib.util.find_spec(one) is None]:
            notes.append(f"{name}: not measured, {' and '.join(missing)} not installed")
        else:
            found[name] = make(module, inputs, threads)
    return found, notes


# --- generators --------------------------------------------------------------------------------


def beam_search(
    weights: Weights, beam: int, never: float
) -> Callable[[Tensor, int], list[tuple[list[int], float]]]:
    """All sequences as rows of one tensor; the symbols are Python lists."""
    embedding, of_state = weights["embedding_weight"], weights["state_weight"].T
    of_output, bias = weights["output_weight"].T, weights["output_bias"]
    symbols = len(bias)
    first = torch.tensor([0.0] + [never] * (beam - 1), dtype=bias.dtype)
    at_end = torch.tensor([[0.0] + [never] * (symbols - 1)], dtype=bias.dtype)

    def search(state: Tensor, most: int) -> list[tuple[list[int], float]]:
        states, scores = state.expand(beam, -1), first
        last, ended = torch.zeros(beam, dtype=torch.int64), torch.zeros(beam, dtype=torch.bool)
        found: list[list[int]] = [[]] * beam
        for _ in range(most):
            if ended.all():
                break
            states = torch.addmm(embedding[last], states, of_state).tanh_()
            following = F.log_softmax(torch.addmm(bias, states, of_output), 1)
            following = torch.where(ended[:, None], at_end, following)
            scores, places = (scores[:, None] + following).flatten().topk(beam)
            rows, last = places // symbols, places % symbols
            states, ended = states[rows], ended[rows]
            chosen = zip(rows.tolist(), last.tolist(), ended.tolist(), strict=True)
            found = [found[row] if over else [*found[row], one] for row, one, over in chosen]
            ended = ended | (last == 0)
        return list(zip(found, scores.tolist(), strict=True))

    return search


def attention_decoder(weights: Weights, heads: int) -> Callable[[list[int], int], list[int]]:
    """One step at a time, with a growing key-value cache."""
    hidden = weights["embedding_weight"].shape[1]
    size = hidden // heads
    output_weight = weights["output_weight"]

    def step(
        symbol: int, keys: Tensor | None, values: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        x = weights["embedding_weight"][symbol : symbol + 1]
        query, key, value = F.linear(x, weights["qkv_weight"]).view(3, heads, 1, size).unbind()
        keys = key if keys is None else torch.cat([keys, key], 1)
        values = value if values is None else torch.cat([values, value], 1)
        attention = torch.softmax(torch.bmm(query, keys.transpose(1, 2)) / math.sqrt(size), -1)
        seen = torch.bmm(attention, values).view(1, hidden)
        x = torch.addmm(x, seen, weights["projection_weight"].T)
        wide = F.linear(x, weights["wide_weight"], weights["wide_bias"]).relu_()
        x = x + F.linear(wide, weights["narrow_weight"], weights["narrow_bias"])
        return x, keys, values

    def decode(prompt: list[int], count: int) -> list[int]:
        keys = values = None
        state = output_weight.new_zeros(1, hidden)
        for symbol in prompt:
            state, keys, values = step(symbol, keys, values)
        found = []
        for _ in range(count):
            found.append(int(F.linear(state, output_weight).argmax()))
            state, keys, values = step(found[-1], keys, values)
        return found

    return decode
