"""What passes did to a program, pass by pass: SimplifyInference  ->  3.1 ms, and this diff.

    with relay.transform.Explanation() as story:
        exe = relay.compile(model, params)
    print(story)

    story = relay.transform.explain(mod, relay.pipeline.passes(3))
    story["FuseOps"].fusion            every kernel, and why it ended where it does

An Explanation is an instrument. It keeps the functions before and after every pass, which is free
because they are immutable; texts are made and compared on demand.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from relay import tree
from relay.errors import PassError, did_you_mean
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Op
from relay.ir.module import IRModule
from relay.ir.text_diff import text_diff
from relay.transform.base import Pass
from relay.transform.context import PassContext
from relay.transform.fusion.fuse_ops import FusedGroup, explain_fusion
from relay.transform.instruments import PassInstrument
from relay.transform.pass_info import PassInfo

__all__ = ["Change", "Explanation", "Step", "explain"]

SHOWN_LINES = 60  # of a diff, and of a list of kernels


@frozen
class Change:
    """A function that a pass changed, added (`before` is None) or removed (`after` is None)."""

    name: str
    before: Function | None
    after: Function | None

    @property
    def diff(self) -> str:
        """A unified diff of the texts; empty when they differ in types only."""
        return text_diff(_text(self.before), _text(self.after))

    @property
    def operators(self) -> dict[str, tuple[int, int]]:
        """The operators whose number of calls changed, with the numbers before and after."""
        before, after = _operators(self.before), _operators(self.after)
        changed = [n for n in sorted({*before, *after}) if before[n] != after[n]]
        return {name: (before[name], after[name]) for name in changed}

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {a} -> {b}" for name, (a, b) in self.operators.items())
        if self.before is None or self.after is None:
            what = "is new" if self.before is None else "is gone"
            return f"@{self.name} {what}" + (f": {counts}" if counts else "")
        return f"@{self.name}: {counts or 'the same operators'}"


def _text(function: Function | None) -> str:
    return "" if function is None else str(function)


def _operators(function: Function | None) -> Counter[str]:
    nodes = () if function is None else tree.postorder(function)
    return Counter(e.op.name for e in nodes if isinstance(e, Call) and isinstance(e.op, Op))


@dataclass
class Step:
    """One run of a pass. The changes of passes inside it are in `inner`, not in `changes`."""

    info: PassInfo
    depth: int = 0
    seconds: float = 0.0
    failed: bool = False
    inner: list[Step] = field(default_factory=list)
    changes: tuple[Change, ...] = ()
    fusion: tuple[FusedGroup, ...] = ()  # of FuseOps

    @property
    def name(self) -> str:
        return self.info.name

    def render(self, lines: int = SHOWN_LINES) -> str:
        """The report of this step without its inner steps, with at most that many lines of a
        diff."""
        told = [f"{change}" for change in self.changes]
        if self.failed:
            told = ["failed"]
        elif not self.changes and not self.inner:
            told = ["changed nothing"]
        head = f"{'  ' * self.depth}{self.info.call}  {self.seconds * 1e3:.1f} ms"
        parts = [f"{head}  {told[0]}" if len(told) == 1 else head]
        if self.fusion:
            kernels = "\n".join(f"{group}" for group in self.fusion)
            parts += ["kernels, and why they end there:", _shortened(kernels, lines)]
        for position, change in enumerate(self.changes):
            if len(told) > 1:
                parts.append(told[position])
            parts.append(_shortened(change.diff or "the text is the same", lines))
        margin = "  " * self.depth + "    "
        return "\n".join([parts[0], *(_indented(part, margin) for part in parts[1:])])


def _shortened(text: str, lines: int) -> str:
    found = text.splitlines()
    if len(found) <= lines:
        return text
    return "\n".join([*found[:lines], f"… and {len(found) - lines} more lines"])


def _indented(text: str, margin: str) -> str:
    return "\n".join(margin + line for line in text.splitlines())


class Explanation(PassInstrument):
    """Records what passes change while its context is active.

    It can be one of the instruments of a PassContext, or be entered itself: then the context is a
    copy of the current one with this instrument added.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []  # the outermost ones
        self._running: list[tuple[Step, IRModule, float]] = []
        self._contexts: list[PassContext] = []

    # --- as a context

    def __enter__(self) -> Explanation:
        around = PassContext.current()
        context = PassContext(
            around.opt_level,
            around.required_pass,
            around.disabled_pass,
            [*(around.instruments or ()), self],
            around.config,
        )
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *failure: object) -> None:
        self._contexts.pop().__exit__(*failure)

    # --- as an instrument

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        step = Step(info, len(self._running))
        (self._running[-1][0].inner if self._running else self.steps).append(step)
        self._running.append((step, mod.copy(), time.perf_counter()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        step, before, started = self._running.pop()
        step.seconds = time.perf_counter() - started
        if step.inner:
            return  # the inner steps have the changes
        step.changes = _changes(before, mod)
        if info.name == "FuseOps":
            context = PassContext.current()
            with PassContext(context.opt_level, config=context.config):
                step.fusion = tuple(explain_fusion(before, **info.options))

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        step, _, started = self._running.pop()
        step.seconds = time.perf_counter() - started
        step.failed = True

    # --- reading

    def __iter__(self) -> Iterator[Step]:
        """All steps, each before those inside it."""
        pending = self.steps[::-1]
        while pending:
            step = pending.pop()
            yield step
            pending.extend(reversed(step.inner))

    def __getitem__(self, name: str) -> Step:
        """The last run of a pass."""
        found = [step for step in self if step.name == name]
        if not found:
            hint = did_you_mean(name, {step.name for step in self})
            raise PassError(f"pass `{name}` did not run" + (f"; {hint}" if hint else ""))
        return found[-1]

    def render(self, lines: int = SHOWN_LINES) -> str:
        """All steps in order, with at most that many lines of each diff.

        Type inference without changes is left out.
        """
        return "\n".join(
            step.render(lines)
            for step in self
            if step.name != "InferType" or step.changes or step.failed
        )

    def __str__(self) -> str:
        return self.render()


def _changes(before: IRModule, after: IRModule) -> tuple[Change, ...]:
    old = {name.name_hint: function for name, function in before.functions.items()}
    new = {name.name_hint: function for name, function in after.functions.items()}
    names = [*old, *(name for name in new if name not in old)]
    return tuple(
        Change(name, old.get(name), new.get(name))
        for name in names
        if old.get(name) is not new.get(name)
    )


def explain(mod: IRModule, passes: Pass) -> Explanation:
    """What a pass, or a Sequential, changes in a module."""
    with Explanation() as story:
        passes(mod)
    return story
