"""Run a model of TensorFlow, without TensorFlow: pass the folder of a saved model or the path of a
frozen graph, or see what becomes of a small `while_loop`."""

import sys
from pathlib import Path

import numpy as np

import relay

given = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("while_loop.pb")
mod, params = relay.frontend.from_tensorflow(given)
print(mod["main"])
exe = relay.compile(mod, params)
print(exe)
if len(sys.argv) == 1:
    # ten products of a matrix and a vector: a recursive function, then a loop of native code
    print(exe.program)
    rng = np.random.default_rng(0)
    a, x = rng.uniform(0, 0.5, (4, 4)).astype("float32"), np.ones(4, "float32")
    y = exe(a, x)
    print(y)
    wanted = np.linalg.matrix_power(a.astype("float64"), 10) @ x
    np.testing.assert_allclose(y, wanted, rtol=1e-5)
