"""Every network of `relay.testing`, compiled, against the same network in PyTorch and float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

import relay
from relay.cache import Cache
from relay.target.target import Target
from relay.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    lstm,
    mlp,
    mobilenet,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)
from relay.testing.init import create_workload
from tests.models import in_pytorch
from tests.models.in_pytorch import Network, Workload

LEVELS = (0, 3)  # as written, and the default
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Model:
    """A network: how it is made here, and what it is in PyTorch."""

    make: Callable[[], Workload]
    network: Network


# Small pictures and few layers: what a network consists of, in little time.
SMALL = {
    "MLP": Model(lambda: mlp.get_workload(batch_size=3), in_pytorch.mlp),
    "DQN": Model(lambda: dqn.get_workload(batch_size=2), in_pytorch.dqn),
    "DCGAN": Model(lambda: dcgan.get_workload(batch_size=2, ngf=4), in_pytorch.dcgan),
    "ResNet": Model(
        lambda: resnet.get_workload(num_layers=8, image_shape=(3, 64, 64), num_classes=10),
        in_pytorch.resnet(8),
    ),
    "ResNet of bottle necks": Model(
        lambda: resnet.get_workload(num_layers=60, image_shape=(3, 32, 32), num_classes=10),
        in_pytorch.resnet(60, small=True),
    ),
    "ResNet3D": Model(
        lambda: resnet_3d.get_workload(num_layers=8, image_shape=(3, 8, 40, 40), num_classes=10),
        in_pytorch.resnet(8, axes=3),
    ),
    "MobileNet": Model(
        lambda: mobilenet.get_workload(image_shape=(3, 64, 64), num_classes=10),
        in_pytorch.mobilenet,
    ),
    "VGG-11": Model(
        lambda: vgg.get_workload(1, image_shape=(3, 32, 32), batch_norm=True, num_classes=10),
        in_pytorch.vgg(11, batch_norm=True),
    ),
    "SqueezeNet": Model(
        lambda: squeezenet.get_workload(version="short", image_shape=(3, 48, 48), num_classes=10),
        in_pytorch.squeezenet("short"),
    ),
    "DenseNet": Model(
        lambda: densenet.get_workload(13, batch_size=1, image_shape=(3, 64, 64), classes=10),
        in_pytorch.densenet((1, 2, 1, 1)),
    ),
    "Inception": Model(lambda: inception_end(), in_pytorch.inception_end),
    "LSTM": Model(
        lambda: lstm.get_workload(iterations=3, num_hidden=8, batch_size=2), in_pytorch.lstm
    ),
    "synthetic": Model(
        lambda: synthetic.get_workload(), in_pytorch.synthetic(synthetic.get_workload()[0])
    ),
}

# The networks as people use them.
LARGE = {
    "MLP": Model(lambda: mlp.get_workload(1), in_pytorch.mlp),
    "DQN": Model(lambda: dqn.get_workload(1), in_pytorch.dqn),
    "DCGAN": Model(lambda: dcgan.get_workload(1), in_pytorch.dcgan),
    "ResNet-18": Model(lambda: resnet.get_workload(), in_pytorch.resnet(18)),
    "ResNet-34": Model(lambda: resnet.get_workload(num_layers=34), in_pytorch.resnet(34)),
    "ResNet-50": Model(lambda: resnet.get_workload(num_layers=50), in_pytorch.resnet(50)),
    "ResNet3D-18": Model(lambda: resnet_3d.get_workload(), in_pytorch.resnet(18, axes=3)),
    "MobileNet": Model(lambda: mobilenet.get_workload(), in_pytorch.mobilenet),
    "VGG-11": Model(lambda: vgg.get_workload(1), in_pytorch.vgg(11)),
    "VGG-16": Model(lambda: vgg.get_workload(1, num_layers=16), in_pytorch.vgg(16)),
    "SqueezeNet": Model(lambda: squeezenet.get_workload(), in_pytorch.squeezenet("1.0")),
    "DenseNet-121": Model(lambda: densenet.get_workload(), in_pytorch.densenet((6, 12, 24, 16))),
    "Inception-v3": Model(lambda: inception_v3.get_workload(), in_pytorch.inception_v3),
    "LSTM": Model(lambda: lstm.get_workload(iterations=16, num_hidden=128), in_pytorch.lstm),
}


def inception_end() -> Workload:
    """The last two kinds of blocks of Inception: all that the others have, they have too."""
    x = relay.var("data", shape=(1, 16, 9, 9))
    x = inception_v3.block_d(x, "d")
    x = relay.nn.batch_flatten(inception_v3.block_e(x, "avg", "e"))
    return create_workload(relay.Function(relay.analysis.free_vars(x), x))


@pytest.fixture(autouse=True)
def shallow(monkeypatch):
    """Networks with fewer layers than those people use: something of every kind of layer."""
    monkeypatch.setitem(resnet.UNITS, 8, (2, 1))
    monkeypatch.setitem(resnet.UNITS, 60, (2, 1))  # from 50 on, units have bottle necks
    monkeypatch.setitem(densenet.SIZES, 13, (16, 8, (1, 2, 1, 1)))
    fires = (((16, 64),), ((24, 96),))
    monkeypatch.setitem(squeezenet.VERSIONS, "short", ((32, 3), fires))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("kernels"))


@pytest.mark.rotate(4)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", SMALL)
def test_networks_agree_with_pytorch(name, level, cache):
    model = SMALL[name]
    workload = model.make()
    params, data, expected = in_pytorch.oracle(workload, model.network)
    exe = relay.compile(workload[0], params, level=level, cache=cache)
    assert in_pytorch.error(exe(data), expected) <= TOLERANCE


@pytest.mark.parametrize("name", ["DQN", "DCGAN"])
def test_weights_may_come_with_every_call(name, cache):
    model = SMALL[name]
    workload = model.make()
    params, data, expected = in_pytorch.oracle(workload, model.network)
    exe = relay.compile(workload[0], cache=cache)
    given = {name: value.numpy() for name, value in params.items()}
    assert in_pytorch.error(exe(data=data, **given), expected) <= TOLERANCE


def test_other_weights_need_no_compilation(cache):
    model = SMALL["MLP"]
    module, before = model.make()
    exe = relay.compile(module, before, cache=cache)
    params, data, expected = in_pytorch.oracle((module, before), model.network)
    assert in_pytorch.error(exe(data), expected) > TOLERANCE
    exe.set_params(params)
    assert in_pytorch.error(exe(data), expected) <= TOLERANCE


@pytest.mark.full
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LARGE)
def test_networks_of_full_size_agree_with_pytorch(name, level, cache):
    model = LARGE[name]
    workload = model.make()
    params, data, expected = in_pytorch.oracle(workload, model.network)
    alone = relay.compile(workload[0], params, level=level, threads=1, cache=cache)(data)
    assert in_pytorch.error(alone, expected) <= TOLERANCE
    shared = relay.compile(workload[0], params, level=level, threads=2, cache=cache)(data)
    assert shared.tobytes() == alone.tobytes(), "the result depends on the number of threads"


@pytest.mark.full
@pytest.mark.parametrize("features", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("name", ["ResNet-18", "MobileNet"])
def test_networks_agree_with_pytorch_whatever_the_processor_has(name, features, cache):
    target = Target.x86(features)
    if not Target.host().supports(target):
        pytest.skip(f"this machine has no {features}")
    model = LARGE[name]
    workload = model.make()
    params, data, expected = in_pytorch.oracle(workload, model.network)
    exe = relay.compile(workload[0], params, target=target, cache=cache)
    assert in_pytorch.error(exe(data), expected) <= TOLERANCE
