"""Whole programs on a GPU: native code of the host that launches kernels, over a driver that
records, in Triton's interpreter or in Python."""

import ctypes
import gc
from itertools import pairwise

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.driver import compile_program
from relay.errors import EvaluationError, RelayError
from relay.target import Target
from relay.target.cuda.program.executable import DeviceProgramExecutable
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from relay.testing import assert_same_value
from tests.executors.engines import interpreter, outcome
from tests.executors.test_agreement import WHOLE
from tests.programs.arguments import arguments, load
from tests.support.recorded_gpu import RecordedGPU
from tests.support.recording_driver import InterpretingDriver, RecordingDriver

LOOP = """
#[version = "0.0.5"]
def @loop(%n: int32, %x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
  if (equal(%n, 0)) { %x } else { @loop(subtract(%n, 1), exp(%x)) }
}
def @main(%n: int32, %x: Tensor[(4, 8), float32]) { @loop(%n, %x) }
"""
SORTED = """
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(3, 40), float32]) {
  if (%c) { exp(sort(negative(%x))) } else { %x }
}
"""
SUMMED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(40), float32]) {
  let %s = sum(%x);
  if (greater(%s, 0f)) { multiply(%x, %s) } else { subtract(%x, %s) }
}
"""
LISTS = """
#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @map(%xs: List[Tensor[(3), float32]]) -> List[Tensor[(3), float32]] {
  match (%xs) {
    Cons(%x, %rest) => Cons(add(%x, %x), @map(%rest)),
    Nil => Nil,
  }
}
def @main(%xs: List[Tensor[(3), float32]]) { @map(%xs) }
"""


def compiled(text, driver, **options):
    mod = relay.parse(text) if isinstance(text, str) else text
    target = RecordedGPU(driver.architecture.name).on(driver)
    made = compile_program(mod, target=target, cache=Cache(None), whole=True, **options)
    return DeviceProgramExecutable(made.program, made.code, made.weights, 1)


def floats(address, count):
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


class Every(dict):
    """Whatever the kernel: a function over the addresses."""

    def __init__(self, function):
        self.function = function

    def get(self, name):
        return self.function


def doubling(count):
    def double(x, out):
        floats(out, count)[:] = 2 * floats(x, count)

    return Every(double)


X = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")


def test_a_loop_launches_without_copies_between():
    driver = RecordingDriver(functions=doubling(32))
    exe = compiled(LOOP, driver)
    np.testing.assert_array_equal(exe(3, X), 8 * X)
    driver.log.clear()
    np.testing.assert_array_equal(exe(4, X), 16 * X)
    kinds = [entry[0] for entry in driver.log]
    assert kinds == ["copy in", *["launch"] * 4, "synchronize", "copy out", "synchronize"]
    launches = [entry for entry in driver.log if entry[0] == "launch"]
    # the first follows a copy, the others a launch that they wait for by themselves
    assert [one[5] for one in launches] == [False, True, True, True]
    for before, after in pairwise(launches):
        assert before[4][1] == after[4][0]  # reads what was written
    assert len({one[4][1] for one in launches}) == 2  # memory that is free is used again


def test_memory_is_kept_between_calls_and_given_back_with_the_executable():
    driver = RecordingDriver(functions=doubling(32))
    exe = compiled(LOOP, driver)
    exe(3, X)
    blocks = set(driver.blocks)
    exe(7, X)
    assert set(driver.blocks) == blocks and exe.live_objects == 0 and exe.leaked_objects == 0
    assert exe.memory.arena >= 2 * 4096
    del exe
    gc.collect()
    assert not driver.blocks and not driver.pinned and not driver.held


def test_a_result_without_launches_is_the_argument():
    exe = compiled(LOOP, RecordingDriver())
    np.testing.assert_array_equal(exe(0, X), X)


def test_lists_hold_tensors_of_the_device():
    driver = RecordingDriver(functions=doubling(3))
    exe = compiled(LISTS, driver)
    given = [np.full(3, i, "float32") for i in range(50)]
    for found, one in zip(exe(given), given, strict=True):
        np.testing.assert_array_equal(found, 2 * one)
    assert len([entry for entry in driver.log if entry[0] == "launch"]) == 50
    assert exe.live_objects == 0 and exe.leaked_objects == 0


def test_the_host_computes_what_the_device_cannot():
    driver = RecordingDriver()

    def negate(x, out):
        floats(out, 120)[:] = -floats(x, 120)

    driver.functions = Every(negate)
    exe = compiled(SORTED, driver)
    x = np.random.default_rng(0).standard_normal((3, 40)).astype("float32")
    np.testing.assert_array_equal(exe(True, x), -np.sort(-x))
    np.testing.assert_array_equal(exe(False, x), x)
    assert len(exe.device_kernels) == 2 < len(exe.kernels)


def test_a_scalar_that_decides_is_read_back():
    driver = InterpretingDriver()
    pytest.importorskip("triton", reason="the extra `cuda` is not installed")
    exe = compiled(SUMMED, driver)
    for sign in (1, -1):
        x = sign * np.arange(40, dtype="float32")
        wanted = relay.compile(relay.parse(SUMMED))(x)
        np.testing.assert_allclose(exe(x), wanted, rtol=1e-6)
    assert exe.live_objects == 0


def test_memory_for_scalars_is_used_again_after_waiting():
    text = LOOP.replace("exp(%x)", 'add(%x, cast(%n, dtype="float32"))')
    seen = []

    def note(x, n, out):
        seen.append(floats(n, 1)[0] if ctypes.c_int32.from_address(n).value > 2**20 else 0)
        floats(out, 32)[:] = floats(x, 32)

    driver = RecordingDriver(functions=Every(lambda *given: None))
    exe = compiled(text, driver)
    exe(9000, X)
    slots = {entry[4][1] for entry in driver.log if entry[0] == "launch"}
    assert 1 < len(slots) <= 4096
    waits = [entry for entry in driver.log if entry[0] == "synchronize"]
    assert len(waits) >= 4  # twice in between, and for the result


def test_a_failure_of_the_driver_is_an_error_and_the_next_call_works():
    driver = RecordingDriver(functions=doubling(32))
    exe = compiled(LOOP, driver)
    exe(2, X)
    for name in ("cuLaunchKernelEx", "cuMemcpyHtoDAsync", "cuStreamSynchronize"):
        driver.status = {name: 700}
        with pytest.raises(EvaluationError, match="the GPU driver reports 700"):
            exe(2, X)
        np.testing.assert_array_equal(exe(2, X), 4 * X)
    assert exe.live_objects == 0


def test_out_of_memory_says_so_after_giving_back_what_is_free():
    driver = RecordingDriver(functions=doubling(32))
    exe = compiled(LOOP, driver)
    driver.status = {"cuMemAlloc": 2}  # once: free blocks are given back, then it works
    np.testing.assert_array_equal(exe(2, X), 4 * X)
    fresh = compiled(LOOP, Full(functions=doubling(32)))
    with pytest.raises(EvaluationError, match=r"(?s)out of memory.*GPU"):
        fresh(2, X)


class Full(RecordingDriver):
    """A device without memory for tensors."""

    def cuMemAlloc(self, place, size):
        raise MemoryError

    def _callable(self, name):
        if name != "cuMemAlloc":
            return super()._callable(name)
        return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64)(lambda *_: 2)


def test_a_limit_holds_for_memory_of_the_device():
    driver = RecordingDriver(functions=doubling(32))
    mod = relay.parse(LOOP)
    target = RecordedGPU("sm_90").on(driver)
    exe = relay.compile(mod, target=target, cache=Cache(None), memory=1 << 10)
    with pytest.raises(EvaluationError, match="out of memory"):
        exe(2, X)


def test_a_profile_counts_and_times_kernels_of_both():
    driver = RecordingDriver(functions=Every(lambda x, out: None))
    exe = compiled(SORTED, driver)
    profile = exe.profile(True, np.zeros((3, 40), "float32"), repeat=2)
    assert sum(step.kernel.calls for step in profile) == 3


@pytest.mark.rotate(6)
@pytest.mark.parametrize("name", sorted(WHOLE))
def test_programs_mean_what_the_interpreter_says(name):
    pytest.importorskip("triton", reason="the extra `cuda` is not installed")
    module = load(name)
    exe = compiled(module, InterpretingDriver())
    agree(exe, name, module)


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(WHOLE))
def test_programs_mean_it_on_a_gpu(name):
    module = load(name)
    made = compile_program(module, target=Target("cuda"), whole=True)
    agree(DeviceProgramExecutable(made.program, made.code, made.weights, 1), name, module)


def agree(exe, name, module):
    assert isinstance(exe, WholeProgramExecutable)
    meaning = interpreter(module)
    for mine, theirs in zip(arguments(name, module), arguments(name, module), strict=True):
        wanted, found = outcome(meaning, theirs), outcome(exe.evaluate, mine)
        if isinstance(wanted, RelayError):
            assert isinstance(found, RelayError), f"{found!r} instead of: {wanted}"
            continue
        if isinstance(found, RelayError):
            raise found
        assert_same_value(found, wanted, rtol=1e-5)
        for one, other in zip(mine, theirs, strict=True):
            to_value = relay.interpreter.values.to_value
            assert_same_value(to_value(one), to_value(other), rtol=1e-5)
    assert exe.live_objects == 0 and exe.leaked_objects == 0
