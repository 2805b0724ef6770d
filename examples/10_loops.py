"""Loops inside the compiled program: sequences of any length, and generators that decide when to
stop. Every network is compiled once for all lengths."""

from __future__ import annotations

import numpy as np
import torch

import relay
from relay.testing import attention_decoder, beam_search, char_rnn, lstm_loop

random = np.random.default_rng(7)

# --- an LSTM over sequences of every length ------------------------------------------------------

module, params = lstm_loop.get_workload(input_size=32, hidden_size=64)
lstm = relay.compile(module, params)

peer = torch.nn.LSTM(32, 64)
weights = (params["i2h_weight"], params["h2h_weight"], params["bias"], np.zeros(256, "float32"))
for ours, theirs in zip(weights, peer.parameters(), strict=True):
    theirs.data = torch.tensor(np.asarray(ours))
zeros = np.zeros((1, 64), "float32")
for steps in (1, 5, 32, 100):
    data = random.standard_normal((steps, 1, 32), "float32")
    state, cell = lstm(data, zeros, zeros)
    _, (expected, _) = peer(torch.from_numpy(data))
    difference = np.abs(np.asarray(state) - expected[0].detach().numpy()).max()
    print(f"{steps:4} steps: {difference:.0e} from PyTorch")
    assert difference < 1e-5

# --- names, letter by letter ---------------------------------------------------------------------

NAMES = (
    "Anna Maria Elena Marina Carla Daniela Roberta Mariana Gina Tina Lena Alina Karolina Nora "
    "Leonora Clara Sara Tamara Laura Paula Pamela Angela Gabriela Michaela Emma Ramona Simona"
)


def counting_letters(params):
    """Weights that make the network draw letters with the bigram frequencies of `NAMES`."""
    letters, hidden = char_rnn.LETTERS, params["state_weight"].shape[1]
    end = len(letters)
    counts = np.full((end + 1, end + 1), 1e-3)
    for name in NAMES.split():
        symbols = [*map(letters.index, name), end]
        np.add.at(counts, (symbols[:-1], symbols[1:]), 1)
    made = {name: np.zeros(value.shape, "float32") for name, value in params.items()}
    made["symbol_weight"][:, hidden:] = np.log(counts / counts.sum(1, keepdims=True))
    made["output_weight"][:, hidden:] = np.eye(end + 1)
    return made


module, params = char_rnn.get_workload(hidden_size=16)
generate = relay.compile(module, counting_letters(params))
print("\nnames that might be:")
for first in "AELMRST":
    found = []
    for _ in range(5):
        noise = random.gumbel(size=(12, char_rnn.SYMBOLS)).astype("float32")
        symbols = generate(char_rnn.LETTERS.index(first), 0, noise)
        found.append("".join(char_rnn.LETTERS[int(symbol)] for symbol in symbols))
    print("  ", *found)

# --- a search, and a cache that grows ------------------------------------------------------------

search = relay.compile(*beam_search.get_workload(beam=3, symbols=12, hidden_size=16))
print("\nthe best sequences of a search:")
for symbols, score in search(random.standard_normal((1, 16), "float32"), 8):
    print(f"   {float(score):7.3f} ", *map(int, symbols))

decode = relay.compile(*attention_decoder.get_workload(symbols=50))
print("\nwhat a decoder with attention goes on with:")
for length in (1, 4, 9):
    prompt = random.integers(50, size=length, dtype="int32")
    print("  ", *prompt, "→", *map(int, decode(prompt, 12)))
