"""Compile a model, call it, replace its weights, save and load it, and profile it."""

import tempfile
from pathlib import Path

import numpy as np

import relay
from relay.testing import mlp

mod, params = mlp.get_workload(batch_size=1)
exe = relay.compile(mod, params, threads=1)
print(exe)

# Arguments by position or by name; `out=` writes into an array of yours.
image = np.random.default_rng(0).standard_normal((1, 1, 28, 28), "float32")
scores = exe(image)
assert np.array_equal(exe(data=image), scores)
room = np.empty((1, 10), "float32")
assert exe(image, out=room) is room

# Inputs of the wrong type are refused; the error says what was expected.
try:
    exe(image.astype("float64"))
except relay.EvaluationError as error:
    print(f"\n{error}\n")

# Weights are not compiled into the code: they can be replaced without recompiling.
before = params["fc3_bias"].numpy()
exe.set_params(fc3_bias=before + np.eye(10, dtype="float32")[7])
print("class 7, with a bias for it:", scores[0, 7], "->", exe(image)[0, 7])
exe.set_params(fc3_bias=before)
assert np.array_equal(exe(image), scores)

# One file holds the code and the weights. Loading it needs no compiler.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mlp.relayx"
    exe.save(path)
    loaded = relay.load(path, threads=1)
    assert np.array_equal(loaded(image), scores)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")

# The time of a call and of each kernel, and the program that calls the kernels.
print("a call takes", loaded.benchmark(image))
print(loaded.profile(image))
_, head, body = str(exe.program).partition("function @main")
print(head + body)
