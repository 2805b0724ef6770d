"""Programs on a GPU, against the processor: `pytest -m gpu tests/target/cuda`."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import relay
from relay.errors import TargetError
from relay.target import Target
from relay.target.cuda.driver import open_driver
from relay.testing import dqn, mlp, mobilenet, resnet
from relay.transform import InferType, ToMixedPrecision
from tests.support.gpu_cases import CASES, check

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True, scope="module")
def gpu():
    pytest.importorskip("triton", reason="the extra `cuda` is not installed")
    try:
        return open_driver()
    except TargetError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_the_processor(name):
    check(name, Target("cuda"))


NETWORKS = {
    "mlp": lambda: mlp.get_workload(3),
    "dqn": lambda: dqn.get_workload(2),
    "resnet": lambda: resnet.get_workload(2, num_layers=18, image_shape=(3, 64, 64)),
    "mobilenet": lambda: mobilenet.get_workload(1),
}


@pytest.mark.parametrize("kind, most", [("float32", 2e-6), ("float16", 2e-3)])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_agree_and_give_the_same_bits(name, kind, most):
    mod, params = NETWORKS[name]()
    mod = InferType()(mod)
    half = ToMixedPrecision(kind)(mod) if kind == "float16" else mod
    exe = relay.compile(half, params, target="cuda")
    (x,) = exe.example_inputs()
    true = relay.compile(mod, params)(x)
    found = exe(x)
    assert np.abs(found - true).max() <= most * np.abs(true).max()
    for _ in range(200):
        np.testing.assert_array_equal(exe(x), found)


def test_threads_share_an_executable():
    mod, params = NETWORKS["mlp"]()
    exe = relay.compile(mod, params, target="cuda")
    inputs = np.random.default_rng(0).standard_normal((64, 3, 1, 28, 28), "float32")
    wanted = [exe(x) for x in inputs]
    with ThreadPoolExecutor(8) as threads:
        for found, true in zip(threads.map(exe, inputs), wanted, strict=True):
            np.testing.assert_array_equal(found, true)


def test_a_saved_executable_runs(tmp_path):
    mod, params = NETWORKS["mlp"]()
    exe = relay.compile(mod, params, target="cuda")
    (x,) = exe.example_inputs()
    exe.save(tmp_path / "mlp.relay")
    np.testing.assert_array_equal(relay.load(tmp_path / "mlp.relay")(x), exe(x))


def test_weights_can_change():
    mod, params = NETWORKS["mlp"]()
    exe = relay.compile(mod, params, target="cuda")
    (x,) = exe.example_inputs()
    before = exe(x)
    name = next(iter(params))
    exe.set_params({name: 2 * params[name].numpy()})
    changed = relay.compile(mod, {**params, name: 2 * params[name].numpy()}, target="cuda")
    assert not np.array_equal(before, exe(x))
    np.testing.assert_array_equal(exe(x), changed(x))


def test_every_step_of_a_profile_has_a_time():
    mod, params = NETWORKS["resnet"]()
    exe = relay.compile(mod, params, target="cuda")
    assert len(exe.profile(repeat=2)) == len(exe.bound.kernels)


def test_tensors_of_torch_stay_on_the_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA")
    mod, params = NETWORKS["mlp"]()
    exe = relay.compile(mod, params, target="cuda")
    for seed in range(20):
        (x,) = exe.example_inputs(seed)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            given = torch.from_numpy(x).cuda(non_blocking=True)
            for _ in range(50):  # work that is not done when the call begins
                given = given + 1 - 1
            found = exe(given)
        assert found.is_cuda
        np.testing.assert_allclose(found.cpu().numpy(), exe(x), rtol=1e-3, atol=1e-6)


def test_tensors_of_relay_stay_on_the_gpu():
    mod, params = NETWORKS["mlp"]()
    exe = relay.compile(mod, params, target="cuda")
    (x,) = exe.example_inputs()
    given = relay.nd.array(x, relay.cuda(0))
    np.testing.assert_array_equal(given.numpy(), x)
    np.testing.assert_array_equal(exe(given).numpy(), exe(x))


def test_calls_of_a_program_from_threads_agree():
    program = """
    #[version = "0.0.5"]
    def @main(%n: int32, %x: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
      if (equal(%n, 0)) { %x } else { @main(subtract(%n, 1), nn.softmax(nn.dense(%x, %x))) }
    }
    """
    mod = relay.parse(program)
    exe = relay.compile(mod, target="cuda")
    x = np.random.default_rng(0).standard_normal((64, 64)).astype("float32")
    wanted = exe(20, x)
    np.testing.assert_allclose(wanted, relay.compile(mod)(20, x), rtol=1e-4)
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: exe(20, x), range(200)):
            np.testing.assert_array_equal(found, wanted)
