"""Rewrite operators on quantised numbers into a form that somebody supports:

qnn.dense(%x, %w, …)  ->  whatever the function attached to `qnn.dense` makes of it

The functions are attached to the operators as their attribute `FTVMQnnLegalize`, and are called as
`Legalize` says. It comes before `QnnCanonicalize`, after which products of quantised numbers cannot
be told from others.
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.transform.layout.legalize import Legalize


@frozen
class QnnLegalize(Legalize):
    """Rewrites calls of operators that have the attribute `FTVMQnnLegalize`."""

    legalize_map_attr_name: str = "FTVMQnnLegalize"
