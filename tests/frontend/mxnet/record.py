"""Writes `recorded.npz` and `zoo.npz`: models of MXNet 1.9.1 in JSON, and what it makes of them.

python3.11 -m venv venv && venv/bin/pip install mxnet==1.9.1 numpy==1.23.5
venv/bin/python tests/frontend/mxnet/record.py
"""

import json
import sys
import zlib
from pathlib import Path

import mxnet as mx
import numpy as np

HERE = Path(__file__).parent
sym, nd = mx.sym, mx.nd
CASES = {}


def reals(*shape, low=-2.0, high=2.0, seed=3):
    return np.random.RandomState([seed, *shape]).uniform(low, high, shape).astype("float32")


def whole(*shape, low=0, high=5):
    return np.random.RandomState([7, *shape]).randint(low, high, shape).astype("float32")


def case(name, make, **inputs):
    """A case: `make` gets a variable for each input."""
    variables = {key: sym.var(key) for key in inputs}
    found = make(**variables)
    found = sym.Group(list(found)) if isinstance(found, (list, tuple)) else found
    CASES[f"{name}#{len(CASES)}"] = found, inputs


def evaluated(symbol, inputs):
    names = set(symbol.list_inputs())
    arrays = {
        key: nd.array(value, dtype=value.dtype) for key, value in inputs.items() if key in names
    }
    aux = {key: arrays.pop(key) for key in symbol.list_auxiliary_states() if key in arrays}
    run = symbol.bind(mx.cpu(), arrays, aux_states=aux)
    return [one.asnumpy() for one in run.forward(is_train=False)]


