"""Object code by the text it is compiled from.

A key is a digest of everything the code depends on: the text, the target, the compiler.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence

import relay
from relay.cache.store import Cache
from relay.target.target import Target

log = logging.getLogger("relay")


def key_of(texts: Sequence[str], target: Target, level: int | None = None) -> str:
    """The name of the code these texts compile to: a digest of all it depends on."""
    made = hashlib.sha256()
    compiler = (relay.__version__, target.version, str(level))
    for part in (*compiler, str(target), *texts):
        data = part.encode()
        made.update(len(data).to_bytes(8, "little"))
        made.update(data)
    return made.hexdigest()


def compile_cached(modules: Sequence[Sequence[str]], target: Target, cache: Cache) -> list[bytes]:
    """The code of each of `modules`, lists of texts; compiled where the cache does not have it."""
    keys = [key_of(texts, target) for texts in modules]
    found = {key: data for key in dict.fromkeys(keys) if (data := cache.get(key)) is not None}
    missing = {key: texts for key, texts in zip(keys, modules, strict=True) if key not in found}
    if missing:
        log.info(
            "%d of %d kernels are new to %s",
            len(missing),
            len(set(keys)),
            f"the cache in {cache.path}" if cache.path is not None else "this process",
        )
        compiled = target.compile(["\n".join(texts) for texts in missing.values()])
        for key, data in zip(missing, compiled, strict=True):
            cache.put(key, data)
            found[key] = data
    return [found[key] for key in keys]
