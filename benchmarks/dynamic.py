"""Programs with loops, recursion and data structures, compared with peers.

    python benchmarks/dynamic.py                         everything, on one thread
    python benchmarks/dynamic.py --threads 2             on one and on two
    python benchmarks/dynamic.py --models tree-lstm,gru  some
    python benchmarks/dynamic.py --torch-compile         with torch.compile as another peer
    python benchmarks/dynamic.py --json out.json         records besides the table

A call takes and returns Python data; converting it counts. Weights are the same everywhere; results
are compared with float64. Compilation starts with an empty cache.

A step (a node of a tree, a symbol) takes at least as long as reading its weights. So the time of a
step is shown relative to that floor: the bytes of weights it reads, divided by the bandwidth of a
loop that reads the same working set, measured in the same turns.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dynamic_peers as peers
import numpy as np
import torch
from bare import BareKernels
from measure import Candidate, Record, Run, Times, arguments, relative_error, started, take_turns

import relay
from relay import nd
from relay.cache import Cache
from relay.frontend.python.standard import Rose
from relay.target import Target
from relay.testing import attention_decoder, beam_search, char_rnn, gru, lstm_loop, rnn, tree_lstm

Params = Mapping[str, nd.NDArray]
Workload = tuple[relay.IRModule, dict[str, nd.NDArray]]


@dataclass(frozen=True)
class Steps:
    """The steps of a call: their number, their name, and the weights they read."""

    count: int
    what: str
    read: int  # bytes in all steps
    again: int  # bytes of the weights that every step reads


@dataclass(frozen=True)
class Wanted:
    """The required speedup over the fastest of these peers, or of all."""

    least: float
    peers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A measurement: our call, those of the peers, and their properties."""

    name: str
    relay: Candidate
    peers: Mapping[str, Candidate]
    steps: Steps
    error: float
    compile_s: float
    wanted: Wanted | None = None
    notes: Sequence[str] = field(default=())


def measure(run: Run, threads: int, case: Case) -> None:
    with torch.inference_mode():
        read, moved = BareKernels(Target.host()).read(threads, case.steps.again)
        candidates = {"relay": case.relay, **case.peers, "read": read}
        times = take_turns(candidates, threads, run.effort, time.process_time)
    speed = moved / _seconds(times.pop("read"))
    each = _seconds(times["relay"]) / case.steps.count
    floor = case.steps.read / case.steps.count / speed
    found = run.report.compare(
        case.name,
        threads,
        times,
        error=case.error,
        compile_s=case.compile_s,
        note=f"compiled in {case.compile_s:.1f} s",
        steps=case.steps.count,
        step_us=each * 1e6,
        floor_us=floor * 1e6,
        read_gbytes=speed / 1e9,
    )
    kilobytes = case.steps.read / case.steps.count / 1e3
    print(
        f"    a {case.steps.what} {each * 1e6:.3g} µs, {each / floor:.2f} times the floor: "
        f"{kilobytes:.4g} kB of weights in {floor * 1e6:.3g} µs, at {speed / 1e9:.3g} GB/s "
        f"({case.steps.count} in a call)"
    )
    for note in case.notes:
        print(f"    {note}")
    if case.wanted is not None:
        limit(run, threads, case, times, found)


def limit(run: Run, threads: int, case: Case, times: Mapping[str, Times], found: Record) -> None:
    """Check the required speedup, by processor time where one thread computes."""
    assert case.wanted is not None
    names = case.wanted.peers or tuple(case.peers)
    best = min(names, key=lambda name: _seconds(times[name]))
    ratio = _seconds(times[best]) / _seconds(times["relay"])
    found["ratio_wanted"] = ratio
    how = "by processor time" if threads == 1 else "by wall time"
    what = f"{case.name}, {threads} threads"
    run.report.wanted(what, ratio, f"x {best} {how}", least=case.wanted.least)


def _seconds(times: Times) -> float:
    return times.median if times.cpu_median is None else times.cpu_median


def compiled(workload: Workload, threads: int) -> tuple[Any, float]:
    """The executable, and the seconds to compile it with an empty cache."""
    module, params = workload
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        exe = relay.compile(module, params, threads=threads, cache=Cache(folder))
        return exe, time.perf_counter() - start


