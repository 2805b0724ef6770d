"""`tvm.autotvm`: the kernels of a model as tasks, tuned one by one, with records in a file.

Plans (`relay.tune`) take the place of configurations. There are few of them, so every tuner tries
all, or the first `n_trial`; results are kept in the cache of kernels too, where compilation finds
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from relay.cache import Cache
from relay.cache.tuned import Tuned, parsed
from relay.compat.tvm.autotvm import callback as callback
from relay.compat.tvm.autotvm import task as task
from relay.compat.tvm.autotvm import tuner as tuner
from relay.compat.tvm.names import module_names
from relay.errors import RelayError
from relay.immutable import frozen

_LAYOUTS = "relay.compile chooses layouts itself"

__getattr__, __dir__ = module_names(
    "tvm.autotvm",
    {},
    {
        "RPCRunner": "candidates run on this machine, in another process: LocalRunner",
        "graph_tuner": _LAYOUTS,
        "template": "schedules are functions of a target (docs/adding/target.md)",
        "tophub": "rules of the target choose where nothing was tuned",
    },
)


@frozen
class LocalBuilder:
    """Where candidates are compiled: in another process, which takes at most `timeout` seconds."""

    timeout: float = 10
    n_parallel: int | None = None
    build_func: str = "default"


@frozen
class LocalRunner:
    """Where candidates run: in the same process, in turns with what the rules choose."""

    timeout: float = 10
    n_parallel: int | None = None
    number: int = 4
    repeat: int = 3
    min_repeat_ms: int = 0
    cooldown_interval: float = 0.1
    enable_cpu_cache_flush: bool = False


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """How candidates are measured; `"local"` is a `LocalBuilder`."""
    made = LocalBuilder() if builder == "local" else builder
    if not isinstance(made, LocalBuilder) or not isinstance(runner, LocalRunner):
        raise RelayError(
            "candidates are measured on this machine: LocalBuilder() and LocalRunner()"
        )
    return {"builder": made, "runner": runner}


def _is_path(records: object) -> bool:
    return isinstance(records, str | os.PathLike)


@contextmanager
def apply_history_best(records: str | os.PathLike[str] | Sequence[Any] | None) -> Iterator[None]:
    """Take the records of files over into the cache of kernels, where they stay."""
    given = [] if records is None else [records] if _is_path(records) else records
    files = cast(Sequence[str], given)
    tuned = Tuned.of(Cache.default())
    for path in files:
        try:
            with open(path, "rb") as file:
                found = [parsed(line) for line in file]
        except OSError as error:
            raise RelayError(f"cannot read `{path}`: {error.strerror or error}") from None
        for result in found:
            if result is not None and tuned.get(result.key) is None:
                tuned.put(result)
    yield
