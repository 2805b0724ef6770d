"""Published trained models, quantized with data from packages: how often they still say the same.

    python benchmarks/quantized_accuracy.py                          all of them
    python benchmarks/quantized_accuracy.py --models page-orientation,file-types
    python benchmarks/quantized_accuracy.py --examples 200           fewer examples

Every model is quantized by `relay.quantize` and by ONNX Runtime's static quantizer (QDQ, a scale
for each output channel), both with the same examples. Images are crops of scikit-learn's
photographs: of one to calibrate, of the other to evaluate. Sounds are generated, files are those of
Python's library. `same` is how often the greatest element is that of the model in floats, in
percent; where there are no classes, the mean cosine of the results. Model files are downloaded once
(`tests/real_models/fetch.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from engines import onnx_session

import relay
from relay import quantize

sys.path.append(str(Path(__file__).parents[1]))  # for `tests.real_models`

from tests.real_models.catalogue import ONNX_MODELS
from tests.real_models.fetch import CannotBeHad, fetch

CATALOGUE = {model.name: model for model in ONNX_MODELS}
OPSET = 13
KNOWN = 64  # examples to calibrate with

Feeds = dict[str, np.ndarray]
# (whether to calibrate, random numbers) -> examples without end
Examples = Callable[[bool, np.random.Generator], Iterator[Feeds]]

# --- examples ------------------------------------------------------------------------------------


def crops(height: int, width: int) -> Callable[[bool, np.random.Generator], Iterator[np.ndarray]]:
    """Parts of a photograph in that size: float32, RGB, 0 to 255."""

    def found(known: bool, chance: np.random.Generator) -> Iterator[np.ndarray]:
        from PIL import Image
        from sklearn.datasets import load_sample_images

        photograph = Image.fromarray(load_sample_images().images[0 if known else 1])
        while True:
            share = chance.uniform(0.15, 1.0)
            wide = min(photograph.width, photograph.height * width / height) * share
            high = wide * height / width
            left = chance.uniform(0, photograph.width - wide)
            top = chance.uniform(0, photograph.height - high)
            part = photograph.resize(
                (width, height), Image.Resampling.BILINEAR, (left, top, left + wide, top + high)
            )
            if chance.random() < 0.5:
                part = part.transpose(Image.Transpose.ROTATE_180)
            yield np.asarray(part, np.float32)

    return found


def images(
    name: str,
    height: int,
    width: int,
    *,
    mean: Any = 0.0,
    scale: Any = 1.0,
    order: str = "rgb",
    last: bool = False,
) -> Examples:
    """Crops as a model takes them."""

    def found(known: bool, chance: np.random.Generator) -> Iterator[Feeds]:
        for crop in crops(height, width)(known, chance):
            image = crop.mean(-1, keepdims=True) if order == "gray" else crop
            image = image[..., ::-1] if order == "bgr" else image
            image = (image - np.asarray(mean, np.float32)) / np.asarray(scale, np.float32)
            image = image if last else image.transpose(2, 0, 1)
            yield {name: np.ascontiguousarray(image[None], np.float32)}

    return found


def files(known: bool, chance: np.random.Generator) -> Iterator[Feeds]:
    """The beginning and the end of files of Python's library, as Magika takes them."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    # parts of files as files, as there are few kinds of whole ones
    while True:
        path = paths[2 * int(chance.integers(len(paths) // 2)) + known]
        whole = path.read_bytes()
        begin = int(chance.integers(max(1, len(whole) - 256))) if chance.random() < 0.5 else 0
        part = whole[begin : begin + int(chance.integers(256, 1 << 16))].strip()
        row = np.full(2048, 256, np.int32)
        head, tail = part[:1024], part[-1024:]
        row[: len(head)] = list(head)
        row[2048 - len(tail) :] = list(tail)
        yield {"bytes": row[None]}


def sound(chance: np.random.Generator, seconds: float) -> np.ndarray:
    """Something like speech: voices whose pitch and vowels move, and noise; 16 kHz."""
    t = np.arange(int(seconds * 16000)) / 16000
    pitch = (
        80 * 2 ** chance.uniform(0, 2) * (1 + 0.2 * np.sin(2 * np.pi * chance.uniform(1, 6) * t))
    )
    phase = 2 * np.pi * np.cumsum(pitch) / 16000
    vowels = [
        chance.uniform(300, 3500) * (1 + 0.3 * np.sin(2 * np.pi * chance.uniform(0.5, 4) * t))
        for _ in range(3)
    ]
    voice = sum(
        np.sin(k * phase) * sum(np.exp(-(((k * pitch - f) / 250) ** 2)) for f in vowels)
        for k in range(1, 25)
    )
    beat = np.clip(np.sin(2 * np.pi * chance.uniform(1, 5) * t + chance.uniform(0, 6)) + 0.3, 0, 1)
    noise = chance.standard_normal(t.size) * 10 ** chance.uniform(-3, -1)
    loud = 10 ** chance.uniform(-1.5, 0)
    return (32767 * loud * np.clip(0.3 * voice * beat + noise, -1, 1)).astype(np.float32)


def spectrograms(known: bool, chance: np.random.Generator) -> Iterator[Feeds]:
    """Sounds as the speech embedding takes them: by another model of its package."""
    session = onnx_session(str(fetch(CATALOGUE["mel spectrogram"])), 1)
    while True:
        (mel,) = session.run(None, {"input": sound(chance, 0.785)[None]})
        mel = mel.reshape(-1, 32) / 10 + 2
        yield {"input_1": mel[None, :76, :, None].astype(np.float32)}


def sentences(known: bool, chance: np.random.Generator) -> Iterator[Feeds]:
    """Words by their numbers, between a beginning and an end; common words more often."""
    while True:
        count = int(chance.integers(4, 30))
        words = 1996 + (28000 * chance.random(count) ** 3).astype(np.int64)
        ids, mask = np.zeros((1, 32), np.int64), np.zeros((1, 32), np.int64)
        ids[0, : count + 2] = [101, *words, 102]
        mask[0, : count + 2] = 1
        yield {"input_ids": ids, "attention_mask": mask}


# --- models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A model, its examples, and which result is looked at."""

    model: str
    examples: Examples
    sizes: dict[str, int]
    classes: bool = True
    result: int = 0


IMAGENET = {"mean": [123.675, 116.28, 103.53], "scale": [58.395, 57.12, 57.375]}
HALF = {"mean": 127.5, "scale": 127.5}
TASKS = {
    "page-orientation": Task("page orientation", images("x", 224, 224, **IMAGENET), {}),
    "text-orientation": Task("text orientation", images("x", 48, 192, **HALF), {}),
    "open-nsfw": Task(
        "open nsfw",
        images("input:0", 224, 224, mean=[104, 117, 123], order="bgr", last=True),
        {},
    ),
    "text-recognition": Task("text recognition", images("x", 48, 192, **HALF), {}),
    "captchas": Task("captchas", images("input1", 64, 160, order="gray", **HALF), {}),
    "face-recognition": Task(
        "face recognition", images("data", 112, 112, order="rgb"), {}, classes=False
    ),
    "nudenet": Task("nudenet", images("images", 320, 320, scale=255.0), {}, classes=False),
    "file-types": Task("file types", files, {}),
    "speech-embedding": Task("speech embedding", spectrograms, {}, classes=False),
    "paraphrase": Task("paraphrase MiniLM", sentences, {}, classes=False),
}


class _Reader:
    """What ONNX Runtime's quantizer takes data from."""

    def __init__(self, examples: Sequence[Feeds]) -> None:
        self._examples = iter(examples)

    def get_next(self) -> Feeds | None:
        return next(self._examples, None)


def _fixed(path: Path, feeds: Feeds) -> Any:
    """The model with the sizes of an example."""
    import onnx
    import onnx.version_converter

    model = onnx.load(path)
    for given in model.graph.input:
        if given.name in feeds:
            dims = given.type.tensor_type.shape.dim
            for dim, extent in zip(dims, feeds[given.name].shape, strict=True):
                dim.dim_value = extent
    weights = {weight.name for weight in model.graph.initializer}
    inputs = [given for given in model.graph.input if given.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    if model.opset_import[0].version < OPSET:  # where scales of channels begin
        model = onnx.version_converter.convert_version(model, OPSET)
    return onnx.shape_inference.infer_shapes(model)


def by_onnxruntime(model: Any, examples: Sequence[Feeds], folder: Path) -> bytes:
    """The model that ONNX Runtime's static quantizer makes."""
    import onnx
    from onnxruntime import quantization

    logging.getLogger().setLevel(logging.ERROR)
    plain, prepared, made = (str(folder / f"{name}.onnx") for name in ("plain", "ready", "int8"))
    onnx.save(model, plain)
    with contextlib.redirect_stdout(io.StringIO()):
        quantization.shape_inference.quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            prepared,
            made,
            _Reader(examples),
            per_channel=True,
            weight_type=quantization.QuantType.QInt8,
            activation_type=quantization.QuantType.QUInt8,
        )
    return Path(made).read_bytes()


def likeness(found: np.ndarray, wanted: np.ndarray, classes: bool) -> float:
    """In percent: rows with the same greatest element, or the cosine of all."""
    if classes:
        return 100 * float(np.mean(found.argmax(-1) == wanted.argmax(-1)))
    a, b = found.ravel().astype(np.float64), wanted.ravel().astype(np.float64)
    return 100 * float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-300))


def measure(name: str, count: int, scheme: quantize.Scheme) -> dict[str, Any]:
    """How like the model in floats the two quantized ones are."""
    task = TASKS[name]
    chance = np.random.default_rng(0)
    known = [*islice(task.examples(True, chance), KNOWN)]
    model = _fixed(fetch(CATALOGUE[task.model]), known[0])
    floats = onnx_session(model.SerializeToString(), 1)
    start = time.perf_counter()
    ours = relay.compile(model, quantize=quantize.int8(known, scheme=scheme), threads=1)
    seconds = time.perf_counter() - start
    theirs = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            theirs = onnx_session(by_onnxruntime(model, known, Path(folder)), 1)
        except Exception as error:  # whatever its quantizer fails with
            print(f"{name}: ONNX Runtime does not quantize it: {type(error).__name__}")
    scores = []
    for feeds in islice(task.examples(False, np.random.default_rng(1)), count):
        wanted = floats.run(None, feeds)[task.result]
        results = ours(**feeds)
        mine = np.asarray(results[task.result] if isinstance(results, tuple | list) else results)
        its = mine if theirs is None else theirs.run(None, feeds)[task.result]
        scores.append([likeness(one, wanted, task.classes) for one in (mine, its)])
    relay_score, their_score = np.mean(scores, axis=0)
    their_score = np.nan if theirs is None else their_score
    print(
        f"{name:18} {'same' if task.classes else 'cosine':7} relay {relay_score:7.3f}  "
        f"onnxruntime {their_score:7.3f}  {len(scores)} examples, quantized in {seconds:.1f} s",
        flush=True,
    )
    return {"name": name, "relay": relay_score, "onnxruntime": their_score, "examples": len(scores)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default=",".join(TASKS), help="which, by name")
    parser.add_argument("--examples", type=int, default=1000, help="how many to evaluate with")
    parser.add_argument("--mode", default=quantize.INT8.calibrate_mode, help="a calibrate_mode")
    parser.add_argument("--json", help="write the records to this file")
    given = parser.parse_args()
    scheme = quantize.Scheme("int8", calibrate_mode=given.mode)
    records = []
    for name in given.models.split(","):
        if name not in TASKS:
            raise SystemExit(f"no {name}; there is {', '.join(TASKS)}")
        try:
            records.append(measure(name, given.examples, scheme))
        except CannotBeHad as error:
            print(f"{name}: {error}")
    if records:
        both = [one for one in records if not np.isnan(one["onnxruntime"])] or records
        mine, its = (np.mean([one[key] for one in both]) for key in ("relay", "onnxruntime"))
        print(f"{'mean':18}         relay {mine:7.3f}  onnxruntime {its:7.3f}")
    if given.json:
        Path(given.json).write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
