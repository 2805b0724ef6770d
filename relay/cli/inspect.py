"""`relay inspect`: what is in a model, or in an executable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from relay.cli import models, options
from relay.cli.output import show, working


def inspect(
    model: options.Model,
    shape: options.Shapes = None,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Compile the model, and describe the executable too.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Inputs, results, operators, parameters and operations of a model, or what is unsupported.

    Of an executable, and with --compiled: its kernels, their operations and traffic, its memory.
    """
    shapes = options.shapes_of(shape)
    report: dict[str, Any] = {}
    with working(f"reading {model.name}") as progress:
        if model.suffix != models.EXECUTABLE:
            report = _of_module(*models.read_module(model, shapes))
        if compiled or model.suffix == models.EXECUTABLE:
            exe = models.executable(model, shapes, None, None, progress)
            report |= _of_executable(exe)
    show(_text(report), json, report)


def _of_module(module: Any, weights: Any) -> dict[str, Any]:
    import numpy as np

    from relay import tree
    from relay.analysis.mac_count import get_total_mac_number
    from relay.analysis.operator_frequencies import list_op_freqs
    from relay.ir.expr import Constant
    from relay.transform.infer_type import InferType

    module = InferType()(module)
    main = module["main"]
    constants = {
        node: node.data.numpy()
        for function in module.functions.values()
        for node in tree.postorder(function)
        if isinstance(node, Constant)
    }
    arrays = [*constants.values(), *map(np.asarray, weights.values())]
    counts = list_op_freqs(module)
    return {
        "inputs": {
            param.name_hint: str(param.checked_type)
            for param in main.params
            if param.name_hint not in weights
        },
        "result": str(main.checked_type.ret_type),
        "parameters": sum(array.size for array in arrays),
        "parameter_bytes": sum(array.nbytes for array in arrays),
        "multiply_accumulates": _number(get_total_mac_number(main)),
        "functions": len(module.functions),
        "operators": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    }


def _of_executable(exe: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "inputs": {f"{i}": str(value) for i, value in enumerate(exe.inputs)},
        "result": ", ".join(map(str, exe.outputs)),
        "target": str(exe.code.target),
        "threads": exe.threads,
        "memory": asdict(exe.memory),
        "flops": _sum(kernel.flops for kernel in exe.kernels for _ in range(kernel.calls)),
        "traffic": _sum(kernel.bytes for kernel in exe.kernels for _ in range(kernel.calls)),
        "kernels": {kernel.name: kernel.calls for kernel in exe.kernels},
    }


def _sum(numbers: Iterable[int | None]) -> int | str:
    found = [*numbers]
    known = [number for number in found if number is not None]
    return sum(known) if len(known) == len(found) else "known at run time only"


def _number(count: Any) -> int | str:
    return count if isinstance(count, int) else str(count)


def _text(report: dict[str, Any]) -> str:
    lines = []
    for name, value in report.items():
        title = name.replace("_", " ")
        if isinstance(value, dict):
            width = max((len(str(key)) for key in value), default=0)
            lines.append(f"{title}:")
            lines += [f"  {key:<{width}}  {one}" for key, one in value.items()]
        elif value is not None:
            lines.append(f"{title}: {value:,}" if isinstance(value, int) else f"{title}: {value}")
    return "\n".join(lines)