def scrambled(workload: Workload) -> Workload:
    """Random nonzero biases, so that a missing bias changes the result."""
    module, params = workload
    random = np.random.default_rng(1)
    changed = {
        name: nd.array(random.uniform(-0.3, 0.3, value.shape).astype("float32"))
        for name, value in params.items()
        if name.endswith("bias")
    }
    return module, params | changed


def nbytes(params: Params, *names: str) -> int:
    return sum(params[name].numpy().nbytes for name in names or params)


def normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape, np.float32)


# --- trees -------------------------------------------------------------------------------------


def random_tree(random: np.random.Generator, nodes: int, inputs: int) -> Rose:
    """A tree of so many nodes, each attached to a random earlier one."""
    below: list[list[int]] = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        below[random.integers(node)].append(node)
    made: list[Rose] = []
    for node in reversed(range(nodes)):
        children = [made[nodes - 1 - child] for child in below[node]]
        made.append(Rose(normal(random, 1, inputs), children))
    return made[-1]


def count(tree: Rose) -> tuple[int, int]:
    """(nodes, leaves)"""
    nodes = leaves = 0
    pending = [tree]
    while pending:
        node = pending.pop()
        nodes += 1
        leaves += not node.children
        pending += node.children
    return nodes, leaves


def measure_tree_lstm(run: Run, torch_compile: bool) -> None:
    """Child-sum tree LSTM, 300 values and 150 states per node, trees of 10 to 60 nodes."""
    inputs, hidden, sizes = (20, 10, [10]) if run.quick else (300, 150, range(10, 61, 10))
    workload = scrambled(tree_lstm.get_workload(inputs, hidden))
    params, weights = workload[1], peers.weights_of(workload[1])
    random = np.random.default_rng(0)
    trees = [random_tree(random, nodes, inputs) for nodes in sizes]
    given = [peers.with_tensors(tree) for tree in trees]
    nodes, leaves = (sum(counts) for counts in zip(*map(count, trees), strict=True))
    read = nodes * nbytes(params, "i2h_weight", "bias")
    inner = ("h2h_weight", "forget_i2h_weight", "forget_bias")
    read += (nodes - leaves) * nbytes(params, *inner)
    read += (nodes - len(trees)) * nbytes(params, "forget_h2h_weight")
    oracle = peers.tree_lstm(peers.widened(weights))
    expected = [oracle(peers.with_tensors(tree, torch.float64)) for tree in trees]
    notes = ["TorchScript cannot run it: a function in it must not call itself"]
    if torch_compile:
        notes.append(_graphs_of_trees(weights, given))
    for threads in run.counts:
        torch.set_num_threads(threads)
        exe, seconds = compiled(workload, threads)
        others = {
            "torch": peers.tree_lstm(weights),
            "torch, values first": peers.tree_lstm_values_first(weights),
        }
        measure(
            run,
            threads,
            Case(
                f"tree-lstm {inputs}/{hidden}",
                lambda exe=exe: [exe(tree) for tree in trees],
                {name: partial(_all, f, given) for name, f in others.items()},
                Steps(nodes, "node", read, nbytes(params)),
                max(
                    relative_error(part, wide)
                    for tree, states in zip(trees, expected, strict=True)
                    for part, wide in zip(exe(tree), states, strict=True)
                ),
                seconds,
                Wanted(5, ("torch",)),
                notes,
            ),
        )


def _all(f: Callable[[Rose], Any], trees: Sequence[Rose]) -> list[Any]:
    return [f(tree) for tree in trees]


