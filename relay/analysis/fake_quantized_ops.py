"""Fake quantization: float operators between `qnn.dequantize` and `qnn.quantize`."""

from __future__ import annotations

from collections import Counter

from relay import tree
from relay.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.op.opdef import OpDef

TO_INTEGERS = "qnn.quantize"
TO_NUMBERS = "qnn.dequantize"


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """Counts of the operators between `qnn.dequantize` and `qnn.quantize`.

    Counted are the inputs of a `qnn.quantize` that depend on `qnn.dequantize` and constants only,
    and on at least one of the former.
    """
    found: set[Expr] = set()
    for function in mod.functions.values():
        names = {}
        ends = []
        for node in tree.postorder(function):
            if isinstance(node, Let):
                names[node.variable] = node.value
            elif isinstance(node, Call) and _name(node) == TO_INTEGERS:
                ends.append(node.args[0])
        for end in ends:
            found |= _between(end, names)
    return dict(Counter(map(_name, found)))


def _between(end: Expr, names: dict[Var, Expr]) -> set[Expr]:
    """The calls that the argument of a `qnn.quantize` depends on; empty if it depends on more."""
    calls: set[Expr] = set()
    seen: set[Expr] = set()
    pending = [end]
    begins = False
    while pending:
        e = pending.pop()
        while isinstance(e, Var) and e in names:
            e = names[e]
        if e in seen:
            continue
        seen.add(e)
        match e:
            case Constant():
                pass
            case Call() if _name(e) == TO_NUMBERS:
                begins = True
            case Call(op=OpDef(), args=args):
                calls.add(e)
                pending += args
            case Tuple(fields=fields):
                pending += fields
            case TupleGetItem(tuple_value=whole):
                pending.append(whole)
            case _:
                return set()
    return calls if begins else set()


def _name(call: Expr) -> str:
    return call.op.name if isinstance(call, Call) and isinstance(call.op, OpDef) else ""
