"""Dense layers with weights of few bits, for one row of data: how fast their bytes are read.

    python benchmarks/weight_only.py                        weights of four and of eight bits
    python benchmarks/weight_only.py --models int4 --threads 2

The peer is a sum of floats over as many bytes as the packed weight has, with its scales: it does
nothing but read them. `ratio` is how much of its speed is reached, the goal is 0.85.
"""

from __future__ import annotations

import numpy as np
from measure import Run, arguments, started, take_turns

import relay
from relay import quantize

BITS = {"int4": 4, "int8": 8}
UNITS, DEPTH, BLOCK = 8192, 8192, 32
GOAL = 0.85


def measure(run: Run, name: str) -> None:
    units, depth = (64, 128) if run.quick else (UNITS, DEPTH)
    chance = np.random.default_rng(0)
    row = chance.standard_normal((1, depth), "float32")
    data, weight = relay.var("data", shape=(1, depth)), relay.var("weight", shape=(units, depth))
    layer = relay.IRModule.from_expr(relay.Function([data, weight], relay.nn.dense(data, weight)))
    params = {"weight": chance.standard_normal((units, depth), "float32")}
    exe = relay.compile(
        layer,
        params,
        quantize=quantize.weight_only(bits=BITS[name], block=BLOCK),
        threads=run.threads,
    )
    packed = exe.memory.constants
    floats = relay.var("floats", shape=(packed // 4,))
    adding = relay.IRModule.from_expr(relay.Function([floats], relay.sum(floats)))
    adder = relay.compile(adding, threads=run.threads)
    numbers = chance.standard_normal(packed // 4, "float32")
    times = take_turns(
        {"relay": lambda: exe(row), "sum": lambda: adder(numbers)}, run.threads, run.effort
    )
    speed = packed / times["relay"].median / 1e9
    run.report.compare(name, run.threads, times, packed=packed, note=f"{speed:.1f} GB/s")
    share = times["sum"].median / times["relay"].median
    run.report.wanted(f"{name}, share of the read bandwidth", share, "", least=GOAL)


def main() -> None:
    given = arguments(__doc__, list(BITS)).parse_args()
    run = started(given, list(BITS))
    for name in run.models:
        measure(run, name)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
