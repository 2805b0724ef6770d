"""Programs that every template of the CUDA target is tried on, of small and odd sizes."""

import numpy as np

import relay

H = "float16"


def normal(*shape, dtype="float32"):
    chance = np.random.default_rng(sum(shape))
    return chance.standard_normal(shape).astype(dtype)


def integers(low, high, *shape, dtype="int32"):
    return np.random.default_rng(sum(shape)).integers(low, high, shape).astype(dtype)


def dense(x, w, b):
    return relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))


def convolution(strides=1, padding=1, **options):
    def body(x, w, b):
        made = relay.nn.conv2d(x, w, strides=(strides,) * 2, padding=(padding,) * 2, **options)
        return relay.nn.relu(relay.nn.bias_add(made, b))

    return body


# name: the function, its inputs, and the error relative to the largest element
CASES = {
    "elementwise": (lambda x, y: relay.tanh(x) * y + x, (normal(3, 7, 5), normal(5)), 1e-6),
    "functions": (
        lambda x: relay.erf(relay.tanh(relay.exp(x))) / relay.const(3.0) + relay.log(relay.abs(x)),
        (normal(5, 130),),
        2e-6,
    ),
    "one element": (lambda x: relay.sqrt(relay.abs(x)), (normal(1),), 1e-6),
    "a scalar": (lambda x: relay.sum(x), (normal(50, 130),), 2e-6),
    "broadcast": (lambda x, y: relay.maximum(x, y), (normal(1, 7, 1), normal(5, 1, 9)), 0),
    "float16": (lambda x: x * x + relay.exp(x), (normal(99, dtype=H),), 2e-3),
    "float64": (lambda x: relay.exp(x), (normal(33, dtype="float64"),), 1e-14),
    "bfloat16": (
        lambda x: relay.cast(relay.cast(x, "bfloat16") * relay.const(3.0, "bfloat16"), "float32"),
        (normal(5, 12),),
        0,
    ),
    "bool": (lambda x: relay.logical_not(x > relay.const(0.0)), (normal(77),), 0),
    "saturation": (lambda x: relay.cast(x, "int8"), (normal(5, 130) * 1e3,), 0),
    "division": (
        lambda x, y: relay.floor_divide(x, y) + relay.floor_mod(x, y),
        (integers(-9, 9, 5, 130), integers(-3, 3, 5, 130)),
        0,
    ),
    "shifts": (
        lambda x, y: relay.left_shift(x, y) + relay.right_shift(x, y),
        (integers(-9, 9, 5, 130), integers(-3, 40, 5, 130)),
        0,
    ),
    "unsigned": (
        lambda x, y: relay.floor_mod(x, y) + relay.right_shift(x, y),
        (integers(0, 200, 70, dtype="uint8"), integers(0, 9, 70, dtype="uint8")),
        0,
    ),
    "transpose": (lambda x: relay.reshape(relay.transpose(x), (-1,)), (normal(5, 13),), 0),
    "gather": (lambda x, i: relay.take(x, i, axis=0), (normal(5, 13), np.array([0, 4, 9])), 0),
    "pad": (
        lambda x: relay.nn.pad(x, ((1, 2), (0, 3)), pad_value=7.0),
        (normal(5, 13),),
        0,
    ),
    "concatenate": (
        lambda x, y: relay.concatenate((x, y), axis=1),
        (normal(5, 13), normal(5, 3)),
        0,
    ),
    "split": (lambda x: relay.split(x, 3, axis=1).astuple(), (normal(5, 12),), 0),
    "softmax": (lambda x: relay.nn.softmax(x), (normal(5, 13),), 1e-6),
    "softmax inside": (lambda x: relay.nn.softmax(x, axis=1), (normal(3, 5, 7),), 1e-6),
    "softmax of many": (lambda x: relay.nn.softmax(x), (normal(2, 5000),), 1e-6),
    "normalization": (
        lambda x, g, b: relay.nn.softmax(relay.nn.layer_norm(x, g, b)),
        (normal(4, 3, 130), normal(130), normal(130)),
        1e-6,
    ),
    "mean of columns": (lambda x: relay.mean(x, axis=0), (normal(1000, 13),), 2e-6),
    "argmax": (lambda x: relay.argmax(x, axis=1), (normal(5, 130),), 0),
    "argmin of few": (lambda x: relay.argmin(x, axis=0), (normal(4, 130, dtype=H),), 0),
    "all": (lambda x: relay.all(x, axis=1), (integers(0, 2, 3, 40).astype(bool),), 0),
    "product": (lambda x: relay.prod(x, axis=1), (normal(3, 40),), 1e-6),
    "maximum pooling": (
        lambda x: relay.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1)),
        (normal(1, 8, 9, 9),),
        0,
    ),
    "global pooling": (lambda x: relay.nn.global_avg_pool2d(x), (normal(1, 8, 9, 9),), 1e-6),
    "vector times matrix": (dense, (normal(1, 130), normal(100, 130), normal(100)), 1e-6),
    "dense": (dense, (normal(40, 130), normal(100, 130), normal(100)), 1e-6),
    "dense of float16": (
        dense,
        (normal(40, 130, dtype=H), normal(100, 130, dtype=H), normal(100, dtype=H)),
        2e-3,
    ),
    "dense of bytes": (
        lambda x, w: relay.nn.dense(x, w, out_dtype="int32"),
        (integers(-9, 9, 40, 60, dtype="int8"), integers(-9, 9, 50, 60, dtype="int8")),
        0,
    ),
    "batches": (relay.nn.batch_matmul, (normal(3, 10, 30), normal(3, 9, 30)), 2e-6),
    "convolution": (convolution(), (normal(2, 64, 7, 7), normal(32, 64, 3, 3), normal(32)), 2e-6),
    "convolution in steps": (
        convolution(strides=2),
        (normal(2, 32, 7, 7, dtype=H), normal(24, 32, 3, 3, dtype=H), normal(24, dtype=H)),
        2e-3,
    ),
    "convolution in parts": (
        convolution(),
        (normal(1, 256, 5, 5, dtype=H), normal(24, 256, 3, 3, dtype=H), normal(24, dtype=H)),
        2e-3,
    ),
    "dense in parts": (dense, (normal(20, 2048), normal(33, 2048), normal(33)), 5e-6),
    "first convolution": (
        convolution(strides=2, padding=3),
        (normal(1, 3, 15, 15), normal(20, 3, 7, 7), normal(20)),
        2e-6,
    ),
    "depthwise convolution": (
        convolution(groups=8),
        (normal(1, 8, 9, 9), normal(8, 1, 3, 3), normal(8)),
        2e-6,
    ),
    "convolution of groups": (
        convolution(groups=2),
        (normal(1, 32, 6, 6), normal(32, 16, 3, 3), normal(32)),
        2e-6,
    ),
    "no elements": (lambda x: relay.exp(x), (normal(0, 3),), 0),
    "a sum of nothing": (lambda x: relay.sum(x, axis=1), (normal(4, 0),), 0),
    "a product of nothing": (relay.nn.dense, (normal(40, 0), normal(30, 0)), 0),
    "on the host": (lambda x: relay.exp(relay.sort(relay.exp(x))), (normal(5, 130),), 1e-6),
    "scan on the host": (lambda x: relay.cumsum(x, axis=1), (normal(5, 130),), 1e-6),
}  # fmt: skip


def module(name):
    """The program of a case, and its inputs."""
    body, inputs, _ = CASES[name]
    params = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(inputs)]
    return relay.IRModule.from_expr(relay.Function(params, body(*params))), inputs


def check(name, target, **options):
    """Run a case on a target, and compare it with the processor."""
    mod, inputs = module(name)
    found = relay.compile(mod, target=target, **options)(*inputs)
    wanted = relay.compile(mod)(*inputs)
    pairs = (
        zip(found, wanted, strict=True) if isinstance(found, tuple | list) else [(found, wanted)]
    )
    for one, true in pairs:
        assert one.shape == true.shape and one.dtype == true.dtype
        if CASES[name][2] == 0:
            np.testing.assert_array_equal(one, true)
            continue
        error = np.abs(one.astype("float64") - true.astype("float64")).max()
        assert error <= CASES[name][2] * np.abs(true.astype("float64")).max(), error
