"""Rules: operators on dequantized tensors that have the same result on the integers.

    argmax(qnn.dequantize(%q, 0.1f, 3))  ->  argmax(%q)

and the same for argmin and argsort. With a positive scale dequantization preserves order, and
equality: no two integers of up to 16 bits become the same float32.
"""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Call, Expr
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window

# Scales that keep all integers of 16 bits distinct.
SCALES = (1e-30, 1e30)


def order_of_quantized(call: Call, window: Window) -> Expr | None:
    """argmax(qnn.dequantize(%q, scale, zero_point))  ->  argmax(%q)"""
    real = window.call_of(call.args[0], "qnn.dequantize")
    if real is None or window.dtype(real) not in ("float32", "float64"):
        return None
    data, scale, zero_point = real.args
    value = window.value(scale)
    if value is None or value.ndim or window.shape(zero_point) != ():
        return None
    if not SCALES[0] <= float(value) <= SCALES[1]:
        return None
    if window.dtype(data) not in ("int8", "uint8", "int16", "uint16"):
        return None
    return tree.replace(call, args=(data,)) if window.is_pure(zero_point) else None


RULES: Rules = {
    "argmax": (order_of_quantized,),
    "argmin": (order_of_quantized,),
    "argsort": (order_of_quantized,),
}
