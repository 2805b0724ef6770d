"""Replace training operators by their form at inference:

nn.batch_norm(%x, %gamma, %beta, %mean, %var).0
->
%0 = divide(%gamma, sqrt(add(%var, 1e-05f)));
%1 = subtract(%beta, multiply(%mean, %0));
%2 = multiply(%x, expand_dims(%0, axis=1, num_newaxis=2));
add(%2, expand_dims(%1, axis=1, num_newaxis=2))

for %x: Tensor[(1, 8, 5, 5), float32], %gamma, %beta, %mean, %var: Tensor[(8), float32]

Scale and shift are constants once the parameters are, and fusion appends them to a convolution. The
other results, mean and variance, are those given. Dropout does nothing:

nn.dropout(%x).0  ->  %x

The operators of training, `nn.batch_norm_training` and `nn.dropout_training`, stay.
Layer, instance and group normalization and l2_normalize compute statistics from the data itself.
One kernel does that with the data in cache, so they stay one operator, unless `all_norms` is set:

SimplifyInference(all_norms=True):
nn.l2_normalize(%x, eps=0.001f, axis=[1])
->
divide(%x, sqrt(maximum(sum(multiply(%x, %x), axis=[1], keepdims=True), 0.001f)))

An operator stays as it is where only a run shows whether its arguments fit: what it would become
broadcasts, and checks nothing.

Elements of 16 bits and less are computed with 32 bits and rounded once at the end, as by the
operators themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay import dtypes, tree
from relay.analysis.certain_sizes import sizes_are_certain
from relay.analysis.purity import Purity
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.types import TensorType, Type
from relay.op.building.numerics import computing_dtype
from relay.op.opdef import OpDef
from relay.op.tensor.binary import add, divide, maximum, multiply, subtract
from relay.op.tensor.convert import cast
from relay.op.tensor.reduce import mean, sum_, variance
from relay.op.tensor.reshape import reshape
from relay.op.tensor.shape import expand_dims
from relay.op.tensor.unary import negative, ones_like, sqrt
from relay.transform.base import FunctionPass

# --- the arithmetic ----------------------------------------------------------------------------


@frozen
class Site:
    """What is known about a call: the type of the data, and the attributes."""

    data: TensorType
    attrs: Any
    types: Sequence[Type] = ()  # of all arguments

    @property
    def rank(self) -> int:
        return len(self.data.shape)

    @property
    def axis(self) -> int:
        axis: int = self.attrs.axis
        return axis % self.rank

    @property
    def wide(self) -> str:
        """The element type that is computed with."""
        return dtypes.from_numpy(computing_dtype(dtypes.to_numpy(self.data.dtype)))

    def number(self, value: float) -> ir.Constant:
        return ir.const(value, self.wide)

    def widened(self, e: ir.Expr) -> ir.Expr:
        return e if self.wide == self.data.dtype else cast(e, dtype=self.wide)

    def rounded(self, e: ir.Expr) -> ir.Expr:
        return e if self.wide == self.data.dtype else cast(e, dtype=self.data.dtype)

    def along_axis(self, vector: ir.Expr) -> ir.Expr:
        """A vector that broadcasts along the axis."""
        behind = self.rank - 1 - self.axis
        return expand_dims(vector, axis=1, num_newaxis=behind) if behind else vector

    def standardized(self, data: ir.Expr, axes: Sequence[int]) -> ir.Expr:
        """The data with mean 0 and variance 1 along the axes."""
        middle = mean(data, axis=axes, keepdims=True)
        spread = variance(data, axes, keepdims=True, with_mean=middle)
        deviation = sqrt(add(spread, self.number(self.attrs.epsilon)))
        return divide(subtract(data, middle), deviation)

    def affine(self, data: ir.Expr, gamma: ir.Expr, beta: ir.Expr) -> ir.Expr:
        """Times gamma and plus beta, rounded."""
        if self.attrs.scale:
            data = multiply(data, self.along_axis(self.widened(gamma)))
        if self.attrs.center:
            data = add(data, self.along_axis(self.widened(beta)))
        return self.rounded(data)


def _batch_norm(
    site: Site,
    data: ir.Expr,
    gamma: ir.Expr,
    beta: ir.Expr,
    moving_mean: ir.Expr,
    moving_var: ir.Expr,
) -> ir.Expr:
    deviation = sqrt(add(site.widened(moving_var), site.number(site.attrs.epsilon)))
    scale = divide(site.widened(gamma) if site.attrs.scale else site.number(1), deviation)
    offset = multiply(site.widened(moving_mean), scale)
    shift = subtract(site.widened(beta), offset) if site.attrs.center else negative(offset)
    scaled = multiply(site.widened(data), site.along_axis(scale))
    result = site.rounded(add(scaled, site.along_axis(shift)))
    return ir.Tuple((result, moving_mean, moving_var))


def _dropout(site: Site, data: ir.Expr) -> ir.Expr:
    return ir.Tuple((data, ones_like(data)))


def _layer_norm(site: Site, data: ir.Expr, gamma: ir.Expr, beta: ir.Expr) -> ir.Expr:
    return site.affine(site.standardized(site.widened(data), [site.axis]), gamma, beta)


def _instance_norm(site: Site, data: ir.Expr, gamma: ir.Expr, beta: ir.Expr) -> ir.Expr:
    inside = [axis for axis in range(1, site.rank) if axis != site.axis]
    return site.affine(site.standardized(site.widened(data), inside), gamma, beta)


def _group_norm(site: Site, data: ir.Expr, gamma: ir.Expr, beta: ir.Expr) -> ir.Expr:
    # the axis of the channels becomes one of groups and one of the channels in a group
    before = [0] * site.axis
    groups = reshape(site.widened(data), [*before, -4, site.attrs.num_groups, -1, -2])
    inside = [axis for axis in range(1, site.rank + 1) if axis != site.axis]
    normal = reshape(site.standardized(groups, inside), [*before, -3, -2])
    return site.affine(normal, gamma, beta)


def _l2_normalize(site: Site, data: ir.Expr) -> ir.Expr:
    wide = site.widened(data)
    squares = sum_(multiply(wide, wide), axis=site.attrs.axis, keepdims=True)
    length = sqrt(maximum(squares, site.number(site.attrs.eps)))
    return site.rounded(divide(wide, length))


Unpack = Callable[..., ir.Expr]
OF_TRAINING: Mapping[str, Unpack] = {"nn.batch_norm": _batch_norm, "nn.dropout": _dropout}
NORMS: Mapping[str, Unpack] = {
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.l2_normalize": _l2_normalize,
}

# --- the pass ----------------------------------------------------------------------------------


@frozen
class SimplifyInference(FunctionPass):
    """Unpacks batch normalization and dropout; with `all_norms` the other normalizations too."""

    opt_level = 0
    required = ("InferType",)
    all_norms: bool = False

    def rewrite(self, function: ir.Function) -> ir.Function:
        unpackings = {**OF_TRAINING, **NORMS} if self.all_norms else OF_TRAINING
        return tree.transform(function, Unpacking(function, unpackings).visit)


class Unpacking:
    """Rewrites calls of some operators, and projections of their results."""

    def __init__(self, root: ir.Function, unpackings: Mapping[str, Unpack]) -> None:
        self._root = root
        self._unpackings = unpackings
        self._purity: Purity | None = None
        # what variables are bound to
        self._bound = {e.variable: e.value for e in tree.postorder(root) if isinstance(e, ir.Let)}
        self._first: dict[
            ir.Var, ir.Var
        ] = {}  # variables for the first field of what they stand for
        self._tuples: dict[ir.Expr, ir.Tuple] = {}  # what became of calls with several results
        self._calls: dict[ir.Expr, ir.Call] = {}  # and the other way round

    def visit(self, before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
        match before, after:
            case ir.Call(op=OpDef(name=name)), ir.Call() if name in self._unpackings:
                return self._call(before, after, self._unpackings[name])
            case ir.TupleGetItem(), ir.TupleGetItem():
                return self._field(before, after)
            case ir.Let(), ir.Let(value=ir.Tuple(fields=fields)) if before.variable in self._first:
                # let %t = (a, b); …  ->  let %first = a; let %t = (%first, b); …
                first = self._first[before.variable]
                again = tree.replace(after, value=ir.Tuple((first, *fields[1:])))
                return ir.Let(first, fields[0], again)
        return after

    def _call(self, before: ir.Call, after: ir.Call, unpack: Unpack) -> ir.Expr:
        # parameters may be left out, and are evaluated in another order
        if not all(map(self._is_pure, before.args[1:])):
            return after
        ty = before.args[0].checked_type
        assert isinstance(ty, TensorType)
        types = [argument.checked_type for argument in before.args]
        assert isinstance(before.op, OpDef)
        if not sizes_are_certain(before.op, types, before.attrs):
            return after
        result = unpack(Site(ty, before.attrs, types), *after.args)
        if isinstance(result, ir.Tuple):
            self._tuples[before] = result
            self._calls[result] = before
        return result

    def _field(self, before: ir.TupleGetItem, after: ir.TupleGetItem) -> ir.Expr:
        index, value = after.index, after.tuple_value
        if (call := self._calls.get(value)) is not None:
            # the first field needs the data, the others can do without
            if index == 0 or self._is_pure(call.args[0]):
                return self._tuples[call][index]
        elif isinstance(value, ir.Var) and (made := self._tuples.get(self._bound.get(value))):  # type: ignore[arg-type]
            if ir.is_atom(field := made[index]):
                return field
            if index == 0:
                return self._first.setdefault(value, ir.Var(f"{value.name_hint}_0"))
        return after

    def _is_pure(self, e: ir.Expr) -> bool:
        if ir.is_atom(e):
            return True
        if self._purity is None:
            self._purity = Purity(self._root)
        return self._purity.is_pure(e)
