"""`relay doctor`: what is installed, what this machine can do, what is missing for what."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from relay.cli import options
from relay.cli.output import show, working

# What needs which packages besides those that Relay always has.
FEATURES = {
    "models of ONNX": ("onnx",),
    "models of PyTorch": ("torch",),
    "models of TFLite": ("tflite", "flatbuffers"),
    "images as inputs": ("pillow",),
    "NVIDIA GPUs": ("triton", "cuda-bindings"),
    "relay bench --peers": ("onnxruntime", "ai-edge-litert"),
}
ALWAYS = ("numpy", "ml_dtypes", "greenlet", "llvmlite", "typer", "rich")
GPUS = Path("/proc/driver/nvidia/gpus")


def doctor(
    json: options.Json = False,
    measured: Annotated[
        bool, typer.Option("--roof/--no-roof", help="Measure how fast the machine is.")
    ] = True,
) -> None:
    """What is installed, what the machine can do and how fast, the cache, what is missing."""
    report = _report()
    if measured:
        with working("measuring"):
            report["roof"] = _roof()
    lines = []
    for title, part in report.items():
        width = max(map(len, part))
        lines.append(f"{title}:")
        lines += [f"  {name:<{width}}  {_text(name, value)}" for name, value in part.items()]
    show("\n".join(lines), json, report)


def _report() -> dict[str, dict[str, Any]]:
    import platform

    import relay
    from relay import settings
    from relay.cache import Cache
    from relay.executors.cores import default_threads
    from relay.target.target import Target

    cache = Cache.default()
    target = Target.host()
    return {
        "versions": {
            "relay": relay.__version__,
            "python": platform.python_version(),
            **{name: _version(name) or "missing" for name in ALWAYS},
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "target": str(target),
            "extensions": sorted(getattr(target, "enabled", ())),
            "threads": default_threads(),
            "GPUs": _gpus(),
        },
        "features": {name: _feature(packages) for name, packages in FEATURES.items()},
        "settings": {setting.name: _value(setting) for setting in settings.ALL},
        "cache": {
            "folder": "none" if cache.path is None else str(cache.path),
            "bytes": cache.size(),
            "limit": cache.limit,
        },
    }


def _roof() -> dict[str, Any]:
    from relay.machine import measure

    found = measure()
    return {
        "threads": found.threads,
        "product of matrices, GFLOP/s": round(found.flops / 1e9, 1),
        "memory, GB/s": round(found.bandwidth / 1e9, 1),
    }


def _gpus() -> list[str]:
    """The names of NVIDIA's GPUs, as the driver has them."""
    found = []
    for place in sorted(GPUS.glob("*/information")):
        for line in place.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == "Model":
                found.append(value.strip())
    return found


def _text(name: str, value: Any) -> str:
    if isinstance(value, list):
        return " ".join(value) if value else "none"
    if name in ("bytes", "limit"):
        from relay.executors.report import size_text

        return size_text(value)
    return str(value)


def _feature(packages: tuple[str, ...]) -> str:
    missing = [name for name in packages if _version(name) is None]
    if missing:
        return f"missing: pip install {' '.join(missing)}"
    return ", ".join(f"{name} {_version(name)}" for name in packages)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _value(setting: Any) -> str:
    value = setting.read()
    return "not set" if value is None else str(value)
