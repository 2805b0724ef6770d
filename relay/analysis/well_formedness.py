"""Whether a program is well formed."""

from __future__ import annotations

from relay.check.wellformed import faults
from relay.ir.expr import Syntax
from relay.ir.module import IRModule


def well_formed(expr: Syntax | IRModule) -> bool:
    """Whether every variable is bound once and used in its scope, and every part has its shape.

    `relay.check.wellformed.check_well_formed` says what is wrong.
    """
    return not faults(expr)
