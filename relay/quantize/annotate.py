"""Simulate quantization where integers are wanted, with scales that are not known yet:

fn (%x) { nn.relu(nn.dense(%x, meta[relay.Constant][0])) }
->
fn (%x, %x.scale, …, %dense_0.weight.scale, …) {
  %0 = simulated_quantize(%x, %x.scale, %x.low, %x.high, kind=1, name="x");
  %1 = simulated_quantize(meta[relay.Constant][0], %dense_0.weight.scale, …, kind=2);
  nn.relu(nn.dense(%0, %1))
}

The rule of an operator (`relay.op.quantization`) says which arguments it has as integers. Products
quantize theirs; operators that move or average elements do so if their result is quantized, and
elementwise operators if an argument is. A value is quantized once for all its readers, and values
that fusion keeps in registers are not: in `add(conv2d(%x, %w), %y)` the sums are added as they are.
Where two products meet, one of them is in memory, and is quantized.

The parameters that are added to `main` are scales and ends; `calibrate` replaces them by constants.
Until then the result is a program like any other, and can be run with scales of one's own.
"""

from __future__ import annotations

from relay import tree
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.op.quantization import Kind
from relay.quantize.network import SCOPES, Network, is_known, is_real, source
from relay.quantize.points import QAnnotateKind, open_point
from relay.quantize.qconfig import current_qconfig
from relay.quantize.scheme import Integers, Scheme
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional.to_graph_normal_form import ToGraphNormalForm


@frozen
class Annotate(ModulePass):
    """Simulates quantization in `main`, by a scheme or that of the `qconfig`."""

    required = ("InferType",)
    scheme: Scheme | None = None

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        scheme = current_qconfig().scheme if self.scheme is None else self.scheme
        if scheme.weight.block:
            raise PassError(
                f"scheme `{scheme.name}` has weights in blocks, which are for "
                "relay.quantize.weight_only: products of integers have a scale for each output"
            )
        module = infer_module(ToGraphNormalForm()(module))
        main = module["main"]
        rewriter = _Annotation(Network(main), scheme)
        module["main"] = rewriter.function()
        return infer_module(module)


def annotate(scheme: Scheme | None = None) -> Annotate:
    """The pass; by default with the scheme of the `qconfig`."""
    return Annotate(scheme)


