"""Out-of-bounds accesses of kernels are detected."""

import subprocess
import sys

import numpy as np
import pytest

from relay import te
from relay.errors import TargetError
from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, TensorSpec
from relay.lower.lower import Options, lower_computed
from relay.lower.to_compute import Computed
from relay.target.target import Target
from tests.support.kernels import Batch, Memory, refused

HOST = Target.host()
EIGHT = TensorSpec((8,), "float32")


def written(name, body, *, workspace=0, outputs=1):
    """A kernel in LLVM IR: %in, %out and %work are its pointers."""
    text = f"""
    define i32 @{name}(ptr %context, ptr %args) {{
      %in = load ptr, ptr %args
      %out.at = getelementptr i8, ptr %args, i64 8
      %out = load ptr, ptr %out.at
      %work.at = getelementptr i8, ptr %args, i64 16
      %work = load ptr, ptr %work.at
      {body}
      ret i32 0
    }}"""
    kernel = Kernel(name, (EIGHT,), (EIGHT,), text, workspace=workspace, in_place=((0, 0),))
    return Lowered((Step(kernel, (Param(0),), (Result(0),)),))


COPY = """
  %v = load <8 x float>, ptr %in, align 4
  store <8 x float> %v, ptr %out, align 4
"""
X = np.arange(8, dtype=np.float32)


def store_at(pointer, offset):
    return f"""
      %p = getelementptr i8, ptr {pointer}, i64 {offset}
      store i8 1, ptr %p
    """


def test_a_kernel_is_run_on_arrays():
    outcome = Batch([written("copy", COPY)], HOST).run(0, [X])
    assert outcome.status == 0
    np.testing.assert_array_equal(outcome.results[0], X)


@pytest.mark.parametrize(
    ("pointer", "offset", "message"),
    [
        ("%out", 32, "wrote after result 0"),
        ("%out", -1, "wrote before result 0"),
        ("%work", 10, "wrote after the workspace"),
        ("%work", -200, "wrote before the workspace"),
        ("%in", 3, "wrote to input 0"),
    ],
)
def test_a_store_beside_its_memory_is_noticed(pointer, offset, message):
    batch = Batch([written("bad", store_at(pointer, offset), workspace=10)], HOST)
    with pytest.raises(AssertionError, match=message):
        batch.run(0, [X])


def test_what_is_not_written_is_not_zero():
    batch = Batch([written("nothing", "")], HOST)
    assert np.isnan(batch.run(0, [X]).results[0]).all()
    assert (batch.run(0, [X], memory=Memory(fill=1)).results[0] != 0).all()


@pytest.mark.parametrize(("fence", "offset"), [("after", 32), ("before", -1)])
def test_reading_beside_an_input_ends_the_process(fence, offset):
    program = f"""
from tests.support.kernels import Batch, Memory
import numpy as np
import test_kernels as t
load = "%p = getelementptr i8, ptr %in, i64 {offset}\\n%v = load volatile i8, ptr %p"
batch = Batch([t.written("good", t.COPY), t.written("bad", load)], t.HOST)
print(batch.run(0, [t.X], memory=Memory(fence="{fence}")).status, flush=True)
batch.run(1, [t.X], memory=Memory(fence="{fence}"))
"""
    here = __file__.rsplit("/", 1)[0]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r})\n{program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "0\n" and done.returncode < 0, done.stderr


def test_inputs_are_aligned_to_their_elements_only_and_results_as_asked():
    """The address of the input, and of the result, as the result."""
    body = """
      %a = ptrtoint ptr %in to i64
      store i64 %a, ptr %out, align 4
      %next = getelementptr i8, ptr %out, i64 8
      %b = ptrtoint ptr %out to i64
      store i64 %b, ptr %next, align 4
    """
    batch = Batch([written("where", body)], HOST)

    def addresses(memory):
        outcome = batch.run(0, [X[:7]], memory=memory)
        return outcome.results[0][:4].view(np.int64) % 64

    assert addresses(Memory()).tolist() == [64 - 28, 0]
    assert addresses(Memory(fence="before", aligned=False)).tolist() == [0, 4]


def test_a_result_may_lie_where_an_input_does():
    double = """
      %v = load <8 x float>, ptr %in, align 4
      store <8 x float> zeroinitializer, ptr %out, align 4
      %w = load <8 x float>, ptr %in, align 4
      %s = fadd <8 x float> %v, %w
      store <8 x float> %s, ptr %out, align 4
    """
    batch = Batch([written("double", double)], HOST)
    np.testing.assert_array_equal(batch.run(0, [X]).results[0], 2 * X)
    in_place = batch.run(0, [X], memory=Memory(in_place=True))
    np.testing.assert_array_equal(in_place.results[0], X)


def test_kernels_that_cannot_be_compiled_are_named():
    bad = written(
        "bad", "%v = load float, ptr %in\n%r = frem float %v, %v\nstore float %r, ptr %out"
    )
    found = refused([written("copy", COPY), bad], HOST)
    assert list(found) == ["bad"]
    with pytest.raises(TargetError, match="fmodf"):
        Batch([bad], HOST)


def test_steps_hand_each_other_what_they_make():
    x = te.placeholder((6, 5), "float32", "x")
    w = te.placeholder((5, 7), "float32", "w")
    k = te.axis(5)
    y = te.compute((6, 7), lambda i, j: te.sum(x[i, k] * w[k, j], k))
    function = lower_computed(Computed((x, w), (y,), ("dense",)), [False, True], HOST, Options())
    assert len(function.steps) == 2
    given = [np.random.default_rng(0).random(shape, np.float32) for shape in ((6, 5), (5, 7))]
    outcome = Batch([function], HOST).run(0, given)
    np.testing.assert_allclose(outcome.results[0], given[0] @ given[1], rtol=1e-5)
