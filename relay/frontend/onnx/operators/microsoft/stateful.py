"""Recurrent layers of com.microsoft: linear attention and causal convolution with a carried state.

    for t: S = exp(g[t]) * S; S = S + k[t] ⊗ b[t] * (v[t] - k[t] S); y[t] = q[t] S

A state may come as a window of the last states, so that a caller can go back a few steps:

    present[j] is the state after step length - window + j, or 0 where that is before this call
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay import dtypes, op
from relay.frontend.common.broadcast import best_known, fitting
from relay.frontend.common.builder import int64
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.control import Turn, loop, stacked
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const

table = Converters("com.microsoft")

LONGEST_WINDOW = 8  # states
END = 2**31 - 1  # the end of an axis, in slices


def _window(node: Node) -> int:
    """The number of states in a window; 0 for a single state."""
    found = int(node.attribute("state_window", 0))
    if not 0 <= found <= LONGEST_WINDOW:
        raise node.refused("there is no such window", f"0 to {LONGEST_WINDOW} states", str(found))
    return found


def _past(node: Node, past: Expr, shape: Sequence[Dim], window: int) -> Expr:
    """The state before a call: the last one of a window."""
    if not window:
        return fitting(node, past, shape, "states")
    whole = fitting(node, past, (window, *shape), "states")
    return node.let(op.take(whole, int64(window - 1), axis=0))


def _batch(node: Node, inputs: Sequence[Expr], past: Expr | None, window: int) -> Dim:
    """The batch size of inputs and states."""
    found = [node.shape(one)[0] for one in inputs]
    if past is not None and node.rank(past) > 1:
        found.append(node.shape(past)[1 if window else 0])
    return best_known(found)


def _wide(node: Node, data: Expr) -> str:
    """The element type to compute in."""
    dtype = node.dtype(data)
    return dtype if dtypes.bits(dtype) >= 32 else "float32"


RULES = ("linear", "gated", "delta", "gated_delta")


@frozen
class Heads:
    """The numbers and widths of heads; several heads of queries may share a state, or several
    states a head of queries or of keys."""

    queries: int
    keys: int
    states: int
    key_width: int
    value_width: int

    @classmethod
    def of(cls, node: Node, queries: Expr, keys: Expr, values: Expr) -> Heads:
        asked, states = (int(node.required(f"{one}_num_heads")) for one in ("q", "kv"))
        if min(asked, states) < 1 or (asked % states and states % asked):
            expected = "a multiple of the other"
            raise node.misfit("the heads are not shared evenly", expected, f"{asked}, {states}")
        width = _shared(node, queries, asked, "queries")
        if not width:
            raise node.misfit("heads have no width", "1 or more", str(node.type_of(queries)))
        total = _extent(node, keys, "keys")
        if total % width or not total or states % (total // width):
            expected = f"heads of {width}, which {states} states share evenly"
            raise node.misfit("keys do not fit", expected, str(node.type_of(keys)))
        return cls(asked, total // width, states, width, _shared(node, values, states, "values"))

    @property
    def group(self) -> int:
        """The number of heads of queries that share a state."""
        return max(self.queries // self.states, 1)


def _extent(node: Node, data: Expr, what: str) -> int:
    """The static last extent of (batch, steps, heads * n)."""
    node.must_have_axes(data, 3, what)
    found = node.shape(data)[2]
    if not isinstance(found, int):
        raise node.refused(f"how wide {what} are must be known before the model runs")
    return found


def _shared(node: Node, data: Expr, heads: int, what: str) -> int:
    width = _extent(node, data, what)
    if width % heads:
        raise node.misfit(f"{what} are not shared evenly by heads", f"{heads}", str(width))
    return width // heads


@table("LinearAttention")
def linear_attention(
    node: Node,
    queries: Expr,
    keys: Expr,
    values: Expr,
    past: Expr | None = None,
    decay: Expr | None = None,
    rate: Expr | None = None,
) -> Sequence[Expr]:
    """`chunk_size` is a performance hint, and is ignored."""
    rule = node.choice("update_rule", "gated_delta", RULES, "rule")
    heads, window = Heads.of(node, queries, keys, values), _window(node)
    widths = (heads.states, heads.states * heads.key_width)
    decay = _gate(node, decay, widths, "decay") if "gated" in rule else None
    rate = _gate(node, rate, (heads.states, 1), "beta") if "delta" in rule else None
    inputs = [one for one in (queries, keys, values, decay, rate) if one is not None]
    batch = _batch(node, inputs, past, window)
    steps = best_known([node.shape(one)[1] for one in inputs])
    wide = _wide(node, queries)

    def by_steps(data: Expr, count: int, what: str) -> Expr:
        """(batch, steps, count * n) as (steps, batch * states, n), where states share heads."""
        data = fitting(node, data, (batch, steps, node.shape(data)[2]), what)
        apart = op.reshape(op.cast(data, wide), (0, 0, -4, count, -1))
        if count < heads.states:
            apart = op.repeat(apart, heads.states // count, axis=2)
        return node.let(op.reshape(op.transpose(apart, (1, 0, 2, 3)), (0, -3, 0)))

    scale = node.attribute("scale", 0.0) or 1 / math.sqrt(heads.key_width)
    rows = by_steps(queries, min(heads.queries, heads.states), "queries")
    rows = op.reshape(rows * const(scale, wide), (0, 0, -4, heads.group, -1))
    sequences = {
        "queries": node.let(rows),
        "keys": by_steps(keys, heads.keys, "keys"),
        "values": by_steps(values, heads.states, "values"),
    }
    if decay is not None:
        sequences["decay"] = node.let(op.exp(by_steps(decay, heads.states, "decays")))
    if rate is not None:
        sequences["rate"] = by_steps(rate, _extent(node, rate, "rates"), "rates")
    shape = (heads.states, heads.key_width, heads.value_width)
    kind = node.dtype(queries if past is None else past)
    if past is None:
        first = node.zeros_along(queries, 0, shape, wide)
    else:
        first = node.let(op.cast(_past(node, past, (batch, *shape), window), wide))
    first = node.let(op.reshape(first, (-3, 0, 0)))
    zeros = [node.let(op.zeros_like(first))] * window
    if steps == 0:
        width = heads.group * heads.value_width
        found, states = node.zeros((0, batch, heads.states, width), wide), [*zeros[1:], first]
    else:
        found, states = _attended(node, heads.states, sequences, [first, *zeros])
    ends = [node.let(op.reshape(one, (-4, -1, heads.states, 0, 0))) for one in states]
    present = op.stack(ends, axis=0) if window else ends[0]
    output = op.reshape(op.transpose(found, (1, 0, 2, 3)), (0, 0, -3))
    return [op.cast(output, node.dtype(queries)), op.cast(present, kind)]


def _gate(node: Node, value: Expr | None, widths: Sequence[int], name: str) -> Expr:
    """An input that the update rule needs."""
    if value is None:
        raise node.refused(f"there is no `{name}`, which the rule needs")
    if _extent(node, value, f"the numbers of `{name}`") not in widths:
        expected = " or ".join(map(str, sorted(set(widths))))
        raise node.misfit(f"`{name}` has another width", expected, str(node.type_of(value)))
    return value


def _attended(
    node: Node, heads: int, sequences: dict[str, Expr], first: Sequence[Expr]
) -> tuple[Expr, list[Expr]]:
    """The outputs (steps, batch, heads, group * n), and the last states, the newest last; `first`
    is the state, and a zero per state of the window."""

    def body(there: Node, number: Expr, going: Expr, state: Sequence[Expr]) -> Turn:
        own = {
            name: there.let(op.take(value, number, axis=0, mode="clip"))
            for name, value in sequences.items()
        }
        before, key, new = state[0], own["keys"], own["values"]
        kept, seen = before, key
        if "decay" in own:
            # the decayed key reads the state before it decays
            kept, seen = before * op.expand_dims(own["decay"], 2), key * own["decay"]
        if "rate" in own:
            known = op.nn.batch_matmul(op.expand_dims(seen, 1), before, transpose_b=False)
            new = there.let(own["rate"] * (new - op.squeeze(known, (1,))))
        outer = op.expand_dims(key, 2) * op.expand_dims(new, 1)
        after = there.let(kept + outer)
        found = there.let(op.nn.batch_matmul(own["queries"], after, transpose_b=False))
        row = there.let(op.reshape(found, (-4, -1, heads, -3)))
        # the states of this call, newest first
        recent = [after, *state[1:-1]] if len(state) > 1 else []
        return Turn(there.scope, going, [after, *recent], [row])

    queries = sequences["queries"]
    last, rows = loop(node, body, node.size(queries, 0), const(True), first)
    found = stacked(node, rows[0], node.shape(queries)[0])
    return found, [*reversed(last[2:]), last[0]]


@table("CausalConvWithState")
def causal_conv_with_state(
    node: Node, data: Expr, weight: Expr, bias: Expr | None = None, past: Expr | None = None
) -> Sequence[Expr]:
    """A depthwise convolution with the past, in this call or an earlier one."""
    if (axes := node.attribute("ndim", 1)) != 1:
        raise node.refused("what came before lies along one axis", "ndim = 1", str(axes))
    activation = node.choice("activation", "none", ("none", "silu", "swish"))
    dilation, window = int(node.attribute("dilation", 1)), _window(node)
    node.must_have_axes(weight, 3, "weights")
    channels, _, size = node.static_shape(weight, "weights")
    if dilation < 1 or size < 1:
        given = f"dilation = {dilation}, {node.type_of(weight)}"
        raise node.refused("the window has no extent", "a dilation and a size of 1 or more", given)
    weight = fitting(node, weight, (channels, 1, size), "weights")
    reach = (size - 1) * dilation
    trailing = _trailing(node, data, channels)
    signal = _channels_first(node, data) if trailing else data
    steps, batch = node.shape(signal)[2], _batch(node, [data], past, window)
    signal = fitting(node, signal, (batch, channels, steps), "signals")
    if past is None:
        whole = node.let(op.nn.pad(signal, [(0, 0), (0, 0), (reach, 0)]))
    else:
        shape = (batch, reach, *trailing) if trailing else (batch, channels, reach)
        before = _past(node, past, shape, window)
        before = _channels_first(node, before) if trailing else before
        whole = node.let(op.concatenate([before, signal], axis=2))
    wide = _wide(node, data)
    if steps == 0:
        found = node.let(op.cast(signal, wide))  # no window is whole
    else:
        sizes = {"groups": channels, "channels": channels, "kernel_size": size}
        factors = op.cast(whole, wide), op.cast(weight, wide)
        made = op.nn.conv1d(*factors, dilation=dilation, **sizes)
        found = node.declare(made, (batch, channels, steps), wide)
    if bias is not None:
        bias = fitting(node, bias, (channels,), "biases")
        found = node.let(op.nn.bias_add(found, op.cast(bias, wide)))
    if activation != "none":
        found = node.let(found * op.sigmoid(found))
    output = node.let(op.cast(found, node.dtype(data)))
    present = _lasts(node, whole, node.size(signal, 2), reach, window)
    if trailing:
        output = _channels_last(node, output, trailing)
        present = _channels_last(node, present, trailing)
    return [output, present]


def _trailing(node: Node, data: Expr, channels: int) -> tuple[int, ...]:
    """The trailing channel axes; empty where channels come first."""
    if (last := node.attribute("channels_last", 0)) not in (0, 1):
        raise node.refused("there is no such layout", "channels_last = 0 or 1", str(last))
    if not last:
        node.must_have_axes(data, 3, "signals")
        return ()
    if node.rank(data) == 3:
        return (channels,)
    found = tuple(one for one in node.shape(data)[2:] if isinstance(one, int))
    if not found or len(found) + 2 < node.rank(data) or math.prod(found) != channels:
        expected = f"(batch, steps, …) with {channels} channels in all"
        raise node.misfit("the axes of channels do not fit", expected, str(node.type_of(data)))
    return found


def _channels_first(node: Node, data: Expr) -> Expr:
    """(batch, steps, …) as (batch, channels, steps)."""
    for _ in range(node.rank(data) - 3):
        data = node.let(op.reshape(data, (0, 0, -3, -2)))
    return node.let(op.transpose(data, (0, 2, 1)))


def _channels_last(node: Node, data: Expr, trailing: Sequence[int]) -> Expr:
    """(…, channels, steps) as (…, steps, *trailing)."""
    rank = node.rank(data)
    swapped = node.let(op.transpose(data, (*range(rank - 2), rank - 1, rank - 2)))
    if len(trailing) == 1:
        return swapped
    return op.reshape(swapped, (*[0] * (rank - 1), *trailing))


def _lasts(node: Node, whole: Expr, steps: Expr, reach: int, window: int) -> Expr:
    """The last `reach` elements of signals; with a window, those after each of the last steps. The
    signals include the past."""
    batch, channels, _ = node.shape(whole)
    # so that there is enough to slice with fewer steps than states
    front = max(window - 1, 0)
    framed = node.let(op.nn.pad(whole, [(0, 0), (0, 0), (front, 0)])) if front else whole

    def after(back: int) -> Expr:
        """The state after the step before the last `back` ones."""
        begin, end = -(reach + back) or END, -back or END
        part = op.strided_slice(framed, [begin], [end], axes=(2,))
        return node.declare(part, (batch, channels, reach), node.dtype(whole))

    if not window:
        return after(0)
    zero = node.number(0, whole)
    slots = [op.where(steps > int64(back), after(back), zero) for back in reversed(range(window))]
    return node.let(op.stack(slots, axis=0))
