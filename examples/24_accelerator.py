"""A network on a simulated accelerator: what goes there, how long it takes, other designs."""

import numpy as np

import relay
from relay import nn, quantize
from relay.target import accel

chance = np.random.default_rng(0)


def conv(data, inputs, outputs, stride=1):
    """A convolution with a bias."""
    kernel = chance.normal(0, 0.1, (outputs, inputs, 3, 3)).astype("float32")
    bias = chance.normal(0, 0.1, outputs).astype("float32")
    made = nn.conv2d(data, relay.const(kernel), strides=(stride, stride), padding=(1, 1))
    return nn.bias_add(made, relay.const(bias))


x = relay.var("x", shape=(1, 3, 64, 64))
body = nn.relu(conv(x, 3, 32, stride=2))
for _ in range(2):
    inner = nn.relu(conv(body, 32, 32))
    body = nn.relu(relay.add(conv(inner, 32, 32), body))
weight = relay.const(chance.normal(0, 0.1, (10, 32)).astype("float32"))
body = nn.dense(nn.batch_flatten(nn.global_avg_pool2d(body)), weight)
images = [chance.standard_normal((1, 3, 64, 64), "float32") for _ in range(4)]

# signed bytes, scales that are powers of two, the first layer in floats
module = quantize.quantize(relay.Function([x], body), None, images, scheme=accel.SCHEME)

# the accelerator computes the same bits as the processor
exe = relay.compile(module, target="accel")
np.testing.assert_array_equal(exe(images[0]), relay.compile(module)(images[0]))

# kernels of the host in microseconds, layers of the accelerator in cycles
profile = exe.profile(images[0], repeat=1)
print(profile)

# a design is a set of parameters
designs = accel.explore(
    module,
    ["1x16x16", "1x16x16,log_inp=13,log_wgt=15,log_acc=15", "1x32x32,log_wgt=19", "2x16x16"],
)
print(designs)
assert designs[0].cycles < designs[-1].cycles
