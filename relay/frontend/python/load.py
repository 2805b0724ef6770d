"""`@relay.function`: a Python function as a Relay program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, update_wrapper
from types import FrameType, FunctionType
from typing import Any, overload

from relay.errors import DiagnosticError, FrontendError, RelayError, fail
from relay.executors import create_executor
from relay.frontend.python import statics, unsupported, values
from relay.frontend.python.functions import Definition, StaticArgument, is_known
from relay.frontend.python.program import ProgramBuilder
from relay.frontend.python.source import names_in_annotations, read_function
from relay.frontend.python.statics import Names
from relay.frontend.python.types import TypeReader
from relay.interpreter.values import to_value, type_of
from relay.ir.module import IRModule
from relay.ir.types import Type


class RelayFunction:
    """A Python function that is a Relay program.

    f.module            the program: a module whose `main` is the function, typed
    relay.compile(f)    the program compiled
    f(x), f.evaluate(x) the result, by the interpreter; Python data in, Python data out
    f.at(ty, …)         the program for types of the parameters that have no annotation

    Other decorated functions may call it. The names it uses are looked up once, when the program is
    translated at its first use.
    """

    def __init__(self, function: FunctionType, around: Mapping[str, Any] | None = None) -> None:
        source, node = read_function(function)
        unsupported.check(source, node)
        used = names_in_annotations(node)
        named = {name: value for name, value in (around or {}).items() if name in used}
        self._definition = Definition(function, node, source, Names(function, named))
        self._programs: dict[Any, tuple[ProgramBuilder, IRModule]] = {}
        update_wrapper(self, function)

    @property
    def __relay_definition__(self) -> Definition:
        return self._definition

    def __relay_module__(self) -> IRModule:
        return self.module

    @cached_property
    def module(self) -> IRModule:
        """The program. All parameters need annotations."""
        return self._program(())[1]

    def at(self, *annotations: Any) -> IRModule:
        """The program for these types of the parameters without annotations, in order."""
        used: list[type] = []
        reader = TypeReader(self._definition.names.find, used.append)
        return self._program(tuple(reader.read(a, None) for a in annotations), used)[1]

    def _program(
        self, given: tuple[Type | StaticArgument, ...], used: Sequence[type] = ()
    ) -> tuple[ProgramBuilder, IRModule]:
        if given not in self._programs:
            self._check(len(given))
            self._programs[given] = _translated(self._definition, given, used)
        return self._programs[given]

    def _check(self, given: int) -> None:
        """Check that every parameter has an annotation or a given type."""
        definition = self._definition
        untyped = [p for p in definition.parameters() if p.is_untyped]
        if len(untyped) == given:
            return
        names = ", ".join(p.name for p in untyped)
        raise FrontendError.of(
            f"`{definition.name}` is no program without types of all its parameters",
            definition.source.span(untyped[0].node if untyped else definition.node),
            f"types for {names}" if untyped else "no types: all parameters have annotations",
            f"{given} of them",
            f"annotate them, or give them: {definition.name}.at(…)" if untyped else None,
        )

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """The result for these arguments, by the interpreter."""
        parameters = self._definition.parameters()
        try:
            bound = inspect.signature(self._definition.function).bind(*args, **named)
        except TypeError as error:
            raise RelayError(f"`{self._definition.name}`: {error}") from None
        bound.apply_defaults()
        given: list[Any] = []
        for parameter in parameters:
            if parameter.is_untyped:
                given.append(_type_for(bound.arguments[parameter.name], parameter.name))
        program, module = self._program(tuple(given))
        rest = iter(given)
        passed = [
            bound.arguments[p.name]
            for p in parameters
            if not (p.is_untyped and isinstance(next(rest), StaticArgument))
        ]
        main = module["main"]
        run = create_executor("debug", module).evaluate()
        made = [
            values.from_python(data, param.type_annotation)
            for data, param in zip(passed, main.params, strict=True)
        ]
        return values.to_python(run(*made), program.data)

    __call__ = evaluate

    def __repr__(self) -> str:
        return f"<relay.function {self._definition.name}>"


def _translated(
    definition: Definition, given: tuple[Type | StaticArgument, ...], used: Sequence[type]
) -> tuple[ProgramBuilder, IRModule]:
    program = ProgramBuilder()
    for cls in used:
        program.use_data(cls)
    try:
        return program, program.translate(definition, given)
    except DiagnosticError as error:
        refused = error
    # raised here, without the many frames of the translation
    fail(type(refused), refused.diagnostics)
    raise refused


def _type_for(data: Any, name: str) -> Type | StaticArgument:
    """The type of an argument for a parameter without annotation."""
    if is_known(data) and not isinstance(data, int | float):
        return StaticArgument(data)
    found = type_of(to_value(data))
    if found is None:
        raise RelayError(f"the type of the argument for `{name}` does not show; annotate `{name}`")
    return found


@overload
def function(f: Callable[..., Any]) -> RelayFunction: ...
@overload
def function(*, gradient: RelayFunction) -> Callable[[Callable[..., Any]], RelayFunction]: ...
def function(f: Any = None, *, gradient: Any = None) -> Any:
    """Turn a Python function into a Relay program: `@relay.function`.

    `@relay.function(gradient=g)`: gradients are what `g` computes, from the arguments, the result
    and the gradient of the result, for each parameter with floating-point numbers.
    """
    around = inspect.currentframe()
    if gradient is not None and not isinstance(gradient, RelayFunction):
        raise RelayError(
            f"a gradient is computed by a relay.function, found {type(gradient).__name__}"
        )
    if f is None:
        return lambda f: _decorated(f, around, gradient)
    return _decorated(f, around, gradient)


def _decorated(f: Any, around: FrameType | None, gradient: RelayFunction | None) -> RelayFunction:
    if isinstance(f, RelayFunction) and gradient is None:
        return f
    if not isinstance(f, FunctionType):
        raise RelayError(f"relay.function decorates a function, found {type(f).__name__}")
    made = RelayFunction(f, statics.variables_around(f, around))
    if gradient is not None:
        rule = gradient.__relay_definition__
        made._definition = replace(made._definition, gradient=rule)
    return made
