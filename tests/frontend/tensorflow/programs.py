"""Programs of TensorFlow with loops, branches, lists and layers, as graphs. Needs `tensorflow`.

A program is a graph with its variables as constants, in version 2 of control flow (functions) or
in version 1 (`Switch` and `Merge`), with inputs of several sizes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontend.tensorflow.bert import INTEGERS, Bert, sentences
from tests.frontend.tensorflow.models import Recording

RANDOM = np.random.default_rng(5)


def reals(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32")


def of_graph(
    name: str, build: Callable[[], tuple[list[Any], list[Any]]], *feeds: list[np.ndarray]
) -> Iterator[Recording]:
    """A graph of version 1: `build` gives placeholders and results."""
    graph = tf.Graph()
    with graph.as_default(), control_v1():
        inputs, results = build()
        config = tf.compat.v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.compat.v1.Session(graph=graph, config=config) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            names = [one.op.name for one in results]
            frozen = tf.compat.v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), names
            )
            data = frozen.SerializeToString(deterministic=True)
            for given in feeds:
                wanted = session.run(results, dict(zip(inputs, given, strict=True)))
                outputs = [one.name for one in results]
                yield Recording(name, data, outputs, given, [*map(np.asarray, wanted)])


@contextlib.contextmanager
def control_v1() -> Iterator[None]:
    """While control flow is that of version 1."""
    tf.compat.v1.disable_control_flow_v2()
    try:
        yield
    finally:
        tf.compat.v1.enable_control_flow_v2()


def of_function(
    name: str, function: Callable[..., Any], specs: list[Any], *feeds: list[np.ndarray]
) -> Iterator[Recording]:
    """A function of version 2."""
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    concrete = tf.function(function).get_concrete_function(*specs)
    frozen = concrete
    if concrete.variables:
        frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    data = frozen.graph.as_graph_def().SerializeToString(deterministic=True)
    outputs = [one.name for one in frozen.outputs]
    for given in feeds:
        wanted = tf.nest.flatten(concrete(*map(tf.constant, given)))
        yield Recording(name, data, outputs, given, [one.numpy() for one in wanted])


def spec(*shape: int | None, dtype: str = "float32") -> Any:
    return tf.TensorSpec(shape, dtype)


def placeholder(*shape: int | None, dtype: str = "float32") -> Any:
    return tf.compat.v1.placeholder(dtype, shape)


def all_programs() -> Iterator[Recording]:
    yield from functions()
    yield from arrays()
    yield from layers()
    yield from translation()
    yield from graphs()
    yield from encoders()


# --- version 2 -----------------------------------------------------------------------------------


def functions() -> Iterator[Recording]:
    def power(x: Any) -> Any:
        return tf.while_loop(
            lambda i, y: i < 10, lambda i, y: (i + 1, y * x), (tf.constant(0), tf.ones_like(x))
        )

    yield from of_function("while", power, [spec(None)], [reals(3)], [reals(1)])

    def collatz(n: Any) -> Any:
        steps = tf.constant(0)
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    specs = [spec(dtype="int32")]
    yield from of_function(
        "collatz", collatz, specs, [np.array(27, "int32")], [np.array(1, "int32")]
    )

    def growing(x: Any) -> Any:
        return tf.while_loop(
            lambda y: tf.shape(y)[0] < 20,
            lambda y: (tf.concat([y, y + 1.0], 0),),
            (x,),
            shape_invariants=(tf.TensorShape([None, 2]),),
        )

    yield from of_function("growing", growing, [spec(None, 2)], [reals(3, 2)], [reals(1, 2)])

    def chosen(x: Any, p: Any) -> Any:
        return tf.cond(p, lambda: (x + 1, tf.reduce_sum(x)), lambda: (x * x, tf.reduce_max(x)))

    both = [[reals(2, 3), np.array(flag)] for flag in (True, False)]
    yield from of_function("cond", chosen, [spec(None, 3), spec(dtype="bool")], *both)

    def cases(x: Any, n: Any) -> Any:
        return tf.switch_case(n, [lambda: x, lambda: -x, lambda: x * 10.0])

    each = [[reals(3), np.array(number, "int32")] for number in (0, 1, 2, 7)]
    yield from of_function("case", cases, [spec(3), spec(dtype="int32")], *each)

    def nested(x: Any) -> Any:
        total = tf.zeros_like(x)
        for i in tf.range(3):
            for _ in tf.range(i + 1):
                if tf.reduce_sum(total) > 4.0:
                    break
                total += x
        return total

    yield from of_function("nested", nested, [spec(None)], [reals(2)], [np.abs(reals(4))])

    @tf.function
    def twice(x: Any) -> Any:
        return tf.nn.softmax(x) * 2.0

    def called(x: Any) -> Any:
        return twice(x) + twice(x[::-1])

    yield from of_function("calls", called, [spec(None, 3)], [reals(2, 3)])

    def replaced(x: Any, at: Any) -> Any:
        import keras

        return keras.ops.slice_update(x, (at, at), tf.ones((2, 2)))

    each = [[reals(3, 5), np.array(number, "int32")] for number in (0, 1)]
    yield from of_function("slice update", replaced, [spec(3, 5), spec(dtype="int32")], *each)


def arrays() -> Iterator[Recording]:
    def squares(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
        for i in tf.range(tf.shape(x)[0]):
            rows = rows.write(i, x[i] * x[i])
        return rows.stack()

    yield from of_function("array", squares, [spec(None, 3)], *([reals(n, 3)] for n in (1, 2, 5)))

    def dynamic(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(5):
            rows = rows.write(i, x * tf.cast(i, tf.float32))
        return rows.stack(), rows.gather([3, 1]), rows.size()

    yield from of_function("dynamic array", dynamic, [spec(None)], [reals(3)], [reals(1)])

    def unstacked(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0]).unstack(x)
        total = tf.zeros_like(x[0])
        for i in tf.range(tf.shape(x)[0]):
            total = total * 0.5 + rows.read(i)
        return total, rows.concat()

    yield from of_function("unstack", unstacked, [spec(None, 2)], [reals(4, 2)], [reals(1, 2)])

    def mapped(x: Any) -> Any:
        return tf.map_fn(lambda row: tf.reverse(row, [0]) + 1.0, x)

    yield from of_function("map_fn", mapped, [spec(None, 3)], [reals(4, 3)])

    def scanned(x: Any) -> Any:
        return tf.scan(lambda state, row: state * 0.9 + row, x)

    yield from of_function("scan", scanned, [spec(None, 3)], [reals(4, 3)], [reals(1, 3)])

    def accumulated(x: Any) -> Any:
        def body(i: Any, rows: Any) -> Any:
            return i + 1, tf.raw_ops.TensorListPushBack(input_handle=rows, tensor=x * float(2))

        start = tf.raw_ops.EmptyTensorList(
            element_shape=tf.constant([-1]), max_num_elements=-1, element_dtype=tf.float32
        )
        _, rows = tf.while_loop(lambda i, rows: i < 3, body, (tf.constant(0), start))
        rows, last = tf.raw_ops.TensorListPopBack(
            input_handle=rows, element_shape=tf.constant([-1]), element_dtype=tf.float32
        )
        stacked = tf.raw_ops.TensorListStack(
            input_handle=rows, element_shape=tf.constant([-1]), element_dtype=tf.float32
        )
        return stacked, last, tf.raw_ops.TensorListLength(input_handle=rows)

    yield from of_function("push back", accumulated, [spec(None)], [reals(3)])


def translation() -> Iterator[Recording]:
    """A sequence is read, another one written, a word at a time until its end or a limit."""
    import keras

    keras.utils.set_random_seed(2)
    words, width, limit = 11, 6, 9
    embed = keras.layers.Embedding(words, width)
    reader = keras.layers.GRU(width, return_state=True)
    writer, scores = keras.layers.GRUCell(width), keras.layers.Dense(words)
    embed.build((None, None))
    reader.build((None, None, width))
    writer.build((None, width))
    scores.build((None, width))

    def translated(tokens: Any) -> Any:
        _, state = reader(embed(tokens))
        last = tf.zeros_like(tokens[:, 0])
        text = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        step, is_done = tf.constant(0), tf.zeros_like(last, tf.bool)
        while step < limit and not tf.reduce_all(is_done):
            found, _ = writer(embed(last), [state])
            best = tf.cast(tf.argmax(scores(found), axis=-1), tf.int32)
            last, state = tf.where(is_done, 0, best), found
            is_done = tf.logical_or(is_done, tf.equal(last, 3))
            text = text.write(step, last)
            step += 1
        return tf.transpose(text.stack()), state

    feeds = [
        [RANDOM.integers(1, words, (batch, steps)).astype("int32")]
        for batch, steps in ((1, 2), (2, 5), (3, 4))
    ]
    yield from of_function("translation", translated, [spec(None, None, dtype="int32")], *feeds)


def layers() -> Iterator[Recording]:
    import keras

    keras.utils.set_random_seed(1)
    for kind in ("SimpleRNN", "GRU", "LSTM"):
        for sequences in (False, True):
            layer = getattr(keras.layers, kind)(4, return_sequences=sequences, return_state=True)
            layer.build((None, None, 3))
            sizes = ((1, 1), (2, 5), (3, 2))
            feeds = [[reals(*size, 3)] for size in sizes]
            yield from of_function(f"{kind} {sequences}", layer, [spec(None, None, 3)], *feeds)
    layer = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
    layer.build((None, 4, 2))
    yield from of_function("bidirectional", layer, [spec(None, 4, 2)], [reals(2, 4, 2)])
    stacked = keras.Sequential(
        [
            keras.layers.Masking(),
            keras.layers.GRU(3, return_sequences=True, go_backwards=True),
            keras.layers.LSTM(2),
        ]
    )
    stacked.build((None, 4, 2))
    x = reals(2, 4, 2)
    x[0, 2:] = 0
    yield from of_function("masked", stacked, [spec(None, 4, 2)], [x])
    attention = keras.layers.MultiHeadAttention(2, 3)
    attention.build((None, None, 4), (None, None, 4))

    def attended(x: Any) -> Any:
        return attention(x, x)

    yield from of_function("attention", attended, [spec(None, None, 4)], [reals(2, 3, 4)])


def encoders() -> Iterator[Recording]:
    bert = Bert(layers=1, width=8, heads=2)
    feeds = [sentences(RANDOM, *size) for size in ((1, 1), (2, 5), (3, 4))]
    yield from of_function("bert", bert.call, [INTEGERS] * 3, *feeds)


# --- version 1 -----------------------------------------------------------------------------------


def graphs() -> Iterator[Recording]:
    def power() -> Any:
        x = placeholder(None)
        _, y = tf.while_loop(
            lambda i, y: i < 10, lambda i, y: (i + 1, y * x), (tf.constant(0), tf.ones_like(x))
        )
        return [x], [y]

    yield from of_graph("while of version 1", power, [reals(3)], [reals(1)])

    def chosen() -> Any:
        x, p = placeholder(None, 3), placeholder(dtype="bool")
        results = tf.cond(p, lambda: (x + 1, tf.reduce_sum(x)), lambda: (x, tf.constant(3.0)))
        return [x, p], list(results)

    both = [[reals(2, 3), np.array(flag)] for flag in (True, False)]
    yield from of_graph("cond of version 1", chosen, *both)

    def nested() -> Any:
        x = placeholder(None)

        def inner(y: Any) -> Any:
            _, z = tf.while_loop(
                lambda j, z: j < 3, lambda j, z: (j + 1, z + x), (tf.constant(0), y)
            )
            return tf.cond(tf.reduce_sum(z) > 2.0, lambda: z * 0.5, lambda: z + 1.0)

        _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, inner(y)), (0, x))
        low = tf.cond(
            tf.reduce_sum(x) > 0.0,
            lambda: tf.cond(tf.reduce_max(x) > 1.0, lambda: x * 3.0, lambda: x - 1.0),
            lambda: tf.zeros_like(x),
        )
        return [x], [y, low]

    feeds = [[reals(3)], [np.full(2, 2.0, "float32")], [np.full(2, 0.5, "float32")]]
    yield from of_graph("nested of version 1", nested, *feeds)

    def looped_in_branch() -> Any:
        x = placeholder(None)

        def loop() -> Any:
            _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + x), (0, x))
            return y

        return [x], [tf.cond(tf.reduce_sum(x) > 0.0, loop, lambda: x)]

    feeds = [[np.full(2, 2.0, "float32")], [np.full(2, -2.0, "float32")]]
    yield from of_graph("loop in a branch of version 1", looped_in_branch, *feeds)

    def arrays() -> Any:
        x = placeholder(None, 3)
        count = tf.shape(x)[0]
        rows = tf.TensorArray(tf.float32, size=count).unstack(x)
        made = tf.TensorArray(tf.float32, size=count)

        def step(i: Any, made: Any, state: Any) -> Any:
            row = rows.read(i)
            return i + 1, made.write(i, state + row), state * 0.5 + row

        start = (0, made, tf.zeros([3]))
        _, made, last = tf.while_loop(lambda i, *_: i < count, step, start)
        return [x], [made.stack(), last, made.size()]

    yield from of_graph("array of version 1", arrays, *([reals(n, 3)] for n in (1, 2, 5)))
    yield from dynamic_rnn()


def dynamic_rnn() -> Iterator[Recording]:
    """A recurrent layer as TensorFlow 1 had it: a loop over time, with lengths of sequences."""

    def build() -> Any:
        x, lengths = placeholder(None, None, 3), placeholder(None, dtype="int32")
        weight = tf.compat.v1.get_variable("kernel", (7, 16), initializer=None)
        bias = tf.compat.v1.get_variable("bias", (16,))
        steps, batch = tf.shape(x)[1], tf.shape(x)[0]
        rows = tf.TensorArray(tf.float32, size=steps).unstack(tf.transpose(x, [1, 0, 2]))
        outputs = tf.TensorArray(tf.float32, size=steps)
        zero = tf.zeros([batch, 4])

        def step(time: Any, c: Any, h: Any, outputs: Any) -> Any:
            gates = tf.matmul(tf.concat([rows.read(time), h], 1), weight) + bias
            i, j, f, o = tf.split(gates, 4, axis=1)
            new_c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            new_h = tf.tanh(new_c) * tf.sigmoid(o)
            done = tf.expand_dims(time >= lengths, 1)
            row = tf.where(done, tf.zeros_like(new_h), new_h)
            return (
                time + 1,
                tf.where(done, c, new_c),
                tf.where(done, h, new_h),
                outputs.write(time, row),
            )

        start = (tf.constant(0), zero, zero, outputs)
        _, c, h, outputs = tf.while_loop(lambda time, *_: time < steps, step, start)
        return [x, lengths], [tf.transpose(outputs.stack(), [1, 0, 2]), c, h]

    tf.compat.v1.set_random_seed(3)
    feeds = [
        [reals(batch, steps, 3), RANDOM.integers(0, steps + 1, batch).astype("int32")]
        for batch, steps in ((1, 1), (2, 5), (3, 4))
    ]
    yield from of_graph("dynamic_rnn", build, *feeds)
