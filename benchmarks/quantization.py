"""Networks quantized by several schemes: time and error, beside the int8 of other runtimes.

    python benchmarks/quantization.py                           all networks, all schemes
    python benchmarks/quantization.py --models resnet-18        some networks
    python benchmarks/quantization.py --schemes int8,shifts     some schemes
    python benchmarks/quantization.py --threads 2 --json out.json

Batch size 1. Every network is quantized by `relay.quantize` and, for the peers, by ONNX Runtime's
static quantizer (QDQ, a scale for each output channel), both with the same batches. `snr` is that
of the results on other batches against the network in floats, in decibels; that of the peers is of
ONNX Runtime. `qdq` is the peers' own model, compiled as it is.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import math
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from engines import onnx_session
from measure import Candidate, Run, arguments, started, take_turns
from zoo import NETWORKS, SMALL, network

import relay
from relay import quantize
from relay.quantize import Integers

QDQ = "qdq"
SCHEMES = {
    QDQ: None,
    "float32": None,
    "int8": quantize.INT8,
    "int8-max": replace(quantize.INT8, calibrate_mode="max"),
    "int8-signed": quantize.Scheme("int8-signed", data=Integers(), calibrate_mode="mse"),
    "int8-w4": quantize.INT8_W4,
    "shifts": quantize.SHIFTS,
}
NAMES = ["resnet-18", "resnet-50", "mobilenet", "vgg-16", "squeezenet", "dqn", "mlp"]
IN_TORCH = ["mobilenet-v2", "encoder-128"]  # of `torch_zoo`
assert set(NAMES) <= set(NETWORKS)


def measure(run: Run, name: str, schemes: Sequence[str]) -> None:
    if name in IN_TORCH:
        module, params = _from_torch(name), {}
    else:
        module, params = network(name, small=run.quick and name in SMALL)
    shape = next(p for p in module["main"].params if p.name_hint == "data").checked_type
    chance = np.random.default_rng(0)
    images = [chance.standard_normal(shape.concrete_shape, "float32") for _ in range(8)]
    known, others = images[:4], images[4:]
    # the scores, of which a softmax at the end would show little
    module = quantize.prerequisite_optimize(_scores(module), params)
    exact = relay.compile(module, threads=run.threads)
    wanted = [np.asarray(exact(x)) for x in others]
    with tempfile.TemporaryDirectory() as folder:
        model = _by_onnxruntime(module, known, Path(folder))
    peers, their_results = _peers(model, others, run.threads)
    theirs = signal_to_noise(wanted, their_results)
    for title in schemes:
        scheme = SCHEMES[title]
        start = time.perf_counter()
        exe = (
            relay.compile(model, threads=run.threads)
            if title == QDQ
            else exact
            if scheme is None
            else relay.compile(
                module, quantize=quantize.int8(known, scheme=scheme), threads=run.threads
            )
        )
        seconds = time.perf_counter() - start
        x = others[0]
        candidates: dict[str, Candidate] = {"relay": lambda exe=exe, x=x: exe(x)}  # type: ignore[misc]
        times = take_turns(candidates | peers, run.threads, run.effort, time.process_time)
        snr = signal_to_noise(wanted, [np.asarray(exe(x)) for x in others])
        run.report.compare(
            f"{name} {title}",
            run.threads,
            times,
            compile_s=seconds,
            snr=snr if math.isfinite(snr) else None,
            peers_snr=theirs,
            constants=exe.memory.constants,
            note=f"{snr:.1f} dB ({theirs:.1f} dB)",
        )


def _from_torch(name: str) -> relay.IRModule:
    """A network of `torch_zoo`, through a model of ONNX."""
    import torch
    import torch_zoo

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter without further dependencies is deprecated
        torch.onnx.export(*torch_zoo.network(name), file, dynamo=False, input_names=["data"])
    module, params = relay.frontend.from_onnx(file.getvalue())
    return quantize.prerequisite_optimize(module, params)


def _scores(module: relay.IRModule) -> relay.IRModule:
    """The network without a softmax at its end."""
    main = module["main"]
    last = main.body
    if isinstance(last, relay.Call) and last.op.name == "nn.softmax":
        main = relay.Function(main.params, last.args[0])
    return relay.transform.InferType()(relay.IRModule.from_expr(main))


def signal_to_noise(wanted: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> float:
    noise = sum(float(((a - b) ** 2).sum()) for a, b in zip(wanted, found, strict=True))
    signal = sum(float((a**2).sum()) for a in wanted)
    return math.inf if noise == 0 else 10 * math.log10(signal / noise)


class _Reader:
    """What ONNX Runtime's quantizer takes data from."""

    def __init__(self, images: Sequence[np.ndarray]) -> None:
        self._images = iter(images)

    def get_next(self) -> dict[str, np.ndarray] | None:
        image = next(self._images, None)
        return None if image is None else {"data": image}


def _by_onnxruntime(module: relay.IRModule, images: Sequence[np.ndarray], folder: Path) -> bytes:
    import onnx
    from onnxruntime import quantization

    logging.getLogger().setLevel(logging.ERROR)
    plain, prepared, made = (str(folder / f"{name}.onnx") for name in ("plain", "ready", "int8"))
    onnx.save(relay.to_onnx(module), plain)
    with contextlib.redirect_stdout(io.StringIO()):
        quantization.shape_inference.quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            prepared,
            made,
            _Reader(images),
            per_channel=True,
            weight_type=quantization.QuantType.QInt8,
            activation_type=quantization.QuantType.QUInt8,
        )
    return Path(made).read_bytes()


def _peers(
    model: bytes, images: Sequence[np.ndarray], threads: int
) -> tuple[dict[str, Candidate], list[np.ndarray]]:
    """The runtimes, with the model that ONNX Runtime made, and results of the first."""
    session = onnx_session(model, threads)
    feed = {"data": images[0]}
    found: dict[str, Candidate] = {"onnxruntime": lambda: session.run(None, feed)}
    if importlib.util.find_spec("openvino"):
        try:
            found["openvino"] = _openvino(model, images[0], threads)
        except RuntimeError as error:
            print(f"  openvino refuses the model: {str(error).strip().splitlines()[-1]}")
    return found, [session.run(None, {"data": image})[0] for image in images]


def _openvino(model: bytes, image: np.ndarray, threads: int) -> Candidate:
    import openvino

    settings: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": "1",
        "PERFORMANCE_HINT": "LATENCY",
    }
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU", settings)
    request = compiled.create_infer_request()
    return lambda: request.infer({0: image}, share_inputs=True)


def main() -> None:
    parser = arguments(__doc__, [*NAMES, *IN_TORCH])
    parser.add_argument("--schemes", default=",".join(SCHEMES), help="which, by name")
    given = parser.parse_args()
    run = started(given, [*NAMES, *IN_TORCH])
    schemes = given.schemes.split(",")
    if unknown := [name for name in schemes if name not in SCHEMES]:
        raise SystemExit(f"no scheme {', '.join(unknown)}; there is {', '.join(SCHEMES)}")
    for name in run.models:
        measure(run, name, schemes)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
