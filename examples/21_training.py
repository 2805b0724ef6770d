"""Train a convolutional network on scikit-learn's digits; a step is one native call.

The weights and the moments of Adam are state of the executable. Images and labels go in, and the
loss comes out.
"""

import numpy as np
from sklearn.datasets import load_digits

import relay
from relay import Tensor
from relay.optim import Adam, cosine, trained_weights, training_step

BATCH, EPOCHS = 50, 24
N = relay.ShapeVar("n")
Labels = Tensor[(BATCH,), "int32"]


@relay.data
class Net:
    first: Tensor[16, 1, 3, 3]
    first_bias: Tensor[16]
    second: Tensor[32, 16, 3, 3]
    second_bias: Tensor[32]
    last: Tensor[10, 128]
    last_bias: Tensor[10]


@relay.function
def scores(net: Net, images: Tensor[N, 1, 8, 8]):
    x = relay.nn.conv2d(images, net.first, padding=(1, 1))
    x = relay.nn.relu(relay.nn.bias_add(x, net.first_bias))
    x = relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = relay.nn.conv2d(x, net.second, padding=(1, 1))
    x = relay.nn.relu(relay.nn.bias_add(x, net.second_bias))
    x = relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    return relay.nn.dense(relay.nn.batch_flatten(x), net.last) + net.last_bias


@relay.function
def loss(net: Net, images: Tensor[BATCH, 1, 8, 8], labels: Labels):
    chances = relay.nn.log_softmax(scores(net, images))
    return relay.nn.nll_loss(chances, labels, relay.ones((10,), "float32"))


random = np.random.default_rng(0)
digits = load_digits()
images = (digits.images / 16).astype("float32")[:, None]
labels = digits.target.astype("int32")
order = random.permutation(len(images))
train, test = order[:1500], order[1500:]


def drawn(*shape: int) -> np.ndarray:
    scale = np.sqrt(2 / np.prod(shape[1:]))
    return (random.standard_normal(shape) * scale).astype("float32")


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, "float32")


net = Net(drawn(16, 1, 3, 3), zeros(16), drawn(32, 16, 3, 3), zeros(32), drawn(10, 128), zeros(10))
rate = cosine(3e-3, EPOCHS * len(train) // BATCH)
step = relay.compile(*training_step(loss, {"net": net}, Adam(lr=rate)))
for epoch in range(EPOCHS):
    batches = random.permutation(train).reshape(-1, BATCH)
    total = sum(float(step(images[batch], labels[batch])) for batch in batches)
    if epoch % 6 == 0:
        print(f"epoch {epoch}: loss {total / len(batches):.4f}")

trained = trained_weights(step.state, {"net": net})["net"]
found = np.asarray(relay.compile(scores)(trained, images[test])).argmax(1)
right = (found == labels[test]).mean()
print(f"{right:.1%} of {len(test)} digits that it has not seen are right")
assert right >= 0.97
