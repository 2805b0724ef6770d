"""Tensors in memory of a GPU, over a driver that records."""

import gc
import weakref

import numpy as np
import pytest
import torch

import relay
from relay.cache import Cache
from relay.errors import EvaluationError, RelayError, TargetError
from relay.target.cuda import dlpack
from relay.target.cuda.tensors import DeviceTensor, array
from tests.support.recorded_gpu import RecordedGPU
from tests.support.recording_driver import RecordingDriver
from tests.target.cuda.test_programs import Every, floats

X = np.random.default_rng(0).standard_normal((4, 32)).astype("float32")


@pytest.fixture
def driver():
    return RecordingDriver()


def doubling(driver):
    """An executable that doubles its argument."""

    def double(x, out):
        floats(out, 128)[:] = 2 * floats(x, 128)

    driver.functions = Every(double)
    x = relay.var("x", shape=X.shape)
    mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    return relay.compile(mod, target=RecordedGPU("sm_90").on(driver), cache=Cache(None))


class Elsewhere:
    """A tensor of another library, on a GPU."""

    def __init__(self, tensor, device=(2, 0)):
        self.tensor = tensor  # of torch
        self.device = device
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        kind = str(self.tensor.dtype).removeprefix("torch.")
        if self.tensor.is_contiguous():
            return dlpack.lend(
                self.tensor.data_ptr(), self.tensor.shape, kind, self.device, self.tensor
            )
        return self.tensor.__dlpack__()


def test_a_tensor_is_copied_to_the_device_and_back(driver):
    made = array(X, driver)
    assert isinstance(made, DeviceTensor) and str(made.device) == "cuda(0)"
    assert made.shape == (4, 32) and made.dtype == "float32" and made.nbytes == 512
    np.testing.assert_array_equal(made.numpy(), X)
    np.testing.assert_array_equal(array(made, driver).numpy(), X)
    np.testing.assert_array_equal(relay.compile(identity())(made), X)  # the processor takes it too
    assert "copy between" in {entry[0] for entry in driver.log}
    empty = array(np.zeros((0, 3), "int8"), driver)
    assert empty.numpy().shape == (0, 3)
    del made, empty
    gc.collect()
    assert not driver.blocks


def identity():
    x = relay.var("x", shape=X.shape)
    return relay.IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(0.0))))


def test_arguments_and_results_stay_on_the_device(driver):
    exe = doubling(driver)
    given = array(X, driver)
    driver.log.clear()
    first = exe(given)
    kinds = [entry[0] for entry in driver.log]
    assert kinds == ["copy between", "graph", "copy between", "synchronize"]
    second = exe(first)
    np.testing.assert_array_equal(second.numpy(), 4 * X)
    np.testing.assert_array_equal(first.numpy(), 2 * X)  # a result that is held is not written
    assert len(driver.graphs) == 1
    place = second.address
    del second
    assert exe(given).address == place  # one that is not is


def test_a_call_with_arrays_goes_through_the_host(driver):
    exe = doubling(driver)
    exe(array(X, driver))
    driver.log.clear()
    found = exe(X)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, 2 * X)
    assert [e[0] for e in driver.log] == ["copy in", "graph", "copy out", "synchronize"]


def test_tensors_of_other_libraries_are_read_where_they_are(driver):
    exe = doubling(driver)
    memory = driver.allocate(512)
    floats(memory, 128)[:] = X.ravel()
    held = torch.from_numpy(np.ctypeslib.as_array(floats(memory, 128)).reshape(4, 32))
    given = Elsewhere(held)
    found = exe(given)
    assert isinstance(found, DeviceTensor)
    np.testing.assert_array_equal(found.numpy(), 2 * X)
    assert given.asked == [dlpack.DEFAULT_STREAM]  # which is waited for before the copy
    assert driver.log.index(("synchronize",)) < driver.log.index(("copy between", 512))


@pytest.mark.parametrize(
    "tensor, device, message",
    [
        (torch.zeros(4, 31), (2, 0), "`x` has another type"),
        (torch.zeros(4, 32, dtype=torch.int32), (2, 0), "`x` has another type"),
        (torch.zeros(32, 4).T, (1, 0), "`x` is not dense"),
        (torch.zeros(4, 32), (2, 1), "`x` lies on another device"),
    ],
)
def test_what_does_not_fit_is_refused(driver, tensor, device, message, monkeypatch):
    exe = doubling(driver)
    if device[0] != dlpack.CUDA:  # torch says that its capsule is of the processor
        monkeypatch.setattr("relay.target.cuda.tensors.CUDA", device[0])
    with pytest.raises(EvaluationError, match=message):
        exe(Elsewhere(tensor, device))


def test_out_is_memory_of_the_host(driver):
    with pytest.raises(EvaluationError, match="`out` is memory of the host"):
        doubling(driver)(array(X, driver), out=np.empty_like(X))


def test_devices_have_names():
    assert str(relay.cuda(0)) == "cuda(0)" and relay.device("cuda") == relay.cuda(0)
    with pytest.raises(RelayError, match="there is no device 'tpu'"):
        relay.device("tpu")
    with pytest.raises(TargetError, match="on the first GPU"):
        relay.nd.array(X, relay.cuda(1))


def test_capsules_keep_memory_as_long_as_it_is_used():
    class Owner:
        pass

    class Tensor:
        owner = Owner()

        def __dlpack__(self, **options):
            return dlpack.lend(X.ctypes.data, X.shape, "float32", (1, 0), self.owner)

        def __dlpack_device__(self):
            return 1, 0

    seen = weakref.ref(Tensor.owner)
    tensor = torch.from_dlpack(Tensor())
    np.testing.assert_array_equal(np.from_dlpack(Tensor()), X)
    Tensor().__dlpack__()  # which nobody uses
    Tensor.owner = None
    gc.collect()
    assert seen() is not None and tensor.data_ptr() == X.ctypes.data
    del tensor
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize(
    "tensor, dtype, dense",
    [
        (torch.arange(6).reshape(2, 3).T, "int64", False),
        (torch.ones(2, 3, dtype=torch.bfloat16), "bfloat16", True),
        (torch.ones(2, dtype=torch.bool), "bool", True),
        (torch.zeros(0, 3), "float32", True),
        (torch.zeros(1, 3, dtype=torch.complex64), "", True),
        (torch.tensor(3, dtype=torch.uint8), "uint8", True),
    ],
)
def test_capsules_of_others_say_what_they_are(tensor, dtype, dense):
    class Tensor:
        def __dlpack__(self, stream=None):
            return tensor.__dlpack__()

    lent = dlpack.borrow(Tensor())
    assert (lent.shape, lent.dtype, lent.is_dense) == (tuple(tensor.shape), dtype, dense)
    assert lent.address == tensor.data_ptr()
