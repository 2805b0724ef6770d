"""Differentiate programs: train a classifier beside PyTorch, differentiate a loop and a tree."""

import numpy as np
import torch

import relay
from relay import Tensor

POINTS, HIDDEN = 96, 24
Labels = Tensor[(POINTS,), "int32"]

# --- training ----------------------------------------------------------------------------------


@relay.data
class Net:
    w1: Tensor[HIDDEN, 2]
    b1: Tensor[HIDDEN]
    w2: Tensor[3, HIDDEN]
    b2: Tensor[3]


@relay.function
def loss(net: Net, points: Tensor[POINTS, 2], labels: Labels):
    hidden = relay.tanh(relay.nn.dense(points, net.w1) + net.b1)
    scores = relay.nn.log_softmax(relay.nn.dense(hidden, net.w2) + net.b2)
    return relay.nn.nll_loss(scores, labels, relay.ones((3,), "float32"))


rng = np.random.default_rng(0)
labels = np.arange(POINTS, dtype="int32") % 3
radius = np.linspace(0.1, 1, POINTS)
angle = 3 * radius + labels * 2 * np.pi / 3
points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype("float32") * 3
shapes = [(HIDDEN, 2), (HIDDEN,), (3, HIDDEN), (3,)]
weights = [rng.standard_normal(shape).astype("float32") * 0.5 for shape in shapes]

# forward and backward are one native call
step = relay.compile(relay.value_and_grad(loss, wrt="net"))
peer = [torch.tensor(one, requires_grad=True) for one in weights]
optimizer = torch.optim.SGD(peer, lr=1.0)
for number in range(400):
    value, slope = step(Net(*weights), points, labels)
    slopes = [np.asarray(one) for one in slope.fields]
    weights = [one - np.float32(1.0) * slope for one, slope in zip(weights, slopes, strict=True)]
    if number < 20:
        hidden = torch.tanh(torch.tensor(points) @ peer[0].T + peer[1])
        scores = hidden @ peer[2].T + peer[3]
        expected = torch.nn.functional.cross_entropy(scores, torch.tensor(labels).long())
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
        assert abs(float(np.asarray(value)) - expected.item()) < 1e-3
    if number % 100 == 0:
        print(f"step {number}: loss {float(np.asarray(value)):.4f}")
hidden = np.tanh(points @ weights[0].T + weights[1])
right = ((hidden @ weights[2].T + weights[3]).argmax(1) == labels).mean()
print(f"{right:.0%} of the points are classified correctly")
assert right > 0.95

# --- a loop that ends when it is exact enough ----------------------------------------------------


@relay.function
def root(a: float) -> float:
    """The square root, by Newton's method."""
    x = a
    while relay.abs(x * x - a) > 1e-4:
        x = (x + a / x) / 2.0
    return x


first, second = relay.grad(root, wrt="a"), relay.grad(relay.grad(root, wrt="a"), wrt="a")
print(
    "derivatives of the root of 9:", float(np.asarray(first(9.0))), float(np.asarray(second(9.0)))
)
assert abs(float(np.asarray(first(9.0))) - 1 / 6) < 1e-3
assert abs(float(np.asarray(second(9.0))) + 1 / 108) < 1e-3

# --- a tree --------------------------------------------------------------------------------------


@relay.data
class Tree:
    value: float
    children: list["Tree"]


@relay.function
def product(tree: Tree) -> float:
    result = tree.value
    for child in tree.children:
        result *= product(child)
    return result


slope = relay.grad(product, wrt="tree")(Tree(2.0, [Tree(3.0, []), Tree(5.0, [])]))
print("the gradient of a tree is a tree:", float(np.asarray(slope.value)), "above", end=" ")
print([float(np.asarray(child.value)) for child in slope.children])
assert float(np.asarray(slope.value)) == 15
