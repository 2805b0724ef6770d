"""Train a tree LSTM in native code: recursion over trees of any shape, forwards and backwards.

It learns to compute formulas of `and`, `or` and `not`, each formula a tree of words. A step of
training is one native call, which takes a tree and gives the loss; the weights stay in it.
"""

import time

import numpy as np

import relay
from relay import Tensor
from relay.optim import Adam, trained_weights, training_step

HIDDEN, EPOCHS = 24, 3
WORDS = ["false", "true", "not", "and", "or"]


@relay.data
class Net:
    words: Tensor[5, 3 * HIDDEN]
    states: Tensor[3 * HIDDEN, HIDDEN]
    forget_word: Tensor[5, HIDDEN]
    forget_state: Tensor[HIDDEN, HIDDEN]
    last: Tensor[2, HIDDEN]


@relay.data
class Formula:
    word: int
    parts: list["Formula"]


@relay.function
def state_of(net: Net, formula: Formula) -> tuple[Tensor[1, HIDDEN], Tensor[1, HIDDEN]]:
    total = relay.zeros((1, HIDDEN), "float32")
    kept = relay.zeros((1, HIDDEN), "float32")
    for part in formula.parts:
        state, cell = state_of(net, part)
        forget = net.forget_word[formula.word] + relay.nn.dense(state, net.forget_state)
        kept += relay.sigmoid(forget) * cell
        total += state
    gates = net.words[formula.word] + relay.nn.dense(total, net.states)
    take, give, new = relay.split(gates, 3, axis=1)
    cell = relay.sigmoid(take) * relay.tanh(new) + kept
    return relay.sigmoid(give) * relay.tanh(cell), cell


@relay.function
def scores(net: Net, formula: Formula) -> Tensor[1, 2]:
    state, _cell = state_of(net, formula)
    return relay.nn.log_softmax(relay.nn.dense(state, net.last))


@relay.function
def loss(net: Net, formula: Formula, wanted: int) -> float:
    return -scores(net, formula)[0, wanted]


random = np.random.default_rng(0)


def formula(depth: int) -> Formula:
    operation = depth > 0 and random.random() < 0.8
    word = int(random.integers(2, 5) if operation else random.integers(2))
    count = {"not": 1, "and": 2, "or": 2}.get(WORDS[word], 0)
    return Formula(word, [formula(depth - 1) for _ in range(count)])


def value(one: Formula) -> bool:
    parts = [value(part) for part in one.parts]
    match WORDS[one.word]:
        case "not":
            return not parts[0]
        case "and":
            return all(parts)
        case "or":
            return any(parts)
    return WORDS[one.word] == "true"


shapes = [(5, 3 * HIDDEN), (3 * HIDDEN, HIDDEN), (5, HIDDEN), (HIDDEN, HIDDEN), (2, HIDDEN)]
net = Net(*((random.standard_normal(shape) * 0.3).astype("float32") for shape in shapes))
step = relay.compile(*training_step(loss, {"net": net}, Adam(lr=3e-3)))

train, test = ([formula(4) for _ in range(count)] for count in (1500, 300))
start = time.perf_counter()
for epoch in range(EPOCHS):
    total = sum(float(step(one, int(value(one)))) for one in train)
    print(f"epoch {epoch}: loss {total / len(train):.4f}")
each = (time.perf_counter() - start) / (EPOCHS * len(train))
print(f"a step takes {each * 1e6:.0f} µs")

trained = trained_weights(step.state, {"net": net})["net"]
guess = relay.compile(scores)
right = np.mean([np.asarray(guess(trained, one)).argmax() == value(one) for one in test])
print(f"{right:.1%} of {len(test)} formulas that it has not seen are right")
assert right > 0.95
