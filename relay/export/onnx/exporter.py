"""A module as a model of ONNX.

model = relay.to_onnx(mod, params)
onnx.save(model, "model.onnx")
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import onnx
from onnx import helper

from relay import tree
from relay.check.infer import infer_module
from relay.errors import ExportError
from relay.export.onnx.exporters import built_in
from relay.export.onnx.graph import Graph, Names, Unwritable, Value
from relay.export.onnx.program import Program, described, leaves_of, renamed
from relay.export.onnx.weights import NUMBERS, Weights, weights_in
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.transform.functional.to_a_normal_form import ToANormalForm

OLDEST = 21  # the operator set version that exporters write
IR_VERSION = 10  # of files with that version
LARGEST = 2**31 - 2**20  # bytes of weights; the limit of protobuf
SHOWN = 5  # source locations per reason


def to_onnx(
    mod: IRModule | Expr,
    params: Mapping[str, Any] | None = None,
    *,
    opset: int = OLDEST,
    name: str = "main",
    weights: str | os.PathLike[str] | None = None,
) -> onnx.ModelProto:
    """The model that computes what `main` does.

    `params` are weights, by the names of parameters of `main`; the other parameters are inputs.
    `opset` is the operator set version, `name` the name of the graph. `weights` is a file for large
    constants, which a model beyond 2 GB needs: the model must then be saved in the same folder.

    The program must be first-order: tensors, tuples, `if`, and functions that are not recursive.
    One error names everything that cannot be exported.
    """
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST <= opset <= newest:
        message = "this version of the operators cannot be written"
        raise ExportError.of(message, expected=f"{OLDEST} to {newest}", found=str(opset))
    module = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    module = infer_module(ToANormalForm()(infer_module(module)))
    main = module["main"]
    assert isinstance(main, Function)
    with weights_in(weights) as sink:
        graph = _written(module, main, params or {}, opset, name, sink)
        if sink.size > LARGEST:
            raise ExportError.of(
                "the weights are too many for one file of ONNX",
                expected=f"at most {LARGEST} bytes",
                found=f"{sink.size} bytes",
                hint='put them into another file: relay.to_onnx(mod, params, weights="…")',
            )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=IR_VERSION if opset == OLDEST else onnx.IR_VERSION,
        producer_name="relay",
    )


def _written(
    module: IRModule,
    main: Function,
    params: Mapping[str, Any],
    opset: int,
    name: str,
    sink: Weights,
) -> onnx.GraphProto:
    graph = Graph(Names(), sink, opset)
    program = Program(module, built_in())
    unknown = set(params) - {param.name_hint for param in main.params}
    if unknown:
        known = ", ".join(f"`{param.name_hint}`" for param in main.params)
        raise ExportError.of(f"the function has no parameter `{min(unknown)}`", expected=known)
    values: dict[Any, Value] = {}
    inputs = []
    for param in main.params:
        ty = param.checked_type
        if not isinstance(ty, TensorType) or ty.dtype not in NUMBERS:
            message = f"parameter `{param.name_hint}` has no form in ONNX"
            raise ExportError.of(message, expected="a tensor of numbers", found=str(ty))
        if param.name_hint in params:
            array = NDArray(params[param.name_hint]).array
            given = Value(graph.constant(array, param.name_hint), ty, array)
        else:
            given = Value(graph.names.fresh(param.name_hint), ty)
            graph.elements[given.name] = ty.dtype
            inputs.append(described(given.name, ty))
        values[param] = given
    try:
        found = tree.run(program.block(main.body, graph, values))
        results = leaves_of(found, main.body.checked_type)
    except Unwritable as error:
        program.missing.setdefault(str(error), [])
        results = []
    _refuse(program.missing)
    outputs = []
    names = main.result_names
    for place, (value, ty) in enumerate(results):
        wish = "output" if len(results) == 1 else f"output_{place}"
        if place < len(names):
            wish = names[place]
        outputs.append(described(renamed(graph, value, wish), ty))
    return graph.written(name, inputs, outputs)


def _refuse(missing: Mapping[str, list[str]]) -> None:
    """An error that names everything that cannot be exported, with how often and where."""
    if not missing:
        return
    lines = []
    for what, positions in sorted(missing.items()):
        known = list(dict.fromkeys(filter(None, positions)))
        count = f", {len(positions)} time{'s' if len(positions) > 1 else ''}" if positions else ""
        more = ", …" if len(known) > SHOWN else ""
        some = f": {', '.join(known[:SHOWN])}{more}" if known else ""
        lines.append(f"{what}{count}{some}")
    raise ExportError.of(
        "the program has what cannot be written in ONNX:\n    " + "\n    ".join(lines)
    )
