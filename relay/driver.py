"""From a model to an executable: the whole road, one line each.

exe = relay.compile(mod, params)
y = exe(x)

lib = relay.build(mod, target="llvm", params=params)         the surface people know
module = relay.graph_executor.GraphModule(lib["default"](relay.cpu(0)))
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from relay import nd, settings, tree
from relay.cache import Cache, cached_program_runtime, cached_runtime, key_of
from relay.cache.kernels import KernelCache
from relay.cache.programs import ProgramCache, Stored
from relay.errors import RelayError
from relay.executors.executable import Code, Executable
from relay.executors.make import make_executable
from relay.executors.straight_line import StraightLineExecutable
from relay.graph_executor import GraphLibrary
from relay.immutable import frozen
from relay.ir.attrs import DictAttrs
from relay.ir.entry import with_main_apart
from relay.ir.expr import Constant, Expr, Function, Var, bind
from relay.ir.function_attrs import PRIMITIVE, WEIGHTS
from relay.ir.module import HasModule, IRModule
from relay.ir.parameters import bind_params_by_name
from relay.lower.kernel import Options
from relay.pipeline import EXACT, passes, typed
from relay.program.lower import lower_module, requests
from relay.program.native import NativeProgram
from relay.program.program import MAIN, Program
from relay.program.stages import Lowering
from relay.program.straight import is_straight_line
from relay.target.llvm.compile import Level, compile_module
from relay.target.target import Target, wanted
from relay.transform.context import PassContext
from relay.transform.debug.check_indices import CheckIndices
from relay.transform.infer_type import InferType

if TYPE_CHECKING:
    from onnx import ModelProto

log = logging.getLogger("relay")

# What can be compiled. A path, bytes or a ModelProto is a model of ONNX.
Model: TypeAlias = "IRModule | Expr | HasModule | str | os.PathLike[str] | bytes | ModelProto"

# What marks functions that passes leave alone.
KEEP_OFF = (PRIMITIVE, "Composite", "Compiler", "Extern", "SkipOptimization")

NEAR = 0.75  # how alike two names are, from 0 to 1, when one of them may be a mistake
PROGRAM_LEVEL: Level = 3  # of LLVM: small functions are inlined
# A program of more text is a long model rather than a tight loop: it calls kernel after kernel, and
# to put small functions into it takes twice as long to compile for nothing that shows.
LONG_PROGRAM = 300_000
LONG_PROGRAM_LEVEL: Level = 2


def compile(
    model: Model,
    params: Mapping[str, Any] | None = None,
    *,
    target: str | Target | None = None,
    level: int = 3,
    threads: int | None = None,
    exact: bool = False,
    checked: bool = False,
    cache: Cache | None = None,
    stack: int = 0,
    memory: int = 0,
) -> Executable:
    """Compile `model` for this machine, or for `target`.

    A model is a module, a function or another expression, a function of Python (`relay.function`),
    or a model of ONNX: its path, its bytes or an `onnx.ModelProto`.

    `params` are weights, by the names of parameters of `main`; they can be changed later with
    `set_params`. `level` is that of `relay.pipeline`, `threads` the most threads a call uses
    (`RELAY_NUM_THREADS`, else one per core). With `exact` no kernel may approximate; with `checked`
    (or `RELAY_CHECKED=1`) an index outside of its axis ends the run, also where operators would
    clamp it or leave it out. What is compiled is kept in `cache`, by default the user's.

    Any program compiles: straight-line code over tensors of known sizes into a planned arena, all
    others as a whole. For these `stack` and `memory` limit, in bytes, how deep a call may recurse
    and how much its values may take; by default a gigabyte, and all there is.
    """
    compiled = compile_program(
        model, params, target=target, level=level, exact=exact, checked=checked, cache=cache
    )
    parts = (compiled.program, compiled.code, compiled.weights)
    return make_executable(*parts, threads, stack=stack, memory=memory)


def compile_graph(
    model: Model,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> StraightLineExecutable:
    """`compile` for straight-line code; any other program is refused, with the reason."""
    compiled = compile_program(model, params, whole=False, **options)
    return StraightLineExecutable(compiled.program, compiled.code, compiled.weights)


@frozen
class Compiled:
    """A program, the code of its kernels, and the constants that come from outside."""

    program: Program
    code: Code
    weights: dict[str, np.ndarray]


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
) -> Compiled:
    """The program of a model, with its kernels compiled: what the engines run.

    `whole`: as a program with functions and scalars of its own, be it straight-line code or not; by
    default only where it is not.
    """
    started = time.perf_counter()
    checked = checked or bool(settings.CHECKED.read())
    machine = wanted(target)
    cache = Cache.default() if cache is None else _expect(cache, Cache, "cache")
    given = {} if params is None else _expect(params, Mapping, "params")
    module, own = as_module_with_weights(model)
    given = {**own, **given}
    _check_names(given, module["main"])
    if checked:
        module = CheckIndices()(InferType()(module))
    level = min(level, EXACT) if exact else level
    programs = ProgramCache(cache, machine, (level, exact, checked))
    key = None
    if not whole:
        named, weights = with_weights(module.copy(), given)
        key = programs.key(named, weights)
        if key is not None and (found := programs.get(key)) is not None:
            cached_runtime(cache)
            log.info(
                "a program of %d kernels for %s, compiled before: %.2f s",
                len(found.program.kernels),
                machine,
                time.perf_counter() - started,
            )
            code = Code(machine, found.objects)
            return Compiled(found.program, code, weights | arrays(found.constants))
    if whole is None:
        module = typed(level)(module)
        whole = not is_straight_line(module)
    kernels = KernelCache(cache, machine, Options(checked=checked))
    lower: Callable[[IRModule, Lowering], tuple[Program, dict[str, nd.NDArray]]]
    if whole:
        # who has straight-line code should not wait for these
        from relay.pipeline import whole_program
        from relay.program.whole import lower_program

        module, weights = with_constant_weights(module, given)
        module = whole_program(level, machine)(module)
        lower = lower_program
    else:
        module, weights = with_weights(module, given)
        module = passes(level, machine)(module)
        lower = lower_module
    kernels.prepare(*requests(module, lower))
    program, constants = lower(module, kernels)
    if exact and (loose := [kernel.name for kernel in program.kernels if kernel.approximate]):
        raise RelayError(f"the model asks for approximations: {', '.join(loose)}")
    lowered = time.perf_counter()
    objects = tuple(kernels.compile(program.kernels))
    native = native_program(program, machine, cache) if whole else None
    code = Code(machine, objects, native)
    if key is not None and not whole:
        programs.put(key, Stored(program, objects, constants))
    cached_runtime(cache)
    log.info(
        "%d kernels of %d functions, %d of them made anew, for %s: %.2f s for passes and "
        "kernels, %.2f s for their code",
        len(program.kernels),
        kernels.found + kernels.made,
        kernels.made,
        machine,
        lowered - started,
        time.perf_counter() - lowered,
    )
    return Compiled(program, code, weights | arrays(constants))


def native_program(program: Program, target: Target, cache: Cache) -> NativeProgram:
    """The code of a program's functions."""
    from relay.program.llvm.translate import translate  # not for who has straight-line code
    from relay.program.ownership import own
    from relay.target.llvm.target import LLVMTarget

    assert isinstance(target, LLVMTarget)

    made = translate(own(program), target)
    level = PROGRAM_LEVEL if len(made.ir) < LONG_PROGRAM else LONG_PROGRAM_LEVEL
    key = key_of([made.ir], target, level)
    code = cache.get(key)
    if code is None:
        code = compile_module([made.ir], target, opt=level, imports=made.imports)
        cache.put(key, code)
    cached_program_runtime(cache)
    return NativeProgram(code, made.entries[MAIN], made.sites, made.constants)


