"""What is given as a model: an object of Keras, a `.keras` file or an old `.h5` file.

All become a configuration, which is data, and a store of variables. Nothing in a file is run.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from relay.errors import FrontendError
from relay.frontend.keras import hdf5
from relay.frontend.keras.config import LayerInfo, broken, check_depth, layer_of
from relay.frontend.keras.stores import GroupStore, ObjectStore, OldFile, Store
from relay.immutable import frozen

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
LARGEST_CONFIG = 1 << 26  # bytes
GROWTH = 16  # so many times as large as the file may an entry be


@frozen
class Source:
    """A model as it was found."""

    model: LayerInfo
    store: Store
    assets: Mapping[str, bytes]  # files beside the weights: vocabularies


# what refuses a model before its weights are read
Check = Callable[[LayerInfo], None]


def read(model: Any, check: Check) -> Source:
    """A model from an object, a path, or the bytes of a file."""
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Layer):
        return _from_object(model, check)
    if isinstance(model, str | os.PathLike):
        try:
            with open(model, "rb") as file:
                model = file.read()
        except OSError as error:
            message = f"the file cannot be read: {error.strerror}"
            raise FrontendError.of(message, found=str(error.filename)) from None
    if not isinstance(model, bytes):
        expected = "a model of Keras, or the path or bytes of a .keras or .h5 file"
        raise FrontendError.of("it is no model of Keras", None, expected, type(model).__name__)
    if model.startswith(hdf5.SIGNATURE):
        return _from_old_file(hdf5.read(model), check)
    return _from_archive(model, check)


# --- objects -------------------------------------------------------------------------------------


def _from_object(model: Any, check: Check) -> Source:
    keras = sys.modules["keras"]
    try:
        config = keras.saving.serialize_keras_object(model)
        text = json.dumps(config)
    except Exception as error:  # layers of the user may raise anything
        message = f"{type(model).__name__} has no configuration"
        hint = "give its layers a `get_config`, or export it: model.export(folder)"
        raise FrontendError.of(message, found=str(error)[:200], hint=hint) from error
    return Source(_model(text, check), ObjectStore(model), {})


def _model(text: str | bytes, check: Check) -> LayerInfo:
    """The model that a configuration in JSON describes."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise broken("it is no JSON", str(error)) from None
    check_depth(config)
    found = layer_of(config)
    check(found)
    return found


# --- files ---------------------------------------------------------------------------------------


def _from_archive(data: bytes, check: Check) -> Source:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names = [one.filename for one in entries]
            if len(set(names)) < len(names):
                raise FrontendError.of("the file has two entries of one name")
            if CONFIG not in names:
                raise FrontendError.of(f"the file has no `{CONFIG}`", expected="a .keras file")
            config = _entry(archive, CONFIG, LARGEST_CONFIG)
            if WEIGHTS not in names:
                others = [one for one in names if one.startswith("model.")]
                message = f"the file has no `{WEIGHTS}`"
                raise FrontendError.of(message, found=", ".join(others) or None)
            weights = _entry(archive, WEIGHTS, GROWTH * len(data))
            assets = {
                one: _entry(archive, one, GROWTH * len(data))
                for one in names
                if one.startswith("assets/") and not one.endswith("/")
            }
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        if isinstance(error, FrontendError):
            raise
        expected = "a .keras file or a .h5 file"
        raise FrontendError.of("it is no model of Keras", None, expected, str(error)) from None
    model = _model(config, check)
    return Source(model, GroupStore(hdf5.read(weights).arrays), assets)


def _entry(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of an archive entry, limited in size."""
    with archive.open(name) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise FrontendError.of(f"entry `{name}` is too large", None, f"{most} bytes", "more")
    return found


def _from_old_file(file: hdf5.File, check: Check) -> Source:
    text = file.attributes.get("", {}).get("model_config")
    if not isinstance(text, str):
        message = "the file has weights and no model"
        hint = "save the model, not its weights only: model.save(path)"
        raise FrontendError.of(message, expected="an attribute `model_config`", hint=hint)
    top = "model_weights"
    rows = {}
    for name in listed(file, top, "layer_names"):
        names = listed(file, f"{top}/{name}", "weight_names")
        missing = [one for one in names if f"{top}/{name}/{one}" not in file.arrays]
        if missing:
            raise FrontendError.of(f"the file has no array `{missing[0][:80]}`")
        rows[name] = [file.arrays[f"{top}/{name}/{one}"] for one in names]
    return Source(_model(text, check), OldFile(rows), {})


def listed(file: hdf5.File, group: str, name: str) -> list[str]:
    """A list of names among the attributes of a group, which may be in several parts."""
    held = file.attributes.get(group, {})
    if isinstance(found := held.get(name), list):
        return found
    parts: list[str] = []
    for place in range(len(held)):
        if not isinstance(part := held.get(f"{name}{place}"), list):
            break
        parts += part
    return parts
