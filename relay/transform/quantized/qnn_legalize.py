"""Rewrite quantized operators into supported forms:

qnn.dense(%x, %w, …)  ->  what the function attached to `qnn.dense` returns

The functions are the attribute `FTVMQnnLegalize` of operators, and are called as by `Legalize`. It
comes before `QnnCanonicalize`, after which quantized products cannot be told from others.
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.transform.layout.legalize import Legalize


@frozen
class QnnLegalize(Legalize):
    """Rewrites calls of operators that have the attribute `FTVMQnnLegalize`."""

    legalize_map_attr_name: str = "FTVMQnnLegalize"
