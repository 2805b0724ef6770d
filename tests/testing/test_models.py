"""The model zoo against the same networks written in PyTorch, in float64, with the same weights."""

from __future__ import annotations

import pytest

import relay
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
from tests.models import in_pytorch


def agrees(workload, network, tolerance=1e-4):
    params, data, expected = in_pytorch.oracle(workload, network)
    run = relay.create_executor("debug", workload[0], params=params).evaluate()
    assert in_pytorch.error(run(data=data).numpy(), expected) <= tolerance


def test_mlp():
    agrees(mlp.get_workload(batch_size=3), in_pytorch.mlp)


def test_dqn():
    agrees(dqn.get_workload(batch_size=2), in_pytorch.dqn)


def test_dcgan():
    agrees(dcgan.get_workload(batch_size=2, ngf=4), in_pytorch.dcgan)


@pytest.mark.rotate(5)
@pytest.mark.parametrize(("layers", "size"), [(18, 64), (18, 32), (34, 32), (50, 64), (101, 40)])
def test_resnet(layers, size):
    workload = resnet.get_workload(num_layers=layers, image_shape=(3, size, size), num_classes=10)
    agrees(workload, in_pytorch.resnet(layers, size <= 32))


def test_resnet_3d():
    workload = resnet_3d.get_workload(image_shape=(3, 8, 40, 40), num_classes=10)
    agrees(workload, in_pytorch.resnet(18, axes=3))


def test_resnet_in_another_layout():
    module, params = resnet.get_workload(
        image_shape=(40, 40, 3), layout="NHWC", num_classes=5, num_layers=18
    )
    assert module["main"].ret_type.concrete_shape == (1, 5)
    conv0 = params["conv0_weight"].shape
    assert conv0 == (7, 7, 3, 64)


def test_mobilenet():
    workload = mobilenet.get_workload(image_shape=(3, 64, 64), num_classes=10)
    agrees(workload, in_pytorch.mobilenet)


@pytest.mark.parametrize(
    ("layers", "batch_norm"), [(11, False), (13, True), (16, False), (19, True)]
)
def test_vgg(layers, batch_norm):
    workload = vgg.get_workload(
        1, image_shape=(3, 32, 32), num_layers=layers, batch_norm=batch_norm, num_classes=10
    )
    agrees(workload, in_pytorch.vgg(layers, batch_norm))


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_squeezenet(version):
    workload = squeezenet.get_workload(version=version, image_shape=(3, 80, 80), num_classes=10)
    agrees(workload, in_pytorch.squeezenet(version))


def test_densenet():
    workload = densenet.get_workload(batch_size=1, image_shape=(3, 64, 64), classes=10)
    agrees(workload, in_pytorch.densenet((6, 12, 24, 16)))


def test_inception_v3():
    agrees(inception_v3.get_workload(num_classes=10), in_pytorch.inception_v3)


def test_lstm():
    agrees(lstm.get_workload(iterations=3, num_hidden=8, batch_size=2), in_pytorch.lstm)


def test_synthetic_has_its_weights_inside():
    module, params = synthetic.get_workload()
    assert not params
    agrees((module, params), in_pytorch.synthetic(module))


def test_the_same_seed_gives_the_same_weights():
    first, second = mlp.get_workload(1)[1], mlp.get_workload(1)[1]
    assert all((first[name].numpy() == second[name].numpy()).all() for name in first)


def test_models_are_read_when_they_are_asked_for():
    assert relay.testing.resnet.get_workload is resnet.get_workload
    assert relay.testing.create_workload is relay.testing.init.create_workload
    assert {"resnet", "mlp", "layers", "create_workload"} <= set(dir(relay.testing))
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = relay.testing.nobody
