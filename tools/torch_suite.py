"""torch's own operator database through the PyTorch importer: how many of its entries pass.

    python tools/torch_suite.py                        everything, with a table
    python tools/torch_suite.py --only softmax,add     some entries; failures with their reasons
    python tools/torch_suite.py --quick --jobs 2       few samples of everything
    python tools/torch_suite.py --missing              the operators that no converter takes
    python tools/torch_suite.py --json a.json --resume without the entries that the file has

Every sample is exported, imported, and run in the interpreter and as native code; eager torch says
what is right. An entry passes if all its samples do. Those that `torch_exclusions.txt` names do
not run, each for the reason given there. A sample that torch itself cannot export does not count.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

EXCLUSIONS = Path(__file__).with_name("torch_exclusions.txt")
TOGETHER = 40  # samples of one program
LATER = 100  # entries after which a process is replaced, for the memory of what it compiled


@dataclass(frozen=True)
class Effort:
    """How many samples of an entry run: None is all of them."""

    main: int | None = None  # of float32, int64 and bool in the interpreter
    native: int = 20  # of them as native code
    other: int = 2  # of each other element type
    seconds: int = 900  # for an entry


QUICK = Effort(main=4, native=2, other=1, seconds=240)
REASONS = 3  # that are given for the failure of an entry
MAIN = ("float32", "int64", "bool")
OTHERS = ("float64", "float16", "bfloat16", "int32", "int8", "uint8", "int16", "complex64")


@dataclass
class Outcome:
    """What became of an entry."""

    name: str
    wrong: list[str] = field(default_factory=list)
    passed: int = 0
    not_exported: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def said(self) -> str:
        """The outcome in a line."""
        return "; ".join(self.wrong) or f"{self.passed} samples, {self.seconds:.1f} s"


@dataclass(frozen=True)
class Numbered:
    """A sample, and which one it is."""

    dtype: str
    place: int
    sample: Any

    @property
    def where(self) -> str:
        return f"{self.dtype} sample {self.place}"


@cache
def exclusions() -> dict[str, str]:
    """(regular expression, reason) of each exclusion."""
    lines = EXCLUSIONS.read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition("  ")
            found[pattern] = reason.strip()
    return found


def excluded(name: str, dtype: str = "") -> str | None:
    """The reason why an entry, or an entry for an element type, is excluded, or None."""
    full = f"{name} {dtype}" if dtype else name
    return next((why for pattern, why in exclusions().items() if re.search(pattern, full)), None)


def names(only: str = "") -> list[str]:
    """The names of all entries, or of those that are listed; `a*` means all that begin with `a`."""
    from tools.torch_samples import entries

    known = sorted(entries())
    if not only:
        return known
    found = []
    for one in only.split(","):
        pattern = re.compile(re.escape(one).replace(r"\*", ".*") + r"(\.[^.]*)?")
        chosen = [name for name in known if pattern.fullmatch(name)]
        if not chosen:
            raise SystemExit(f"there is no entry {one}")
        found += chosen
    return [*dict.fromkeys(found)]


def run(name: str, effort: Effort = QUICK) -> Outcome:
    """Run the samples of an entry."""
    import torch

    from tools.torch_samples import entries, samples_of

    outcome, begin = Outcome(name), time.monotonic()
    native: list[Numbered] = []
    others: list[Numbered] = []
    for dtype in (*MAIN, *OTHERS):
        if excluded(name, dtype) is not None:
            continue
        most = effort.main if dtype in MAIN else effort.other
        found = samples_of(entries()[name], getattr(torch, dtype), most)
        numbered = [Numbered(dtype, *one) for one in enumerate(found)]
        native += numbered[: effort.native]
        others += numbered[effort.native :]
    for some, natively in ((native, True), (others, False)):
        for first in range(0, len(some), TOGETHER):
            _together(outcome, some[first : first + TOGETHER], natively)
    if not outcome.passed and not outcome.wrong:
        outcome.wrong.append("torch exports no sample")
    outcome.seconds = time.monotonic() - begin
    return outcome


def _together(outcome: Outcome, chosen: Sequence[Numbered], natively: bool) -> None:
    """Run samples as one program, and halves of them to find out which of them fails."""
    from tools.torch_samples import NotExported

    waiting = [[*chosen]]
    while waiting and len(outcome.wrong) < REASONS:
        some = waiting.pop()
        missing: list[str] = []
        try:
            wrong = outcome_of(outcome.name, [one.sample for one in some], natively)
        except NotExported as error:
            wrong = " ".join(str(error).split())[:200]
            if len(some) == 1:
                outcome.not_exported.append(f"{some[0].where}: {wrong}")
                continue
        except Missing as error:
            missing = error.args[0]
            wrong = f"unsupported: {', '.join(missing)}"
        except Exception as error:  # any exception is a failure of this sample
            wrong = f"{type(error).__name__}: {error}".strip()
        if not wrong:
            outcome.passed += len(some)
        elif len(some) > 1:
            middle = len(some) // 2
            waiting += [some[middle:], some[:middle]]
        elif not missing and (why := refused_by_torch([some[0].sample])):
            outcome.not_run.append(f"{some[0].where}: {why}")
        else:
            outcome.missing = sorted({*outcome.missing, *missing})
            outcome.wrong.append(f"{some[0].where}: {' '.join(wrong.split())[:400]}")


def refused_by_torch(samples: Sequence[Any]) -> str:
    """Why torch does not run what it exported itself: an assertion that it traced does not hold, as
    one about a size that depends on data. Empty if it runs."""
    from tools.torch_samples import exported

    case = exported(samples)
    try:
        case.program.module()(*case.inputs)
    except (AssertionError, RuntimeError) as error:
        return " ".join(str(error).split())[:200]
    return ""


class Missing(Exception):
    """A program has operators that no converter takes."""


def outcome_of(name: str, samples: Sequence[Any], native: bool) -> str:
    """What is wrong with samples of an entry; the empty string if nothing is."""
    from relay.driver import compile as compile_model
    from relay.executors import create_executor
    from relay.frontend.pytorch import from_pytorch
    from relay.interpreter.values import TupleValue
    from tools import torch_samples as of

    case = of.exported(samples)
    theirs = case.eager()
    if found := unsupported(case.program):
        raise Missing(found)
    mod, params = from_pytorch(case.program)
    interpreter = create_executor("debug", mod, params=params).evaluate()
    found = interpreter(*map(of.pairs, case.inputs))
    results = list(found) if isinstance(found, TupleValue) else [found]
    # an executable gives constants as well
    parts = [one for one, keep in zip(theirs, case.kept, strict=True) if keep]
    wrong = compared(name, case, results, parts)
    if not wrong and native:
        found = natively(compile_model(mod, params))(*case.inputs)
        results = list(found) if isinstance(found, tuple | list) else [found]
        if wrong := compared(name, case, results, theirs):
            return f"native: {wrong}"
    return wrong


def compared(name: str, case: Any, results: Sequence[Any], theirs: Sequence[Any]) -> str:
    """What is wrong with the results of a program."""
    from tools import torch_samples as of

    mine = [of.as_tensor(one) for one in results]
    if len(mine) != len(theirs):
        return f"{len(mine)} results instead of {len(theirs)}"
    if of.is_unset(case.program):
        wrongs = (of.wrong_type(*pair) for pair in zip(mine, theirs, strict=True))
        return next(filter(None, wrongs), "")
    if of.is_random(case.program):
        runs = [case.eager() for _ in range(of.DRAWS)]
        if len(mine) < len(runs[0]):
            runs = [[one for one, keep in zip(run, case.kept, strict=True) if keep] for run in runs]
        return of.other_distribution(mine, runs)
    return of.difference(mine, theirs, name)


def natively(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled program that must not call the interpreter."""

    def called(*inputs: Any) -> Any:
        import relay.interpreter.evaluate as interpreter

        evaluate, interpreter.evaluate = interpreter.evaluate, _refuse
        try:
            return compiled(*inputs)
        finally:
            interpreter.evaluate = evaluate

    return called


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the interpreter was called")


