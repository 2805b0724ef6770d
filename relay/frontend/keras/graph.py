"""Models as chains of `let`s: calls of layers in an order in which their arguments are known."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay import op
from relay.errors import DiagnosticError, FrontendError, SourceName, Span
from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope, type_of
from relay.frontend.keras.config import Call, LayerInfo, ModelInfo, Ref, broken, model_of, refs_in
from relay.frontend.keras.converters import find
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot, frozen_slots, inside
from relay.frontend.keras.stores import Store
from relay.ir.expr import Expr, TupleGetItem, TupleWrapper, Var
from relay.ir.types import TensorType, TupleType
from relay.nd import NDArray

DEEPEST = 32  # models inside of models
MOST_CALLS = 1 << 18
LOST = ("training",)  # keyword arguments without a meaning at inference, which Keras sets then


@dataclass
class Importer:
    """Converts the layers of models, and keeps their parameters."""

    tables: Sequence[Converters]
    assets: Mapping[str, bytes]
    params: dict[str, tuple[Var, np.ndarray]] = field(default_factory=dict)
    masks: dict[Expr, Expr] = field(default_factory=dict)
    decided: set[Expr] = field(default_factory=set)  # results whose masks converters decided
    depth: int = 0
    converted: int = 0

    # --- variables

    def slots(self, layer: LayerInfo) -> Sequence[Slot]:
        """The variables of a layer."""
        if layer.is_model:
            if self.depth > DEEPEST:
                raise broken("models nest too deeply")
            self.depth += 1
            found = [
                slot
                for name, one in model_of(layer).layers.items()
                if not one.is_operation
                for slot in inside(f"layers.{name}", self.slots(one), name)
            ]
            self.depth -= 1
        elif layer.kind == "InputLayer" or (known := find(self.tables, layer)) is None:
            found = []
        else:
            found = list(known.record.variables(layer.config))
            for attribute, one in held_layers(layer):
                found += inside(attribute, self.slots(one))
        return found if layer.is_trainable else frozen_slots(found)

    def array(self, node: Node, slot: Slot) -> np.ndarray | None:
        """The elements of a variable."""
        store = node.store
        for attribute in slot.path:
            store = store.part(attribute)
        place = [one.name for one in node.slots if one.path == slot.path].index(slot.name)
        own = store.own()
        return own[place] if place < len(own) else None

    def parameter(self, node: Node, slot: Slot) -> Expr | None:
        """The parameter that stands for a variable; calls of one layer share it."""
        name = f"{node.prefix}{slot.name}"
        if name not in self.params:
            data = self.array(node, slot)
            if data is None:
                return None
            array = NDArray(np.ascontiguousarray(data).reshape(data.shape))
            variable = Var(name, TensorType(array.shape, array.dtype))
            self.params[name] = variable, data
        return self.params[name][0]

    # --- models

    def model(
        self,
        model: ModelInfo,
        store: Store,
        scope: ImportScope,
        prefix: str,
        values: Sequence[Expr],
    ) -> Any:
        """The outputs of a model for values of its inputs."""
        if self.depth >= DEEPEST:
            raise broken("models nest too deeply")
        self.depth += 1
        inputs = [*refs_in(model.inputs)]
        if len(inputs) != len(values):
            message = f"model {quoted(model.name)} is called with another number of inputs"
            raise FrontendError.of(message, None, str(len(inputs)), str(len(values)))
        found: dict[tuple[str, int], Any] = {
            (ref.layer, ref.call): value for ref, value in zip(inputs, values, strict=True)
        }
        slots = {name: self.slots(one) for name, one in model.layers.items()}
        stores = store.layers(model, slots)
        for name, number in order(model, {(ref.layer, ref.call) for ref in inputs}):
            layer = model.layers[name]
            where = f"{layer.kind} {quoted(prefix + name)}"
            span = Span(SourceName(f"layer {where}"))
            if not layer.is_operation and name not in stores:
                raise FrontendError.of("the model has no such layer", span)
            node = Node(
                layer.kind, span, scope, layer, slots[name], stores.get(name, store),
                f"{prefix}{name}/", self,
            )  # fmt: skip
            call = layer.calls[number]
            args = [filled(one, found) for one in call.args]
            kwargs = {key: filled(one, found) for key, one in call.kwargs.items()}
            found[name, number] = self.apply(node, args, kwargs)
        self.depth -= 1
        return filled(model.outputs, found)

    def apply(self, node: Node, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The results of a layer for some arguments, bound to variables."""
        self.converted += 1
        if self.converted > MOST_CALLS:
            raise FrontendError.of(f"the model has more than {MOST_CALLS} calls of layers")
        layer = node.info
        kwargs = {key: one for key, one in kwargs.items() if key not in LOST and one is not None}
        if layer.is_model:
            given = [*tensors_in([*args, *(one for key, one in kwargs.items() if key != "mask")])]
            found = self.model(model_of(layer), node.store, node.scope, node.prefix, given)
            flat = [*tensors_in(found)]
            return flat[0] if len(flat) == 1 else flat
        known = find(self.tables, layer)
        if known is None:  # of those that the survey does not see
            raise node.refused(f"there is no converter for {quoted(layer.kind)}")
        if not known.is_operation:
            args, kwargs = cast_floats(node, list(args)), cast_floats(node, dict(kwargs))
        before = next((mask for one in tensors_in(args) if (mask := self.masks.get(one))), None)
        try:
            result = bound(node, known.converter(node, *args, **kwargs))
        except FrontendError:
            raise
        except DiagnosticError as error:
            first = error.diagnostics[0]
            more = (first.expected, first.found, first.hint)
            raise node.refused(first.message, *more) from error
        except TypeError as error:
            if (trace := error.__traceback__) is not None and trace.tb_next is None:
                raise node.refused("its arguments do not fit", found=str(error)[:200]) from error
            raise
        return self._masked(node, result, before if known.record.keeps_mask else None)

    def _masked(self, node: Node, result: Any, mask: Expr | None) -> Any:
        """A result with the mask that it inherits, unless its converter decided."""
        if not isinstance(result, Expr) or result in self.decided:
            return result
        if mask is None and result in self.masks:
            return node.scope.bind(op.copy(result), node.operator, node.span)
        if mask is not None:
            self.masks[result] = mask
        return result


