"""Training steps compared with PyTorch: forward, backward and update, time and memory.

    python benchmarks/training.py                         everything, on one thread
    python benchmarks/training.py --threads 2             on one and on two
    python benchmarks/training.py --models mlp,tree-lstm  some
    python benchmarks/training.py --json out.json         records besides the table

A step of ours is one call of an executable that holds the weights. The peers are the same network
in eager PyTorch and with torch.compile (inductor, its default mode; it needs a C++ compiler), with
PyTorch's fused optimizer. All train with momentum, from the same weights on the same data; the
error is the largest relative difference between the losses of the first steps.

Memory is the largest resident size of a fresh process that trains for five steps, less that after
the imports.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from measure import Run, arguments, relative_error, started, take_turns
from torch import Tensor, nn

import relay
from relay.cache import Cache

RATE, MOMENTUM, COMPARED = 0.01, 0.9, 4
Step = Callable[..., float]  # from data to the loss


# --- networks of layers --------------------------------------------------------------------------


class Residual(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.around: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.around = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.around(x))


def resnet18() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)]
    layers += [nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(channels, outputs, stride), Residual(outputs, outputs, 1)]
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def mlp() -> nn.Module:
    first, second, last = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, 10)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 10),
    )


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]] = {
    "mlp": (mlp, (32, 784), 10),
    "cnn": (cnn, (32, 1, 28, 28), 10),
    "resnet-18": (resnet18, (8, 3, 224, 224), 1000),
}


class WithLoss(nn.Module):
    """(images, labels) -> cross entropy"""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.net(x), labels)


def of_layers(name: str, runner: str, threads: int, quick: bool) -> Step:
    """A step of one of the networks."""
    make, shape, classes = LAYERS[name]
    if quick and name == "resnet-18":
        shape = (2, 3, 32, 32)
    torch.manual_seed(0)
    net = WithLoss(make()).train()
    x, labels = torch.randn(shape), torch.randint(classes, shape[:1])
    if runner == "relay":
        module, weights = relay.frontend.from_pytorch(net, (x, labels))
        return partial(in_relay(module, weights, threads), x, labels)
    run = torch.compile(net, dynamic=False) if runner == "inductor" else net
    return partial(in_torch(run, net.parameters()), x, labels)


# --- steps ---------------------------------------------------------------------------------------


def in_relay(loss: Any, weights: Any, threads: int) -> Step:
    """A step of ours, compiled with an empty cache."""
    optimizer = relay.optim.SGD(RATE, momentum=MOMENTUM)
    module, state = relay.optim.training_step(loss, weights, optimizer)
    with tempfile.TemporaryDirectory() as folder:
        exe = relay.compile(module, state, threads=threads, cache=Cache(folder))
    return lambda *data: float(exe(*data))


def in_torch(loss: Callable[..., Tensor], weights: Iterable[Tensor]) -> Step:
    """A step of PyTorch."""
    optimizer = torch.optim.SGD(weights, RATE, momentum=MOMENTUM, fused=True)

    def step(*data: Any) -> float:
        optimizer.zero_grad()
        found = loss(*data)
        found.backward()
        optimizer.step()
        return float(found.detach())

    return step


def uniform(random: np.random.Generator, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    return [random.uniform(-0.1, 0.1, shape).astype("float32") for shape in shapes]


def trainable(arrays: Iterable[np.ndarray]) -> list[Tensor]:
    return [torch.tensor(array, requires_grad=True) for array in arrays]


# --- a tree LSTM ---------------------------------------------------------------------------------

INPUTS, HIDDEN = 300, 150


@relay.data
class TreeWeights:
    value: relay.Tensor[3 * HIDDEN, INPUTS]
    states: relay.Tensor[3 * HIDDEN, HIDDEN]
    bias: relay.Tensor[3 * HIDDEN]
    forget_value: relay.Tensor[HIDDEN, INPUTS]
    forget_state: relay.Tensor[HIDDEN, HIDDEN]
    forget_bias: relay.Tensor[HIDDEN]


@relay.data
class Node:
    value: relay.Tensor[1, INPUTS]
    children: list["Node"]  # noqa: UP037


@relay.function
def node_state(
    net: TreeWeights, node: Node
) -> tuple[relay.Tensor[1, HIDDEN], relay.Tensor[1, HIDDEN]]:
    gates = relay.nn.dense(node.value, net.value) + net.bias
    kept = relay.zeros((1, HIDDEN), "float32")
    match node.children:
        case []:
            pass
        case children:
            total = relay.zeros((1, HIDDEN), "float32")
            forget = relay.nn.dense(node.value, net.forget_value) + net.forget_bias
            for child in children:
                state, cell = node_state(net, child)
                total += state
                kept += relay.sigmoid(forget + relay.nn.dense(state, net.forget_state)) * cell
            gates += relay.nn.dense(total, net.states)
    take, give, new = relay.split(gates, 3, axis=1)
    cell = relay.sigmoid(take) * relay.tanh(new) + kept
    return relay.sigmoid(give) * relay.tanh(cell), cell


@relay.function
def tree_loss(net: TreeWeights, node: Node) -> float:
    state, _cell = node_state(net, node)
    return relay.mean((state - 0.5) * (state - 0.5))


def tree_loss_in_torch(w: Sequence[Tensor], node: Node) -> Tensor:
    state, _cell = tree_state_in_torch(w, node)
    return (state - 0.5).square().mean()


def tree_state_in_torch(w: Sequence[Tensor], node: Any) -> tuple[Tensor, Tensor]:
    """The same in PyTorch; a leaf has no products with states."""
    value, states, bias, forget_value, forget_state, forget_bias = w
    gates = F.linear(node.value, value, bias)
    kept: Any = 0.0
    if node.children:
        below = [tree_state_in_torch(w, child) for child in node.children]
        each, cells = (torch.cat(part) for part in zip(*below, strict=True))
        forget = F.linear(node.value, forget_value, forget_bias)
        forget = torch.sigmoid(torch.addmm(forget, each, forget_state.T))
        kept = (forget * cells).sum(0, keepdim=True)
        gates = torch.addmm(gates, each.sum(0, keepdim=True), states.T)
    take, give, new = gates.chunk(3, 1)
    cell = torch.sigmoid(take) * torch.tanh(new) + kept
    return torch.sigmoid(give) * torch.tanh(cell), cell


TREE = (
    (3 * HIDDEN, INPUTS),
    (3 * HIDDEN, HIDDEN),
    (3 * HIDDEN,),
    (HIDDEN, INPUTS),
    (HIDDEN, HIDDEN),
    (HIDDEN,),
)


def of_trees(runner: str, threads: int, quick: bool) -> Step:
    """A step for each of some trees."""
    random = np.random.default_rng(0)
    weights = uniform(random, TREE)
    trees = [random_tree(random, nodes) for nodes in ([6] if quick else range(10, 61, 10))]
    if runner == "relay":
        step = in_relay(tree_loss, {"net": TreeWeights(*weights)}, threads)
    else:
        given = trainable(weights)
        trees = [with_tensors(one) for one in trees]
        step = in_torch(partial(tree_loss_in_torch, given), given)
    return lambda: sum(map(step, trees))


def random_tree(random: np.random.Generator, nodes: int) -> Node:
    """A tree of so many nodes, each attached to a random earlier one."""
    value = random.standard_normal((nodes, 1, INPUTS), "float32")
    made = [Node(one, []) for one in value]
    for number in range(1, nodes):
        made[random.integers(number)].children.append(made[number])
    return made[0]


def with_tensors(node: Node) -> Node:
    """The tree with tensors of PyTorch."""
    below = [with_tensors(child) for child in node.children]
    return Node(torch.from_numpy(node.value), below)


# --- characters ----------------------------------------------------------------------------------

SYMBOLS, CATEGORIES, STATES = 59, 18, 128
BOTH = STATES + SYMBOLS
Name = relay.Tensor[(relay.ShapeVar("length"),), "int32"]


@relay.data
class CharWeights:
    category: relay.Tensor[CATEGORIES, BOTH]
    symbol: relay.Tensor[SYMBOLS, BOTH]
    state: relay.Tensor[BOTH, STATES]
    bias: relay.Tensor[BOTH]
    output: relay.Tensor[SYMBOLS, BOTH]
    output_bias: relay.Tensor[SYMBOLS]


@relay.function
def char_loss(net: CharWeights, category: int, name: Name) -> float:
    """The network of `relay.testing.char_rnn`, which is to give the next symbol of a name."""
    of_category = net.category[category] + net.bias
    state = relay.zeros((1, STATES), "float32")
    loss = 0.0
    last = SYMBOLS - 1
    for symbol in name:
        both = relay.nn.dense(state, net.state) + (net.symbol[last] + of_category)
        state = both[:, :STATES]
        scores = relay.nn.log_softmax(relay.nn.dense(both, net.output) + net.output_bias)
        loss -= scores[0, symbol]
        last = symbol
    return loss / relay.cast(name.shape[0], "float32")


def char_loss_in_torch(w: Sequence[Tensor], category: int, name: Sequence[int]) -> Tensor:
    of_category = w[0][category] + w[3]
    state = torch.zeros(1, STATES)
    loss, last = torch.zeros(()), SYMBOLS - 1
    for symbol in name:
        both = torch.addmm(w[1][last] + of_category, state, w[2].T)
        state = both[:, :STATES]
        scores = torch.addmm(w[5], both, w[4].T).log_softmax(1)
        loss = loss - scores[0, symbol]
        last = symbol
    return loss / len(name)


def of_names(runner: str, threads: int, quick: bool) -> Step:
    """A step for each of some names."""
    random = np.random.default_rng(0)
    shapes = [
        (CATEGORIES, BOTH),
        (SYMBOLS, BOTH),
        (BOTH, STATES),
        (BOTH,),
        (SYMBOLS, BOTH),
        (SYMBOLS,),
    ]
    weights = uniform(random, shapes)
    names = [random.integers(0, SYMBOLS, length) for length in ([4] if quick else (5, 7, 9, 11))]
    if runner == "relay":
        step = in_relay(char_loss, {"net": CharWeights(*weights)}, threads)
        given = [(n, one.astype("int32")) for n, one in enumerate(names)]
    else:
        tensors = trainable(weights)
        step = in_torch(partial(char_loss_in_torch, tensors), tensors)
        given = [(n, one.tolist()) for n, one in enumerate(names)]
    return lambda: sum(step(*one) for one in given)


# --- measurements --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """What is trained, its runners, and the required speedup over some of them."""

    step: Callable[[str, int, bool], Step]  # (runner, threads, quick)
    runners: Sequence[str]
    least: float
    over: Sequence[str]
    memory: bool = False


def layers(name: str, least: float, over: Sequence[str], memory: bool = False) -> Network:
    return Network(partial(of_layers, name), ("relay", "eager", "inductor"), least, over, memory)


NETWORKS = {
    "mlp": layers("mlp", 1.5, ("eager",)),
    "cnn": layers("cnn", 1.5, ("eager",)),
    "tree-lstm": Network(of_trees, ("relay", "eager"), 5, ("eager",)),
    "char-rnn": Network(of_names, ("relay", "eager"), 5, ("eager",)),
    "resnet-18": layers("resnet-18", 1, ("eager", "inductor"), memory=True),
}


def measure(run: Run, name: str, threads: int) -> None:
    network = NETWORKS[name]
    names = [one for one in network.runners if not (run.quick and one == "inductor")]
    torch.set_num_threads(threads)
    steps, losses, seconds = {}, {}, {}
    for one in names:
        start = time.perf_counter()
        steps[one] = network.step(one, threads, run.quick)
        first = steps[one]()
        seconds[one] = time.perf_counter() - start
        losses[one] = [first, *(steps[one]() for _ in range(COMPARED - 1))]
    times = take_turns(steps, threads, run.effort, time.process_time)
    found = run.report.compare(
        name,
        threads,
        times,
        error=max(relative_error(losses["relay"], losses[one]) for one in names[1:]),
        compile_s=seconds["relay"],
        note="first step after " + ", ".join(f"{n} {s:.1f} s" for n, s in seconds.items()),
    )
    best = min(set(network.over) & set(names), key=lambda one: times[one].median)
    ratio = found["ratio_wanted"] = times[best].median / times["relay"].median
    run.report.wanted(f"{name}, {threads} threads", ratio, f"x {best}", least=network.least)


def measure_memory(run: Run, name: str) -> None:
    """The memory of the runners, each in a process of its own."""
    grown = {one: alone(name, one, run.threads) for one in NETWORKS[name].runners}
    print("    memory " + ", ".join(f"{one} {mib:.0f} MiB" for one, mib in grown.items()))
    run.report.records[-1]["memory_mib"] = grown
    least = min(mib for one, mib in grown.items() if one != "relay")
    run.report.wanted(f"{name}, memory", grown["relay"], "MiB", most=least)


def alone(name: str, runner: str, threads: int) -> float:
    command = [sys.executable, __file__, "--models", name, "--alone", runner]
    done = subprocess.run(
        [*command, "--threads", str(threads)], capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def in_this_process(name: str, runner: str, threads: int) -> None:
    """Print how much memory training takes, in MiB."""
    # what the runners import when they are first used
    import llvmlite.binding  # noqa: F401
    import torch._dynamo
    import torch._inductor.compile_fx
    import torch.export  # noqa: F401

    before = resident()
    step = NETWORKS[name].step(runner, threads, False)
    gc.collect()
    for _ in range(5):
        step()
    print(json.dumps(resident() - before))


def resident() -> float:
    """The largest resident size so far; that of getrusage begins with the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    parser = arguments(__doc__, list(NETWORKS))
    runners = ("relay", "eager", "inductor")
    parser.add_argument("--alone", choices=runners, help="only memory, in this process")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(given.threads)
    if given.alone:
        in_this_process(given.models, given.alone, given.threads)
        return
    run = started(given, list(NETWORKS))
    for name in run.models:
        for threads in run.counts:
            measure(run, name, threads)
        if NETWORKS[name].memory and not run.quick:
            measure_memory(run, name)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