def unsupported(program: Any) -> list[str]:
    """The operators of an exported program that no converter takes."""
    from relay.frontend.pytorch.converters import built_in
    from relay.frontend.pytorch.exported import decomposed
    from relay.frontend.pytorch.survey import is_supported

    tables = built_in()

    def found(one: Any) -> set[str]:
        calls = [node for node in one.graph.nodes if node.op == "call_function"]
        return {str(call.target) for call in calls if not is_supported(call, tables)}

    return sorted(found(program) and found(decomposed(program, tables)))


def missing_of(name: str, effort: Effort = QUICK) -> Outcome:
    """The operators of an entry that no converter takes; nothing runs."""
    import torch

    from tools.torch_samples import entries, exported, samples_of

    outcome = Outcome(name)
    for dtype in MAIN:
        for sample in samples_of(entries()[name], getattr(torch, dtype), effort.main):
            try:
                program = exported([sample]).program
            except Exception:  # torch refuses to export it
                outcome.not_exported.append(dtype)
                continue
            outcome.missing = sorted({*outcome.missing, *unsupported(program)})
            outcome.passed += 1
        if outcome.passed:
            break
    return outcome


# --- processes


@dataclass
class Worker:
    """A process that runs one entry at a time."""

    process: BaseProcess
    pipe: Connection
    name: str
    deadline: float
    entries: int = 0

    def end(self) -> None:
        self.pipe.close()  # at which it ends, if it is not busy
        self.process.join(1)
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection, of: Callable[..., Outcome], effort: Effort) -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    pipe.send("ready")
    while True:
        try:
            name = pipe.recv()
        except EOFError:
            return
        pipe.send(of(name, effort))


