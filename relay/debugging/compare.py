"""Compare a model with an oracle, and find the first part of the compiler that is wrong.

    framework --import--> Relay --passes--> fused Relay --kernels--> native code
       oracle           interpreter        interpreter             executable

Stage by stage, in this order: the imported program in the interpreter against the framework; the
program after every pass against the one before; every kernel against the interpreter. The first
stage that differs is cut down to the smallest part that still does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from relay import driver, pipeline
from relay.debugging import onnx_nodes, programs, regions, reproducers, torch_nodes
from relay.debugging.differences import Tolerance, largest_difference, leaves
from relay.errors import RelayError
from relay.files import replacing
from relay.frontend.model import Example, Model, as_module
from relay.immutable import frozen
from relay.interpreter.values import Value, to_value
from relay.ir import expr as ir
from relay.ir.compare import structural_equal
from relay.ir.function_attrs import CONVENTION
from relay.ir.module import IRModule
from relay.pipeline.weights import given_weights, named_weights
from relay.program.straight import is_straight_line
from relay.target.target import wanted
from relay.transform.base import Pass
from relay.transform.catalogue import is_pass
from relay.transform.context import PassContext
from relay.transform.functional.to_graph_normal_form import ToGraphNormalForm
from relay.transform.infer_type import InferType
from relay.transform.instruments import PassInstrument
from relay.transform.pass_info import PassInfo

Oracle = Literal["interpreter", "onnxruntime", "torch"]


@frozen
class Comparison:
    """What `compare` found. `stage` is where the first difference is: `import`, `pass`, `kernel`
    or `program`; None if the results agree."""

    difference: float  # of the results, relative to the largest number
    stage: str | None = None
    name: str = ""  # of the converter's node, the pass or the kernel
    where: str = ""  # the source of the expression
    part: str = ""  # the smallest program that differs
    reproducer: str = ""  # a script

    @property
    def agrees(self) -> bool:
        """Whether there is nothing to find."""
        return self.stage is None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the script that shows the difference."""
        if not self.reproducer:
            raise RelayError("there is no part of the model that differs alone")
        with replacing(path, "the script") as unfinished:
            unfinished.write_text(self.reproducer, encoding="utf-8")

    def __str__(self) -> str:
        if self.agrees:
            return f"the results agree (largest difference {self.difference:.2g})"
        lines = [f"the results differ by {self.difference:.2g}: {_FOUND[self.stage]} {self.name}"]
        if self.where:
            lines.append(f"  --> {self.where}")
        return "\n".join([*lines, *(f"    {line}" for line in self.part.splitlines())])


_FOUND = {
    "import": "the import of",
    "pass": "the pass",
    "kernel": "the kernel of",
    "program": "the program around correct kernels,",
    None: "",
}


def compare(
    model: Model,
    inputs: Sequence[Any],
    against: Oracle = "interpreter",
    *,
    params: Mapping[str, Any] | None = None,
    tolerance: float = 1e-4,
    level: int = 3,
    target: Any = None,
) -> Comparison:
    """The first part of the compiler that makes a model's result differ from an oracle's.

    `inputs` are the arguments of the model, in order. The oracle is the interpreter, which defines
    what programs mean; `onnxruntime` for a model of ONNX, or `torch` for one of PyTorch, with which
    the imported program is compared too. `tolerance` is relative to the largest number of a tensor.
    """
    if against not in ("interpreter", "onnxruntime", "torch"):
        raise RelayError(f"compare against interpreter, onnxruntime or torch, not {against!r}")
    search = _Search(model, tuple(inputs), params, Tolerance(tolerance), level, target)
    if against != "interpreter" and (found := search.imported(against)) is not None:
        return found
    return search.passes() or search.kernels()


