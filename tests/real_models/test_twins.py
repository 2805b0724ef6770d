"""The same trained network in two formats, through two frontends: `pytest -m real`."""

import numpy as np
import pytest

import relay
from tests.real_models.catalogue import ONNX_MODELS, TFLITE_MODELS, relative_error
from tests.real_models.fetch import CannotBeHad, fetch
from tests.real_models.keras_catalogue import KERAS_MODELS
from tests.real_models.tensorflow_catalogue import TENSORFLOW_MODELS

pytestmark = pytest.mark.real

CATALOGUES = {
    "onnx": ONNX_MODELS,
    "tflite": TFLITE_MODELS,
    "keras": KERAS_MODELS,
    "tensorflow": TENSORFLOW_MODELS,
}
# the network in each format by its name there, and how much they differ: conversion to a mel
# spectrogram squares and takes logarithms of sums in other orders, weights of emotions are rounded
TWINS = {
    "basic pitch": (dict.fromkeys(("onnx", "tflite", "tensorflow"), "basic pitch"), 1e-3),
    "speech embedding": ({"onnx": "speech embedding", "tflite": "wake word embedding"}, 1e-3),
    "mel spectrogram": ({"onnx": "mel spectrogram", "tflite": "mel spectrogram"}, 5e-3),
    "hey jarvis": ({"onnx": "wake word hey jarvis", "tflite": "wake word jarvis"}, 1e-3),
    "hey mycroft": ({"onnx": "wake word hey mycroft", "tflite": "wake word mycroft"}, 1e-3),
    "alexa": ({"onnx": "wake word alexa", "tflite": "wake word alexa"}, 1e-3),
    "emotions": ({"keras": "emotions", "tflite": "emotions"}, 5e-2),
}


@pytest.mark.parametrize("name", TWINS)
def test_twins_agree(name: str) -> None:
    names, tolerance = TWINS[name]
    found = []
    for catalogue, one in names.items():
        model = next(each for each in CATALOGUES[catalogue] if each.name == one)
        try:
            path = fetch(model)
        except CannotBeHad as reason:
            pytest.skip(str(reason))
        feeds = list(model.feeds(model.sizes[0]).values())
        exe = relay.compile(str(path.parent if model.beside else path))
        given = exe(*feeds)
        outputs = given if isinstance(given, tuple) else (given,)
        # formats order results in their own ways
        found.append(sorted(map(np.asarray, outputs), key=lambda each: (each.shape, each.sum())))
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            assert mine.size == theirs.size
            assert relative_error(mine.reshape(theirs.shape), theirs) <= tolerance
