"""A compiled program as Python calls it: what goes in, what comes out, and whose memory it is."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
import torch

from relay import dtypes, nd
from relay.errors import EvaluationError, RelayError

X = np.arange(6, dtype="float32").reshape(2, 3)
Y = np.full((2, 3), 10, "float32")


# --- calling ------------------------------------------------------------------------------------


def test_inputs_are_given_by_position_or_by_name(add):
    for result in (add(X, Y), add(x=X, y=Y), add(X, y=Y), add(y=Y, x=X)):
        np.testing.assert_array_equal(result, X + Y)


def test_it_describes_its_inputs_and_outputs(add):
    assert [str(i) for i in add.inputs] == ["x: float32[2, 3]", "y: float32[2, 3]"]
    assert [(o.name, o.shape, o.dtype) for o in add.outputs] == [("output_0", (2, 3), "float32")]
    assert repr(add) == (
        "<Relay executable (x: float32[2, 3], y: float32[2, 3]) -> (output_0: float32[2, 3])>"
    )


def test_results_are_of_the_kind_the_inputs_are(add):
    assert type(add(X, Y)) is np.ndarray
    result = add(torch.from_numpy(X), torch.from_numpy(Y))
    assert isinstance(result, torch.Tensor)
    torch.testing.assert_close(result, torch.from_numpy(X + Y))
    assert isinstance(add(nd.array(X), nd.array(Y)), nd.NDArray)
    assert isinstance(add(X, torch.from_numpy(Y)), torch.Tensor)
    assert type(add(X.tolist(), Y)) is np.ndarray


def test_torch_tensors_that_need_a_gradient_are_read(add):
    result = add(torch.from_numpy(X).requires_grad_(), torch.from_numpy(Y))
    assert not result.requires_grad


@pytest.mark.parametrize(
    "given",
    [
        X.tolist(),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X.astype(">f4"),
        np.ndarray((2, 3), "float32", buffer=bytearray(b"\0" + X.tobytes()), offset=1),
        np.frombuffer(X.tobytes(), "float32").reshape(2, 3),
        np.broadcast_to(X, (2, 3)),
        torch.from_numpy(X).T.contiguous().T,
        [[0, 1, 2], [3, 4, 5]],
    ],
    ids=[
        "list",
        "column major",
        "strided",
        "big endian",
        "unaligned",
        "read-only",
        "broadcast",
        "torch strided",
        "integers",
    ],
)
def test_arrays_in_any_form_are_read(add, given):
    np.testing.assert_array_equal(np.asarray(add(given, Y)), X + Y)


def test_nan_and_infinity_pass(add):
    odd = np.array([[np.nan, np.inf, -np.inf], [-0.0, 1e-42, 0]], "float32")
    np.testing.assert_array_equal(add(odd, Y), odd + Y)


def test_inputs_are_never_written(weighted, weights, reference):
    x = X.copy()
    weighted(x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(weighted.params["bias"].numpy(), weights["bias"])


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((X,), {}, "no value for `y`"),
        ((X, Y, X), {}, "too many inputs"),
        ((X,), {"x": Y}, "input `x` is given twice"),
        ((X,), {"z": Y}, "there is no input `z`"),
        ((X, Y[0]), {}, "`y` has another shape"),
        ((X, Y.astype("float64")), {}, "`y` has another element type"),
        ((X, Y.astype("int32")), {}, "`y` has another element type"),
        ((X, "text"), {}, "`y` is no tensor"),
        ((X, None), {}, "`y` is no tensor"),
        ((X, [[1, 2], [3]]), {}, "`y` is no tensor"),
        ((X, [["a"]]), {}, "`y` is no tensor"),
        ((X, 1.5), {}, "`y` has another shape"),
        ((X, object()), {}, "`y` is no tensor"),
        ((X, Y + 1j), {}, "`y` is no tensor"),
        ((X, torch.ones(2, 3, device="meta")), {}, "`y` is no tensor"),
    ],
)
def test_wrong_inputs_are_refused_by_name(add, args, named, message):
    with pytest.raises(EvaluationError) as error:
        add(*args, **named)
    assert message in str(error.value)


def test_a_refusal_says_what_is_expected_and_what_was_found(add):
    with pytest.raises(EvaluationError) as error:
        add(X, Y.reshape(3, 2))
    assert "expected: float32[2, 3]" in str(error.value)
    assert "found:    float32[3, 2]" in str(error.value)
    assert "hint:     x.reshape((2, 3))" in str(error.value)


def test_numbers_become_scalars(program, kernel):
    exe = program(
        """
        kernel @next(int32[]) -> (int32[])
        function @prepare() { return () }
        function @main("n" = %0: int32[]) {
          %1: int32[] = alloc
          invoke @next(%0) -> (%1)
          return %1
        }
        """,
        {"next": kernel("next", 1, 1, "add i32 %x0, 1", "i32")},
    )
    result = exe(41)
    assert result.shape == ()
    assert result == 42
    assert exe(np.int32(1)) == 2
    with pytest.raises(EvaluationError, match="another element type"):
        exe(1.5)
    with pytest.raises(EvaluationError, match="another element type"):
        exe(True)
    with pytest.raises(EvaluationError, match="is no tensor"):
        exe(2**40)


@pytest.mark.parametrize("dtype", ["bfloat16", *dtypes.FLOAT8, "float16", "bool", "int64"])
def test_every_element_type_crosses_the_border(program, kernel, dtype):
    width = {"bfloat16": "i16", "float16": "i16", "int64": "i64"}.get(dtype, "i8")
    exe = program(
        f"""
        kernel @same({dtype}[3]) -> ({dtype}[3])
        function @prepare() {{ return () }}
        function @main("x" = %0: {dtype}[3]) {{
          %1: {dtype}[3] = alloc
          invoke @same(%0) -> (%1)
          return %1
        }}
        """,
        {"same": kernel("same", 1, 3, f"add {width} %x0, 0", width)},
    )
    values = torch.tensor([0, 1, 1]).to(getattr(torch, dtype))
    result = exe(values)
    assert result.dtype == values.dtype
    assert torch.equal(result.double(), values.double())
    stored = np.dtype(getattr(ml_dtypes, dtype, dtype))
    array = np.array([0, 1, 1]).astype(stored)
    assert exe(array).dtype == stored
    np.testing.assert_array_equal(exe(array).astype("float64"), [0, 1, 1])


def test_tensors_may_be_empty(program, kernel):
    exe = program(
        """
        kernel @same(float32[0, 3]) -> (float32[0, 3])
        function @prepare() { return () }
        function @main("x" = %0: float32[0, 3]) {
          %1: float32[0, 3] = alloc
          invoke @same(%0) -> (%1)
          return %1
        }
        """,
        {"same": kernel("same", 1, 0, "fadd float %x0, 0.0")},
    )
    assert exe(np.zeros((0, 3), "float32")).shape == (0, 3)


def test_tuples_go_in_and_come_out_as_they_are_nested(program, kernel):
    exe = program(
        """
        kernel @add(float32[2], float32[2]) -> (float32[2])
        function @prepare() { return () }
        function @main("state" = (%0: float32[2], (%1: float32[2],)), "x" = %2: float32[2]) {
          %3: float32[2] = alloc
          invoke @add(%0, %2) -> (%3)
          %4: float32[2] = alloc
          invoke @add(%1, %2) -> (%4)
          return ((%3, ()), (%4,))
        }
        """,
        {"add": kernel("add", 2, 2, "fadd float %x0, %x1")},
    )
    a, b, x = (np.full(2, value, "float32") for value in (1, 2, 10))
    for result in (exe((a, (b,)), x), exe([a, [b]], x=x), exe(state=(a, (b,)), x=x)):
        (first, unit), (second,) = result
        assert unit == ()
        np.testing.assert_array_equal(first, a + x)
        np.testing.assert_array_equal(second, b + x)
    assert [i.name for i in exe.inputs] == ["state.0", "state.1", "x"]
    with pytest.raises(EvaluationError, match="input `state` is a tuple"):
        exe(a, x)
    with pytest.raises(EvaluationError, match="input `state` is a tuple"):
        exe((a, b), x)
    exe.benchmark(repeat=1, number=1)


def test_inputs_of_the_same_name_are_given_by_position(program, kernel):
    exe = program(
        """
        kernel @subtract(float32[2], float32[2]) -> (float32[2])
        function @prepare() { return () }
        function @main("x" = %0: float32[2], "x" = (%1: float32[2],), "y" = %2: float32[2]) {
          %3: float32[2] = alloc
          invoke @subtract(%0, %1) -> (%3)
          %4: float32[2] = alloc
          invoke @subtract(%3, %2) -> (%4)
          return %4
        }
        """,
        {"subtract": kernel("subtract", 2, 2, "fsub float %x0, %x1")},
    )
    a, b, c = (np.full(2, value, "float32") for value in (10, 2, 1))
    np.testing.assert_array_equal(exe(a, (b,), y=c), a - b - c)
    with pytest.raises(EvaluationError, match="several inputs are called `x`"):
        exe(a, x=(b,), y=c)


def test_no_inputs_are_fine(program, kernel):
    exe = program(
        """
        kernel @one() -> (float32[2])
        function @prepare() { return () }
        function @main() {
          %0: float32[2] = alloc
          invoke @one() -> (%0)
          return %0
        }
        """,
        {"one": kernel("one", 0, 2, "fadd float 1.0, 0.0")},
    )
    np.testing.assert_array_equal(exe(), [1, 1])
    with pytest.raises(EvaluationError, match="too many inputs"):
        exe(X)


# --- whose memory it is -------------------------------------------------------------------------


def test_results_that_are_held_never_change(add):
    held = [add(X, Y + i) for i in range(20)]
    for i, result in enumerate(held):
        np.testing.assert_array_equal(result, X + Y + i)


@pytest.mark.parametrize("keep", [lambda r: r[0], lambda r: torch.from_numpy(r)[0], memoryview])
def test_a_view_of_a_result_keeps_it(add, keep):
    view = keep(add(X, Y))
    for i in range(10):
        add(X, Y + i)
    np.testing.assert_array_equal(np.asarray(view).reshape(-1)[:3], (X + Y)[0])


def test_what_torch_or_relay_hold_is_kept(add):
    tensor = add(torch.from_numpy(X), torch.from_numpy(Y))
    value = add(nd.array(X), nd.array(Y))
    for i in range(10):
        add(X, Y + 1 + i)
    np.testing.assert_array_equal(tensor.numpy(), X + Y)
    np.testing.assert_array_equal(value.numpy(), X + Y)


def test_buffers_nobody_holds_are_used_again(add):
    seen = {add(X, Y).__array_interface__["data"][0] for _ in range(50)}
    assert len(seen) <= 4


def test_results_are_aligned(add):
    assert all(add(X, Y).__array_interface__["data"][0] % 64 == 0 for _ in range(8))


def test_results_may_be_written_to_by_their_holder(add):
    result = add(X, Y)
    result[...] = 7
    np.testing.assert_array_equal(add(X, Y), X + Y)


def test_results_are_written_where_the_caller_wants_them(add):
    out = np.empty((2, 3), "float32")
    assert add(X, Y, out=out) is out
    np.testing.assert_array_equal(out, X + Y)
    tensor = torch.empty(2, 3)
    assert add(X, Y, out=tensor) is tensor
    np.testing.assert_array_equal(tensor.numpy(), X + Y)


def test_an_output_may_lie_where_an_input_does(add):
    x = X.copy()
    add(x, Y, out=x)
    np.testing.assert_array_equal(x, X + Y)


def test_an_output_need_not_be_aligned(add):
    out = np.empty(7, "float32")[1:].reshape(2, 3)
    add(X, Y, out=out)
    np.testing.assert_array_equal(out, X + Y)


def test_outputs_that_lie_on_each_other_are_written_one_after_the_other(weighted):
    out = np.empty((2, 3), "float32")
    weighted(X, out=(out, out))
    np.testing.assert_array_equal(out, weighted(X)[1])


def test_several_outputs_are_given_as_a_tuple(weighted, weights, reference):
    out = (np.empty((2, 3), "float32"), np.empty((2, 3), "float32"))
    weighted(X, out=out)
    for result, expected in zip(out, reference(X, **weights), strict=True):
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(EvaluationError, match="another number of tensors"):
        weighted(X, out=out[0])


@pytest.mark.parametrize(
    "out",
    [
        np.empty((3, 2), "float32"),
        np.empty((2, 3), "float64"),
        np.empty((3, 2), "float32").T,
        np.frombuffer(X.tobytes(), "float32").reshape(2, 3),
        np.empty((2, 3), ">f4"),
        [[0.0] * 3] * 2,
        nd.array(X),
    ],
    ids=["shape", "dtype", "strided", "read-only", "big endian", "list", "immutable"],
)
def test_memory_that_cannot_take_the_result_is_refused(add, out):
    with pytest.raises(EvaluationError):
        add(X, Y, out=out)


def test_memory_stays_flat_over_many_calls(add):
    add(X, Y)
    gc.collect()
    tracemalloc.start()
    for _ in range(100):
        add(X, Y)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(5_000):
        add(X, Y)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 4096


# --- threads ------------------------------------------------------------------------------------


def test_one_executable_is_called_from_many_threads(weighted, weights, reference):
    def work(seed):
        x = np.random.default_rng(seed).integers(-9, 9, (2, 3)).astype("float32")
        wanted = reference(x, **weights)
        return all(
            np.array_equal(got, want)
            for _ in range(200)
            for got, want in zip(weighted(x), wanted, strict=True)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


# --- weights ------------------------------------------------------------------------------------


def test_weights_are_prepared_before_they_are_used(weighted, weights, reference):
    for result, expected in zip(weighted(X), reference(X, **weights), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("changed", [["bias"], ["scale"], ["shift"], ["bias", "scale", "shift"]])
def test_changed_weights_take_effect(weighted, weights, reference, changed):
    before = weighted(X)
    kept = [b.copy() for b in before]
    new = {name: weights[name] + 1 for name in changed}
    weighted.set_params(**new)
    for result, expected in zip(weighted(X), reference(X, **{**weights, **new}), strict=True):
        np.testing.assert_array_equal(result, expected)
    for result, expected in zip(before, kept, strict=True):
        np.testing.assert_array_equal(result, expected)


def test_a_later_change_of_the_callers_weights_is_not_seen(weighted, weights, reference):
    new = weights["shift"] + 1
    weighted.set_params({"shift": new})
    new[...] = 0
    expected = reference(X, **{**weights, "shift": weights["shift"] + 1})
    np.testing.assert_array_equal(weighted(X)[0], expected[0])


def test_weights_that_do_not_exist_or_do_not_fit_are_refused(weighted):
    with pytest.raises(EvaluationError, match="there is no weight `scales`") as error:
        weighted.set_params(scales=X)
    assert "did you mean `scale`" in str(error.value)
    with pytest.raises(EvaluationError, match="there is no weight `packed_0`"):
        weighted.set_params(packed_0=X)
    with pytest.raises(EvaluationError, match="`scale` has another shape"):
        weighted.set_params(scale=X[0])
    with pytest.raises(EvaluationError, match="weights are given by name"):
        weighted.set_params([X])


def test_a_weight_without_a_value_is_an_error(program):
    text = """
    kernel @double(float32[2]) -> (float32[2])
    constant "w": float32[2]
    constant "packed_0": float32[2] = prepare.0
    function @prepare() {
      %0: float32[2] = constant "w"
      %1: float32[2] = alloc
      invoke @double(%0) -> (%1)
      return (%1,)
    }
    function @main() {
      %0: float32[2] = constant "packed_0"
      %1: float32[2] = alloc
      invoke @double(%0) -> (%1)
      return %1
    }
    """
    code = {"double": "define i32 @double(ptr %c, ptr %a) { ret i32 0 }"}
    with pytest.raises(RelayError, match="no value for the weight `w`"):
        program(text, code)


# --- errors -------------------------------------------------------------------------------------


def test_an_index_out_of_range_names_the_kernel(failing):
    with pytest.raises(EvaluationError) as error:
        failing(1)(np.zeros(4, "float32"))
    text = str(error.value)
    assert "an index of `take` is out of range in kernel `fail`" in text
    assert "expected: 0 to 3" in text
    assert "found:    9" in text
    assert "`take`" in text


@pytest.mark.parametrize(
    ("status", "said"), [(2, "interrupted"), (3, "out of memory"), (77, "status 77")]
)
def test_other_failures_are_told_apart(failing, status, said):
    with pytest.raises(EvaluationError, match=f"{said} in kernel `fail`"):
        failing(status)(np.zeros(4, "float32"))


# --- looking at it ------------------------------------------------------------------------------


def test_memory_is_counted(weighted):
    memory = weighted.memory
    assert memory.inputs == 24
    assert memory.outputs == 48
    assert memory.constants == 3 * 24
    assert "constants" in str(memory)


def test_the_kernels_are_listed(weighted):
    names = [(k.name, k.calls) for k in weighted.kernels]
    assert names == [("product", 1), ("add", 2), ("double", 1)]
    assert weighted.kernels[1].bytes == 72
    assert weighted.kernels[1].flops == 6
    lines = str(weighted.kernels).splitlines()
    assert lines[0].split() == ["kernel", "calls", "bytes", "flops", "operators"]
    assert lines[2].split() == ["add", "2", "72", "B", "6", "add"]


def test_calls_and_steps_are_timed(weighted):
    result = weighted.benchmark(X, repeat=3, number=2)
    assert len(result.results) == 3
    assert 0 < result.min <= result.median <= result.max
    assert "mean" in str(result)
    profile = weighted.profile(X, repeat=2)
    assert [step.kernel.name for step in profile] == ["product", "add", "add", "double"]
    assert "all steps" in str(profile)
    weighted.benchmark(repeat=1, number=1)
    weighted.profile(repeat=1)
    with pytest.raises(RelayError, match="`number` is a number from 1 on, found 0"):
        weighted.benchmark(number=0)
    for time in (weighted.benchmark, weighted.profile):
        with pytest.raises(RelayError, match="`repeat` is a number from 1 on, found 0"):
            time(repeat=0)


def test_inputs_in_a_mapping_or_a_list_are_told_how_to_be_given(add):
    with pytest.raises(EvaluationError, match=r"no value for `y`[^$]*exe\(\*\*inputs\)"):
        add({"x": X, "y": Y})
    with pytest.raises(EvaluationError, match=r"no value for `y`[^$]*exe\(\*inputs\)"):
        add([X, Y])
    with pytest.raises(EvaluationError, match=r"`y` is no tensor[^$]*exe\(\*\*inputs\)"):
        add(X, {"y": Y})


def test_a_weight_has_a_name(weighted):
    with pytest.raises(EvaluationError, match="there is no weight `1`"):
        weighted.set_params({1: X})
