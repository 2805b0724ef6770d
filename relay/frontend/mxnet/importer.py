"""A model of MXNet as a module of Relay.

mod, params = from_mxnet("net-symbol.json", {"data": (1, 3, 224, 224)})
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relay.check.infer import infer_module
from relay.errors import FrontendError, did_you_mean
from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted, repeated
from relay.frontend.common.scope import ImportScope
from relay.frontend.common.unsupported import unsupported
from relay.frontend.mxnet import params as files
from relay.frontend.mxnet import symbol as symbols
from relay.frontend.mxnet.converters import built_in, find
from relay.frontend.mxnet.graph import Importer
from relay.frontend.mxnet.node import TYPES
from relay.frontend.mxnet.symbol import GraphInfo
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar, TensorType, TypeVar
from relay.nd import NDArray
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions

Arrays = Mapping[str, Any]
Shape = Sequence["Dim | None"]


def from_mxnet(
    symbol: Any,
    shape: Mapping[str, Shape] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    arg_params: Arrays | str | os.PathLike[str] | bytes | None = None,
    aux_params: Arrays | None = None,
    *,
    operators: Sequence[Converters] = (),
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a model, and its parameters by name.

    `symbol` is the path of a symbol in JSON, its text, or a `Symbol` or Gluon block of MXNet.
    `shape` gives shapes of inputs; an extent that is None is open. `dtype` is the element type of
    inputs, or one for each. `arg_params` and `aux_params` are arrays by name, or a file of them;
    without them, the file beside that of the symbol. `operators` are tables of converters of the
    user's own.
    """
    text, held = _source(symbol)
    graph = symbols.read(text)
    tables = (*operators, *built_in())
    _survey(graph, tables)
    if arg_params is None and isinstance(symbol, str | os.PathLike) and not held:
        arg_params = _beside(symbol)
    arrays = {**held, **_arrays(arg_params), **_arrays(aux_params)}
    module = Prelude().mod
    scope = ImportScope(module)
    inputs, weights, sizes, variables = _variables(graph, arrays, shape or {}, dtype)
    outputs = Importer(tables).graph(graph, scope, variables)
    body: Expr = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
    main = Function((*inputs, *weights), scope.closed(body), type_params=tuple(sizes))
    names = [graph.nodes[number].name for number, _ in graph.heads]
    module["main"] = main.with_attr("output_tensor_names", names)
    params = {one.name_hint: NDArray(arrays[one.name_hint].copy()) for one in weights}
    return infer_module(RemoveUnusedFunctions()(module)), params


def _source(symbol: Any) -> tuple[str | bytes, dict[str, np.ndarray]]:
    """The JSON of a symbol, and the arrays that come with it."""
    if isinstance(symbol, bytes):
        return symbol, {}
    if isinstance(symbol, str) and symbol.lstrip().startswith("{"):
        return symbol, {}
    if isinstance(symbol, str | os.PathLike):
        try:
            with open(symbol, "rb") as file:
                return file.read(symbols.LARGEST + 1), {}
        except OSError as error:
            message = f"the file cannot be read: {error.strerror}"
            raise FrontendError.of(message, found=str(error.filename)) from None
    if (mxnet := sys.modules.get("mxnet")) is not None:
        if isinstance(symbol, mxnet.sym.Symbol):
            return str(symbol.tojson()), {}
        if isinstance(symbol, mxnet.gluon.HybridBlock):
            made = symbol(mxnet.sym.var("data"))
            made = mxnet.sym.Group(list(made)) if isinstance(made, list | tuple) else made
            held = symbol.collect_params().items()
            return str(made.tojson()), {name: one.data().asnumpy() for name, one in held}
    expected = "a symbol: its path or text in JSON, or an object of MXNet"
    raise FrontendError.of("it is no model of MXNet", None, expected, type(symbol).__name__)


def _beside(path: str | os.PathLike[str]) -> Path | None:
    """The newest file of parameters beside a symbol: `net-0003.params` for `net-symbol.json`."""
    place = Path(path)
    start = place.name.removesuffix(".json").removesuffix("-symbol")
    pattern = re.compile(re.escape(start) + r"-(\d{4,})\.params")
    try:
        found = [one for one in place.parent.iterdir() if pattern.fullmatch(one.name)]
    except OSError:
        return None
    return max(found, key=lambda one: one.name, default=None)


