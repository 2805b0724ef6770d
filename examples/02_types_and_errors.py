"""Write programs in Python and as text; type inference finds shapes and reports errors."""

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

mod = relay.parse(
    """
    #[version = "0.0.5"]
    def @append_row[n](%x: Tensor[(n, 3), float32]) {
      concatenate((%x, zeros(shape=[1, 3], dtype="float32")), axis=0)
    }
    def @main(%x: Tensor[(4, 3), float32]) {
      nn.dense(@append_row(@append_row(%x)), meta[relay.Constant][0])
    }
    """.strip(),
    init_meta_table={"relay.Constant": [relay.const([[1.0, 2.0, 3.0]])]},
)
print("\n@append_row :", mod["append_row"].checked_type)
print("@main       :", mod["main"].checked_type)

wrong = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 32), float32], %y: Tensor[(8, 64), float32]) {
  %0 = nn.relu(%x);
  add(%0, %y)
}
"""
try:
    relay.parse(wrong, "model.relay")
except relay.TypeCheckError as error:
    print(f"\n{error}")

missing_case = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @first_two(%xs: List[int32]) {
  match (%xs) {
    Cons(%a, Cons(%b, _)) => %a + %b,
  }
}
"""
try:
    relay.parse(missing_case, "lists.relay")
except relay.TypeCheckError as error:
    print(f"\n{error}")