class _Search:
    def __init__(
        self,
        model: Model,
        inputs: tuple[Any, ...],
        params: Mapping[str, Any] | None,
        tolerance: Tolerance,
        level: int,
        target: Any,
    ) -> None:
        self.model = model
        self.given = inputs
        self.tolerance = tolerance
        self.level = level
        self.target = wanted(target)
        module, own = as_module(model, Example(inputs))
        main = module["main"]
        for attribute in (CONVENTION, "State"):
            if attribute in main.attrs:
                main = main.without_attr(attribute)
        module["main"] = main
        self.weights = given_weights(main, own, params)
        self.module = InferType()(module)
        self.inputs = [to_value(np.asarray(given)) for given in inputs]
        missing = len(main.params) - len(self.weights) - len(inputs)
        if missing:
            names = [p.name_hint for p in main.params if p.name_hint not in self.weights]
            raise RelayError(
                f"the model takes {len(names)} inputs ({', '.join(names)}), found {len(inputs)}"
            )
        self.expected = self._interpret(self.module)

    def _interpret(self, module: IRModule) -> Value:
        return programs.result(module, self.weights, self.inputs)

    # --- the import

    def imported(self, against: Oracle) -> Comparison | None:
        """The first node whose translation differs from the framework."""
        nodes: Any = onnx_nodes if against == "onnxruntime" else torch_nodes
        parts = nodes.Parts(self.model, self.given)
        difference = largest_difference(leaves(self.expected), leaves(parts.result()))
        if difference <= self.tolerance.relative:
            return None
        for part in parts:
            if not self.tolerance.agrees(leaves(part.translated()), leaves(part.expected)):
                script = part.script(self.tolerance)
                return Comparison(difference, "import", part.name, part.where, "", script)
        return Comparison(difference, "import", "the model, of which no node differs alone")

    # --- passes

    def passes(self) -> Comparison | None:
        """The first pass after which the interpreter gives another result."""
        steps = self._after_passes()
        low, high = 0, len(steps) - 1  # the result is right at `low`, wrong at `high`
        last = self._interpret(steps[-1][1])
        if self.tolerance.agrees(last, self.expected):
            self.optimized = steps[-1][1]
            return None
        while high - low > 1:
            middle = (low + high) // 2
            same = self.tolerance.agrees(self._interpret(steps[middle][1]), self.expected)
            low, high = (middle, high) if same else (low, middle)
        difference = largest_difference(self._interpret(steps[high][1]), self.expected)
        return self._cut_down(steps[high][0], steps[low][1], steps[high][1], difference)

    def _after_passes(self) -> list[tuple[PassInfo | None, IRModule]]:
        """The module at first and after every pass."""
        steps: list[tuple[PassInfo | None, IRModule]] = [(None, self.module)]

        class Record(PassInstrument):
            """Not of passes that run inside of others."""

            inside = 0

            def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
                self.inside += is_pass(info.name)

            def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
                self.inside -= is_pass(info.name)
                if not self.inside and is_pass(info.name):
                    steps.append((info, mod.copy()))

        with PassContext(instruments=[Record()]):
            module = pipeline.typed(self.level)(self.module)
            straight = is_straight_line(module)
            if straight:
                module = named_weights(module.copy(), self.weights)
            chosen = pipeline.passes if straight else pipeline.whole_program
            module = chosen(self.level, self.target)(module)
        return [*steps, (steps[-1][0], module)]

    def _cut_down(
        self, info: PassInfo | None, before: IRModule, after: IRModule, difference: float
    ) -> Comparison:
        """The smallest program that a pass changes the meaning of."""
        assert info is not None
        run = _pass_of(info, self.target)
        flat = ToGraphNormalForm()(before)
        given = programs.arguments(flat, self.weights, self.inputs)
        nodes = programs.visible(flat["main"].body)
        known = programs.values(
            flat, given, [n for n in nodes if n.ty is not None and _has_data(n)]
        )
        for region in regions.regions(flat, nodes, regions.is_call):
            inputs = [known[node] for node in region.inputs]
            changed = run(region.module)
            if structural_equal(changed, region.module):
                continue
            wanted_value = programs.result(region.module, {}, inputs)
            if not self.tolerance.agrees(programs.result(changed, {}, inputs), wanted_value):
                return Comparison(
                    difference,
                    "pass",
                    info.name,
                    _span(region.root),
                    region.module["main"].astext(show_meta_data=False),
                    reproducers.of_pass(region.module, inputs, info, self.tolerance),
                )
        return Comparison(
            difference,
            "pass",
            info.name,
            "",
            "",
            reproducers.of_pass(before, given, info, self.tolerance),
        )

    # --- kernels

    def kernels(self) -> Comparison:
        """The first kernel that differs from the interpreter."""
        options: Any = {"target": self.target, "level": self.level}
        module = self.module.copy()
        exe = driver.compile(module, self.weights, **options)
        difference = largest_difference(exe.evaluate(*self.inputs), self.expected)
        if difference <= self.tolerance.relative:
            return Comparison(difference)
        given = programs.arguments(self.optimized, self.weights, self.inputs)
        flat = ToGraphNormalForm()(self.optimized)
        nodes = programs.visible(flat["main"].body)
        calls = [node for node in nodes if regions.is_kernel_call(node)]
        needed = {arg: None for call in calls for arg in call.args if _has_data(arg)}  # type: ignore[attr-defined]
        known = programs.values(flat, given, list(needed))
        for call in calls:
            region = regions.region_of(flat, call, 1)
            inputs = [known[node] for node in region.inputs]
            expected = programs.result(region.module, {}, inputs)
            found = driver.compile(region.module, **options).evaluate(*inputs)
            if not self.tolerance.agrees(found, expected):
                return Comparison(
                    difference,
                    "kernel",
                    _operators(call),
                    _span(call),
                    region.module["main"].astext(show_meta_data=False),
                    reproducers.of_kernel(region.module, inputs, options, self.tolerance),
                )
        given = programs.arguments(self.module, self.weights, self.inputs)
        script = reproducers.of_kernel(self.module, given, options, self.tolerance)
        return Comparison(difference, "program", "its instructions or memory", reproducer=script)


def _pass_of(info: PassInfo, target: Any) -> Pass:
    """The pass of a record: its class with its options."""
    from relay import transform

    made: Pass = getattr(transform, info.name)(**info.options)
    return made


def _has_data(node: ir.Expr) -> bool:
    return not isinstance(node, ir.Function | ir.Op | ir.GlobalVar | ir.Constructor)


def _span(node: ir.Expr) -> str:
    return "" if node.span is None else str(node.span)


def _operators(call: ir.Expr) -> str:
    from relay import tree

    assert isinstance(call, ir.Call)
    inside = (
        e.op.name
        for e in tree.postorder(call.op)
        if isinstance(e, ir.Call) and isinstance(e.op, ir.Op)
    )
    return ", ".join(inside)
