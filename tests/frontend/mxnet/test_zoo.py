"""Networks of `mxnet.gluon.model_zoo.vision` give what MXNet gave, with weights from a seed."""

from typing import Any

import numpy as np
import pytest

import relay
from tests.frontend.mxnet.models import HERE, same, unpacked

ZOO: dict[str, Any] = unpacked(HERE / "zoo.zlib")[0]
SMALL = ("mobilenet0.25",)


def image_of(size: int) -> np.ndarray:
    random = np.random.RandomState(size)
    return random.uniform(-1, 1, (1, 3, size, size)).astype("float32")


def weight(name: str, shape: list[int]) -> np.ndarray:
    """A parameter from a seed that its name and shape make, as `record.py` made it."""
    random = np.random.RandomState([len(name), sum(map(ord, name)) % 9973, *shape])
    if name.endswith(("gamma", "running_var")):
        return random.uniform(0.5, 1.5, shape).astype("float32")
    if len(shape) == 1:
        return random.uniform(-0.2, 0.2, shape).astype("float32")
    bound = (3.0 / np.prod(shape[1:])) ** 0.5
    return (random.uniform(-1, 1, shape) * bound * 1.4).astype("float32")


def check(name: str) -> None:
    kept = ZOO[name]
    weights = {key: weight(key, shape) for key, shape in sorted(kept["shapes"].items())}
    image = image_of(kept["size"])
    mod, params = relay.frontend.from_mxnet(
        kept["symbol"], {"data": image.shape}, arg_params=weights
    )
    found = relay.compile(mod, params)(image)
    (wanted,) = kept["outputs"]
    same(found, np.array(wanted, "float32"), 2e-4)


@pytest.mark.parametrize("name", SMALL)
def test_networks_of_the_zoo_give_what_mxnet_gave(name: str) -> None:
    check(name)


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", sorted(set(ZOO) - set(SMALL)))
def test_all_networks_of_the_zoo_give_what_mxnet_gave(name: str) -> None:
    check(name)
