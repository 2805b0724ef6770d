"""What TensorFlow makes of cases: graphs, and results. Needs `tensorflow`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontend.tensorflow.models import Case, Given, Recording, as_given


def recorded(one: Case) -> Recording:
    """The graph of a case, and its results."""
    graph = tf.Graph()
    with graph.as_default():
        placeholders: list[Any] = []
        feeds: list[np.ndarray] = []

        def tensor(given: Given) -> Any:
            if given.fixed:
                return tf.constant(given.array)
            shape = [
                None if axis in given.open else size for axis, size in enumerate(given.array.shape)
            ]
            name = f"x{len(placeholders)}"
            placeholders.append(
                tf.compat.v1.placeholder(tf.as_dtype(given.array.dtype), shape, name=name)
            )
            feeds.append(given.array)
            return placeholders[-1]

        inputs = {
            name: [tensor(as_given(part)) for part in value]
            if isinstance(value, list)
            else tensor(as_given(value))
            for name, value in one.inputs.items()
        }
        call = getattr(tf.raw_ops, one.operator)
        found = call(**inputs, **one.attributes)
        results = list(found) if isinstance(found, list | tuple) else [found]
        results = [part for part in results if isinstance(part, tf.Tensor)]
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.compat.v1.Session(graph=graph, config=config) as session:
        wanted = session.run(results, dict(zip(placeholders, feeds, strict=True)))
    names = [result.name for result in results]
    data = graph.as_graph_def().SerializeToString(deterministic=True)
    return Recording(str(one), data, names, feeds, [np.asarray(part) for part in wanted], one.rtol)
