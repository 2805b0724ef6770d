"""`relay.grad(f)` and `relay.value_and_grad(f)`: gradients of programs written in Python.

    @relay.function
    def loss(weights: Weights, x: Tensor[4, 3]) -> float: …

    slope = relay.grad(loss, wrt="weights")       # (weights, x) -> a `Weights` of gradients
    step = relay.compile(relay.value_and_grad(loss, wrt="weights"))

Gradients are those of the sum of all elements of the result. The gradient of an argument has its
type: a class of tensors gives an object of that class, in which integers are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import update_wrapper

from relay.check.infer import infer_module
from relay.errors import GradientError, RelayError, did_you_mean
from relay.frontend.python.functions import Definition, StaticArgument
from relay.frontend.python.load import RelayFunction
from relay.frontend.python.program import ProgramBuilder
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.types import Type
from relay.transform.gradients.differentiate import gradient, has_gradients

Wrt = str | int | Sequence[str | int] | None


def grad(f: RelayFunction, wrt: Wrt = None) -> GradientFunction:
    """A function like `f` that returns gradients instead of its result.

    `wrt` names a parameter, by its name or place, and the result is the gradient of that; for
    several, or none for all parameters with floating-point numbers, it is a tuple of gradients.
    """
    return GradientFunction(f, wrt, with_value=False)


def value_and_grad(f: RelayFunction, wrt: Wrt = None) -> GradientFunction:
    """A function like `f` that returns its result, and the gradients as `grad` does."""
    return GradientFunction(f, wrt, with_value=True)


class GradientFunction(RelayFunction):
    """A program that computes gradients; it is used like a `relay.function`."""

    def __init__(self, function: RelayFunction, wrt: Wrt, with_value: bool) -> None:
        if not isinstance(function, RelayFunction):
            raise RelayError(
                f"gradients are those of a relay.function, found {type(function).__name__}; "
                "relay.transform.gradient differentiates expressions"
            )
        self._function = function
        self._wrt = wrt
        self._with_value = with_value
        self._definition = function._definition
        self._programs = {}
        update_wrapper(self, function, updated=())  # not its programs

    @property
    def __relay_definition__(self) -> Definition:
        # a decorated function cannot call it: it has no Python text to translate
        raise AttributeError("a gradient has no definition in Python")

    def _program(
        self, given: tuple[Type | StaticArgument, ...], used: Sequence[type] = ()
    ) -> tuple[ProgramBuilder, IRModule]:
        if given not in self._programs:
            program, module = self._function._program(given, used)
            self._programs[given] = program, self._differentiated(module)
        return self._programs[given]

    def _differentiated(self, module: IRModule) -> IRModule:
        made = module.copy()
        main: ir.Function = module["main"]
        function = gradient(main, made, wrt=self._places(main, module))
        result = ir.Var("result")
        value, gradients = (ir.TupleGetItem(result, place) for place in range(2))
        if isinstance(self._wrt, str | int):
            gradients = ir.TupleGetItem(gradients, 0)
        body = ir.Tuple((value, gradients)) if self._with_value else gradients
        made["main"] = ir.Function(
            function.params,
            ir.Let(result, function.body, body),
            None,
            function.type_params,
            function.attrs,
            span=function.span,
        )
        return infer_module(made)

    def _places(self, main: ir.Function, module: IRModule) -> list[int]:
        if self._wrt is None:
            types = (param.checked_type for param in main.params)
            return [place for place, ty in enumerate(types) if has_gradients(ty, module)]
        wanted = [self._wrt] if isinstance(self._wrt, str | int) else self._wrt
        return [self._place(one, main) for one in wanted]

    def _place(self, wanted: str | int, main: ir.Function) -> int:
        if isinstance(wanted, int):
            return wanted
        names = [param.name_hint for param in main.params]
        if wanted not in names:
            raise GradientError.of(
                f"`{self._definition.name}` has no parameter `{wanted}`",
                main.span,
                ", ".join(names),
                wanted,
                did_you_mean(wanted, names) or None,
            )
        return names.index(wanted)

    def __repr__(self) -> str:
        return f"<gradient of relay.function {self._definition.name}>"
