"""A network in floats becomes one in integers: in one line, then step by step."""

import numpy as np

import relay
from relay import quantize
from relay.testing import resnet

SHAPE = (3, 32, 32)
mod, params = resnet.get_workload(num_layers=18, image_shape=SHAPE, num_classes=10)
chance = np.random.default_rng(0)
images = [chance.standard_normal((1, *SHAPE), "float32") for _ in range(8)]

exact = relay.compile(mod, params)
integers = relay.compile(mod, params, quantize=quantize.int8(images[:4]))
print("floats:  ", exact.benchmark(images[0]))
print("integers:", integers.benchmark(images[0]))
differences = [np.abs(exact(image) - integers(image)).max() for image in images]
print("largest difference of a probability:", max(differences))
assert max(differences) < 0.02

# the same in steps, with another scheme: 4-bit weights, and the first layer in floats
scheme = quantize.Scheme(
    "w4",
    weight=quantize.Integers(bits=4, per="channel"),
    calibrate_mode="percentile",
    first=False,
)
module = quantize.prerequisite_optimize(mod, params)
module = quantize.annotate(scheme)(module)
print(f"{len(module['main'].params) - 1} scales and ends are open")
module = quantize.calibrate(images[:4], scheme)(module)  # now it simulates quantization
simulated = relay.compile(module)(images[0])
realized = relay.compile(quantize.realize(scheme.rounding)(module))(images[0])
print("4-bit weights:", np.abs(exact(images[0]) - realized).max())
np.testing.assert_allclose(simulated, realized, atol=0.01)
