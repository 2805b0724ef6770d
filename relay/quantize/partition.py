"""Move the conversions of inputs and results into separate functions, for machines without floats:

def @main(%x) { dequantize(qnn.dense(quantize(%x), …)) }
->
def @quantize_inputs(%x) { quantize(%x) }
def @quantized_main(%x) { qnn.dense(%x, …) }
def @dequantize_outputs(%y) { dequantize(%y) }
def @main(%x) { @dequantize_outputs(@quantized_main(@quantize_inputs(%x))) }

An input that is read otherwise than through one quantization is passed on as it is. What computes
with floats after the last integers, such as a softmax, belongs to the results.
"""

from __future__ import annotations

from typing import Final

from relay import dtypes, tree
from relay.check.infer import infer_module
from relay.errors import DiagnosticError
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.op.opdef import OpDef

PREFIX: Final = "quantize_inputs"
MIDDLE: Final = "quantized_main"
SUFFIX: Final = "dequantize_outputs"
PURE: Final = (Call, Tuple, TupleGetItem, Constant)


def partitioned(module: IRModule, *, fully_integral: bool = False) -> IRModule:
    """The realized module in three functions; with `fully_integral` the one in the middle has to
    be without floats."""
    module = infer_module(module)
    main = module["main"]
    inputs = {param: _quantized(param, main) for param in main.params}
    names: dict[Expr, Var] = {
        given: Var(param.name_hint, given.ty) if isinstance(given, Call) else param
        for param, given in inputs.items()
    }
    cuts = _last_integers(main.body)
    results = {cut: Var(f"result_{place}", cut.ty) for place, cut in enumerate(cuts)}
    middle = tree.transform(_packed(cuts), lambda before, after: names.get(before, after))
    inner = Function(tuple(names.values()), middle)
    outer = tree.transform(main.body, lambda before, after: results.get(before, after))
    made = module.copy()
    made[PREFIX] = Function(main.params, _packed([*inputs.values()]))
    made[MIDDLE] = inner
    made[SUFFIX] = Function(tuple(results.values()), outer)
    first = Call(GlobalVar(PREFIX), main.params)
    second = Call(GlobalVar(MIDDLE), _unpacked(first, len(inputs)))
    body = Call(GlobalVar(SUFFIX), _unpacked(second, len(cuts)))
    made["main"] = tree.replace(main, body=body, ret_type=None)
    made = infer_module(made)
    if fully_integral:
        _refuse_floats(made[MIDDLE])
    return made


def _quantized(param: Var, main: Function) -> Expr:
    """The quantized input, if nothing else reads the input; otherwise the input."""
    found: Expr = param
    for name in ("qnn.quantize", "clip"):
        readers = [
            node
            for node in tree.postorder(main.body)
            if isinstance(node, Expr) and any(child is found for child in tree.children(node))
        ]
        if len(readers) != 1 or found is main.body:
            return found
        (reader,) = readers
        if not isinstance(reader, Call) or getattr(reader.op, "name", "") != name:
            return found
        if not all(isinstance(arg, Constant) for arg in reader.args[1:]):
            return found
        found = reader
    return found


def _last_integers(body: Expr) -> list[Expr]:
    """The integers that are dequantized for the results, or else the results themselves."""
    found: list[Expr] = []
    pending, seen = [body], set[Expr]()
    while pending:
        e = pending.pop()
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, Call) and getattr(e.op, "name", "") == "qnn.dequantize":
            if e.args[0] not in found:
                found.append(e.args[0])
        elif not isinstance(e, PURE):
            return [*body.fields] if isinstance(body, Tuple) else [body]
        else:
            pending += [child for child in tree.children(e) if _is_value(child)]
    return found


def _is_value(child: object) -> bool:
    return isinstance(child, Expr) and not isinstance(child, OpDef)


def _packed(parts: list[Expr]) -> Expr:
    return parts[0] if len(parts) == 1 else Tuple(tuple(parts))


def _unpacked(value: Expr, count: int) -> tuple[Expr, ...]:
    if count == 1:
        return (value,)
    return tuple(TupleGetItem(value, place) for place in range(count))


def _refuse_floats(inner: Function) -> None:
    floats = sorted(
        {
            e.op.name
            for e in tree.postorder(inner.body)
            if isinstance(e, Call)
            and isinstance(e.op, OpDef)
            and isinstance(e.ty, TensorType)
            and dtypes.is_float(e.ty.dtype)
        }
    )
    if floats:
        raise DiagnosticError.of(
            "the quantized function computes with floats",
            expected="integers between the first quantization and the last dequantization",
            found=", ".join(floats),
            hint='partition_conversions="enabled" allows them',
        )
