"""Feature preprocessing: scaling, imputation, encoding, concatenation (`ai.onnx.ml`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Constant, Expr, const

table = Converters("ai.onnx.ml")


_NO_STRINGS = "strings cannot be computed with"


@table("Scaler")
def scaler(node: Node, data: Expr) -> Expr:
    """(data - offset) * scale, as float32."""
    wide = as_float(node, data)
    offset = _for_features(node, wide, "offset", node.attribute("offset", [0.0]))
    scale = _for_features(node, wide, "scale", node.attribute("scale", [1.0]))
    return op.cast((wide - offset) * scale, "float32")


@table("Normalizer")
def normalizer(node: Node, data: Expr) -> Expr:
    """Rows divided by their norm, where it is not 0."""
    axis = min(1, node.rank(data) - 1)
    wide = as_float(node, data)
    norm = node.choice("norm", "MAX", ("MAX", "L1", "L2"))
    if norm == "MAX":
        found = op.max(wide, axis=axis, keepdims=True)
    elif norm == "L1":
        found = op.sum(op.abs(wide), axis=axis, keepdims=True)
    else:
        found = op.sqrt(op.sum(wide * wide, axis=axis, keepdims=True))
    divisor = node.let(found)
    is_zero = op.equal(divisor, node.number(0, divisor))
    safe = op.where(is_zero, node.number(1, divisor), divisor)
    return op.cast(wide / safe, "float32")


@table("Binarizer")
def binarizer(node: Node, data: Expr) -> Expr:
    """1 where data exceeds the threshold, 0 elsewhere."""
    threshold = node.number(node.attribute("threshold", 0.0), data)
    return op.cast(data > threshold, node.dtype(data))


@table("Imputer")
def imputer(node: Node, data: Expr) -> Expr:
    """Replaces a missing value by one value, or by one per feature."""
    kind = "int64" if dtypes.is_integer(node.dtype(data)) else "float"
    values = node.attribute(f"imputed_value_{kind}s")
    if not values:
        raise node.refused(f"attribute `imputed_value_{kind}s` is missing")
    replaced = node.attribute(f"replaced_value_{kind}", 0)
    if kind == "float" and np.isnan(replaced):
        is_missing = op.isnan(data)
    else:
        is_missing = op.equal(data, node.number(replaced, data))
    return op.where(is_missing, _for_features(node, data, "imputed values", values), data)


def as_float(node: Node, data: Expr) -> Expr:
    """Data as float64 if it is, otherwise as float32."""
    return node.let(op.cast(data, "float64" if node.dtype(data) == "float64" else "float32"))


def _for_features(node: Node, data: Expr, what: str, values: Sequence[float]) -> Constant:
    """One value for all features, or one per feature, which are the last axis."""
    width = node.shape(data)[-1] if node.rank(data) else 1
    if len(values) == 1:
        value: Constant = const(values[0], node.dtype(data))
        return value
    if isinstance(width, int) and len(values) != width:
        message = f"the number of {what} is not that of the features"
        raise node.refused(message, f"{width}, or 1", str(len(values)))
    return node.importer.constant(np.array(values, node.dtype(data)))


@table("LabelEncoder")
def label_encoder(node: Node, data: Expr) -> Expr:
    """Looks every element up among keys, by binary search."""
    if node.version < 2:
        raise node.refused(_NO_STRINGS, "numbers as keys and values", "classes_strings")
    keys, values = _list(node, "keys"), _list(node, "values")
    if len(keys) != len(values) or not len(keys):
        message = "there is not a value for each key"
        raise node.refused(message, str(len(keys)), f"{len(values)} values")
    constant = node.importer.constant
    default = constant(_default(node, values.dtype))
    given = node.let(op.cast(data, str(keys.dtype)) if node.dtype(data) != keys.dtype else data)
    rest = ~np.isnan(keys) if keys.dtype.kind == "f" else np.ones(keys.shape, bool)
    found: Expr = default
    if rest.any():
        # of equal keys the first counts
        known, first = np.unique(keys[rest], return_index=True)
        in_order, results = constant(known), constant(values[rest][first])
        last = int64(len(known) - 1)
        place = node.let(op.minimum(op.searchsorted(in_order, given, dtype="int64"), last))
        is_key = op.equal(op.take(in_order, place, axis=0), given)
        found = op.where(is_key, op.take(results, place, axis=0), default)
    if not rest.all():
        found = op.where(op.isnan(given), constant(values[~rest][:1].reshape(())), found)
    return found


_KINDS = {"int64s": "int64", "floats": "float32"}


def _list(node: Node, what: str) -> np.ndarray:
    """The keys or values, an attribute of one of several types."""
    if node.attribute(f"{what}_strings"):
        raise node.refused(_NO_STRINGS, "numbers as keys and values", f"{what}_strings")
    for kind, dtype in _KINDS.items():
        if (given := node.attribute(f"{what}_{kind}")) is not None:
            return np.array(given, dtype)
    given = node.required(f"{what}_tensor")
    found: np.ndarray = np.asarray(given).reshape(-1)
    return found


def _default(node: Node, dtype: np.dtype[Any]) -> np.ndarray:
    given = node.attribute("default_tensor")
    if given is None:
        name, default = ("default_int64", -1) if dtype.kind in "iu" else ("default_float", -0.0)
        given = node.attribute(name, default)
    found = np.asarray(given)
    if found.size != 1:
        raise node.refused("the default is not one number", found=str(found.shape))
    return found.reshape(()).astype(dtype)


@table("OneHotEncoder")
def one_hot_encoder(node: Node, data: Expr) -> Expr:
    """A new last axis: 1 at the category of the element, zeros for an unknown one."""
    categories = node.attribute("cats_int64s")
    if not categories:
        raise node.refused(_NO_STRINGS, "cats_int64s", "cats_strings")
    whole = op.expand_dims(op.cast(data, "int64"), -1)
    known = node.importer.constant(np.array(categories, "int64"))
    return op.cast(op.equal(whole, known), "float32")


@table("FeatureVectorizer")
def feature_vectorizer(node: Node, *parts: Expr) -> Expr:
    """Concatenates features, each part cut or padded to its `inputdimensions`."""
    widths = node.attribute("inputdimensions") or [None] * len(parts)
    if len(widths) != len(parts):
        raise node.refused("a width is missing", str(len(parts)), str(len(widths)))
    found = []
    for part, width in zip(parts, widths, strict=True):
        rows: Expr = op.cast(part, "float32")
        if node.rank(part) == 1:
            rows = op.expand_dims(rows, 0)
        elif node.rank(part) != 2:
            rows = op.nn.batch_flatten(rows)
        rows = node.let(rows)
        own = node.shape(rows)[1]
        if width is not None and own != width:
            behind = max(width - own, 0) if isinstance(own, int) else width
            padded = op.nn.pad(rows, ((0, 0), (0, behind)))
            rows = op.strided_slice(padded, [0], [width], axes=(1,))
        found.append(rows)
    return op.concatenate(found, axis=1)


@table("ArrayFeatureExtractor")
def array_feature_extractor(node: Node, data: Expr, positions: Expr) -> Expr:
    """Elements of the last axis; a vector is one row."""
    chosen = op.reshape(positions, (-1,))
    if node.rank(data) == 1:
        data = node.let(op.expand_dims(data, 0))
    axis = node.rank(data) - 1
    return op.take(data, in_range(node, chosen, data, [axis]), axis=axis)
