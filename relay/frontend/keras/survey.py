"""The report of all layers and operations of a model that are not supported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relay.errors import FrontendError
from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted
from relay.frontend.common.unsupported import unsupported
from relay.frontend.keras.config import MODELS, LayerInfo, broken, layer_of
from relay.frontend.keras.converters import find

EXPORT = 'export it: model.export("folder"), which `relay.compile("folder")` reads'
INSIDE = ("layer", "backward_layer", "cell", "cells")  # where layers have layers


def survey(model: LayerInfo, tables: Sequence[Converters]) -> None:
    """Refuse a model with unsupported layers: all are named, with how often and where."""
    if not model.is_model:
        message = f"{quoted(model.kind)} is no functional or sequential model: it has no graph"
        raise FrontendError.of(message, hint=EXPORT)
    found: dict[str, list[str]] = {}
    for one in _layers(model):
        if one.is_model or one.kind == "InputLayer":
            continue
        if find(tables, one) is None:
            found.setdefault(_kind(one), []).append(one.name)
        elif mode := _quantized(one):
            found.setdefault(f"{_kind(one)} quantized by {quoted(mode)}", []).append(one.name)
    if found:
        hint = f"layers of your own: from_keras(model, layers=[table]); or {EXPORT}"
        raise unsupported(found, hint)


def _quantized(layer: LayerInfo) -> str:
    """How Keras quantizes the weights of a layer: `int8`, or nothing."""
    policy = layer.config.get("dtype")
    if isinstance(policy, dict) and isinstance(policy.get("config"), dict):
        mode = policy["config"].get("mode")
        if mode is None and "name" not in policy["config"]:
            mode = policy.get("class_name")
        return str(mode or "")[:60]
    kept, _, source = str(policy).partition("_from_")
    return kept[:60] if source else ""


def _kind(layer: LayerInfo) -> str:
    if layer.is_operation:
        return f"operation {quoted(layer.module.rpartition('.')[2] + '.' + layer.kind)}"
    if layer.kind == "Lambda":
        return "layer `Lambda`, which is code"
    return f"layer {quoted(layer.kind)}" if layer.is_own else f"custom layer {quoted(layer.kind)}"


def _layers(model: LayerInfo) -> Iterator[LayerInfo]:
    """All layers of a model, also those inside of others."""
    left = [model]
    while left:
        one = left.pop()
        if one is not model:
            yield one
        parts: list[Any] = []
        if one.kind in MODELS and one.is_own:
            layers = one.config.get("layers")
            if not isinstance(layers, list):
                raise broken(f"model {quoted(one.name)} has no list of layers", layers)
            parts += layers
        elif one.is_own and not one.is_operation:
            for name in INSIDE:
                held = one.config.get(name)
                parts += held if isinstance(held, list) else [held] if held else []
        left += [layer_of(part) for part in reversed(parts)]
