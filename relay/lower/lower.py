"""Lowers primitive functions to kernels.

    fused Relay -> tensor expressions -> schedule -> code of the target

The same function, target and `Options` give the same kernels, to the byte.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from relay import tree
from relay.analysis.reshapes import only_reshapes
from relay.errors import LowerError
from relay.ir.expr import Call, Expr, Function, find_op
from relay.ir.types import TensorType
from relay.lower.kernel import (
    Kernel,
    Lowered,
    Operand,
    Options,
    Param,
    Result,
    Step,
    Temporary,
    TensorSpec,
)
from relay.lower.to_compute import Computed, to_compute
from relay.op.opdef import OpDef
from relay.target.target import Target
from relay.te.compute import Computation, Tensor, compute
from relay.te.expr import Const, Extent
from relay.te.legalize import Facts
from relay.te.schedule import Schedule, facts
from relay.transform.fusion.fusion_anchors import split_anchors


def lower_static(
    function: Function, constant: Sequence[bool], target: Target, options: Options | None = None
) -> Lowered:
    """The kernels of a primitive function. `constant[i]`: flattened parameter i is constant."""
    options = options or Options()
    require_supported(function, target)
    if (split := split_anchors(function)) is not None:
        return _in_steps(split, constant, target, options)
    return lower_computed(to_compute(function), constant, target, options)


def require_supported(function: Function, target: Target) -> None:
    """An error if the target cannot compute a primitive function."""
    if reason := target.refusal(function):
        raise LowerError.of(
            f"the target `{target}` cannot compute a part of the program: {reason}",
            function.span,
            found=function.astext(),
        )


def plans_of(
    function: Function, constant: Sequence[bool], target: Target, options: Options
) -> tuple[str, ...]:
    """The other schedules that a target knows for the kernels of a primitive function."""
    if split_anchors(function) is not None:
        return ()
    computed = to_compute(function)
    constants = [t for t, known in zip(computed.inputs, constant, strict=True) if known]
    results = _distinct_outputs(computed)
    return target.plans(results, computed.inputs, constants, exact=options.exact)


def _in_steps(
    function: Function, constant: Sequence[bool], target: Target, options: Options
) -> Lowered:
    """The steps of a function that calls primitive functions."""
    places: dict[Expr, Operand] = {param: Param(i) for i, param in enumerate(function.params)}
    calls: list[tuple[Call, Function]] = []
    for e in tree.postorder(function.body, enter=lambda e: not isinstance(e, Function)):
        if isinstance(e, Call) and isinstance(e.op, Function):
            source = places[e.args[0]]
            if only_reshapes(e.op) and isinstance(source, Temporary):
                places[e] = source  # the next step reads it in its own shape
            else:
                places[e] = Temporary(len(calls))
                calls.append((e, e.op))
    places[function.body] = Result(0)
    steps: list[Step] = []
    made = [call.checked_type for call, _ in calls[:-1]]
    temporaries = [
        TensorSpec(ty.concrete_shape, ty.dtype) for ty in made if isinstance(ty, TensorType)
    ]
    for call, part in calls:
        inputs = [places[arg] for arg in call.args]
        known = [isinstance(place, Param) and constant[place.index] for place in inputs]
        lowered = lower_computed(to_compute(part), known, target, options)
        moved: dict[Operand, Operand] = {Param(i): place for i, place in enumerate(inputs)}
        moved[Result(0)] = places[call]
        for i, spec in enumerate(lowered.temporaries):
            moved[Temporary(i)] = Temporary(len(temporaries))
            temporaries.append(spec)
        for step in lowered.steps:
            read, written = (
                tuple(moved[place] for place in each) for each in (step.inputs, step.outputs)
            )
            steps.append(Step(step.kernel, read, written, step.constant))
    return Lowered(tuple(steps), tuple(temporaries))


def lower_computed(
    computed: Computed,
    constant: Sequence[bool],
    target: Target,
    options: Options,
    sizes: Sequence[Extent] = (),
) -> Lowered:
    """The kernels of tensor expressions; `sizes` are the variables in their shapes."""
    results = _distinct_outputs(computed)
    constants = [t for t, known in zip(computed.inputs, constant, strict=True) if known]
    planned = {"plan": options.plan} if options.plan else {}
    scheduled = target.schedule(
        results,
        computed.inputs,
        constants,
        threads=options.threads,
        exact=options.exact,
        **planned,
    )
    where: dict[int, Operand] = {id(t): Param(i) for i, t in enumerate(computed.inputs)}
    steps: list[Step] = []
    temporaries: list[TensorSpec] = []
    for schedule in scheduled.prepare:
        kernel = _kernel(schedule, "prepare", computed.operators, target, options, sizes)
        for made in schedule.outputs:
            where[id(made)] = Temporary(len(temporaries))
            temporaries.append(_spec(made))
        inputs = tuple(where[id(tensor)] for tensor in schedule.inputs)
        outputs = tuple(where[id(tensor)] for tensor in schedule.outputs)
        steps.append(Step(kernel, inputs, outputs, constant=True))
    main = _without_unused_inputs(scheduled.main)
    kernel = _kernel(main, "", computed.operators, target, options, sizes)
    if scheduled.algorithm:
        kernel = replace(kernel, algorithm=scheduled.algorithm, approximate=True)
    inputs = tuple(where[id(tensor)] for tensor in main.inputs)
    steps.append(Step(kernel, inputs, tuple(Result(i) for i in range(len(results)))))
    return Lowered(tuple(steps), tuple(temporaries))


def _distinct_outputs(computed: Computed) -> list[Tensor]:
    """The outputs, each a distinct computed tensor: inputs and duplicates are copied."""
    outputs: list[Tensor] = []
    seen = {id(tensor) for tensor in computed.inputs}
    for tensor in computed.outputs:
        if id(tensor) in seen:
            tensor = compute(tensor.shape, lambda *i, source=tensor: source[i], "copy")
        seen.add(id(tensor))
        outputs.append(tensor)
    return outputs


def _without_unused_inputs(s: Schedule) -> Schedule:
    read = {id(tensor) for stage in s.stages for tensor in stage.inputs}
    return replace(s, inputs=tuple(tensor for tensor in s.inputs if id(tensor) in read))


def machine(target: Target) -> Facts | None:
    """The scalar operations that the target has instructions for."""
    return target.facts


def _kernel(
    s: Schedule,
    role: str,
    operators: Sequence[str],
    target: Target,
    options: Options,
    sizes: Sequence[Extent],
) -> Kernel:
    pairs = in_place(s)
    code = target.generate(_NAME, s, checked=options.checked, may_alias=bool(pairs), sizes=sizes)
    inputs, outputs = (tuple(map(_spec, tensors)) for tensors in (s.inputs, s.outputs))
    # a unique name: the operators, and a digest of the code with types and checks, since different
    # kernels may have the same code
    described = f"{target}\n{inputs} {outputs} {code.sizes} {code.checks or ''}\n{code.ir}"
    digest = hashlib.sha256(described.encode()).hexdigest()[:16]
    # a weight is prepared the same way for all its uses
    words = [role] if role else [re.sub(r"\W", "_", one.removeprefix("nn.")) for one in operators]
    name = "_".join(["relay", *words])[:80] + f"_{digest}"
    return Kernel(
        name=name,
        inputs=inputs,
        outputs=outputs,
        ir=code.ir.replace(_NAME, name),
        sizes=code.sizes,
        workspace=code.workspace,
        worker_workspace=code.worker_workspace,
        sized_workspace=code.sized_workspace,
        in_place=pairs,
        checks=code.checks,
        operators=tuple(operators),
        flops=_flops(s),
        approximate=any(map(_is_approximate, operators)),
    )


_NAME = "relay.kernel"


def _is_approximate(operator: str) -> bool:
    """Whether an operator is an approximation of another."""
    op = find_op(operator)
    return isinstance(op, OpDef) and op.approximates != ""


def _spec(tensor: Tensor) -> TensorSpec:
    sizes = [int(n.value) if isinstance(n, Const) else repr(n) for n in tensor.shape]
    return TensorSpec(tuple(sizes), tensor.dtype)


def _flops(s: Schedule) -> int:
    total = 0
    for stage in s.stages:
        if stage.loops and stage.computation:
            total += facts.points(stage) * facts.arithmetic(stage)
    return total


def in_place(s: Schedule) -> tuple[tuple[int, int], ...]:
    """(output, input) pairs where each output element depends on that input element only."""
    if len(s.stages) != 1 or len(s.outputs) != 1:
        return ()
    stage = s.stages[0]
    if not isinstance(stage.op, Computation) or stage.is_reduction:
        return ()
    if not stage.loops and stage.computation.axes:
        return ()
    simplify = facts.simplifier(stage)
    own = tuple(simplify(stage.values[axis]) for axis in stage.computation.axes)
    same: dict[int, bool] = {}
    for read in facts.reads(stage):
        places = tuple(map(simplify, read.indices))
        even = places == own and read.source.shape == stage.tensors[0].shape
        same[id(read.source)] = same.get(id(read.source), True) and even
    return tuple(
        (0, i)
        for i, given in enumerate(s.inputs)
        if same.get(id(given)) and given.dtype == s.outputs[0].dtype
    )
