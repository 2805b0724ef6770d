"""Pass instruments: hooks that a PassContext calls around every pass.

    @relay.transform.pass_instrument
    class Count:
        def __init__(self):
            self.passes = 0

        def run_before_pass(self, mod, info):
            self.passes += 1

    with relay.transform.PassContext(instruments=[Count()]): …

All hooks are optional. For one pass they are called in this order: `should_run` of every
instrument, then `run_before_pass` of every instrument, the pass, and `run_after_pass`. After
`run_before_pass` an instrument gets `run_after_pass` or `pass_failed`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import new_class
from typing import Any

from relay.check.infer import infer_module
from relay.check.wellformed import check_well_formed
from relay.errors import Diagnostic, DiagnosticError, DiagnosticLevel, IllFormed, RelayError
from relay.ir.module import IRModule
from relay.transform.pass_info import PassInfo


class PassInstrument:
    """The hooks, doing nothing. Subclass it, or decorate a class with `pass_instrument`."""

    def enter_pass_ctx(self) -> None:
        """The context is entered."""

    def exit_pass_ctx(self) -> None:
        """The context is left, with or without an error."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether the pass is to run; one instrument that says no is enough to skip it."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass is about to get `mod`."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass has returned `mod`."""

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        """The pass, or an instrument around it, raised `error`, which goes on after this."""


def pass_instrument(cls: Any = None) -> Any:
    """Make an instrument of a class that defines some of the hooks."""
    if cls is None:
        return pass_instrument
    if not isinstance(cls, type):
        raise TypeError(f"pass_instrument decorates a class, found {cls!r}")
    if issubclass(cls, PassInstrument):
        return cls
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    return new_class(cls.__name__, (cls, PassInstrument), exec_body=lambda ns: ns.update(namespace))


# --- printing ----------------------------------------------------------------------------------


@dataclass
class PassPrintingInstrument(PassInstrument):
    """Prints the program before and after the passes of the given names."""

    print_before_pass_names: Iterable[str] = ()
    print_after_pass_names: Iterable[str] = ()

    def __post_init__(self) -> None:
        self._before = frozenset(self.print_before_pass_names or ())
        self._after = frozenset(self.print_after_pass_names or ())

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self._before:
            print(f"Print IR before: {info.name}\n{mod}\n")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self._after:
            print(f"Print IR after: {info.name}\n{mod}\n")


class PrintBeforeAll(PassInstrument):
    """Prints the program before every pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before Running Pass: {info}\n{mod}\n")


class PrintAfterAll(PassInstrument):
    """Prints the program after every pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After Running Pass: {info}\n{mod}\n")


# --- timing ------------------------------------------------------------------------------------


@dataclass
class PassTime:
    """How long one pass took, and the passes that ran inside it."""

    name: str
    seconds: float = 0.0
    inner: list[PassTime] = field(default_factory=list)
    failed: bool = False


class PassTimingInstrument(PassInstrument):
    """Measures every pass. Look at it inside the context: leaving the context starts afresh."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.passes: list[PassTime] = []
        self._running: list[tuple[PassTime, float]] = []

    def enter_pass_ctx(self) -> None:
        self._clear()

    def exit_pass_ctx(self) -> None:
        self._clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        entry = PassTime(info.name)
        (self._running[-1][0].inner if self._running else self.passes).append(entry)
        self._running.append((entry, time.perf_counter()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._stop()

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        self._stop().failed = True

    def _stop(self) -> PassTime:
        entry, started = self._running.pop()
        entry.seconds = time.perf_counter() - started
        return entry

    def render(self) -> str:
        """A table: one line per pass, those inside another indented; empty when nothing ran.

        `own` is without the passes inside, so the column adds up to the total.
        """
        if not self.passes:
            return ""
        total = sum(entry.seconds for entry in self.passes)
        rows: list[tuple[str, float, float]] = []
        pending = [(entry, 0) for entry in reversed(self.passes)]
        while pending:
            entry, depth = pending.pop()
            own = entry.seconds - sum(inner.seconds for inner in entry.inner)
            name = "  " * depth + entry.name + (" (failed)" if entry.failed else "")
            rows.append((name, entry.seconds, own))
            pending.extend((inner, depth + 1) for inner in reversed(entry.inner))
        width = max(len("total"), *(len(name) for name, _, _ in rows))
        lines = [f"{'pass':<{width}}  {'ms':>10}  {'own ms':>10}  {'own %':>6}"]
        for name, seconds, own in (*rows, ("total", total, total)):
            share = 100 * own / total if total else 0.0
            lines.append(
                f"{name:<{width}}  {seconds * 1e3:>10.3f}  {own * 1e3:>10.3f}  {share:>6.1f}"
            )
        return "\n".join(lines)


# --- checking ----------------------------------------------------------------------------------

SHOWN_LINES = 200


class WellFormedInstrument(PassInstrument):
    """Checks the program after every pass, and names the pass that broke it.

    The first program of a chain is checked as well, so that no pass is blamed for its input.
    Functions that were found good before are not looked at again.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._before: list[IRModule] = []
        self._good = IRModule()

    def enter_pass_ctx(self) -> None:
        self._clear()

    def exit_pass_ctx(self) -> None:
        self._clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self._before and (faults := self._faults(mod)):
            message = f"the program was broken before pass `{info.name}` ran"
            raise IllFormed([Diagnostic(message), *faults, _shown("the program", mod)])
        self._before.append(mod.copy())

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        before = self._before.pop()
        if faults := self._faults(mod):
            raise IllFormed(
                [
                    Diagnostic(f"pass `{info.name}` broke the program"),
                    *faults,
                    _shown(f"before `{info.name}`", _difference(before, mod)),
                    _shown(f"after `{info.name}`", _difference(mod, before)),
                ]
            )

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        self._before.pop()

    def _faults(self, mod: IRModule) -> tuple[Diagnostic, ...]:
        try:
            check_well_formed(_difference(mod, self._good))
            infer_module(mod)
        except DiagnosticError as error:
            return error.diagnostics
        self._good = mod.copy()
        return ()


def _difference(mod: IRModule, other: IRModule) -> IRModule:
    """`mod` with only those functions that are not the same in `other`."""
    kept = mod.copy()
    for name, function in mod.functions.items():
        if name in other and other[name] is function:
            del kept[name]
    return kept


def _shown(title: str, mod: IRModule) -> Diagnostic:
    """The program, or its beginning, as a note."""
    try:
        lines = mod.astext(show_meta_data=False).splitlines()
    except RelayError as error:  # a broken program need not have a text form
        lines = [f"(cannot be shown: {error})"]
    if len(lines) > SHOWN_LINES:
        lines[SHOWN_LINES:] = [f"… and {len(lines) - SHOWN_LINES} more lines"]
    text = "\n".join(lines)
    return Diagnostic(f"{title}:\n{text}", level=DiagnosticLevel.NOTE)
