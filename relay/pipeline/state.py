"""State: parameters of `main` whose values an executable keeps from call to call.

    def @main(%n, %x, State=["n"]) { (add(%x, %n), add(%n, 1)) }
    ->   def @main(%x, %n, State=["n"]) { (add(%x, %n), add(%n, 1)) }

`main` gives a tuple: what the caller gets, then the new value of each parameter that is state, in
the order of the attribute. As a function it is pure; the executable threads the values.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay import nd, tree
from relay.check.infer import infer_module
from relay.errors import DiagnosticError, RelayError, did_you_mean
from relay.ir.entry import with_main_apart
from relay.ir.expr import Function, Var
from relay.ir.function_attrs import STATE
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType


def initial_state(main: Function, given: Mapping[str, nd.NDArray]) -> dict[str, nd.NDArray]:
    """The first values of the state, which are among `given`."""
    names = [param.name_hint for param in main.params]
    for name in main.state_names:
        if names.count(name) != 1:
            raise DiagnosticError.of(
                f"the state `{name}` of `@main` is not one of its parameters",
                main.span,
                hint=did_you_mean(name, names),
            )
        if name not in given:
            raise RelayError(
                f"the state `{name}` of `@main` has no initial value; give it one: "
                f'params={{"{name}": …}}'
            )
    if len(set(main.state_names)) != len(main.state_names):
        raise DiagnosticError.of("a state of `@main` is named twice", main.span)
    return {name: given[name] for name in main.state_names}


def state_last(module: IRModule) -> IRModule:
    """The module, typed, with the state as the last parameters of `main`; it is changed in
    place."""
    module = infer_module(with_main_apart(module))
    main: Function = module["main"]
    by_name = {param.name_hint: param for param in main.params}
    kept = [by_name[name] for name in main.state_names]
    _check(main, kept)
    params = (*(param for param in main.params if param not in kept), *kept)
    if params != main.params:
        module["main"] = tree.replace(main, params=params)
    return module


def without_state(module: IRModule) -> IRModule:
    """The module with `main` as the pure function that it is."""
    main: Function = module["main"]
    if STATE in main.attrs:
        module = module.copy()
        module["main"] = main.without_attr(STATE)
    return module


def _check(main: Function, kept: list[Var]) -> None:
    """Check that the result is a tuple that ends with new values of the state."""
    result = main.body.checked_type
    types = [param.checked_type for param in kept]
    if not isinstance(result, TupleType) or len(result.fields) != 1 + len(kept):
        listed = ", ".join(f"a {ty}" for ty in types)
        raise DiagnosticError.of(
            "a program with state gives a tuple: its result, and the new state",
            main.span,
            expected=f"a tuple of the result, and {listed}",
            found=str(result),
        )
    for param, before, after in zip(kept, types, result.fields[1:], strict=True):
        if not isinstance(before, TensorType) or not isinstance(after, TensorType):
            raise DiagnosticError.of(
                f"the state `{param.name_hint}` is no tensor",
                param.span or main.span,
                expected="a parameter for each tensor of the state",
                found=str(before if not isinstance(before, TensorType) else after),
            )
        pairs = zip(before.shape, after.shape, strict=False)
        same = before.dtype == after.dtype and len(before.shape) == len(after.shape)
        if not same or any(isinstance(old, int) and old != new for old, new in pairs):
            raise DiagnosticError.of(
                f"the new value of the state `{param.name_hint}` has another type",
                param.span or main.span,
                expected=str(before),
                found=str(after),
            )