def _graphs_of_trees(weights: peers.Weights, trees: Sequence[Rose]) -> str:
    """The number of graphs torch.compile makes of some trees, without compiling them."""
    graphs = 0

    def kept(module: torch.fx.GraphModule, _: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return module.forward

    run = torch.compile(peers.tree_lstm(weights), backend=kept)
    with torch.inference_mode():
        for tree in trees:
            run(tree)
    torch.compiler.reset()
    return (
        f"torch.compile unrolls the recursion: {graphs} graphs for {len(trees)} trees, another for"
        " every form; not timed"
    )


# --- characters --------------------------------------------------------------------------------


def measure_char_rnn(run: Run, torch_compile: bool) -> None:
    """Names of at most 20 symbols for 8 first letters; the loop is in the program."""
    for hidden in (16,) if run.quick else (16, 128):
        _measure_char_rnn(run, hidden, torch_compile)


def _measure_char_rnn(run: Run, hidden: int, torch_compile: bool) -> None:
    workload = scrambled(char_rnn.get_workload(hidden))
    params, weights = workload[1], peers.weights_of(workload[1])
    random = np.random.default_rng(0)
    names = [
        (first, first % char_rnn.CATEGORIES, random.gumbel(size=(20, 58)).astype("float32"))
        for first in range(26, 52, 13 if run.quick else 3)
    ][:8]
    given = [(first, kind, torch.from_numpy(noise)) for first, kind, noise in names]
    oracle = peers.char_rnn_as_published(peers.widened(weights))
    expected = [oracle(first, kind, noise.double()) for first, kind, noise in given]
    steps = sum(min(len(name), 20) for name in expected)
    again = nbytes(params, "state_weight", "output_weight", "output_bias")
    row = 4 * weights["symbol_weight"].shape[1]
    others: dict[str, Callable[..., Any]] = {
        "torch": peers.char_rnn(weights),
        "torch, as published": peers.char_rnn_as_published(weights),
        "torchscript": peers.scripted_char_rnn(weights),
    }
    notes = []
    if torch_compile:
        start = time.perf_counter()
        others["torch.compile of a step"] = step = peers.char_rnn_compiled_step(weights)
        with torch.inference_mode():
            step(*given[0])
        notes.append(f"torch.compile took {time.perf_counter() - start:.1f} s")
    else:
        notes.append("torch.compile of a step: with --torch-compile")
    for threads in run.counts:
        torch.set_num_threads(threads)
        exe, seconds = compiled(workload, threads)
        wrong = sum(
            list(map(int, exe(*name))) != right for name, right in zip(names, expected, strict=True)
        )
        measure(
            run,
            threads,
            Case(
                f"char-rnn {hidden}",
                lambda exe=exe: [exe(*name) for name in names],
                {name: partial(_every, f, given) for name, f in others.items()},
                Steps(steps, "symbol", steps * (again + row), again),
                wrong / len(names),
                seconds,
                Wanted(10, ("torch",)),
                notes,
            ),
        )


def _every(f: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [f(*call) for call in calls]


# --- sequences ---------------------------------------------------------------------------------

SEQUENCES = {
    "rnn": (rnn, torch.nn.RNN, 1),
    "gru": (gru, torch.nn.GRU, 1),
    "lstm": (lstm_loop, torch.nn.LSTM, 2),
}


def measure_sequence(name: str, run: Run, torch_compile: bool) -> None:
    for sizes in [(16, 16, 3)] if run.quick else [(128, 128, 5), (256, 256, 32)]:
        _measure_sequence(run, name, sizes, torch_compile)


def _measure_sequence(
    run: Run, name: str, sizes: tuple[int, int, int], torch_compile: bool
) -> None:
    model, kind, states = SEQUENCES[name]
    inputs, hidden, steps = sizes
    workload = scrambled(model.get_workload(inputs, hidden))
    params, weights = workload[1], peers.weights_of(workload[1])
    random = np.random.default_rng(0)
    data = normal(random, steps, 1, inputs)
    start = [normal(random, 1, hidden) for _ in range(states)]
    given = [torch.from_numpy(x) for x in (data, *(x[None] for x in start))]
    oracle = peers.Recurrent(kind, peers.widened(weights))
    expected = oracle(*(x.double() for x in given))
    wide = expected if states > 1 else (expected,)
    again = nbytes(params, *(name for name in params if name.startswith("h2h")))
    for threads in run.counts:
        torch.set_num_threads(threads)
        exe, seconds = compiled(workload, threads)
        with torch.inference_mode():
            others, notes = peers.recurrent(kind, weights, given, threads)
            if torch_compile:
                begun = time.perf_counter()
                faster = torch.compile(peers.Recurrent(kind, weights))
                faster(*given)
                notes.append(f"torch.compile took {time.perf_counter() - begun:.1f} s")
                others["torch.compile"] = partial(faster, *given)
        found = exe(data, *start)
        errors = [
            relative_error(part, right[0])
            for part, right in zip(found if states > 1 else (found,), wide, strict=True)
        ]
        measure(
            run,
            threads,
            Case(
                f"{name} {inputs}/{hidden}/{steps}",
                lambda exe=exe: exe(data, *start),
                others,
                Steps(steps, "step", nbytes(params) + (steps - 1) * again, again),
                max(errors),
                seconds,
                Wanted(1),
                notes,
            ),
        )


def measure_rnn(run: Run, torch_compile: bool) -> None:
    """Inputs, states and steps of 128/128/5 and 256/256/32, one sequence."""
    measure_sequence("rnn", run, torch_compile)


def measure_gru(run: Run, torch_compile: bool) -> None:
    """Inputs, states and steps of 128/128/5 and 256/256/32, one sequence."""
    measure_sequence("gru", run, torch_compile)


def measure_lstm(run: Run, torch_compile: bool) -> None:
    """Inputs, states and steps of 128/128/5 and 256/256/32, one sequence."""
    measure_sequence("lstm", run, torch_compile)


# --- generators --------------------------------------------------------------------------------


def measure_beam_search(run: Run, torch_compile: bool) -> None:
    """The 4 best sequences over 40 symbols, at most 20 steps, 32 states."""
    beam, most = 4, 3 if run.quick else 20
    workload = scrambled(beam_search.get_workload(beam))
    params, weights = workload[1], peers.weights_of(workload[1])
    data = normal(np.random.default_rng(0), 1, 32)
    state = torch.from_numpy(data)
    wide = peers.beam_search(peers.widened(weights), beam, beam_search.NEVER)
    expected = wide(state.double(), most)
    steps = max(len(symbols) for symbols, _ in expected)
    again = nbytes(params, "state_weight", "output_weight", "output_bias")
    search = peers.beam_search(weights, beam, beam_search.NEVER)
    for threads in run.counts:
        torch.set_num_threads(threads)
        exe, seconds = compiled(workload, threads)
        found = exe(data, most)
        same = [list(map(int, symbols)) for symbols, _ in found] == [s for s, _ in expected]
        error = relative_error([float(score) for _, score in found], [s for _, s in expected])
        measure(
            run,
            threads,
            Case(
                "beam-search 4/40/32",
                lambda exe=exe: exe(data, most),
                {"torch": lambda: search(state, most)},
                Steps(steps, "symbol", steps * again, again),
                error if same else 1.0,
                seconds,
            ),
        )


def measure_attention(run: Run, torch_compile: bool) -> None:
    """A decoder of 64 states and 4 heads with a growing cache: 8 symbols in, 32 out."""
    length, more = (2, 3) if run.quick else (8, 32)
    workload = scrambled(attention_decoder.get_workload())
    params, weights = workload[1], peers.weights_of(workload[1])
    prompt = np.random.default_rng(0).integers(100, size=length).astype("int32")
    expected = peers.attention_decoder(peers.widened(weights), 4)(prompt.tolist(), more)
    decode = peers.attention_decoder(weights, 4)
    steps = length + more
    again = nbytes(params, *(name for name in params if name != "embedding_weight"))
    read = steps * again - length * nbytes(params, "output_weight")
    for threads in run.counts:
        torch.set_num_threads(threads)
        exe, seconds = compiled(workload, threads)
        found = list(map(int, exe(prompt, more)))
        measure(
            run,
            threads,
            Case(
                "attention-decoder 64/4",
                lambda exe=exe: exe(prompt, more),
                {"torch": lambda: decode(prompt.tolist(), more)},
                Steps(steps, "symbol", read, again),
                float(found != expected),
                seconds,
            ),
        )


PARTS = {
    "tree-lstm": measure_tree_lstm,
    "char-rnn": measure_char_rnn,
    "rnn": measure_rnn,
    "gru": measure_gru,
    "lstm": measure_lstm,
    "beam-search": measure_beam_search,
    "attention": measure_attention,
}


def main() -> None:
    parser = arguments(__doc__, list(PARTS))
    parser.add_argument("--torch-compile", action="store_true", help="time torch.compile too")
    given = parser.parse_args()
    run = started(given, list(PARTS))
    for name in run.models:
        summary = (PARTS[name].__doc__ or "").splitlines()[0]
        print(f"\n--- {name}: {summary}")
        PARTS[name](run, given.torch_compile)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
