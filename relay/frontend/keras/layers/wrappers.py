"""Wrappers: Bidirectional, TimeDistributed, SpectralNormalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.keras.config import LayerInfo, layer_of
from relay.frontend.keras.converters import Table
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot
from relay.ir.expr import Expr

table = Table()


def held(layer: LayerInfo) -> list[tuple[str, LayerInfo]]:
    """The layers inside of a layer, by the attributes that files call them."""
    if layer.is_operation or not layer.is_own:
        return []
    match layer.kind:
        case "TimeDistributed" | "SpectralNormalization":
            return [("layer", layer_of(layer.config.get("layer")))]
        case "RNN":
            return [("cell", layer_of(layer.config.get("cell")))]
        case "Bidirectional":
            return [*zip(("forward_layer", "backward_layer"), directions(layer), strict=True)]
    return []


def directions(layer: LayerInfo) -> tuple[LayerInfo, LayerInfo]:
    """The layers of both directions; the second one is the first reversed where none is given."""
    first = layer_of(layer.config.get("layer"))
    given = layer.config.get("backward_layer")
    if given is not None:
        return first, layer_of(given)
    config = {**first.config, "go_backwards": not first.config.get("go_backwards", False)}
    config["name"] = f"backward_{first.name}"
    parts = (first.kind, first.module, first.registered, config)
    return first, LayerInfo(config["name"], *parts)


@table("Bidirectional")
def bidirectional(
    node: Node, inputs: Any, initial_state: Any = None, mask: Expr | None = None, **_: Any
) -> Any:
    first, second = directions(node.info)
    ahead = node.sub(first, node.store.part("forward_layer"), "forward_layer")
    back = node.sub(second, node.store.part("backward_layer"), "backward_layer")
    states: list[Any] = [None, None]
    if isinstance(inputs, list):
        inputs, *given = inputs
        initial_state = given or initial_state
    if initial_state is not None:
        half = len(initial_state) // 2
        states = [initial_state[:half], initial_state[half:]]
    hidden = mask if mask is not None else node.mask(inputs)
    made = [
        one.apply(inputs, initial_state=state, mask=hidden)
        for one, state in zip((ahead, back), states, strict=True)
    ]
    lasts: list[Expr] = []
    if isinstance(made[0], list):
        lasts = [*made[0][1:], *made[1][1:]]
        made = [one[0] for one in made]
    y, reverse = made
    sequences = bool(first.config.get("return_sequences", False))
    if sequences:
        reverse = node.let(op.reverse(reverse, axis=1))
    mode: Any = node.config.get("merge_mode", "concat")
    match mode:
        case "concat":
            found = [op.concatenate([y, reverse], axis=-1)]
        case "sum":
            found = [y + reverse]
        case "ave":
            found = [(y + reverse) * node.number(0.5, y)]
        case "mul":
            found = [y * reverse]
        case None:
            found = [y, reverse]
        case _:
            raise node.refused("there is no such mode", "concat, sum, ave, mul or None", str(mode))
    bound = [node.with_mask(node.let(one), hidden if sequences else None) for one in found]
    whole = [*bound, *lasts]
    return whole if len(whole) > 1 else whole[0]


@table("TimeDistributed", keeps_mask=True)
def time_distributed(node: Node, inputs: Expr, mask: Expr | None = None, **_: Any) -> Any:
    """TimeDistributed: the layer applied with steps folded into the batch."""
    info = node.layer("layer")
    inner = node.sub(info, node.store.part("layer"), "layer")
    shape = node.shape(inputs)
    rows = node.let(op.reshape(inputs, (-3, *[0] * (len(shape) - 2))))
    found = inner.apply(rows)
    if not isinstance(found, Expr):
        raise node.refused("a layer for each step gives several results")
    rest = node.shape(found)[1:]
    first: Sequence[Any] = shape[:2]
    codes = [one if isinstance(one, int) else -1 for one in first]
    if codes.count(-1) <= 1 and 0 not in codes and (numbers := static(rest)) is not None:
        return op.reshape(found, (*codes, *numbers))
    apart = {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}
    return op.reshape_like(found, inputs, **apart)


@table(
    "SpectralNormalization",
    variables=lambda config: (Slot("vector_u", is_trainable=False),),
)
def spectral_normalization(node: Node, inputs: Expr, **_: Any) -> Any:
    """At inference the layer itself: its kernel is normalized in training."""
    info = node.layer("layer")
    return node.sub(info, node.store.part("layer"), "layer").apply(inputs)