def build(
    ir_mod: Model,
    target: str | Target | None = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphLibrary:
    """Compile `ir_mod` at the level of the PassContext, for `relay.graph_executor.GraphModule`."""
    level = PassContext.current().opt_level
    return GraphLibrary(compile_graph(ir_mod, params, target=target, level=level), mod_name)


# --- the stages that are not elsewhere -----------------------------------------------------------


def as_module_with_weights(model: Any) -> tuple[IRModule, Mapping[str, nd.NDArray]]:
    """The program of a model, and the weights that come with it, by the names they have there."""
    if not isinstance(model, str | bytes | os.PathLike) and type(model).__name__ != "ModelProto":
        return as_module(model), {}
    # who has no such model needs no package that reads them
    from relay.frontend import from_onnx

    try:
        return from_onnx(model, freeze_params=None)  # type: ignore[no-any-return]
    except RelayError:  # it may need to know a weight after all
        return from_onnx(model)  # type: ignore[no-any-return]


def as_module(model: Any) -> IRModule:
    """The program of a model."""
    if isinstance(model, IRModule):
        if "main" not in model:
            raise RelayError("the module has no function `@main` to compile")
        return model.copy()
    if isinstance(model, Expr):
        return IRModule.from_expr(model)
    if isinstance(model, HasModule):
        return as_module(model.__relay_module__())
    if isinstance(model, str | bytes | os.PathLike) or type(model).__name__ == "ModelProto":
        # who has no such model needs no package that reads them
        from relay.frontend import from_onnx

        return from_onnx(model)[0]  # type: ignore[no-any-return]
    raise RelayError(
        f"cannot compile a {type(model).__name__}; give a relay.IRModule, a relay.Function or "
        "another expression, or a model of ONNX: its path, its bytes or an onnx.ModelProto"
    )


def with_weights(
    module: IRModule, params: Mapping[str, Any]
) -> tuple[IRModule, dict[str, np.ndarray]]:
    """The module with its weights named, and their values: checked, and the caller's no more."""
    main: Function = module["main"]
    weights: dict[str, np.ndarray] = {}
    typed: dict[Var, Var] = {}
    for param in main.params:
        name = param.name_hint
        if name not in params:
            continue
        if name in weights:
            raise RelayError(f"several parameters of `@main` are called `{name}`, like a weight")
        constant = bind_params_by_name(Function((param,), param), {name: params[name]}).body
        assert isinstance(constant, Constant)
        weights[name] = constant.data.array
        typed[param] = Var(name, constant.tensor_type, span=param.span)
    if weights:
        # a weight has the shape it has, also where the parameter leaves it open
        body = bind(main.body, typed)
        renamed = tuple(typed.get(param, param) for param in main.params)
        main = tree.replace(main, params=renamed, body=body, ret_type=None)
        module["main"] = main.with_attr(WEIGHTS, tuple(weights))
    return module, weights


def with_constant_weights(
    module: IRModule, params: Mapping[str, Any]
) -> tuple[IRModule, dict[str, np.ndarray]]:
    """The module with its weights in place of the parameters of `main`, and their values."""
    module, weights = with_weights(with_main_apart(module), params)
    main: Function = module["main"]
    known = {
        param: Constant(nd.Weight(param.name_hint, weights[param.name_hint]), span=param.span)
        for param in main.params
        if param.name_hint in weights
    }
    if known:
        main = tree.replace(bind(main, known), ret_type=None)
    # what is run is compiled here, like any function, and its weights are named where they stand
    gone = (WEIGHTS, *KEEP_OFF)
    kept = {name: value for name, value in main.attrs.items() if name not in gone}
    module["main"] = tree.replace(main, attrs=DictAttrs(kept))
    return module, weights


def _check_names(params: Mapping[str, Any], main: Function) -> None:
    """A name that is nearly that of a parameter without a value is a mistake, which would make the
    real weight an input. Others are passed over: weights often come for several functions."""
    names = {param.name_hint for param in main.params}
    unknown = [name for name in params if name not in names]
    if not unknown:
        return
    from difflib import get_close_matches

    left = {name.casefold(): name for name in names if name not in params}
    for name in unknown:
        if close := get_close_matches(str(name).casefold(), left, n=1, cutoff=NEAR):
            raise RelayError(
                f"`@main` has no parameter `{name}`, and `{left[close[0]]}` has no value; "
                f"did you mean `{left[close[0]]}`? leave out what is no weight of this model"
            )
    log.warning("`@main` has no parameters for the weights %s", ", ".join(map(str, unknown)))


def _expect(value: Any, kind: type, name: str) -> Any:
    if isinstance(value, kind):
        return value
    expected = {Mapping: "a mapping of names to arrays", Cache: "a relay.cache.Cache"}[kind]
    raise RelayError(f"`{name}` is {expected}, found a {type(value).__name__}")


def arrays(values: Mapping[str, nd.NDArray]) -> dict[str, np.ndarray]:
    return {name: value.array for name, value in values.items()}
