"""Attributes of functions that passes and executors act on."""

from __future__ import annotations

from relay.ir.expr import Function, Syntax

PRIMITIVE = "Primitive"  # one kernel
WEIGHTS = "Weights"  # the names of parameters that stay the same from call to call
CONVENTION = "Convention"  # of `main`: how the model is called (`relay.executors.convention`)
GRADIENT = "Gradient"  # the name of the function that computes its gradients
STATE = "State"  # of `main`: the names of parameters that an executable keeps between calls


def is_foreign(function: Function) -> bool:
    """Whether passes leave the function alone: on demand, or because another compiler owns it."""
    attrs = function.attrs
    return bool(
        attrs.get("SkipOptimization")
        or attrs.get("Extern")
        or attrs.get("Compiler", "default") != "default"
    )


def is_sealed(e: Syntax) -> bool:
    """Whether `e` is a function that is one kernel, or foreign."""
    return isinstance(e, Function) and (bool(e.attrs.get(PRIMITIVE)) or is_foreign(e))


def is_opaque(e: Syntax | None) -> bool:
    """Whether `e` is a function that something else recognizes as a whole."""
    return isinstance(e, Function) and any(
        e.attrs.get(name) for name in (PRIMITIVE, "Composite", "Compiler")
    )
