"""`relay doctor`: what is installed, what this machine can do, what is missing for what."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from relay.cli import options
from relay.cli.output import show

# What needs which packages besides those that Relay always has.
FEATURES = {
    "models of ONNX": ("onnx",),
    "models of PyTorch": ("torch",),
    "models of TFLite": ("tflite", "flatbuffers"),
    "NVIDIA GPUs": ("triton", "cuda-bindings"),
    "relay bench --peers": ("onnxruntime", "ai-edge-litert"),
}
ALWAYS = ("numpy", "ml_dtypes", "greenlet", "llvmlite", "typer", "rich")


def doctor(json: options.Json = False) -> None:
    """What is installed, what the processor can do, where the cache is, what is missing."""
    report = _report()
    lines = []
    for title, part in report.items():
        width = max(map(len, part))
        lines.append(f"{title}:")
        lines += [f"  {name:<{width}}  {value}" for name, value in part.items()]
    show("\n".join(lines), json, report)


def _report() -> dict[str, dict[str, Any]]:
    import platform

    import relay
    from relay import settings
    from relay.cache import Cache
    from relay.executors.cores import default_threads
    from relay.target.target import Target

    cache = Cache.default()
    return {
        "versions": {
            "relay": relay.__version__,
            "python": platform.python_version(),
            **{name: _version(name) or "missing" for name in ALWAYS},
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "target": str(Target.host()),
            "threads": default_threads(),
        },
        "features": {name: _feature(packages) for name, packages in FEATURES.items()},
        "settings": {setting.name: _value(setting) for setting in settings.ALL},
        "cache": {
            "folder": "none" if cache.path is None else str(cache.path),
            "bytes": cache.size(),
            "limit": cache.limit,
        },
    }


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