def outcomes(
    chosen: Sequence[str],
    effort: Effort,
    jobs: int = 1,
    of: Callable[..., Outcome] = run,
) -> Iterator[Outcome]:
    """The outcomes of entries, each in a process that may crash or hang."""
    waiting = [*reversed(chosen)]
    free: list[Worker] = []
    busy: list[Worker] = []
    while waiting or busy:
        while waiting and len(busy) < jobs:
            worker = free.pop() if free else _started(of, effort)
            worker.name = waiting.pop()
            worker.deadline = time.monotonic() + effort.seconds
            worker.entries += 1
            worker.pipe.send(worker.name)
            busy.append(worker)
        left = min(worker.deadline for worker in busy) - time.monotonic()
        ready = wait([worker.pipe for worker in busy], max(0.0, left))
        for worker in [*busy]:
            late = time.monotonic() > worker.deadline
            if worker.pipe not in ready and not late:
                continue
            busy.remove(worker)
            try:
                if worker.pipe not in ready:
                    raise TimeoutError(f"more than {effort.seconds} s")
                yield worker.pipe.recv()
            except (EOFError, OSError) as error:
                worker.process.join(10)
                code = worker.process.exitcode
                crashed = f"the process ended with {code}"
                text = str(error) if isinstance(error, TimeoutError) else crashed
                yield Outcome(worker.name, [text])
                worker.end()
                continue
            if worker.entries < LATER:
                free.append(worker)
            else:
                worker.end()
    for worker in free:
        worker.end()


def _started(of: Callable[..., Outcome], effort: Effort) -> Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, of, effort), daemon=True)
    process.start()
    theirs.close()
    ours.recv()  # importing torch does not count
    return Worker(process, ours, "", 0.0)


# --- the command


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="names of entries: a,b,nn.functional.*")
    parser.add_argument("--quick", action="store_true", help="few samples of each entry")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write each outcome to this file")
    parser.add_argument("--resume", action="store_true", help="run only what that file has not")
    parser.add_argument("--missing", action="store_true", help="list unsupported operators")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    every = names(options.only)
    chosen = [name for name in every if excluded(name) is None]
    effort = QUICK if options.quick or options.missing else Effort()
    of = missing_of if options.missing else run
    found = recorded(options.json) if options.resume else []
    done = {one.name for one in found}
    left = [name for name in chosen if name not in done]
    for one in outcomes(left, effort, options.jobs, of):
        found.append(one)
        print(f"{one.name}: {one.said()}", flush=True)
        if options.json:
            record(options.json, found)
    found = [one for one in found if one.name in set(chosen)]
    report_missing(found)
    if not options.missing:
        report(every, found)
    return 1 if any(one.wrong for one in found) else 0


def recorded(path: Path | None) -> list[Outcome]:
    """The outcomes that a file has."""
    if path is None:
        raise SystemExit("--resume needs --json FILE")
    return [Outcome(**one) for one in json.loads(path.read_text())] if path.exists() else []


def record(path: Path, found: Sequence[Outcome]) -> None:
    """Write outcomes to a file, which is whole at any time."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")
    beside.replace(path)


def report(every: Sequence[str], found: Sequence[Outcome]) -> None:
    """Print how many entries pass."""
    passed = [one for one in found if not one.wrong]
    rate = 100 * len(passed) / max(1, len(found))
    print(f"{len(passed)} of {len(found)} entries pass, {rate:.1f} %")
    print(f"{sum(one.passed for one in found)} samples pass")
    for what in ("not_exported", "not_run"):
        lists = {one.name: getattr(one, what) for one in found if getattr(one, what)}
        count = sum(map(len, lists.values()))
        print(f"{count} samples do not count: torch has {what.replace('_', ' ')} them")
        for name, reasons in lists.items():
            print(f"  {name}: {len(reasons)}, as {reasons[0]}")
    reasons = Counter(why for name in every if (why := excluded(name)) is not None)
    for why, count in reasons.most_common():
        print(f"{count} do not run: {why}")


def report_missing(found: Sequence[Outcome]) -> None:
    """Print the operators that no converter takes, those of most entries first."""
    blocked: dict[str, list[str]] = {}
    for one in found:
        for operator in one.missing:
            blocked.setdefault(operator, []).append(one.name)
    for operator, names in sorted(blocked.items(), key=lambda item: (-len(item[1]), item[0])):
        some = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        print(f"{len(names):4} {operator}: {some}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main())
