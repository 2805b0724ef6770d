"""Recurrent layers, and their attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import op
from relay.errors import VALUE
from relay.frontend.common.broadcast import of_shape
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.checking import within
from relay.frontend.common.recurrence import Activation, Layer, Product, Step, plain_product
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Tuple

table = Converters()


def activation(
    node: Node, name: str, alpha: float | None, beta: float | None, like: Expr
) -> Activation:
    """The activation function of that name, in any case."""

    def number(value: float | None, default: float) -> Expr:
        return node.number(default if value is None else value, like)

    one, zero = number(None, 1.0), number(None, 0.0)
    a: Callable[[float], Expr] = lambda default: number(alpha, default)  # noqa: E731
    b: Callable[[float], Expr] = lambda default: number(beta, default)  # noqa: E731
    functions: dict[str, Activation] = {
        "relu": op.nn.relu,
        "tanh": op.tanh,
        "sigmoid": op.sigmoid,
        "affine": lambda x: a(1.0) * x + b(0.0),
        "leakyrelu": lambda x: op.where(x < zero, a(0.01) * x, x),
        "thresholdedrelu": lambda x: op.where(x > a(1.0), x, op.zeros_like(x)),
        "scaledtanh": lambda x: a(1.0) * op.tanh(b(1.0) * x),
        "hardsigmoid": lambda x: op.maximum(op.minimum(a(0.2) * x + b(0.5), one), zero),
        "elu": lambda x: op.where(x < zero, a(1.0) * (op.exp(x) - one), x),
        "softsign": lambda x: x / (one + op.abs(x)),
        "softplus": lambda x: op.log(one + op.exp(x)),
    }
    found = functions.get(name.lower())
    if found is None:
        raise node.refused(f"there is no activation `{name}`", expected=", ".join(functions))
    return found


def recurrent(
    node: Node,
    step: Step,
    gates: int,
    defaults: Sequence[str],
    states: int,
    inputs: Sequence[Expr | None],
    product: Product = plain_product,
) -> Sequence[Expr]:
    """All directions of a layer; `inputs` are those of the node up to the initial states."""
    given = [*inputs, *[None] * (5 + states - len(inputs))]
    data, weight, recurrence, bias, lengths = given[:5]
    assert data is not None and weight is not None and recurrence is not None
    for value, what in ((data, "the inputs"), (weight, "the weights"), (recurrence, "the weights")):
        node.must_have_axes(value, 3, what)
    initial = given[5 : 5 + states]
    for value in filter(None, initial):
        node.must_have_axes(value, 3, "the states at the beginning")
    layout = int(node.attribute("layout", 0))
    data = node.let(op.transpose(data, (1, 0, 2))) if layout else data
    directions, rows, size = node.static_shape(weight, "the weights")
    if not isinstance(node.shape(data)[2], int):
        data = of_shape(node, data, (*node.shape(data)[:2], size))
    hidden = rows // gates
    if lengths is not None:
        steps, message = node.size(data, 0), "a sequence is longer than there are steps"
        lengths = within(node, lengths, 0, steps, message, f"0 to {VALUE}")
    _check_sizes(node, directions, hidden, gates, data, weight, recurrence, bias)
    functions = _activations(node, defaults, directions, data)
    both = node.attribute("direction", "forward")
    outputs, lasts = [], []
    for place in range(directions):
        number = int64(place)
        first, second, own_bias = (
            None if one is None else node.let(op.take(one, number, axis=0))
            for one in (weight, recurrence, bias)
        )
        assert first is not None and second is not None
        state = (
            node.zeros_along(data, 1, (hidden,), node.dtype(data))
            if one is None
            else node.let(op.take(one, number, axis=1 if layout else 0))
            for one in initial
        )
        weights = (first, second, *_biases(node, own_bias, gates * hidden))
        backwards = both == "reverse" or place == 1
        rest = (functions[place], hidden, tuple(state), product)
        made, last = Layer(node, place, data, *weights, lengths, backwards, *rest).run(step)
        outputs.append(node.let(op.transpose(made, (1, 0, 2))) if layout else made)
        lasts.append(last)
    # (steps, directions, batch, hidden), or with batches first
    whole = op.stack(Tuple(tuple(outputs)), 2 if layout else 1)
    states_of = zip(*lasts, strict=True)
    return [whole, *(op.stack(Tuple(ends), 1 if layout else 0) for ends in states_of)]


def _check_sizes(
    node: Node,
    directions: int,
    hidden: int,
    gates: int,
    data: Expr,
    weight: Expr,
    recurrence: Expr,
    bias: Expr | None,
) -> None:
    """Refuse weights whose shapes do not fit each other."""
    wanted = 2 if node.attribute("direction", "forward") == "bidirectional" else 1
    inputs = node.shape(data)[2]
    fitting: dict[str, tuple[Expr, tuple[Dim, ...]]] = {
        "the weights of the inputs": (weight, (wanted, gates * hidden, inputs)),
        "the weights of the state": (recurrence, (wanted, gates * hidden, hidden)),
    }
    if bias is not None:
        fitting["the biases"] = (bias, (wanted, 2 * gates * hidden))
    for what, (value, shape) in fitting.items():
        if node.shape(value) != shape:
            raise node.misfit(f"{what} do not fit", f"shape {shape}", str(node.type_of(value)))


def _biases(node: Node, bias: Expr | None, size: int) -> tuple[Expr | None, Expr | None]:
    """The biases of the inputs and of the state."""
    if bias is None:
        return None, None
    return (
        node.let(op.strided_slice(bias, (0,), (size,))),
        node.let(op.strided_slice(bias, (size,), (2 * size,))),
    )


def _activations(
    node: Node, defaults: Sequence[str], directions: int, like: Expr
) -> list[list[Activation]]:
    """The activation functions of each direction."""
    names = node.attribute("activations") or list(defaults) * directions
    alphas, betas = (list(node.attribute(f"activation_{one}") or []) for one in ("alpha", "beta"))
    made = []
    for name in names:
        # only functions with such a parameter take one from the list
        alpha = alphas.pop(0) if alphas and name.lower() in _WITH_ALPHA else None
        beta = betas.pop(0) if betas and name.lower() in _WITH_BETA else None
        made.append(activation(node, name, alpha, beta, like))
    each = len(defaults)
    if len(made) != each * directions:
        message = "the wrong number of activations"
        raise node.refused(message, f"{each * directions}", f"{len(made)}")
    return [made[place * each : (place + 1) * each] for place in range(directions)]


_WITH_ALPHA = ("affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu")
_WITH_BETA = ("affine", "scaledtanh", "hardsigmoid")


def _clipped(node: Node, value: Expr) -> Expr:
    limit = node.attribute("clip")
    return op.clip(value, -float(limit), float(limit)) if limit is not None else value


@table("RNN")
def rnn(node: Node, *inputs: Expr | None) -> Sequence[Expr]:
    def step(there: Builder, layer: Layer, own: Expr, state: list[Expr]) -> list[Expr]:
        (f,) = layer.activations
        return [f(_clipped(node, own + layer.recurrent(there, state[0])))]

    return recurrent(node, step, 1, ["Tanh"], 1, inputs)


@table("GRU")
def gru(node: Node, *inputs: Expr | None) -> Sequence[Expr]:
    after = bool(node.attribute("linear_before_reset", 0))

    def step(there: Builder, layer: Layer, own: Expr, state: list[Expr]) -> list[Expr]:
        f, g = layer.activations
        (h,) = state
        z_in, r_in, h_in = layer.gates(there, own, 3)
        if after:
            z_h, r_h, h_h = layer.gates(there, there.let(layer.recurrent(there, h)), 3)
            r = there.let(f(_clipped(node, r_in + r_h)))
            hidden = h_in + r * h_h
        else:
            parts = _parts(there, layer)
            z_h, r_h = parts[0](h), parts[1](h)
            r = there.let(f(_clipped(node, r_in + r_h)))
            hidden = h_in + parts[2](r * h)
        z = there.let(f(_clipped(node, z_in + z_h)))
        new = there.let(g(_clipped(node, hidden)))
        one = there.number(1, z)
        return [(one - z) * new + z * h]

    return recurrent(node, step, 3, ["Sigmoid", "Tanh"], 1, inputs)


def _parts(node: Builder, layer: Layer) -> list[Activation]:
    """The recurrence of each gate by itself: the last one depends on the reset gate."""

    def part(place: int) -> Activation:
        begin, end = (place * layer.hidden,), ((place + 1) * layer.hidden,)
        weight = node.let(op.strided_slice(layer.recurrence, begin, end, axes=(0,)))
        if layer.state_bias is None:
            return lambda state: op.nn.dense(state, weight)
        bias = node.let(op.strided_slice(layer.state_bias, begin, end))
        return lambda state: op.nn.dense(state, weight) + bias

    return [part(place) for place in range(3)]


@table("LSTM")
def lstm(node: Node, *inputs: Expr | None) -> Sequence[Expr]:
    return memory_cells(node, inputs, plain_product)


def memory_cells(node: Node, inputs: Sequence[Expr | None], product: Product) -> Sequence[Expr]:
    """An LSTM with the given products."""
    peepholes = inputs[7] if len(inputs) > 7 else None
    coupled = bool(node.attribute("input_forget", 0))
    directions = 2 if node.attribute("direction") == "bidirectional" else 1
    views = []
    if peepholes is not None:
        hidden = node.static_shape(peepholes, "the peepholes")[1] // 3
        for place in range(directions):
            own = op.squeeze(op.strided_slice(peepholes, (place,), (place + 1,), axes=(0,)), (0,))
            views.append(_thirds(node, node.let(own), hidden))

    def step(there: Builder, layer: Layer, own: Expr, state: list[Expr]) -> list[Expr]:
        f, g, last = layer.activations
        h, c = state
        whole = there.let(own + layer.recurrent(there, h))
        i, o, forget, cell = layer.gates(there, whole, 4)
        if peepholes is not None:
            p_i, p_o, p_f = views[layer.place]
            i = there.let(i + p_i * c)
            forget = there.let(forget + p_f * c)
        i = there.let(f(_clipped(node, i)))
        if coupled:
            forget = there.let(there.number(1, i) - i)
        else:
            forget = there.let(f(_clipped(node, forget)))
        cell = there.let(g(_clipped(node, cell)))
        new = there.let(forget * c + i * cell)
        if peepholes is not None:
            o = there.let(o + p_o * new)
        o = there.let(f(_clipped(node, o)))
        return [o * last(new), new]

    return recurrent(node, step, 4, ["Sigmoid", "Tanh", "Tanh"], 2, inputs[:7], product)


def _thirds(node: Node, value: Expr, size: int) -> list[Expr]:
    bounds = ((place * size, (place + 1) * size) for place in range(3))
    return [node.let(op.strided_slice(value, (begin,), (end,))) for begin, end in bounds]
