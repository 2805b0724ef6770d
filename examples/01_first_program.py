"""Build a two-layer network, print it, infer its types, run it, and check it against NumPy."""

import numpy as np

import relay

x = relay.var("x", shape=(1, 784))
w1, b1 = relay.var("w1", shape=(128, 784)), relay.var("b1", shape=(128,))
w2, b2 = relay.var("w2", shape=(10, 128)), relay.var("b2", shape=(10,))

hidden = relay.nn.relu(relay.add(relay.nn.dense(x, w1), b1))
scores = relay.nn.softmax(relay.add(relay.nn.dense(hidden, w2), b2))
mod = relay.IRModule.from_expr(relay.Function([x, w1, b1, w2, b2], scores))

mod = relay.transform.InferType()(mod)
print(mod)
print("result type:", mod["main"].ret_type)

random = np.random.default_rng(0)
inputs = [
    random.standard_normal(p.checked_type.concrete_shape).astype("float32") * 0.1
    for p in mod["main"].params
]
result = relay.create_executor("debug", mod).evaluate()(*inputs).numpy()

a, p, q, r, s = (value.astype("float64") for value in inputs)
logits = np.maximum(a @ p.T + q, 0) @ r.T + s
expected = np.exp(logits) / np.exp(logits).sum()
print("class:", result.argmax(), " largest error against float64:", abs(result - expected).max())
assert np.allclose(result, expected, rtol=1e-5, atol=1e-6)
