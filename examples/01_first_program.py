"""Compile ResNet-18 and run it: its speed, accuracy, memory and kernels."""

import numpy as np

import relay
from relay.testing import resnet

mod, params = resnet.get_workload(num_layers=18)
exe = relay.compile(mod, params)

image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), "float32")
scores = exe(image)
print(exe)
print("a call takes", exe.benchmark(image))

# The oracle: the same network in float64, run by the interpreter.
wide, _ = resnet.get_workload(num_layers=18, dtype="float64")
weights = {name: value.numpy().astype("float64") for name, value in params.items()}
oracle = relay.create_executor("debug", wide, params=weights).evaluate()
expected = oracle(image.astype("float64")).numpy()
error = abs(scores - expected).max() / abs(expected).max()
print(f"largest error against float64: {error:.1e}")
assert error < 1e-4

print(exe.memory)
print(exe.kernels)