class _Annotation:
    """The rewriting of one function."""

    def __init__(self, network: Network, scheme: Scheme) -> None:
        self.network = network
        self.scheme = scheme
        self.chosen = network.chosen(scheme)
        self.flying = network.in_flight(self.chosen)
        self.wanted = self._wanted()
        self.now: dict[Expr, Expr] = {}  # what became of a value
        self.integers: dict[Expr, Expr] = {}  # the value with its quantization simulated
        self.unknown: list[Var] = []

    # --- which values are wanted as integers

    def _wanted(self) -> set[Expr]:
        found: set[Expr] = set()
        sums: set[Expr] = {*self.chosen}  # and what is computed of them element by element
        for e in self.network.order:
            if isinstance(e, Call) and self.network.kind(e) is Kind.ELEMENTS:
                # one can stay in flight, the others are in memory
                flying = [arg for arg in e.args if arg in self.flying]
                found.update(flying[1:])
                if self.scheme.whole and any(arg in sums for arg in e.args):
                    sums.add(e)
                    found.update(arg for arg in e.args if is_real(arg) and arg not in flying)
        for e in reversed(self.network.order):
            if e in self.chosen:
                assert isinstance(e, Call)
                found.update(arg for arg in e.args if not isinstance(arg, Constant))
            elif e in found:
                found.update(self._through(e))
        return {e for e in found if not isinstance(e, Constant)}

    def _through(self, e: Expr) -> list[Expr]:
        """The values that are wanted because `e` is."""
        made = source(e)
        if not isinstance(made, Call):
            return []
        match self.network.kind(made):
            case Kind.THROUGH | Kind.MEAN:
                return [made.args[0]]
            case Kind.JOIN:
                (parts,) = made.args
                assert isinstance(parts, Tuple)
                return list(parts.fields)
        return []

    # --- the new program

    def function(self) -> Function:
        main = self.network.main
        for param in main.params:
            self._keep(param, param, QAnnotateKind.INPUT)
        for e in self.network.order:
            if e not in self.now:
                self._visit(e)
        body = self.now[main.body]
        params = (*main.params, *self.unknown)
        return tree.replace(main, params=params, body=body, ret_type=None)

    def _visit(self, e: Expr) -> None:
        if isinstance(e, SCOPES):
            self._keep(e, tree.transform(e, lambda before, after: after, self.now))
            return
        if not isinstance(e, Call):
            parts = tree.children(e)
            made = tree.rebuild(e, [self.now.get(part, part) for part in parts])
            is_integer = isinstance(e, TupleGetItem) and source(e) in self.integers
            self._keep(e, made, None if is_integer else QAnnotateKind.INPUT)
            return
        if e in self.chosen:
            self._keep(e, self._product(e))
            return
        kind = self.network.kind(e)
        is_wanted = e in self.wanted or any(
            isinstance(item, TupleGetItem) and item in self.wanted for item in self._items(e)
        )
        if kind is Kind.ELEMENTS:
            made = tree.replace(e, args=tuple(map(self._as_found, e.args)))
        elif is_wanted and kind in (Kind.THROUGH, Kind.MEAN):
            made = tree.replace(e, args=(self.integers[e.args[0]], *map(self._plain, e.args[1:])))
        elif is_wanted and kind is Kind.JOIN:
            (fields,) = e.args
            assert isinstance(fields, Tuple)
            joined = Tuple(tuple(self.integers.get(p, self.now.get(p, p)) for p in fields.fields))
            made = tree.replace(e, args=(joined,))
        else:
            made = tree.rebuild(e, [self.now.get(p, p) for p in tree.children(e)])
        stays = is_wanted and kind is Kind.THROUGH
        self._keep(e, made, None if stays else QAnnotateKind.INPUT)

    def _keep(self, e: Expr, made: Expr, kind: QAnnotateKind | None = QAnnotateKind.INPUT) -> None:
        """Record the rewritten value, with a point unless `kind` is None (quantized already)."""
        self.now[e] = made
        if kind is None:
            self.integers[e] = made
        elif e in self.wanted:
            name = self.network.names.get(e) or f"value_{len(self.integers)}"
            if isinstance(e, TupleGetItem):
                name = f"{self.network.names.get(e.tuple_value, 'value')}.{e.index}"
            self.integers[e] = self._point(made, kind, self.scheme.data, name, None, 0)

    def _items(self, e: Expr) -> list[Expr]:
        """The projections of a tuple."""
        if not hasattr(self, "_projections"):
            self._projections: dict[Expr, list[Expr]] = {}
            for one in self.network.order:
                if isinstance(one, TupleGetItem):
                    self._projections.setdefault(one.tuple_value, []).append(one)
        return self._projections.get(e, [])

    def _plain(self, e: Expr) -> Expr:
        return self.now.get(e, e)

    def _as_found(self, e: Expr) -> Expr:
        """The quantized argument where it is stored as integers, otherwise the argument itself."""
        if self.scheme.residual and e in self.wanted and is_real(e):
            return self.integers[e]
        return self.now.get(e, e)

    def _product(self, call: Call) -> Call:
        layer = self.chosen[call]
        data, weight = call.args
        made = [
            self._weight(e, layer.name, call)
            if is_known(e)
            else self.integers.get(e, self._plain(e))
            for e in (data, weight)
        ]
        return tree.replace(call, args=tuple(made))

    def _weight(self, weight: Expr, name: str, call: Call) -> Expr:
        assert isinstance(weight, Constant)
        if weight is call.args[0]:
            # data that never change
            return self._point(
                weight, QAnnotateKind.WEIGHT, self.scheme.data, f"{name}.data", None, 0
            )
        outputs = self.network.rules[call].outputs
        axis = None if outputs is None else outputs(call.attrs)
        extent = 0
        if axis is not None:
            extent = int(weight.data.shape[axis])
            if not _has_one_for_each_output(call, extent):
                axis = None
        return self._point(
            weight, QAnnotateKind.WEIGHT, self.scheme.weight, f"{name}.weight", axis, extent
        )

    def _point(
        self,
        data: Expr,
        kind: QAnnotateKind,
        integers: Integers,
        name: str,
        axis: int | None,
        n: int,
    ) -> Expr:
        call, unknown = open_point(data, kind, integers, name, axis, n)
        self.unknown += unknown
        return call


def _has_one_for_each_output(call: Call, extent: int) -> bool:
    """Whether the weight has a row for each output channel: not so where a depthwise one is written
    (channels, multiplier)."""
    layout = getattr(call.attrs, "out_layout", "") or getattr(call.attrs, "data_layout", "")
    ty = call.ty
    if not layout or not isinstance(ty, TensorType):
        return True
    return bool(ty.shape[layout.index("C")] == extent)
