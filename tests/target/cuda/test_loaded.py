"""The runtime against a driver that records: order, parameters, memory, copies."""

import ctypes
import gc

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.executors.straight_line import StraightLineExecutable
from tests.support.recorded_gpu import RecordedGPU
from tests.support.recording_driver import RecordingDriver


def floats(address, count):
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


@pytest.fixture
def driver():
    return RecordingDriver()


def compiled(driver, body, *shapes):
    params = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(shapes)]
    mod = relay.IRModule.from_expr(relay.Function(params, body(*params)))
    exe = relay.compile(mod, target=RecordedGPU("sm_90").on(driver), cache=Cache(None))
    assert isinstance(exe, StraightLineExecutable)
    return exe


def kernels(exe):
    """The names of the functions of the kernels of a call, in order."""
    return [f"{kernel.name}_0" for kernel in exe.bound.kernels]


def test_a_call_copies_runs_one_graph_and_copies(driver):
    exe = compiled(driver, lambda x, y: relay.nn.softmax(relay.nn.dense(x, y)), (4, 32), (20, 32))
    first, second = kernels(exe)

    def product(x, y, out):
        floats(out, 80)[:] = (floats(x, 128).reshape(4, 32) @ floats(y, 640).reshape(20, 32).T).flat

    def negate(x, out):
        floats(out, 80)[:] = -floats(x, 80)

    driver.functions |= {first: product, second: negate}
    x = np.random.default_rng(0).standard_normal((4, 32), "float32")
    y = np.random.default_rng(1).standard_normal((20, 32), "float32")
    driver.log.clear()
    found = exe(x, y)
    np.testing.assert_allclose(found, -(x @ y.T), rtol=1e-5)
    around = [
        ("copy in", 512),
        ("copy in", 2560),
        ("graph", 2),
        ("copy out", 320),
        ("synchronize",),
    ]
    assert driver.log == around
    assert [call[1] for call in driver.graphs[-1]] == [first, second]
    (graph,) = driver.graphs
    assert [call[5] for call in graph] == [False, True]  # the first has no launch to wait for
    assert graph[0][4][2] == graph[1][4][0]  # one reads what the other wrote
    driver.log.clear()
    exe(2 * x, y)
    assert driver.log == around and len(driver.graphs) == 1  # recorded once


def test_weights_are_copied_once_and_again_when_they_change(driver):
    x, w = relay.var("x", shape=(4, 32)), relay.var("w", shape=(20, 32))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    target = RecordedGPU("sm_90").on(driver)
    weight = np.ones((20, 32), "float32")
    exe = relay.compile(mod, {"w": weight}, target=target, cache=Cache(None))
    (name,) = kernels(exe)
    seen = []
    driver.functions[name] = lambda x, w, out: seen.append(floats(w, 640).copy())
    data = np.zeros((4, 32), "float32")
    driver.log.clear()
    exe(data)
    exe(data)
    assert driver.log.count(("copy in", 2560)) == 0
    exe.set_params(w=3 * weight)
    exe(data)
    assert [one[0] for one in seen] == [1, 1, 3]
    assert len(driver.graphs) == 2  # the graph has the addresses of weights


def test_the_host_computes_what_the_device_cannot_between_two_graphs(driver):
    exe = compiled(driver, lambda x: relay.exp(relay.sort(relay.negative(x))), (4, 32))
    names = kernels(exe)

    def negate(x, out):
        floats(out, 128)[:] = -floats(x, 128)

    def plus_one(x, out):
        floats(out, 128)[:] = floats(x, 128) + 1

    driver.functions |= {names[0]: negate, names[-1]: plus_one}
    x = np.random.default_rng(0).standard_normal((4, 32)).astype("float32")
    np.testing.assert_array_equal(exe(x), np.sort(-x) + 1)
    assert len(driver.graphs) == 2


def test_memory_is_given_back(driver):
    exe = compiled(driver, lambda x: relay.nn.softmax(relay.exp(x)), (4, 32))
    exe(np.zeros((4, 32), "float32"))
    assert driver.blocks and driver.pinned and driver.held
    del exe
    gc.collect()
    assert not driver.blocks and not driver.pinned and not driver.held


def test_a_profile_keeps_the_memory_of_its_steps(driver):
    exe = compiled(driver, lambda x, y: relay.nn.softmax(relay.nn.dense(x, y)), (4, 32), (20, 32))
    assert len(exe.profile(repeat=2)) == 2


def test_the_virtual_machine_copies_the_tensors_of_a_kernel(driver):
    x = relay.var("x", shape=(4,))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    target = RecordedGPU("sm_90").on(driver)
    run = relay.create_executor("vm", mod, target=target).evaluate()
    driver.functions = Doubling()
    np.testing.assert_array_equal(
        np.asarray(run(np.arange(4, dtype="float32")).numpy()), 2 * np.arange(4)
    )


class Doubling(dict):
    """Whatever the kernel: its result is twice its input."""

    def get(self, name):
        def double(x, out):
            floats(out, 4)[:] = 2 * floats(x, 4)

        return double
