"""Speed of the compiler: type inference, its memory, deep programs, and `import relay`.

    python benchmarks/compiler.py                     everything
    python benchmarks/compiler.py --models depth      one: import, inference, incremental, depth
    python benchmarks/compiler.py --json out.json     records besides the tables

There are no peers; the tables show how costs grow. A program of n nodes is a call chain
(relu(relu(…))), a let chain, or a graph in which every node is used twice; the time per node should
not depend on n.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import Run, record, run_parts

import relay
from relay.check.infer import infer_changed


def sizes(run: Run) -> tuple[int, ...]:
    return (100,) if run.quick else (1_000, 10_000, 100_000)


def seconds(f: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Median time of `f()` and its last result."""
    times = []
    result = None
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        result = f()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


# --- programs ----------------------------------------------------------------------------------


def call_chain(size: int) -> relay.Function:
    x = relay.var("x", shape=(4,))
    body: relay.Expr = x
    for _ in range(size):
        body = relay.nn.relu(body)
    return relay.Function([x], body)


def let_chain(size: int) -> relay.Function:
    x = relay.var("x", shape=(4,))
    names = [relay.var(f"v{i}") for i in range(size)]
    body: relay.Expr = names[-1]
    for i in reversed(range(size)):
        body = relay.Let(names[i], relay.nn.relu(names[i - 1] if i else x), body)
    return relay.Function([x], body)


def graph_chain(size: int) -> relay.Function:
    x = relay.var("x", shape=(4,))
    body: relay.Expr = x
    for i in range(size):
        body = relay.maximum(body, body) if i % 2 else relay.nn.relu(body)
    return relay.Function([x], body)


CHAINS = {"calls": call_chain, "lets": let_chain, "graph": graph_chain}


class CountOperators(relay.ExprVisitor):
    """The lesson's counter."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def visit_call(self, call: relay.Call) -> None:
        if isinstance(call.op, relay.Op):
            self.counts[call.op.name] = self.counts.get(call.op.name, 0) + 1
        super().visit_call(call)


class ReluToLeakyRelu(relay.ExprMutator):
    """The lesson's replacer."""

    def visit_call(self, call: relay.Call) -> relay.Expr:
        call = super().visit_call(call)
        if call.op == relay.op.get("nn.relu"):
            return relay.nn.leaky_relu(call.args[0], alpha=0.1)
        return call


# --- what is measured --------------------------------------------------------------------------


def measure_import(run: Run) -> None:
    """Time of `import relay` in a fresh process, less that of an empty process."""
    repeat = 1 if run.quick else 9

    def start(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), repeat)[0]

    bare = start("pass")
    costs = {
        "import relay": start("import relay") - bare,
        "import relay and all operators": start("import relay; relay.add") - bare,
    }
    for name, elapsed in costs.items():
        print(f"{name:<34} {elapsed * 1e3:8.1f} ms")
        run.report.add(record(name, 1, elapsed))


def measure_inference(run: Run) -> None:
    """Infer the types of 10,000 calls, then again."""
    layers = 25 if run.quick else 2_500
    x, w = relay.var("x", shape=(8, 16)), relay.var("w", shape=(16, 16))
    body: relay.Expr = x
    for i in range(layers):
        body = relay.nn.relu(relay.nn.dense(body, w))
        body = relay.add(body, x) if i % 2 else relay.multiply(body, x)
        body = relay.tanh(body)
    module = relay.IRModule.from_expr(relay.Function([x, w], body))
    first, typed = seconds(lambda: relay.transform.InferType()(module.copy()))
    again, _ = seconds(lambda: relay.transform.InferType()(typed), 5)
    print(f"{'InferType of 10,000 calls':<34} {first * 1e3:8.1f} ms")
    print(f"{'InferType again':<34} {again * 1e3:8.3f} ms   {first / again:,.0f} times faster")
    run.report.add(record("infer 10,000 calls", 1, first))
    run.report.add(record("infer 10,000 calls again", 1, again))


def measure_incremental(run: Run) -> None:
    """Change one of 100 functions and infer again."""

    def function(i: int) -> relay.Function:
        x = relay.var("x", "float32")
        return relay.Function([x], relay.GlobalVar(f"f{i - 1}")(relay.tanh(x)) if i else x)

    module = relay.IRModule({f"f{i}": function(i) for i in range(100)})
    module, inferred = infer_changed(module)
    rows = [("100 functions for the first time", len(inferred))]
    rows.append(("nothing changed", len(infer_changed(module)[1])))
    module["f50"] = function(50)
    module, inferred = infer_changed(module)
    rows.append(("a body changed, not its type", len(inferred)))
    x = relay.var("x", "float32")
    module["f90"] = relay.Function([x], relay.Tuple([x]))
    module, inferred = infer_changed(module)
    rows.append(("a type changed, with 9 callers above", len(inferred)))
    for name, count in rows:
        print(f"{name:<40} {count:4d} functions inferred")
        run.report.add(record(name, 1, 0.0, functions_inferred=count))


def measure_depth(run: Run) -> None:
    """Every stage at 1k, 10k and 100k nodes."""
    stages = ["build", "infer", "print", "parse", "equal", "hash", "count", "replace", "evaluate"]
    print(f"{'':<8}{'nodes':>8}  " + "".join(f"{s:>10}" for s in stages) + "   (µs per node)")
    for kind, make in CHAINS.items():
        for size in sizes(run):
            times: dict[str, float] = {}
            times["build"], function = seconds(lambda make=make, size=size: make(size))
            module = relay.IRModule.from_expr(function)
            times["infer"], module = seconds(lambda m=module: relay.transform.InferType()(m))
            times["print"], text = seconds(module.astext)
            times["parse"], parsed = seconds(lambda text=text: relay.parse(text))
            times["equal"], equal = seconds(
                lambda a=module, b=parsed: relay.ir.structural_equal(a, b)
            )
            times["hash"], _ = seconds(lambda m=module: relay.ir.structural_hash(m))
            counter = CountOperators()
            times["count"], _ = seconds(lambda c=counter, m=module: c.visit(m["main"]))
            times["replace"], replaced = seconds(
                lambda m=module: ReluToLeakyRelu().visit(m["main"])
            )
            executor = relay.create_executor("debug", mod=module)
            call = executor.evaluate()
            times["evaluate"], value = seconds(lambda call=call: call(np.ones(4, "float32")))
            assert equal and sum(counter.counts.values()) == size
            assert isinstance(replaced, relay.Function) and value.numpy().tolist() == [1.0] * 4
            cells = "".join(f"{times[s] / size * 1e6:>10.1f}" for s in stages)
            print(f"{kind:<8}{size:>8}  {cells}")
            for s in stages:
                run.report.add(record(f"{kind} {size} {s}", 1, times[s]))


PARTS = {
    "import": measure_import,
    "inference": measure_inference,
    "incremental": measure_incremental,
    "depth": measure_depth,
}


if __name__ == "__main__":
    run_parts(__doc__, PARTS)
