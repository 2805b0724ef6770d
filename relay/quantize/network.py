"""The part of a network that is quantized: the values of `main` outside of branches and closures,
their readers, the quantization rule of each call, and the names of layers.

A value in flight is an accumulator of a product, or elementwise on one, with a single reader. It is
fused into the product and never stored, so quantizing it saves nothing.
"""

from __future__ import annotations

from collections import Counter

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Function, If, Let, Match, Tuple, TupleGetItem
from relay.ir.types import TensorType
from relay.nd import Weight
from relay.op.opdef import OpDef
from relay.op.quantization import FLOAT, Kind, Quantization, quantization_of
from relay.quantize.scheme import Scheme

SCOPES = (Function, If, Let, Match)


@frozen
class Layer:
    """A convolution or matrix product, of data and weights or of two values."""

    call: Call
    name: str  # the operator with its number: conv2d_3
    number: int  # among those of its operator


class Network:
    """The values of a typed function in graph normal form."""

    def __init__(self, main: Function) -> None:
        self.main = main
        self.order: list[Expr] = []
        self.readers: Counter[Expr] = Counter()
        for node in tree.postorder(main.body, lambda node: not isinstance(node, SCOPES)):
            if isinstance(node, Expr):
                self.order.append(node)
        for node in tree.postorder(main):
            self.readers.update({c for c in tree.children(node) if isinstance(c, Expr)})
        self.rules = {e: _rule(e) for e in self.order if isinstance(e, Call)}
        self.layers = self._layers()
        self.names = self._names()

    def _layers(self) -> dict[Expr, Layer]:
        counts: Counter[str] = Counter()
        found: dict[Expr, Layer] = {}
        for e, rule in self.rules.items():
            if rule.kind is Kind.PRODUCT:
                short = short_name(e)
                found[e] = Layer(e, f"{short}_{counts[short]}", counts[short])
                counts[short] += 1
        return found

    def _names(self) -> dict[Expr, str]:
        """A name for each value: that of the parameter, or the operator with its number."""
        counts: Counter[str] = Counter()
        names: dict[Expr, str] = {param: param.name_hint for param in self.main.params}
        for e in self.order:
            if isinstance(e, Call) and isinstance(e.op, OpDef):
                short = short_name(e)
                names[e] = f"{short}_{counts[short]}"
                counts[short] += 1
        return names

    def without_rule(self) -> list[str]:
        """The operators on floats that have no rule, sorted."""
        return sorted(
            {
                e.op.name
                for e in self.order
                if isinstance(e, Call)
                and isinstance(e.op, OpDef)
                and self.kind(e) is Kind.FLOAT
                and any(is_real(arg) for arg in e.args)
            }
        )

    def kind(self, e: Expr) -> Kind:
        return self.rules[e].kind if isinstance(e, Call) else Kind.FLOAT

    def chosen(self, scheme: Scheme) -> dict[Expr, Layer]:
        """The layers that the scheme quantizes."""
        layers = [*self.layers.values()]
        return {
            layer.call: layer
            for place, layer in enumerate(layers)
            if _wanted(layer, scheme, place == 0, place == len(layers) - 1)
        }

    def in_flight(self, chosen: dict[Expr, Layer]) -> set[Expr]:
        """The values in flight."""
        found: set[Expr] = set()
        for e in self.order:
            if not isinstance(e, Call) or self.readers[e] != 1:
                continue
            if e in chosen or (
                self.kind(e) is Kind.ELEMENTS and any(arg in found for arg in e.args)
            ):
                found.add(e)
        return found


def _rule(call: Call) -> Quantization:
    """The rule of a call; floats where it does not apply."""
    if not isinstance(call.op, OpDef) or not call.args:
        return FLOAT
    rule = quantization_of(call.op)
    if rule.when is not None and not rule.when(call):
        return FLOAT
    match rule.kind:
        case Kind.PRODUCT:
            fits = len(call.args) == 2 and all(map(is_real, call.args)) and is_real(call)
            # with both constant it is folded
            fits = fits and not all(isinstance(arg, Constant) for arg in call.args)
        case Kind.THROUGH | Kind.MEAN:
            fits = is_real(call.args[0])
        case Kind.JOIN:
            parts = call.args[0]
            fits = isinstance(parts, Tuple) and all(map(is_real, parts.fields)) and is_real(call)
        case Kind.ELEMENTS:
            fits = is_real(call)
        case _:
            fits = False
    return rule if fits else FLOAT


def is_real(e: Expr) -> bool:
    """Whether it is a tensor of float32."""
    ty = e.tensor_type if isinstance(e, Constant) else e.ty
    return isinstance(ty, TensorType) and ty.dtype == "float32"


def is_known(e: Expr) -> bool:
    """Whether it is a constant that cannot be replaced after compilation."""
    return isinstance(e, Constant) and not isinstance(e.data, Weight)


def short_name(e: Expr) -> str:
    """The name of the operator without its family."""
    assert isinstance(e, Call) and isinstance(e.op, OpDef)
    return e.op.name.rpartition(".")[2]


def source(e: Expr) -> Expr:
    """The value that a projection is a part of."""
    return e.tuple_value if isinstance(e, TupleGetItem) else e


def is_depthwise(call: Call) -> bool:
    """Whether it is a depthwise convolution: one channel per group."""
    groups = getattr(call.attrs, "groups", 1)
    data = call.args[0].ty
    layout = getattr(call.attrs, "data_layout", "")
    if groups == 1 or not isinstance(data, TensorType) or "C" not in layout:
        return False
    return bool(data.shape[layout.index("C")] == groups)


def _wanted(layer: Layer, scheme: Scheme, is_first: bool, is_last: bool) -> bool:
    """Whether a scheme quantizes a layer."""
    if layer.name in scheme.keep_float:
        return False
    is_convolution = hasattr(layer.call.attrs, "kernel_layout")
    if is_convolution and layer.number in scheme.skip_conv_layers:
        return False
    if scheme.skip_dense_layer and not is_convolution:
        return False
    if (is_first and not scheme.first) or (is_last and not scheme.last):
        return False
    return scheme.depthwise or not is_depthwise(layer.call)
