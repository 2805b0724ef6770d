"""Layers of com.microsoft with a state, with ONNX Runtime as oracle.

It knows windows of states but runs none on a processor: their oracle is loops in float64, which
ONNX Runtime confirms where a state comes by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, runtime, same

RANDOM = np.random.default_rng(23)
MICROSOFT = "com.microsoft"


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32")


def made(operator: str, *inputs: Any, shapes: Any = None, **more: Any) -> Any:
    return model(operator, *inputs, opset=21, domain=MICROSOFT, outputs=2, shapes=shapes, **more)


def agrees(operator: str, *inputs: Any, wanted: Any = None, atol: float = 1e-5, **more: Any) -> Any:
    given = made(operator, *inputs, **more)
    present = [one for one in inputs if one is not None and not isinstance(one, Fixed)]
    return agree(given, *present, wanted=wanted, rtol=1e-4, atol=atol)


# --- LinearAttention

RULES = ("linear", "gated", "delta", "gated_delta")
KEY, VALUE = 4, 3  # how wide heads are


def drawn(
    queries: int = 2,
    states: int = 2,
    keys: int | None = None,
    *,
    batch: int = 2,
    steps: int = 5,
    by_key: bool = False,
    one_rate: bool = False,
    window: int = 0,
) -> list[Any]:
    """Inputs for so many heads of queries, states and keys."""
    slots = [window] if window else []
    return [
        floats(batch, steps, queries * KEY),
        floats(batch, steps, (keys or states) * KEY) / 2,
        floats(batch, steps, states * VALUE),
        floats(*slots, batch, states, KEY, VALUE),
        -np.abs(floats(batch, steps, states * (KEY if by_key else 1))),
        RANDOM.random((batch, steps, 1 if one_rate else states)).astype("float32"),
    ]


def heads(queries: int, states: int, **more: Any) -> dict[str, Any]:
    return {"q_num_heads": queries, "kv_num_heads": states, **more}


def attended(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    past: np.ndarray | None,
    decay: np.ndarray,
    rate: np.ndarray,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    update_rule: str = "gated_delta",
    state_window: int = 0,
) -> list[np.ndarray]:
    """The recurrence as its description has it."""
    batch, steps, _ = queries.shape
    asked, states = q_num_heads, kv_num_heads
    q = queries.astype("float64").reshape(batch, steps, asked, KEY) / np.sqrt(KEY)
    k = keys.astype("float64").reshape(batch, steps, -1, KEY)
    v = values.astype("float64").reshape(batch, steps, states, VALUE)
    g = np.exp(decay.astype("float64").reshape(batch, steps, states, -1))
    state = np.zeros((batch, states, KEY, VALUE))
    if past is not None:
        state += past[-1] if state_window else past
    found = np.zeros((batch, steps, max(asked, states), VALUE))
    history = []
    for t in range(steps):
        for b, h in np.ndindex(batch, states):
            key, new, own = k[b, t, h * k.shape[2] // states], v[b, t, h], state[b, h]
            if "gated" in update_rule:
                own = g[b, t, h][:, None] * own
            if "delta" in update_rule:
                new = rate[b, t, h % rate.shape[2]] * (new - own.T @ key)
            state[b, h] = own + np.outer(key, new)
        for b, o in np.ndindex(batch, found.shape[2]):
            place = [o * count // found.shape[2] for count in (asked, states)]
            found[b, t, o] = q[b, t, place[0]] @ state[b, place[1]]
        history.append(state.copy())
    slots = [np.zeros_like(state)] * state_window + history
    present = np.stack(slots[-state_window:]) if state_window else state
    return [found.reshape(batch, steps, -1).astype("float32"), present.astype("float32")]


@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str) -> None:
    inputs = drawn()
    agrees("LinearAttention", *inputs, **heads(2, 2, update_rule=rule))
    # what a rule does not need may be left out
    decay, rate = "gated" in rule, "delta" in rule
    needed = [*inputs[:3], None, inputs[4] if decay else None, inputs[5] if rate else None]
    agrees("LinearAttention", *needed, **heads(2, 2, update_rule=rule))


@pytest.mark.parametrize(
    ("queries", "states", "keys"),
    [(4, 2, 2), (4, 1, 1), (4, 2, 1), (2, 4, 4), (2, 4, 2), (1, 4, 2)],
)
def test_heads_are_shared(queries: int, states: int, keys: int) -> None:
    for rule in ("linear", "gated_delta"):
        inputs = drawn(queries, states, keys)
        more = heads(queries, states, update_rule=rule)
        agrees("LinearAttention", *inputs, **more)
        theirs = runtime(made("LinearAttention", *inputs, **more), *inputs)
        same(theirs, attended(*inputs, **more), 1e-4, 1e-5)


@pytest.mark.parametrize("rule", ["gated", "gated_delta"])
def test_decays_of_keys_and_rates_of_all_heads(rule: str) -> None:
    for queries, states in ((2, 2), (4, 2), (1, 4)):
        inputs = drawn(queries, states, by_key=True, one_rate=True)
        agrees("LinearAttention", *inputs, **heads(queries, states, update_rule=rule))


def test_scales_and_chunks() -> None:
    agrees("LinearAttention", *drawn(), **heads(2, 2, scale=-0.3))
    agrees("LinearAttention", *drawn(steps=9), **heads(2, 2, chunk_size=2))


@pytest.mark.parametrize("size", [{"steps": 1}, {"steps": 0}, {"batch": 0}])
def test_one_step_no_step_and_no_batch(size: Any) -> None:
    agrees("LinearAttention", *drawn(**size), **heads(2, 2))


def test_what_is_handed_on_goes_on() -> None:
    """Two calls are one."""
    inputs, more = drawn(steps=6), heads(2, 2)
    whole = agrees("LinearAttention", *inputs, **more)
    parts: list[Any] = [inputs[3]]
    for part in (slice(0, 4), slice(4, 6)):
        own = [one[:, part] for one in inputs]
        own[3] = parts.pop()
        parts += agrees("LinearAttention", *own, **more)
    np.testing.assert_allclose(np.concatenate([parts[0], parts[1]], 1), whole[0], 1e-4, 1e-5)
    np.testing.assert_allclose(parts[2], whole[1], 1e-4, 1e-5)


def test_halves_are_computed_as_floats() -> None:
    inputs = [one.astype("float16") for one in drawn()]
    agrees("LinearAttention", *inputs, **heads(2, 2), atol=2e-3)
    inputs[3] = inputs[3].astype("float32")
    agrees("LinearAttention", *inputs, **heads(2, 2), atol=2e-3)
    inputs[3] = None
    agrees("LinearAttention", *inputs, **heads(2, 2), atol=2e-3)


@pytest.mark.parametrize("names", [("b", "t"), (None, None)])
@pytest.mark.parametrize("past", [False, True])
def test_batches_and_steps_that_a_run_knows(names: Any, past: bool) -> None:
    inputs = drawn(4, 2)
    shapes = {place: (*names, inputs[place].shape[2]) for place in (0, 1, 2, 4, 5)}
    if past:
        shapes[3] = (names[0], 2, KEY, VALUE)
    else:
        inputs[3] = None
    given = made("LinearAttention", *inputs, shapes=shapes, **heads(4, 2))
    if names[0]:
        wanted = "(Tensor[(b, t, 12), float32], Tensor[(b, 2, 4, 3), float32])"
        assert main_type(from_onnx(given)[0]) == wanted
    present = [one for one in inputs if one is not None]
    agree(given, *present, rtol=1e-4, atol=1e-5)
    if names[0]:
        short = [one if one.ndim == 4 else one[:, :0] for one in present]
        agree(given, *short, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window", [1, 3, 8])
def test_windows_of_states(window: int) -> None:
    for rule in ("linear", "gated_delta"):
        more = heads(4, 2, update_rule=rule, state_window=window)
        inputs = drawn(4, 2, window=window)
        agrees("LinearAttention", *inputs, wanted=attended(*inputs, **more), **more)
        inputs[3] = None
        agrees("LinearAttention", *inputs, wanted=attended(*inputs, **more), **more)


@pytest.mark.parametrize(
    ("changed", "attributes", "message"),
    [
        ({}, {"update_rule": "odd"}, "no such rule"),
        ({}, {"state_window": 9}, "no such window"),
        ({}, {"q_num_heads": 0}, "heads are not shared evenly"),
        ({}, {"q_num_heads": 3, "kv_num_heads": 2}, "heads are not shared evenly"),
        ({0: floats(2, 5, 7)}, {}, "queries are not shared evenly"),
        ({0: floats(2, 5, 2, 4)}, {}, "queries have the wrong number of axes"),
        ({1: floats(2, 5, 12)}, {}, "keys do not fit"),
        ({1: floats(2, 4, 8)}, {}, "the shape of keys does not fit"),
        ({2: floats(2, 5, 7)}, {}, "values are not shared evenly"),
        ({3: floats(2, 2, 3, 4)}, {}, "the shape of states does not fit"),
        ({4: None}, {}, "no `decay`"),
        ({4: floats(2, 5, 3)}, {}, "`decay` has another width"),
        ({4: floats(2)}, {}, "`decay` have the wrong number of axes"),
        ({5: None}, {}, "no `beta`"),
        ({5: floats(2, 5, 3)}, {}, "`beta` has another width"),
    ],
)
def test_what_attention_does_not_take(changed: Any, attributes: Any, message: str) -> None:
    inputs: list[Any] = drawn()
    for place, value in changed.items():
        inputs[place] = value
    with pytest.raises(FrontendError, match=message):
        from_onnx(made("LinearAttention", *inputs, **{**heads(2, 2), **attributes}))


# --- CausalConvWithState

X, W, B, PAST = floats(2, 4, 6), floats(4, 1, 3), floats(4), floats(2, 4, 2)


def looked_back(
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    past: np.ndarray | None,
    *,
    dilation: int = 1,
    state_window: int = 0,
) -> list[np.ndarray]:
    """The convolution as its description has it."""
    batch, channels, steps = data.shape
    taps = weight.shape[2]
    reach = (taps - 1) * dilation
    before = np.zeros((batch, channels, reach))
    if past is not None:
        before += past[-1] if state_window else past
    whole = np.concatenate([before, data], axis=2)
    found = np.zeros(data.shape)
    for b, c, t, tap in np.ndindex(*data.shape, taps):
        found[b, c, t] += weight[c, 0, tap] * whole[b, c, t + tap * dilation]
    history = [whole[:, :, t + 1 : t + 1 + reach] for t in range(steps)]
    slots = [np.zeros_like(before)] * state_window + history
    present = np.stack(slots[-state_window:]) if state_window else whole[:, :, steps:]
    found += bias[:, None]
    return [found.astype("float32"), present.astype("float32")]


def test_looking_back() -> None:
    for bias in (None, B):
        for past in (None, PAST):
            agrees("CausalConvWithState", X, W, bias, past)
    agrees("CausalConvWithState", X, Fixed(W), Fixed(B), PAST)


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
def test_activations(activation: str) -> None:
    agrees("CausalConvWithState", X, W, B, PAST, activation=activation)


@pytest.mark.parametrize("dilation", [2, 3])
def test_gaps(dilation: int) -> None:
    past = floats(2, 4, 2 * dilation)
    inputs = (X, W, B, past)
    agrees("CausalConvWithState", X, W, B, dilation=dilation)
    found = agrees("CausalConvWithState", *inputs, dilation=dilation)
    same(found, looked_back(*inputs, dilation=dilation), 1e-4, 1e-5)


@pytest.mark.parametrize("trailing", [(4,), (2, 2), (2, 1, 2)])
def test_channels_behind(trailing: tuple[int, ...]) -> None:
    data, past = floats(2, 6, *trailing), floats(2, 4, *trailing)
    more: dict[str, Any] = {"channels_last": 1, "dilation": 2, "activation": "silu"}
    agrees("CausalConvWithState", data, W, B, past, **more)
    agrees("CausalConvWithState", data, W, **more)
    shapes = {0: ("b", "t", *trailing), 3: ("b", 4, *trailing)}
    agrees("CausalConvWithState", data, W, B, past, shapes=shapes, **more)


def test_windows_of_one_element_and_signals_shorter_than_windows() -> None:
    agrees("CausalConvWithState", X, floats(4, 1, 1), B)
    agrees("CausalConvWithState", X, floats(4, 1, 1), B, floats(2, 4, 0))
    agrees("CausalConvWithState", X[:, :, :1], W, B, PAST)
    agrees("CausalConvWithState", X[:, :, :1], floats(4, 1, 5))
    agrees("CausalConvWithState", X[:, :, :0], W, B, PAST)
    agrees("CausalConvWithState", X[:0], W)


def test_a_window_of_states_without_elements() -> None:
    weight, more = floats(4, 1, 1), {"state_window": 2}
    wanted = looked_back(X, weight, B, None, **more)
    agrees("CausalConvWithState", X, weight, B, wanted=wanted, **more)


def test_half_signals() -> None:
    inputs = [one.astype("float16") for one in (X, W, B, PAST)]
    agrees("CausalConvWithState", *inputs, activation="silu", atol=2e-3)


def test_signals_of_any_length() -> None:
    for shapes in (
        {0: ("b", 4, "t"), 3: ("b", 4, 2)},
        {0: ("b", "c", "t"), 3: ("n", "m", "k")},
        {0: (None, None, None), 3: (None, None, None)},
        {0: ("b", 4, "t")},
    ):
        agrees("CausalConvWithState", X, W, B, PAST, shapes=shapes)
    shapes = {0: ("b", 4, "t")}
    agrees("CausalConvWithState", X, W, shapes=shapes)
    found = main_type(from_onnx(made("CausalConvWithState", X, W, shapes=shapes))[0])
    assert found == "(Tensor[(b, 4, t), float32], Tensor[(b, 4, 2), float32])"


@pytest.mark.parametrize("window", [1, 3, 8])
@pytest.mark.parametrize("dilation", [1, 2])
def test_windows_of_what_came_before(window: int, dilation: int) -> None:
    more: dict[str, Any] = {"state_window": window, "dilation": dilation}
    for past in (None, floats(window, 2, 4, 2 * dilation)):
        wanted = looked_back(X, W, B, past, **more)
        agrees("CausalConvWithState", X, W, B, past, wanted=wanted, **more)
        shapes = {0: ("b", 4, "t")}
        agrees("CausalConvWithState", X, W, B, past, wanted=wanted, shapes=shapes, **more)
        behind = [np.swapaxes(one, -1, -2) for one in (X, *wanted)]
        last = None if past is None else np.swapaxes(past, -1, -2).copy()
        agrees(
            "CausalConvWithState", behind[0].copy(), W, B, last, wanted=behind[1:],
            channels_last=1, **more,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "attributes", "message"),
    [
        ({}, {"activation": "relu"}, "no such activation"),
        ({}, {"ndim": 2}, "along one axis"),
        ({}, {"dilation": 0}, "the window has no extent"),
        ({}, {"dilation": 2}, "the shape of states does not fit"),
        ({}, {"state_window": -1}, "no such window"),
        ({}, {"channels_last": 2}, "no such layout"),
        ({0: floats(2, 4)}, {}, "signals have the wrong number of axes"),
        ({0: floats(2, 3, 6)}, {}, "the shape of signals does not fit"),
        ({0: floats(2, 6, 2, 3)}, {"channels_last": 1}, "axes of channels do not fit"),
        ({1: floats(4, 3)}, {}, "weights have the wrong number of axes"),
        ({1: floats(4, 2, 3)}, {}, "the shape of weights does not fit"),
        ({2: floats(3)}, {}, "the shape of biases does not fit"),
        ({3: floats(1, 4, 2)}, {}, "the shape of states does not fit"),
        ({3: np.zeros((), "float32")}, {}, "states have the wrong number of axes"),
    ],
)
def test_what_convolutions_do_not_take(changed: Any, attributes: Any, message: str) -> None:
    inputs: list[Any] = [X, W, B, PAST]
    for place, value in changed.items():
        inputs[place] = value
    with pytest.raises(FrontendError, match=message):
        from_onnx(made("CausalConvWithState", *inputs, **attributes))
