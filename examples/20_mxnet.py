"""Run a model of MXNet, without MXNet: pass a symbol and the shape of its input, or see what
becomes of a small `foreach` loop.

    python examples/20_mxnet.py net-symbol.json 1,3,224,224
"""

import json
import sys

import numpy as np

import relay

if len(sys.argv) > 2:
    shape = tuple(int(one) for one in sys.argv[2].split(","))
    mod, params = relay.frontend.from_mxnet(sys.argv[1], {"data": shape})
    print(relay.compile(mod, params))
    sys.exit()

# foreach row of data: state = tanh(row + state)
body = {
    "nodes": [
        {"op": "null", "name": "row", "inputs": []},
        {"op": "null", "name": "state", "inputs": []},
        {"op": "elemwise_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]},
        {"op": "tanh", "name": "next", "inputs": [[2, 0, 0]]},
    ],
    "arg_nodes": [0, 1],
    "heads": [[3, 0, 0], [3, 0, 0]],
}
places = {"in_data_locs": "[0]", "in_state_locs": "[1]", "remain_locs": "[]", "num_out_data": "1"}
symbol = {
    "nodes": [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "begin", "inputs": []},
        {
            "op": "_foreach",
            "name": "loop",
            "attrs": places,
            "inputs": [[0, 0, 0], [1, 0, 0]],
            "subgraphs": [body],
        },
    ],
    "arg_nodes": [0, 1],
    "heads": [[2, 0, 0], [2, 1, 0]],
}
shapes = {"data": (None, 4), "begin": (4,)}
mod, params = relay.frontend.from_mxnet(json.dumps(symbol), shapes)
print(mod["main"])
exe = relay.compile(mod, params)
data, state = (
    np.random.default_rng(0).standard_normal((9, 4)).astype("float32"),
    np.zeros(4, "float32"),
)
rows, last = exe(data, state)
for row, found in zip(data, rows, strict=True):
    state = np.tanh(row + state)
    np.testing.assert_allclose(found, state, rtol=1e-5, atol=1e-6)
np.testing.assert_allclose(last, state, rtol=1e-5, atol=1e-6)
print("a loop over 9 rows takes", exe.benchmark(data, np.zeros(4, "float32")))
