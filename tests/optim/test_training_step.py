import numpy as np
import pytest

import relay
from relay import Tensor
from relay.errors import DiagnosticError, GradientError, RelayError
from relay.executors.straight_line import StraightLineExecutable
from relay.optim import SGD, Adam, trained_weights, training_step
from relay.pipeline.state import without_state
from tests.optim.stepping import program

X = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")
Y = np.random.default_rng(1).standard_normal((5, 2)).astype("float32")
W = np.random.default_rng(2).standard_normal((2, 3)).astype("float32")


def linear(result=lambda loss, guess: loss):
    x, y, w = (relay.var(n, shape=a.shape) for n, a in (("x", X), ("y", Y), ("w", W)))
    guess = relay.nn.dense(x, w)
    return relay.Function([x, y, w], result(relay.mean((guess - y) * (guess - y)), guess))


def expected(steps, rate):
    weights, losses = W.astype("float64"), []
    for _ in range(steps):
        error = X @ weights.T - Y
        losses.append((error**2).mean())
        weights = weights - rate * 2 / error.size * error.T @ X
    return weights, losses


def test_a_step_is_one_call_that_updates_the_weights_of_the_executable():
    mine = W.copy()
    exe = relay.compile(*training_step(linear(), {"w": mine}, SGD(0.3)))
    assert isinstance(exe, StraightLineExecutable)
    weights, losses = expected(4, 0.3)
    np.testing.assert_allclose([exe(X, Y) for _ in range(4)], losses, 1e-5)
    np.testing.assert_allclose(exe.state["w"].numpy(), weights, 1e-5)
    assert (mine == W).all(), "the caller's array"
    read = exe.state["w"].numpy()
    exe(X, Y)
    np.testing.assert_allclose(read, weights, 1e-5)


def test_weights_and_slots_are_updated_in_place():
    exe = relay.compile(*program(Adam(0.1)))
    assert len(exe.bound.plan.updates) == len(exe.state) == 7
    inputs = exe.example_inputs()
    exe(*inputs)
    places = exe.threaded.values.addresses
    exe(*inputs)
    assert exe.threaded.values.addresses == places


def test_training_goes_on_where_it_was_saved(tmp_path):
    exe = relay.compile(*training_step(linear(), {"w": W}, Adam(0.1)))
    exe(X, Y)
    exe.save(tmp_path / "step.relayx")
    loaded = relay.load(tmp_path / "step.relayx")
    assert exe(X, Y) == loaded(X, Y)
    assert (exe.state["w"].numpy() == loaded.state["w"].numpy()).all()
    exe.reset()
    assert (exe.state["w"].numpy() == W).all()
    assert exe.state["optimizer.step"].numpy() == 0


def test_other_results_are_given_as_they_are_and_not_differentiated():
    def both(loss, guess):
        return relay.Tuple((loss, relay.Tuple((guess, relay.argmax(guess, axis=1)))))

    exe = relay.compile(*training_step(linear(both), {"w": W}, SGD(0.3)))
    _loss, (guess, best) = exe(X, Y)
    np.testing.assert_allclose(guess, X @ W.T, 1e-5)
    assert (best == guess.argmax(1)).all()
    np.testing.assert_allclose(exe.state["w"].numpy(), expected(1, 0.3)[0], 1e-5)


def test_what_is_frozen_or_no_floating_point_number_stays_a_weight():
    x, w, b = relay.var("x", shape=(4,)), relay.var("w", shape=(4,)), relay.var("b", shape=(4,))
    n = relay.var("n", shape=(4,), dtype="int32")
    loss = relay.Function([x, w, b, n], relay.sum(x * w * b + relay.cast(n, "float32")))
    ones = np.ones(4, "float32")
    weights = {"w": ones, "b": ones, "n": np.ones(4, "int32")}
    module, state = training_step(loss, weights, SGD(1.0), frozen=["b"])
    assert module["main"].state_names == ("w",)
    exe = relay.compile(module, state)
    assert (exe(ones), exe(ones)) == (8, 4)
    assert {"b", "n"} <= {*exe.params}


def test_the_loss_may_have_state_of_its_own():
    text = """
    #[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32],
              %seen: Tensor[(2), float32], State=["seen"]) {
      (sum(%x * %w), %seen + %x * %w)
    }
    """
    weights = {"w": np.ones(2, "float32"), "seen": np.zeros(2, "float32")}
    exe = relay.compile(*training_step(relay.parse(text), weights, SGD(1.0)))
    x = np.array([1, 2], "float32")
    assert exe(x) == 3
    assert exe.state["w"].numpy().tolist() == [0, -1]
    exe(x)
    assert exe.state["seen"].numpy().tolist() == [1, 0]


@relay.data
class Layer:
    weight: Tensor[3, 3]
    bias: Tensor[3]


@relay.data
class Net:
    layers: list[Layer]
    last: tuple[Tensor[1, 3], float]


@relay.function
def net_loss(net: Net, x: Tensor[5, 3]) -> float:
    for layer in net.layers:
        x = relay.tanh(relay.nn.dense(x, layer.weight) + layer.bias)
    result = relay.nn.dense(x, net.last[0]) + net.last[1]
    return relay.mean(result * result)


def test_weights_may_be_objects_with_lists_and_tuples():
    rng = np.random.default_rng(3)
    normal = lambda *shape: rng.standard_normal(shape).astype("float32")  # noqa: E731
    net = Net([Layer(normal(3, 3), normal(3)) for _ in range(2)], (normal(1, 3), 0.5))
    module, state = training_step(net_loss, {"net": net}, SGD(0.2))
    assert [*state] == [
        *(f"net.layers.{n}.{part}" for n in (0, 1) for part in ("weight", "bias")),
        "net.last.0",
        "net.last.1",
    ]
    run = relay.create_executor("debug", without_state(module)).evaluate()
    loss, *after = run(x=X, **state).fields
    assert abs(loss.numpy() - net_loss(net, X).numpy()) < 1e-5
    slope = relay.grad(net_loss, wrt="net")(net, X)
    made = dict(zip(module["main"].state_names, after, strict=True))
    trained = trained_weights(made, {"net": net})["net"]
    assert isinstance(trained, Net)
    for layer, before, change in zip(trained.layers, net.layers, slope.layers, strict=True):
        wanted = before.bias - 0.2 * change.bias.numpy()
        np.testing.assert_allclose(layer.bias.numpy(), wanted, 1e-4, 1e-6)
    wanted = 0.5 - 0.2 * slope.last[1].numpy()
    np.testing.assert_allclose(trained.last[1].numpy(), wanted, 1e-4)


def test_what_is_no_loss_is_refused():
    x = relay.var("x", shape=(2,))
    with pytest.raises(GradientError, match="this is no loss"):
        training_step(relay.Function([x], x * x), {"x": np.ones(2, "float32")}, SGD(1.0))
    with pytest.raises(DiagnosticError, match="the loss has no parameter `v`"):
        training_step(linear(), {"v": W}, SGD(1.0))
    with pytest.raises(RelayError, match="there is no weight `v` to be frozen"):
        training_step(linear(), {"w": W}, SGD(1.0), frozen=["v"])
