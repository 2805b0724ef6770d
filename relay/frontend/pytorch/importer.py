"""`from_pytorch`: modules, exported programs and scripts of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils._pytree import tree_map

from relay.errors import FrontendError
from relay.frontend.common.converters import Converters
from relay.frontend.pytorch import pt2
from relay.frontend.pytorch.converters import built_in
from relay.frontend.pytorch.exported import from_exported
from relay.frontend.pytorch.script import archive
from relay.frontend.pytorch.script.entry import from_script, is_script
from relay.ir.module import IRModule
from relay.nd import NDArray


def from_pytorch(
    model: Any,
    inputs: Sequence[Any] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_infos: Sequence[Any] | None = None,
    operators: Sequence[Converters] = (),
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a model, and its parameters by the names that the model has.

    `model` is an `nn.Module` with example `inputs` and `kwargs`, of which `dynamic_shapes` says, as
    for `torch.export.export`, which sizes stay open; an `ExportedProgram`; a traced or scripted
    module or function, whose inputs `input_infos`, or `inputs`, describe: [("x", (1, 3)), ("n",
    ((), "int64"))], or examples; or the path of a `.pt2` file or an archive of TorchScript, which
    may come from anybody: nothing in it is run. `operators` are tables of converters of the user's
    own.
    """
    if isinstance(model, str | PathLike) and archive.is_archive(Path(model)):
        model = archive.load(Path(model))
    if isinstance(model, str | PathLike):
        tables = (*operators, *built_in())
        return from_exported(pt2.load(Path(model), tables), operators)
    if isinstance(model, ExportedProgram):
        return from_exported(model, operators)
    if is_script(model):
        return from_script(model, inputs if input_infos is None else input_infos, operators)
    if isinstance(model, torch.nn.Module):
        given, named = distinct((tuple(inputs or ()), dict(kwargs or {})))
        exported = torch.export.export(model, given, named, dynamic_shapes=dynamic_shapes)
        return from_exported(exported, operators, signature(model.forward))
    raise FrontendError.of(
        f"cannot import a {type(model).__name__}",
        expected="an nn.Module with example inputs, an ExportedProgram, a script, or a path",
    )


def distinct(inputs: Any) -> Any:
    """The inputs, each a tensor of its own: torch.export takes equal ones for the same argument."""
    seen: set[int] = set()

    def own(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or id(value) not in seen:
            seen.add(id(value))
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    return tree_map(own, inputs)
