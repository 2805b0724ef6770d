"""How far the schedules that the rules choose are from those that tuning finds.

    python benchmarks/tuning.py                                four networks, a minute each
    python benchmarks/tuning.py --models resnet-18 --budget 30
    python benchmarks/tuning.py --threads 2
    python benchmarks/tuning.py --json out.json                records besides the table

Each network is timed in turns with itself as the rules have it; the ratio is what tuning gains. The
distribution is that over the kernels of all networks: 1.10 says that the best plan takes a
tenth less time. Tuning starts with an empty folder of results, which the networks share.
"""

from __future__ import annotations

import tempfile
import time
from statistics import quantiles

from measure import arguments, relative_error, started, take_turns
from models import NAMES, subject

import relay
from relay.cache import Cache

USUAL = ("resnet-18", "mobilenet", "squeezenet", "encoder-128")


def main() -> None:
    parser = arguments(__doc__, USUAL)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each network")
    given = parser.parse_args()
    run = started(given, NAMES)
    speedups: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in run.models:
            source, _, inputs = subject(name, small=run.quick)
            budget = 1.0 if run.quick else given.budget
            rules = relay.compile(*source, threads=run.threads, cache=Cache(None))
            found = relay.tune(*source, budget=budget, threads=run.threads, cache=Cache(folder))
            print(f"\n{name}\n{found}", flush=True)
            start = time.perf_counter()
            tuned = relay.compile(*source, threads=run.threads, cache=Cache(folder))
            seconds = time.perf_counter() - start
            x = [one.numpy() for one in inputs]
            times = take_turns(
                {"relay": lambda tuned=tuned, x=x: tuned(*x), "rules": lambda r=rules, x=x: r(*x)},
                run.threads,
                run.effort,
            )
            run.report.compare(
                name,
                run.threads,
                times,
                error=relative_error(tuned(*x), rules(*x)),
                compile_s=seconds,
                kernels=[{"plan": one.plan, "speedup": one.speedup} for one in found],
            )
            speedups += [one.speedup for one in found if not one.known]
    if len(speedups) > 1:
        low, middle, high = quantiles(speedups, n=4)
        near = sum(speedup <= 1.1 for speedup in speedups)
        print(
            f"\n{len(speedups)} kernels: quartiles {low:.2f}, {middle:.2f}, {high:.2f}, at most "
            f"{max(speedups):.2f}; {near} are within 10 % of the best plan"
        )
        run.report.wanted("tuned, in the median", middle, "x the rules", most=1.1)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
