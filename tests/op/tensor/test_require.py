"""What a program requires of its values: the run ends, in every engine, with the same words."""

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %k: int64, %f: float64) {
  let %y = require(%x, greater(%k, 2i64), %k, 2i64,
                   message="`k` is small", expected="more than {}", shown="k = {}");
  let %z = require(%y, less(%f, 1f64), %f, 0i64,
                   message="`f` is large", expected="less than 1", shown="{:g}");
  add(%z, %z)
}
"""
X = np.ones(3, "float32")


@pytest.fixture(scope="module")
def program():
    return relay.fromtext(TEXT)


@pytest.fixture(scope="module", params=["debug", "vm", "aot"])
def run(request, program):
    if request.param == "aot":
        return relay.compile(program)
    return relay.create_executor(request.param, program).evaluate()


def test_data_is_what_it_was_where_the_condition_holds(run):
    result = run(X, np.array(3), np.array(0.5))
    np.testing.assert_array_equal(getattr(result, "numpy", lambda: result)(), X + X)


@pytest.mark.parametrize(
    ("k", "f", "message", "expected", "found"),
    [
        (1, 0.5, "`k` is small", "more than 2", "k = 1"),
        (-(2**63), 0.5, "`k` is small", "more than 2", f"k = {-(2**63)}"),
        (3, np.nan, "`f` is large", "less than 1", "nan"),
        (3, 1.25, "`f` is large", "less than 1", "1.25"),
    ],
)
def test_the_run_ends_with_what_was_expected_and_found(run, k, f, message, expected, found):
    with pytest.raises(EvaluationError, match=message) as caught:
        run(X, np.array(k), np.array(f))
    (said,) = caught.value.diagnostics
    assert (said.expected, said.found) == (expected, found)
    assert "from_string:3" in str(caught.value) or "from_string:5" in str(caught.value)


def test_a_static_program_that_requires_something_is_no_straight_line_code(program):
    with pytest.raises(relay.RelayError, match="`require`"):
        relay.build(program, "llvm")


def test_saved_programs_keep_the_words(program, tmp_path):
    relay.compile(program).save(tmp_path / "checked.relayx")
    with pytest.raises(EvaluationError, match="`k` is small") as caught:
        relay.load(tmp_path / "checked.relayx")(X, np.array(2), np.array(0.5))
    assert caught.value.diagnostics[0].expected == "more than 2"


DYNAMIC = {
    "stride": (
        "strided_slice",
        lambda x, k: relay.strided_slice(x, relay.const([0]), relay.const([3]), k),
        [0],
        ("a stride is zero", "strides other than 0", "0"),
    ),
    "reps": (
        "tile",
        relay.tile,
        [-2],
        ("`reps` has a negative value", "0 or more", "-2"),
    ),
    "newshape": (
        "reshape",
        relay.reshape,
        [7],
        ("the number of elements changes", "4", "7, or a multiple of it where -1 stands"),
    ),
    "shape": (
        "broadcast_to",
        relay.broadcast_to,
        [5],
        ("the shape does not broadcast", "4", "5"),
    ),
    "topk": (
        "topk",
        lambda x, k: relay.topk(x, relay.squeeze(k, [0]), ret_type="values"),
        [9],
        ("axis 0 has fewer than `k` elements", "9 or more", "4"),
    ),
    "axes": (
        "squeeze",
        lambda x, k: relay.squeeze(relay.expand_dims(x, 0), k),
        [2],
        ("`axis` is out of range", "axis in [-2, 2) for rank 2", "axis = 2"),
    ),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_operators_say_what_they_expected_of_values_and_what_they_found(name):
    _, build, values, (message, expected, found) = DYNAMIC[name]
    x = relay.var("x", shape=(relay.Any(),), dtype="float32")
    k = relay.var("k", shape=(1,), dtype="int64")
    exe = relay.compile(relay.Function([x, k], build(x, k)))
    with pytest.raises(EvaluationError) as caught:
        exe(np.ones(4, "float32"), np.array(values))
    (said,) = caught.value.diagnostics
    assert message in said.message
    assert (said.expected, said.found) == (expected, found)
