"""Counts of n-grams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.immutable import frozen
from relay.ir.expr import Expr, const

table = Converters()


@frozen
class Trie:
    """Sequences of words as a trie whose edges are words. An edge has one key,
    node * words + word, and keys are sorted for binary search."""

    words: np.ndarray  # sorted
    keys: np.ndarray  # of edges, sorted
    targets: np.ndarray  # the node at the end of each edge
    columns: np.ndarray  # of the result, by node; one past the last where no sequence ends


def _trie(sequences: Sequence[tuple[tuple[int, ...], int]], width: int) -> Trie:
    """The trie of sequences, each with its column."""
    words = np.unique(np.array([word for words, _ in sequences for word in words], "int64"))
    rank = {int(word): place for place, word in enumerate(words)}
    edges: dict[int, int] = {}
    columns = [width]
    for sequence, column in sequences:
        place = 0
        for word in sequence:
            key = place * len(words) + rank[word]
            if key not in edges:
                edges[key] = len(columns)
                columns.append(width)
            place = edges[key]
        columns[place] = column
    keys = np.array(sorted(edges), "int64")
    targets = np.array([edges[int(key)] for key in keys], "int64")
    return Trie(words, keys, targets, np.array(columns, "int64"))


@table("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node, data: Expr) -> Expr:
    """Counts sequences of words at equal distances in each row of data."""
    if "pool_strings" in node.attributes:
        raise node.refused("strings cannot be computed with", "a pool of numbers", "strings")
    if node.rank(data) not in (1, 2):
        raise node.misfit("data are rows of words", "one or two axes", str(node.type_of(data)))
    shortest, longest = node.required("min_gram_length"), node.required("max_gram_length")
    width = max(node.required("ngram_indexes")) + 1
    trie = _trie(_sequences(node, shortest, longest), width)
    rows = data if node.rank(data) == 2 else op.expand_dims(data, 0)
    words = node.let(_looked_up(node, trie.words, op.cast(rows, "int64")))
    found: list[Expr] = []
    for distance in range(1, node.required("max_skip_count") + 2):
        # single words are counted once, not per distance
        least = shortest if distance == 1 else max(shortest, 2)
        states = node.let(op.zeros_like(words))
        for length in range(1, longest + 1):
            following = words
            if length > 1:
                states = op.strided_slice(states, [0], [-distance], axes=(1,))
                begin = distance * (length - 1)
                following = op.strided_slice(words, [begin], [2**31 - 1], axes=(1,))
            states = node.let(_step(node, trie, node.let(states), node.let(following)))
            if length >= least:
                found.append(_read(node, trie.columns, states, width))
    return _weighted(node, _counted(node, found, words, width), width)


def _sequences(node: Node, shortest: int, longest: int) -> list[tuple[tuple[int, ...], int]]:
    """The sequences of the pool with a counted length, with their columns."""
    pool, starts = node.required("pool_int64s"), [*node.required("ngram_counts")]
    columns, found, number = node.required("ngram_indexes"), [], 0
    for length, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        for place in range(start, end - length + 1, length):
            if number >= len(columns):
                raise node.refused("`ngram_indexes` is too short", found=f"{len(columns)} columns")
            if shortest <= length <= longest:
                found.append((tuple(pool[place : place + length]), columns[number]))
            number += 1
    return found


def _read(node: Node, values: np.ndarray, positions: Expr, default: int) -> Expr:
    """The values at positions; another value at negative ones."""
    is_negative = positions < int64(0)
    read = op.take(node.importer.constant(values), op.maximum(positions, int64(0)), axis=0)
    return node.let(op.where(is_negative, int64(default), read))


def _looked_up(node: Node, values: np.ndarray, wanted: Expr) -> Expr:
    """The positions of elements in sorted values; -1 for missing ones."""
    if not len(values):
        return op.full_like(wanted, int64(-1))
    known = node.importer.constant(values)
    place = node.let(op.searchsorted(known, wanted, dtype="int64"))
    near = op.minimum(place, int64(len(values) - 1))
    is_there = op.equal(op.take(known, near, axis=0), wanted)
    return op.where(is_there, place, int64(-1))


def _step(node: Node, trie: Trie, states: Expr, words: Expr) -> Expr:
    """The nodes at the end of edges; -1 where there is none."""
    zero = int64(0)
    is_one = op.logical_and(states >= zero, words >= zero)
    key = states * int64(len(trie.words)) + words
    edge = _looked_up(node, trie.keys, node.let(op.where(is_one, key, int64(-1))))
    return _read(node, trie.targets, node.let(edge), -1)


def _counted(node: Node, columns: Sequence[Expr], rows: Expr, width: int) -> Expr:
    """The number of occurrences of each column, per row."""
    positions = node.let(op.concatenate(list(columns), axis=1))
    ones = node.let(op.cast(op.ones_like(positions), "float32"))
    first = op.sum(op.zeros_like(rows), axis=1, keepdims=True)
    empty = op.tile(op.cast(first, "float32"), (1, width + 1))
    filled = op.scatter_elements(node.let(empty), positions, ones, axis=1, reduction="add")
    return op.strided_slice(filled, [0], [width], axes=(1,))


def _weighted(node: Node, counts: Expr, width: int) -> Expr:
    mode, weights = (
        node.choice("mode", None, ("TF", "IDF", "TFIDF")),
        node.attribute("weights") or [],
    )
    if mode == "IDF":
        counts = op.cast(counts > const(0, "float32"), "float32")
    columns = node.required("ngram_indexes")
    if mode != "TF" and weights:
        if len(weights) != len(columns):
            raise node.refused("not as many weights as sequences", f"{len(columns)}", f"{weights}")
        by_column = np.ones(width, "float32")
        by_column[columns] = weights
        counts = counts * node.importer.constant(by_column)
    return counts if node.rank(node.inputs[0]) == 2 else op.squeeze(counts, (0,))  # type: ignore[arg-type]
