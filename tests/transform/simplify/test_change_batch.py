"""Parameters get another batch size, and what follows from them other types."""

import numpy as np
import pytest

import relay
from relay.errors import PassError, TypeCheckError
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, mlp, resnet
from relay.transform import ChangeBatch, InferType

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def assert_rewrites(before, after, data, size=16):
    found = ChangeBatch(data, size)(parse(before))
    assert_generated_ok(found)
    assert_structural_equal(found, parse(after))


def test_the_batch_of_a_parameter_changes_and_types_follow():
    assert_rewrites(
        """def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(4, 3), float32]) {
          let %y: Tensor[(1, 4), float32] = nn.dense(%x, %w);
          nn.relu(%y)
        }""",
        """def @main(%x: Tensor[(16, 3), float32], %w: Tensor[(4, 3), float32]) {
          let %y: Tensor[(16, 4), float32] = nn.dense(%x, %w);
          nn.relu(%y)
        }""",
        {"x": 0},
    )


def test_each_parameter_has_its_own_axis():
    assert_rewrites(
        "def @main(%x: Tensor[(1, 3), int8], %y: Tensor[(3, 1), int8]) { (%x, %y) }",
        "def @main(%x: Tensor[(5, 3), int8], %y: Tensor[(3, 5), int8]) { (%x, %y) }",
        {"x": 0, "y": -1},
        5,
    )


def test_branches_functions_and_matches_inside_follow():
    assert_rewrites(
        """
        type Box[A] { Of(A) }
        def @main(%x: Tensor[(1), float32], %c: bool) {
          let %f = fn (%y: Tensor[(1), float32]) -> Tensor[(1), float32] { exp(%y) };
          let %b = Of(if (%c) { %f(%x) } else { %x });
          match (%b) { Of(%z) => %z }
        }
        """,
        """
        type Box[A] { Of(A) }
        def @main(%x: Tensor[(2), float32], %c: bool) {
          let %f = fn (%y: Tensor[(2), float32]) -> Tensor[(2), float32] { exp(%y) };
          let %b = Of(if (%c) { %f(%x) } else { %x });
          match (%b) { Of(%z) => %z }
        }
        """,
        {"x": 0},
        2,
    )


def test_a_batch_may_be_symbolic_or_unknown():
    mod = parse("def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }")
    after = ChangeBatch({"x": 0}, relay.Any())(mod)
    assert str(after["main"].checked_type) == (
        "fn (Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32]"
    )


@pytest.mark.parametrize("batch", [1, 3])
def test_a_network_computes_each_of_a_batch(batch):
    mod, params = mlp.get_workload(2)
    after = ChangeBatch({mod["main"].params[0]: 0}, batch)(mod)
    x = np.random.default_rng(0).uniform(-1, 1, (batch, 1, 28, 28)).astype("float32")
    found = relay.create_executor("debug", after, params=params).evaluate()(data=x).numpy()
    pair = np.concatenate([x, x])[:2]
    wanted = relay.create_executor("debug", mod, params=params).evaluate()(data=pair).numpy()
    np.testing.assert_allclose(found[:1], wanted[:1], rtol=1e-5)


def test_a_deep_network_has_a_type_again():
    mod, _ = resnet.get_workload(1, 10, 18, (3, 32, 32))
    after = ChangeBatch({"data": 0}, 4)(mod)
    assert str(after["main"].checked_type.ret_type) == "Tensor[(4, 10), float32]"


def test_the_same_batch_changes_nothing():
    mod = parse("def @main(%x: Tensor[(4, 3), float32]) { nn.relu(%x) }")
    assert ChangeBatch({"x": 0}, 4)(mod)["main"] is mod["main"]


def test_a_size_that_is_written_elsewhere_is_found_by_inference():
    mod = parse("def @main(%x: Tensor[(1, 3), float32]) { reshape(%x, newshape=[1, 3]) }")
    with pytest.raises(TypeCheckError):
        ChangeBatch({"x": 0}, 4)(mod)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"xs": 0}, "no function of the module has the parameter `%xs`"),
        ({"x": 2}, "has no axis 2"),
        ({"t": 0}, "is no tensor"),
        ({relay.var("x", shape=(1, 3)): 0}, "give its name"),
    ],
)
def test_what_cannot_be_changed_is_refused(data, message):
    mod = parse("def @main(%x: Tensor[(1, 3), float32], %t: (int32, int32)) { %x }")
    with pytest.raises(PassError, match=message):
        ChangeBatch(data)(mod)
