"""From a model to an executable: the whole road, one line each.

exe = relay.compile(mod, params)
y = exe(x)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relay import settings, tree
from relay.cache import Cache
from relay.cache.programs import ProgramCache, Stored
from relay.compile_log import CompileLog
from relay.errors import RelayError
from relay.executors.convention import Convention
from relay.executors.cores import default_threads
from relay.executors.executable import Code, Executable
from relay.executors.make import make_executable
from relay.executors.straight_line import StraightLineExecutable
from relay.frontend.model import Example
from relay.frontend.model import Model as Model
from relay.frontend.model import as_module as as_module
from relay.immutable import frozen
from relay.ir.function_attrs import CONVENTION
from relay.ir.module import IRModule
from relay.lower.kernel import Options
from relay.nd import NDArray
from relay.pipeline import ALGORITHMS, EXACT, passes, typed, whole_program
from relay.pipeline.state import initial_state, state_last
from relay.pipeline.weights import arrays, constant_weights, given_weights, named_weights
from relay.program.program import Program
from relay.progress import Progress, reported, silent
from relay.target.target import Target, wanted

if TYPE_CHECKING:
    from relay.program.explain import Explained
    from relay.program.primitives import Primitive


def compile(
    model: Model,
    params: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_infos: Sequence[Any] | None = None,
    quantize: Quantize | None = None,
    target: str | Target | None = None,
    level: int = 3,
    threads: int | None = None,
    exact: bool = False,
    checked: bool = False,
    cache: Cache | None = None,
    stack: int = 0,
    memory: int = 0,
    tiered: bool = False,
    progress: bool | Progress = False,
) -> Executable:
    """Compile `model` for this machine, or for `target`.

    A model is a module, a function or another expression, a function of Python (`relay.function`),
    a model of ONNX (its path, its bytes or an `onnx.ModelProto`), of TFLite or of Keras (the same,
    a `tflite.Model` or a `keras.Model`), or one of PyTorch: an `nn.Module`, an `ExportedProgram`,
    the path of a `.pt2` file, a traced or scripted module.

    `params` are weights, by the names of parameters of `main`; they can be changed later with
    `set_params`. For a model of PyTorch, which has its own, the second argument are example inputs,
    a tuple, with those by name in `kwargs`; `dynamic_shapes` says, as for `torch.export.export`,
    which sizes stay open, and `input_infos` are names and shapes of the inputs of a scripted one.

    With `quantize` the model is quantized first: `relay.quantize.int8(dataset)`, or another
    function of a module and its weights, which are constants in the module it returns.

    `level` is that of `relay.pipeline`, `threads` the most threads a call uses
    (`RELAY_NUM_THREADS`, else one per core). With `exact` no kernel may approximate; with `checked`
    (or `RELAY_CHECKED=1`) an index outside of its axis ends the run, also where operators would
    clamp it or leave it out. What is compiled is kept in `cache`, by default the user's.

    Any program compiles: straight-line code over tensors of known sizes into a planned arena, all
    others as a whole. `stack` and `memory` limit, in bytes, how deep a call of these may recurse,
    and how much the values of any call may take; by default a gigabyte, and all there is.
    Straight-line code computes values again to stay below (`relay.transform.Rematerialize`).

    With `tiered`, a program with open sizes that sees the same shapes again is given code for them,
    made in the background; `Executable.specialize` has it made at once. Results stay the same.

    With `progress` a bar on stderr shows the stages (`relay.progress`).
    """
    weights, example = Example.of(
        model, params, kwargs=kwargs, dynamic_shapes=dynamic_shapes, input_infos=input_infos
    )
    options = {"target": target, "level": level, "exact": exact, "checked": checked}
    with reported(progress) as report:
        made = compile_program(
            model,
            weights,
            example=example,
            cache=cache,
            progress=report,
            quantize=quantize,
            memory=memory,
            threads=threads,
            **options,  # type: ignore[arg-type]
        )
        report("weights", 0, 0)
        parts = (made.program, made.code, made.weights)
        kept = {"state": made.state, "convention": made.convention}
        exe = make_executable(*parts, threads, **kept, stack=stack, memory=memory)  # type: ignore[arg-type]
        if tiered and made.primitives:
            maker = made.code.target.specializer(made.primitives, made.options, Cache.of(cache))
            if maker is not None:
                exe.make_versions(maker)
        return exe


def compile_graph(
    model: Model, params: Mapping[str, Any] | None = None, **options: Any
) -> StraightLineExecutable:
    """`compile` for straight-line code; any other program is refused, with the reason."""
    made = compile_program(model, params, whole=False, **options)
    return StraightLineExecutable(
        made.program, made.code, made.weights, state=made.state, convention=made.convention
    )


# (the module, its weights) -> the module, quantized, with the weights in it
Quantize = Callable[[IRModule, Mapping[str, Any]], IRModule]


def explained(
    model: Model, params: Mapping[str, Any] | None = None, *, target: Any = None, **options: Any
) -> list[Explained]:
    """The kernels of a model, with the tensor expressions and the loops they are made of. `options`
    are those of `compile_program`."""
    from relay.program.explain import explain

    found: list[Primitive] = []
    made = compile_program(
        model,
        params,
        target=target,
        watch=lambda _, primitives: found.extend(primitives),
        **options,
    )
    exact = options.get("exact", False) or options.get("level", EXACT) < ALGORITHMS
    checked = options.get("checked", False) or settings.CHECKED.read()
    how = Options(checked=bool(checked), exact=exact)
    kernels = {k.kernel.name: k for one in found for k in explain(one, made.code.target, how)}
    return [kernels[kernel.name] for kernel in made.program.kernels if kernel.name in kernels]


@frozen
class Compiled:
    """A program, its code, the constants that come from outside, the initial state, and how the
    model is called."""

    program: Program
    code: Code
    weights: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    convention: Convention | None = None
    primitives: tuple[Primitive, ...] = ()  # of a whole program
    options: Options = Options()


# Called with the fused module and its primitive functions.
Watch = Callable[[IRModule, "Sequence[Primitive]"], None]


@tree.without_collection()
def compile_program(
    model: Model,
    params: Mapping[str, Any] | None = None,
    *,
    target: str | Target | None = None,
    level: int = 3,
    exact: bool = False,
    checked: bool = False,
    cache: Cache | None = None,
    whole: bool | None = None,
    example: Example | None = None,
    progress: Progress = silent,
    watch: Watch | None = None,
    quantize: Quantize | None = None,
    memory: int = 0,
    threads: int | None = None,
) -> Compiled:
    """Compile the program of a model; `example` are example inputs of one of PyTorch. `whole`: as
    a whole program, be it straight-line code or not; by default only where it is not. `watch` is
    shown the fused module, and has all passes run. `memory` limits what the values of straight-line
    code take, in calls of so many `threads`."""
    log = CompileLog()
    machine = wanted(target)
    cache = Cache.of(cache) if machine.version else Cache(None)
    checked = checked or bool(settings.CHECKED.read())
    level = min(level, EXACT) if exact else level
    progress("import", 0, 0)
    module, own = as_module(model, example)
    convention = None
    if (text := module["main"].attrs.get(CONVENTION)) is not None:
        convention = Convention.of_text(text)
        module["main"] = module["main"].without_attr(CONVENTION)
    weights = given_weights(module["main"], own, params)
    state = initial_state(module["main"], weights)
    if state:
        weights = {name: data for name, data in weights.items() if name not in state}
        module = state_last(module)
    if quantize is not None:
        module, weights = quantize(module, weights), {}
    module = machine.narrowed(module)
    if checked:
        from relay.transform.debug.check_indices import CheckIndices
        from relay.transform.infer_type import InferType

        module = CheckIndices()(InferType()(module))
    limit: tuple[int, ...] = ()
    if type(memory) is int and memory > 0:  # others are refused by the executable
        limit = (memory, default_threads() if threads is None else threads)
    programs = ProgramCache(cache, machine, (level, exact, checked, *limit))
    key = None if whole else programs.key(named_weights(module.copy(), weights), weights)
    if watch is None and (found := programs.get(key)) is not None:
        log.cached(found.program, machine)
        code = Code(machine, found.objects, support=machine.support(False, cache))
        constants = weights | found.constants
        return Compiled(found.program, code, arrays(constants), arrays(state), convention)

    # for a program in the cache, importing these would be a quarter of the time
    from relay.cache.kernels import KernelCache
    from relay.program.lower import lower_module
    from relay.program.primitives import primitives
    from relay.program.straight import is_straight_line
    from relay.program.within import lowered_within

    progress("passes", 0, 0)
    if whole is None:
        module = typed(level)(module)
        whole = not is_straight_line(module)
    module = (constant_weights if whole else named_weights)(module, weights)
    module = (whole_program if whole else passes)(level, machine)(module)
    options = Options(checked=checked, exact=exact or level < ALGORITHMS)
    kernels = KernelCache(cache, machine, options, progress)
    lowered: list[Primitive] = []

    def lower(module: IRModule) -> tuple[Program, dict[str, NDArray]]:
        wanted_kernels = primitives(module, whole=whole)
        if watch is not None:
            watch(module, wanted_kernels)
        kernels.prepare(wanted_kernels)
        lowered[:] = wanted_kernels if whole else ()
        return lower_module(module, kernels, whole=whole)

    if limit and not whole:
        program, constants = lowered_within(module, lower, limit[0], limit[1])
    else:
        program, constants = lower(module)
    if exact and (loose := [kernel.name for kernel in program.kernels if kernel.approximate]):
        raise RelayError(f"the model asks for approximations: {', '.join(loose)}")
    log.lowered()
    progress("code", 0, 0)
    objects = kernels.compile(program.kernels)
    native = machine.compile_program(program, cache) if whole else None
    support = machine.support(whole, cache) | kernels.external
    code = Code(machine, objects, native, support)
    if not whole:
        programs.put(key, Stored(program, objects, constants))
    log.compiled(program, kernels)
    parts = (arrays(weights | constants), arrays(state), convention)
    return Compiled(program, code, *parts, tuple(lowered), options)