def _arrays(given: Any) -> dict[str, np.ndarray]:
    """Arrays by name, without the kinds that files write before names."""
    if given is None:
        return {}
    if isinstance(given, str | os.PathLike):
        try:
            given = Path(given).read_bytes()
        except OSError as error:
            message = f"the file cannot be read: {error.strerror}"
            raise FrontendError.of(message, found=str(error.filename)) from None
    if isinstance(given, bytes):
        given = files.read(given)
    names = [_plain_name(name) for name in given]
    if (twice := repeated(names)) is not None:
        raise FrontendError.of(f"there are two parameters {quoted(twice)}")
    return {_plain_name(name): _array(value) for name, value in given.items()}


def _plain_name(name: str) -> str:
    kind, colon, rest = name.partition(":")
    return rest if colon and kind in ("arg", "aux") else name


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)


def _survey(graph: GraphInfo, tables: Sequence[Converters]) -> None:
    """Refuse a model with unsupported operators: all are named, with how often and where."""
    found: dict[str, list[str]] = {}
    for one in graph.all_nodes():
        if not one.is_variable and find(tables, one.operator) is None:
            found.setdefault(f"operator {quoted(one.operator)}", []).append(one.name)
    if found:
        raise unsupported(found, "operators of your own: from_mxnet(…, operators=[table])")


def _variables(
    graph: GraphInfo,
    arrays: Arrays,
    shapes: Mapping[str, Shape],
    dtype: str | Mapping[str, str],
) -> tuple[list[Var], list[Var], list[TypeVar], dict[int, Expr | None]]:
    """Inputs, weights, dynamic sizes, and the value of each variable by the number of its node; one
    that has neither a shape nor a value may be one that nothing reads."""
    names = [one.name for one in graph.nodes if one.is_variable]
    shapes = {**_declared(graph, arrays), **shapes}
    for name in shapes:
        if name not in names:
            free = [one for one in names if one not in arrays]
            raise FrontendError.of(
                f"the model has no input {quoted(name)}",
                expected=", ".join(map(quoted, free[:20])),
                hint=did_you_mean(name, names),
            )
    inputs: list[Var] = []
    weights: list[Var] = []
    sizes: list[TypeVar] = []
    known: dict[str, Var] = {}
    values: dict[int, Expr | None] = {}
    for number, one in enumerate(graph.nodes):
        if not one.is_variable:
            continue
        if one.name not in known:
            if one.name in shapes:
                given = dtype if isinstance(dtype, str) else dtype.get(one.name, "float32")
                if given not in TYPES.values():
                    expected = ", ".join(TYPES.values())
                    raise FrontendError.of("there is no such element type", None, expected, given)
                ty = TensorType(_extents(shapes[one.name], sizes), given)
                known[one.name] = Var(one.name, ty)
                inputs.append(known[one.name])
            elif one.name in arrays:
                data = NDArray(arrays[one.name])
                known[one.name] = Var(one.name, TensorType(data.shape, data.dtype))
                weights.append(known[one.name])
        values[number] = known.get(one.name)
    return inputs, weights, sizes, values


def _declared(graph: GraphInfo, arrays: Arrays) -> dict[str, Shape]:
    """The shapes that the symbol itself declares for inputs."""
    found: dict[str, Shape] = {}
    for one in graph.nodes:
        text = one.attributes.get("__shape__", "") if one.is_variable else ""
        sizes = [part.strip() for part in text.strip("()[] ").split(",") if part.strip()]
        known = all(part.isdigit() and 0 < int(part) < 2**31 for part in sizes)
        if sizes and known and one.name not in arrays:
            found[one.name] = [int(part) for part in sizes]
    return found


def _extents(shape: Shape, sizes: list[TypeVar]) -> tuple[Dim, ...]:
    """Extents, with shape variables for the dynamic ones."""
    found: list[Dim] = []
    for axis, size in enumerate(shape):
        if size is None or (isinstance(size, int) and size < 0):
            size = ShapeVar(f"n{len(sizes)}" if axis == 0 else f"d{len(sizes)}")
            sizes.append(size)
        found.append(size)
    return tuple(found)