def layers():
    image = reals(2, 4, 7, 9)
    for rank, data in ((1, reals(2, 4, 9)), (2, image), (3, reals(1, 4, 5, 6, 7))):
        for kernel, stride, pad, dilate, groups, bias in (
            (3, 1, 0, 1, 1, True),
            (3, 2, 1, 1, 1, False),
            (2, 1, 1, 2, 2, True),
            (1, 1, 0, 1, 4, True),
        ):
            sizes = (kernel,) * rank
            more = {
                "kernel": sizes,
                "stride": (stride,) * rank,
                "pad": (pad,) * rank,
                "dilate": (dilate,) * rank,
                "num_group": groups,
                "num_filter": 8,
                "no_bias": not bias,
            }
            given = {"data": data, "weight": reals(8, 4 // groups, *sizes, seed=5)}
            if bias:
                given["bias"] = reals(8)
            case("Convolution", lambda more=more, **x: sym.Convolution(**x, **more), **given)
    for stride, pad, adj, groups in ((1, 0, 0, 1), (2, 1, 1, 1), (2, 1, 0, 2), (3, 0, 2, 1)):
        more = {
            "kernel": (3, 3),
            "stride": (stride,) * 2,
            "pad": (pad,) * 2,
            "adj": (adj,) * 2,
            "num_group": groups,
            "num_filter": 6,
            "no_bias": False,
        }
        weight = reals(4, 6 // groups, 3, 3)
        case(
            "Deconvolution",
            lambda more=more, **x: sym.Deconvolution(**x, **more),
            data=reals(2, 4, 4, 5),
            weight=weight,
            bias=reals(6),
        )
    more = {
        "kernel": (4, 4),
        "stride": (2, 2),
        "target_shape": (8, 10),
        "num_filter": 3,
        "no_bias": True,
    }
    case(
        "Deconvolution",
        lambda **x: sym.Deconvolution(**x, **more),
        data=reals(2, 4, 4, 5),
        weight=reals(4, 3, 4, 4),
    )
    for flatten, bias in ((True, True), (False, True), (True, False)):
        width = 12 if flatten else 4
        given = {"data": reals(2, 3, 4), "weight": reals(5, width)}
        if bias:
            given["bias"] = reals(5)
        case(
            "FullyConnected",
            lambda f=flatten, b=bias, **x: sym.FullyConnected(
                **x, num_hidden=5, flatten=f, no_bias=not b
            ),
            **given,
        )
    for kind in ("max", "avg", "sum"):
        for kernel, stride, pad, convention in (
            (2, 2, 0, "valid"),
            (3, 2, 1, "valid"),
            (3, 2, 0, "full"),
            (3, 2, 1, "full"),
            (2, 1, 0, "valid"),
        ):
            for counts in (True, False) if kind == "avg" and convention == "valid" else (True,):
                more = {
                    "kernel": (kernel,) * 2,
                    "stride": (stride,) * 2,
                    "pad": (pad,) * 2,
                    "pool_type": kind,
                    "pooling_convention": convention,
                    "count_include_pad": counts,
                }
                case("Pooling", lambda more=more, **x: sym.Pooling(**x, **more), data=image)
        case(
            "Pooling",
            lambda k=kind, **x: sym.Pooling(**x, pool_type=k, global_pool=True),
            data=image,
        )
    case(
        "Pooling",
        lambda **x: sym.Pooling(**x, kernel=(3,), stride=(2,), pool_type="max"),
        data=reals(2, 4, 9),
    )
    case(
        "Pooling",
        lambda **x: sym.Pooling(**x, kernel=(2, 2, 2), stride=(2, 1, 2), pool_type="avg"),
        data=reals(1, 3, 4, 5, 6),
    )
    stats = {
        "gamma": reals(4),
        "beta": reals(4, seed=9),
        "moving_mean": reals(4, seed=2),
        "moving_var": reals(4, low=0.5, high=2),
    }
    for fix, axis in ((True, 1), (False, 1), (False, 3)):
        data = image if axis == 1 else reals(2, 3, 5, 4)
        case(
            "BatchNorm",
            lambda f=fix, a=axis, **x: sym.BatchNorm(**x, fix_gamma=f, axis=a, eps=0.01),
            data=data,
            **stats,
        )
    case(
        "LayerNorm",
        lambda **x: sym.LayerNorm(**x, axis=-1, eps=0.01),
        data=reals(2, 3, 4),
        gamma=reals(4),
        beta=reals(4),
    )
    case(
        "LayerNorm",
        lambda **x: sym.LayerNorm(**x, axis=1),
        data=reals(2, 3, 4),
        gamma=reals(3),
        beta=reals(3),
    )
    case(
        "InstanceNorm",
        lambda **x: sym.InstanceNorm(**x, eps=0.01),
        data=image,
        gamma=reals(4),
        beta=reals(4),
    )
    case(
        "GroupNorm",
        lambda **x: sym.GroupNorm(**x, num_groups=2),
        data=image,
        gamma=reals(4),
        beta=reals(4),
    )
    for mode in ("instance", "channel", "spatial"):
        case("L2Normalization", lambda m=mode, **x: sym.L2Normalization(**x, mode=m), data=image)
    case("LRN", lambda **x: sym.LRN(**x, nsize=3, alpha=0.01, beta=0.6, knorm=1.5), data=image)
    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
        case("Activation", lambda k=kind, **x: sym.Activation(**x, act_type=k), data=reals(3, 4))
    for kind in (
        "leaky",
        "elu",
        "selu",
        "gelu",
        "rrelu",
    ):  # the second result of rrelu is not defined
        case(
            "LeakyReLU",
            lambda k=kind, **x: sym.LeakyReLU(**x, act_type=k, slope=0.3)[0],
            data=reals(3, 4),
        )
    case("LeakyReLU", lambda **x: sym.LeakyReLU(**x, act_type="prelu"), data=image, gamma=reals(4))
    case("hard_sigmoid", lambda **x: sym.hard_sigmoid(**x, alpha=0.3, beta=0.4), data=reals(3, 4))
    for axis in (-1, 1):
        case("softmax", lambda a=axis, **x: sym.softmax(**x, axis=a), data=reals(2, 3, 4))
        case("log_softmax", lambda a=axis, **x: sym.log_softmax(**x, axis=a), data=reals(2, 3, 4))
    case("softmax", lambda **x: sym.softmax(**x, temperature=2.0), data=reals(2, 3))
    case("softmin", lambda **x: sym.softmin(**x), data=reals(2, 3))
    case("SoftmaxActivation", lambda **x: sym.SoftmaxActivation(**x, mode="channel"), data=image)
    case(
        "SoftmaxOutput",
        lambda **x: sym.SoftmaxOutput(**x),
        data=reals(2, 3),
        label=whole(2, high=3),
    )
    case(
        "Embedding",
        lambda **x: sym.Embedding(**x, input_dim=5, output_dim=3),
        data=whole(2, 4),
        weight=reals(5, 3),
    )
    case(
        "UpSampling",
        lambda **x: sym.UpSampling(x["data"], scale=2, sample_type="nearest"),
        data=image,
    )
    case(
        "BilinearResize2D",
        lambda **x: sym.contrib.BilinearResize2D(**x, height=10, width=5),
        data=image,
    )
    case(
        "BilinearResize2D",
        lambda **x: sym.contrib.BilinearResize2D(**x, scale_height=2, scale_width=2),
        data=image,
    )
    case(
        "AdaptiveAvgPooling2D",
        lambda **x: sym.contrib.AdaptiveAvgPooling2D(**x, output_size=(3, 4)),
        data=image,
    )
    for mode in ("constant", "edge", "reflect"):
        case(
            "Pad",
            lambda m=mode, **x: sym.Pad(
                **x, mode=m, pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=0.5
            ),
            data=image,
        )
    case("Dropout", lambda **x: sym.Dropout(**x, p=0.5), data=reals(3, 4))
    case("BlockGrad", lambda **x: sym.BlockGrad(**x), data=reals(3, 4))
    case("Flatten", lambda **x: sym.Flatten(**x), data=image)


def elements():
    x, y, row = reals(2, 3, 4), reals(2, 3, 4, seed=8), reals(1, 3, 1)
    for name in [
        "abs",
        "exp",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arctan",
        "arcsinh",
        "sigmoid",
        "relu",
        "floor",
        "ceil",
        "trunc",
        "fix",
        "rint",
        "round",
        "sign",
        "square",
        "erf",
        "negative",
        "zeros_like",
        "ones_like",
        "softsign",
        "degrees",
        "radians",
        "expm1",
        "cbrt",
        "logical_not",
    ]:
        case(name, lambda n=name, data=None: getattr(sym, n)(data), data=x)
    for name in ["sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal", "rcbrt"]:
        case(
            name, lambda n=name, data=None: getattr(sym, n)(data), data=reals(2, 3, low=0.1, high=3)
        )
    for name in ["arcsin", "arccos", "arctanh"]:
        case(
            name,
            lambda n=name, data=None: getattr(sym, n)(data),
            data=reals(2, 3, low=-0.9, high=0.9),
        )
    for name in [
        "add",
        "sub",
        "mul",
        "div",
        "maximum",
        "minimum",
        "mod",
        "equal",
        "not_equal",
        "greater",
        "greater_equal",
        "lesser",
        "lesser_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
        "hypot",
    ]:
        case(name, lambda n=name, a=None, b=None: getattr(sym, f"broadcast_{n}")(a, b), a=x, b=row)
        case(
            name,
            lambda n=name, a=None, b=None: getattr(sym, f"broadcast_{n}")(a, b),
            a=whole(2, 3),
            b=whole(2, 3, low=1),
        )
    case(
        "broadcast_power",
        lambda a, b: sym.broadcast_power(a, b),
        a=reals(2, 3, low=0.1),
        b=reals(2, 3),
    )
    for make in (
        lambda a, b: a + b,
        lambda a, b: a * b - a / b,
        lambda a, b: sym.maximum(a, b),
        lambda a, b: a > b,
        lambda a, b: a**2 + 2 - b * 3,
        lambda a, b: 1 - a + 2 / b,
        lambda a, b: (a > 0.5) + (b <= 1),
        lambda a, b: sym.add_n(a, b, a),
        lambda a, b: sym.where(a > 0, a, b),
        lambda a, b: 2**a,
        lambda a, b: a % 0.7,
        lambda a, b: sym.minimum(a, 0.3),
        lambda a, b: sym.hypot(a, b),
    ):
        case("python", lambda a, b, make=make: make(a, b), a=x, b=y)
    case("clip", lambda data: sym.clip(data, -0.5, 0.7), data=x)
    case("smooth_l1", lambda data: sym.smooth_l1(data, scalar=2.0), data=x)
    for dtype in ("int32", "float16", "uint8"):
        case(
            "Cast",
            lambda data, d=dtype: sym.Cast(sym.Cast(data, dtype=d), dtype="float32"),
            data=reals(3, 4, low=0, high=9),
        )
    case("div_sqrt_dim", lambda data: sym.contrib.div_sqrt_dim(data), data=x)


def shaping():
    x, image = reals(2, 3, 4), reals(2, 4, 6, 8)
    for shape in ((6, 4), (-1, 2), (0, -1), (-2,), (-3, 0), (0, -4, 1, 3, -2), (-1, 0, 2)[:2]):
        case("reshape", lambda data, s=shape: sym.reshape(data, shape=s), data=x)
    for axes in ((), (1, 2, 0)):
        case("transpose", lambda data, a=axes: sym.transpose(data, axes=a), data=x)
    case("SwapAxis", lambda data: sym.SwapAxis(data, dim1=0, dim2=2), data=x)
    for axis in (0, 1, -1):
        case("expand_dims", lambda data, a=axis: sym.expand_dims(data, axis=a), data=x)
        case("stack", lambda a, b, n=axis: sym.stack(a, b, axis=n), a=x, b=x + 1)
        case("concat", lambda a, b, n=axis: sym.concat(a, b, dim=n), a=x, b=x + 1)
        case("split", lambda data, n=axis: sym.split(data, num_outputs=x.shape[n], axis=n), data=x)
    case("squeeze", lambda data: sym.squeeze(data, axis=1), data=reals(2, 1, 3))
    case("squeeze", lambda data: sym.squeeze(data), data=reals(2, 1, 3, 1))
    case("split", lambda data: sym.split(data, num_outputs=3, axis=1, squeeze_axis=True), data=x)
    case("split_v2", lambda data: sym.split_v2(data, indices_or_sections=(1, 3), axis=2), data=x)
    for begin, end, step in (
        ((0, 1), (2, 3), ()),
        ((None, 1, 0), (None, 3, 4), (1, 1, 2)),
        ((1, None), (None, 0), (1, -1)),
    ):
        case(
            "slice",
            lambda data, b=begin, e=end, s=step: sym.slice(data, begin=b, end=e, step=s),
            data=x,
        )
    for axis, begin, end in ((1, 0, 2), (-1, -3, None), (0, 1, 2)):
        case(
            "slice_axis",
            lambda data, a=axis, b=begin, e=end: sym.slice_axis(data, axis=a, begin=b, end=e),
            data=x,
        )
    case("slice_like", lambda a, b: sym.slice_like(a, b), a=x, b=reals(1, 2, 3))
    case("slice_like", lambda a, b: sym.slice_like(a, b, axes=(1,)), a=x, b=reals(1, 2, 3))
    case("tile", lambda data: sym.tile(data, reps=(1, 2, 3)), data=x)
    case("repeat", lambda data: sym.repeat(data, repeats=2, axis=1), data=x)
    case("repeat", lambda data: sym.repeat(data, repeats=2), data=x)
    case("reverse", lambda data: sym.reverse(data, axis=(0, 2)), data=x)
    case("broadcast_to", lambda data: sym.broadcast_to(data, shape=(2, 0, 5)), data=reals(1, 3, 1))
    case(
        "broadcast_axis",
        lambda data: sym.broadcast_axis(data, axis=(0, 2), size=(2, 5)),
        data=reals(1, 3, 1),
    )
    case("broadcast_like", lambda a, b: sym.broadcast_like(a, b), a=reals(1, 3, 1), b=x)
    case("depth_to_space", lambda data: sym.depth_to_space(data, block_size=2), data=image)
    case("space_to_depth", lambda data: sym.space_to_depth(data, block_size=2), data=image)
    case("arange", lambda data: data + sym.arange(start=1, stop=9, step=2), data=reals(4))
    case("arange_like", lambda data: sym.contrib.arange_like(data, axis=1), data=x)
    case(
        "one_hot",
        lambda data: sym.one_hot(data, depth=6, on_value=2, off_value=-1),
        data=whole(2, 3),
    )
    for axis, mode in ((0, "clip"), (1, "clip"), (1, "wrap")):
        case(
            "take",
            lambda data, i, a=axis, m=mode: sym.take(data, i, axis=a, mode=m),
            data=x,
            i=whole(2, 2, low=-1, high=4),
        )
    for keep, axis in ((True, -1), (False, 1)):
        case(
            "pick",
            lambda data, i, k=keep, a=axis: sym.pick(data, i, axis=a, keepdims=k),
            data=x,
            i=whole(2, 3) if axis == -1 else whole(2, 4),
        )
    case("gather_nd", lambda data, i: sym.gather_nd(data, i), data=x, i=whole(2, 3, high=2))
    for name in ("sum", "mean", "max", "min", "prod"):
        for axis, keep, exclude in (
            ((), False, False),
            (1, True, False),
            ((0, 2), False, False),
            (1, False, True),
        ):
            case(
                name,
                lambda data, n=name, a=axis, k=keep, e=exclude: getattr(sym, n)(
                    data, axis=a, keepdims=k, exclude=e
                ),
                data=x,
            )
    for order in (1, 2):
        case("norm", lambda data, o=order: sym.norm(data, ord=o, axis=1, keepdims=True), data=x)
    case("norm", lambda data: sym.norm(data), data=x)
    for name in ("argmax", "argmin"):
        case(name, lambda data, n=name: getattr(sym, n)(data, axis=1), data=x)
        case(name, lambda data, n=name: getattr(sym, n)(data, axis=-1, keepdims=True), data=x)
    for a, b in (((2, 3), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((3,), (3,))):
        case("dot", lambda a, b: sym.dot(a, b), a=reals(*a), b=reals(*b))
    case(
        "dot",
        lambda a, b: sym.dot(a, b, transpose_a=True, transpose_b=True),
        a=reals(3, 2),
        b=reals(4, 3),
    )
    for one, other in ((False, False), (True, False), (False, True)):
        left, right = ((5, 3, 2) if one else (5, 2, 3)), ((5, 4, 3) if other else (5, 3, 4))
        case(
            "batch_dot",
            lambda a, b, s=one, t=other: sym.batch_dot(a, b, transpose_a=s, transpose_b=t),
            a=reals(*left),
            b=reals(*right),
        )
    case(
        "gemm2",
        lambda a, b: sym.linalg.gemm2(a, b, transpose_b=True, alpha=0.5),
        a=reals(2, 3),
        b=reals(4, 3),
    )
    for ascend in (True, False):
        case("sort", lambda data, s=ascend: sym.sort(data, axis=1, is_ascend=s), data=x)
        case("argsort", lambda data, s=ascend: sym.argsort(data, axis=-1, is_ascend=s), data=x)
        for kind in ("indices", "value", "both"):
            case(
                "topk",
                lambda data, s=ascend, t=kind: sym.topk(data, axis=1, k=2, ret_typ=t, is_ascend=s),
                data=x,
            )


def sequences():
    steps = reals(5, 3, 4)
    for mode, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for count, both in ((1, False), (2, False), (1, True), (2, True)):
            directions, hidden = (2 if both else 1), 6
            size = 0
            for layer in range(count):
                width = 4 if layer == 0 else hidden * directions
                size += directions * gates * hidden * (width + hidden + 2)
            given = {
                "data": steps,
                "parameters": reals(size, low=-0.3, high=0.3),
                "state": reals(count * directions, 3, hidden),
            }
            if mode == "lstm":
                given["state_cell"] = reals(count * directions, 3, hidden, seed=4)
            more = {
                "mode": mode,
                "state_size": hidden,
                "num_layers": count,
                "bidirectional": both,
                "state_outputs": True,
            }
            case("RNN", lambda more=more, **x: sym.RNN(**x, **more), **given)
    lengths = np.array([2, 5, 3], "float32")
    for name in ("SequenceMask", "SequenceReverse", "SequenceLast"):
        case(
            name,
            lambda n=name, **x: getattr(sym, n)(**x, use_sequence_length=True),
            data=steps,
            sequence_length=lengths,
        )
        case(name, lambda n=name, **x: getattr(sym, n)(**x), data=steps)
    for name, make in (
        (
            "lstm",
            lambda: mx.gluon.rnn.LSTM(
                5, num_layers=2, bidirectional=True, layout="NTC", input_size=4
            ),
        ),
        ("gru", lambda: mx.gluon.rnn.GRU(5, input_size=4)),
        ("rnn", lambda: mx.gluon.rnn.RNN(5, activation="tanh", input_size=4)),
    ):
        gluon(f"gluon.rnn.{name}", make(), steps, state=True)


def gluon(name, block, data, state=False):
    """A Gluon block, with its parameters from a seed."""
    random = np.random.RandomState(2)
    block.initialize()
    block(
        nd.array(data),
        *(
            [block.begin_state(batch_size=data.shape[0 if block._layout == "NTC" else 1])]
            if state
            else []
        ),
    )
    given = {"data": data}
    for key, one in block.collect_params().items():
        one.set_data(nd.array(random.uniform(-0.5, 0.5, one.shape)))
        given[key] = one.data().asnumpy()
    if state:
        begin = block.begin_state(batch_size=data.shape[0 if block._layout == "NTC" else 1])
        shapes = [one.shape for one in begin]
        names = [f"state_{place}" for place in range(len(begin))]
        given.update({key: reals(*shape) for key, shape in zip(names, shapes, strict=True)})
        out, last = block(sym.var("data"), [sym.var(key) for key in names])
        found = sym.Group([out, *last])
    else:
        found = block(sym.var("data"))
    CASES[f"{name}#{len(CASES)}"] = found, given


def blocks():
    nn = mx.gluon.nn
    image, rows = reals(2, 4, 7, 9), reals(3, 5)
    for name, block, data in (
        ("Dense", nn.Dense(4, activation="tanh"), rows),
        ("Conv2D", nn.Conv2D(3, 3, strides=2, padding=1, activation="relu"), image),
        ("Conv2DTranspose", nn.Conv2DTranspose(3, 3, strides=2, output_padding=1), image),
        ("AvgPool2D", nn.AvgPool2D(3, 2, ceil_mode=True, count_include_pad=False), image),
        ("MaxPool2D", nn.MaxPool2D(3, 2, ceil_mode=True), image),
        ("GlobalAvgPool2D", nn.GlobalAvgPool2D(), image),
        ("BatchNorm", nn.BatchNorm(), image),
        ("LayerNorm", nn.LayerNorm(), rows),
        ("GroupNorm", nn.GroupNorm(2), image),
        ("InstanceNorm", nn.InstanceNorm(), image),
        ("PReLU", nn.PReLU(), image),
        ("GELU", nn.GELU(), rows),
        ("SELU", nn.SELU(), rows),
        ("Swish", nn.Swish(0.7), rows),
        ("ReflectionPad2D", nn.ReflectionPad2D(2), image),
    ):
        gluon(f"gluon.nn.{name}", block, data)


def control():
    steps = reals(5, 3)
    case(
        "foreach",
        lambda data, state: _foreach(lambda d, s: (d + s[0], [s[0] * 0.5 + d]), data, [state]),
        data=steps,
        state=reals(3),
    )
    case(
        "foreach.rest",
        lambda data, state, w: _foreach(
            lambda d, s: ([sym.dot(d, w), d * 2], [sym.tanh(s[0] + sym.dot(d, w))]), data, [state]
        ),
        data=steps,
        state=reals(3),
        w=reals(3, 3),
    )
    case(
        "while",
        lambda i, s: _while(lambda i, s: i < 5, lambda i, s: ([i * s], [i + 1, s + i]), [i, s]),
        i=np.array([1], "float32"),
        s=np.array([2], "float32"),
    )

    def rows(i, s):  # what comes after the last turn is not defined
        first, *rest = _while(lambda i, s: i < 3, lambda i, s: ([s], [i + 1, s * 2]), [i, s])
        return [sym.slice_axis(first, axis=0, begin=0, end=3), *rest]

    case("while.rows", rows, i=np.array([0], "float32"), s=reals(2, 3))
    for low in (1, 9):
        case(
            "cond",
            lambda a, b: sym.contrib.cond(
                sym.sum(a) < sym.sum(b), lambda: a * 2 + b, lambda: b - a
            ),
            a=np.full((2, 2), low, "float32"),
            b=np.full((2, 2), 4, "float32"),
        )


def _foreach(body, data, states):
    out, last = sym.contrib.foreach(body, data, states)
    return [*(out if isinstance(out, list) else [out]), *last]


def _while(test, body, variables):
    out, last = sym.contrib.while_loop(test, body, variables, max_iterations=8)
    return [*(out if isinstance(out, list) else [out]), *last]


FAMILIES = {
    "alexnet": 224,
    "densenet121": 224,
    "inceptionv3": 139,
    "mobilenet0.25": 64,
    "mobilenetv2_0.25": 64,
    "resnet18_v1": 64,
    "resnet18_v2": 64,
    "squeezenet1.0": 224,
    "vgg11": 32,
    "vgg11_bn": 32,
}


def zoo():
    """Networks of the zoo: JSON, shapes of parameters, and the first outputs; weights are those
    that `tests/frontend/mxnet/test_zoo.py` makes from a seed."""
    kept = {}
    for name, size in FAMILIES.items():
        if name == "inceptionv3":
            size = 299
        net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
        net.initialize()
        data = image_of(size)
        net(nd.array(data))
        symbol = net(sym.var("data"))
        shapes = {key: list(one.shape) for key, one in net.collect_params().items()}
        values = {key: weight(key, shape) for key, shape in sorted(shapes.items())}
        outputs = evaluated(symbol, {"data": data, **values})
        text = json.dumps(json.loads(symbol.tojson()), separators=(",", ":"))
        kept[name] = {
            "symbol": text,
            "shapes": shapes,
            "size": size,
            "outputs": [one.tolist() for one in outputs],
        }
        print(name, outputs[0][0][:4])
    return kept


def image_of(size):
    return np.random.RandomState(size).uniform(-1, 1, (1, 3, size, size)).astype("float32")


def weight(name, shape):
    """A parameter from a seed that its name and shape make."""
    random = np.random.RandomState([len(name), sum(map(ord, name)) % 9973, *shape])
    if name.endswith(("gamma", "running_var")):
        return random.uniform(0.5, 1.5, shape).astype("float32")
    if len(shape) == 1:
        return random.uniform(-0.2, 0.2, shape).astype("float32")
    bound = (3.0 / np.prod(shape[1:])) ** 0.5
    return (random.uniform(-1, 1, shape) * bound * 1.4).astype("float32")


def packed(header, arrays):
    """A header of JSON and arrays after each other, compressed; equal arrays are kept once."""
    places, parts, seen, place = {}, [], {}, 0
    for name, one in arrays.items():
        data = np.ascontiguousarray(one).tobytes()
        key = (data, one.dtype.str, one.shape)
        if key not in seen:
            seen[key] = [one.dtype.str, list(one.shape), place]
            parts.append(data)
            place += len(data)
        places[name] = seen[key]
    text = json.dumps({"header": header, "arrays": places}, separators=(",", ":")).encode()
    return zlib.compress(len(text).to_bytes(8, "little") + text + b"".join(parts), 9)


def main():
    for family in (layers, elements, shaping, sequences, blocks, control):
        family()
    arrays, symbols = {}, {}
    for name, (symbol, inputs) in CASES.items():
        try:
            outputs = evaluated(symbol, inputs)
        except Exception as error:  # MXNet itself refuses it
            print(name, "is left out:", str(error).splitlines()[0][:120])
            continue
        graph = json.loads(symbol.tojson())
        del graph["node_row_ptr"]
        symbols[name] = json.dumps(graph, separators=(",", ":"))
        for key, value in inputs.items():
            arrays[f"{name}/in/{key}"] = value
        for place, value in enumerate(outputs):
            arrays[f"{name}/out/{place}"] = value
    (HERE / "recorded.zlib").write_bytes(packed(symbols, arrays))
    print(len(symbols), "of", len(CASES), "cases")
    (HERE / "zoo.zlib").write_bytes(packed(zoo(), {}))
    nd.save(
        str(HERE / "small.params"),
        {
            "arg:w": nd.array(reals(2, 3)),
            "aux:m": nd.array(reals(4)),
            "arg:i": nd.array([1, 2], dtype="int64"),
        },
    )


if __name__ == "__main__":
    sys.exit(main())