def held_layers(layer: LayerInfo) -> list[tuple[str, LayerInfo]]:
    """The layers inside of a wrapper, by the attributes that files call them."""
    from relay.frontend.keras.layers.wrappers import held

    return held(layer)


def order(model: ModelInfo, given: set[tuple[str, int]]) -> list[tuple[str, int]]:
    """The calls of a model, each after those that its arguments come from."""
    waiting: dict[tuple[str, int], int] = {}
    users: dict[tuple[str, int], list[tuple[str, int]]] = {}
    ready = deque(given)
    for name, layer in model.layers.items():
        for number, call in enumerate(layer.calls):
            if (name, number) in given:
                continue
            needs = {(ref.layer, ref.call) for ref in call_refs(call)}
            for need in needs:
                known = model.layers.get(need[0])
                if known is None or not (0 <= need[1] < len(known.calls) or need in given):
                    raise broken("a call needs a result that there is not", need)
                users.setdefault(need, []).append((name, number))
            waiting[name, number] = len(needs)
            if not needs:
                if layer.kind == "InputLayer":
                    continue  # an input that the model does not name
                ready.append((name, number))
    found = []
    while ready:
        one = ready.popleft()
        if one not in given:
            found.append(one)
        for user in users.get(one, ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    done = set(found) | given
    for ref in refs_in(model.outputs):
        if (ref.layer, ref.call) not in done:
            message = "an output depends on itself, or on what there is not"
            raise broken(message, (ref.layer, ref.call))
    return found


def call_refs(call: Call) -> list[Ref]:
    return [*refs_in(list(call.args)), *refs_in(dict(call.kwargs))]


def filled(value: Any, found: Mapping[tuple[str, int], Any]) -> Any:
    """A structure with tensors in the place of references."""
    if isinstance(value, Ref):
        result = found.get((value.layer, value.call))
        if result is None:
            raise broken("a tensor is needed that there is not", value.layer)
        flat = [*tensors_in(result)]
        if not 0 <= value.place < len(flat):
            raise broken(f"layer {quoted(value.layer)} has fewer results", value.place)
        return flat[value.place]
    if isinstance(value, list | tuple):
        return [filled(one, found) for one in value]
    if isinstance(value, dict):
        return {key: filled(one, found) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*(filled(one, found) for one in (value.start, value.stop, value.step)))
    return value


def tensors_in(value: Any) -> list[Expr]:
    """The tensors in a structure, in the order in which Keras flattens it."""
    if isinstance(value, Expr):
        return [value]
    if isinstance(value, list | tuple):
        return [part for one in value for part in tensors_in(one)]
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in tensors_in(value[key])]
    return []


def cast_floats(node: Node, value: Any) -> Any:
    """Arguments of a layer in the type in which it computes."""
    if isinstance(value, Expr):
        if not isinstance(type_of(value), TensorType):
            return value
        found = node.floating(value)
        mask = node.importer.masks.get(value)
        if mask is not None and found is not value:
            node.importer.masks[found] = mask
        return found
    if isinstance(value, list):
        return [cast_floats(node, one) for one in value]
    if isinstance(value, dict):
        return {key: cast_floats(node, one) for key, one in value.items()}
    return value


def bound(node: Node, found: Any) -> Any:
    """The results of a converter as variables."""
    if isinstance(found, TupleWrapper):
        found = found.astuple()
    if isinstance(found, Expr):
        whole = node.let(found)
        ty = type_of(whole)
        if isinstance(ty, TupleType):
            return [node.let(TupleGetItem(whole, place)) for place in range(len(ty.fields))]
        return whole
    if isinstance(found, list | tuple):
        return [bound(node, one) for one in found]
    if isinstance(found, dict):
        return {key: bound(node, one) for key, one in found.items()}
    return found
