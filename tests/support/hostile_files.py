"""Files that are broken or mean harm, and a process that may do nothing but read them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

from relay.errors import RelayError

SECONDS = 20  # of the processor, for a single model

_FORBIDDEN = (
    "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "subprocess.Popen",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "shutil.rmtree", "socket.connect", "socket.bind", "ctypes.dlopen",
)  # fmt: skip
NUMBERS = (-(2**63), -(2**31), -2, -1, 0, 1, 7, 2**31 - 1, 2**32, 2**62, 2**63 - 1, 2**64)


def forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: what is forbidden ends the process."""
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event in _FORBIDDEN:
        print(f"forbidden: {event} {arguments}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(3)


def outcome(read: Callable[[], Any]) -> str:
    """How reading a model went: `fine`, `refused`, or what should not be."""
    start = time.process_time()
    try:
        read()
        found = "fine"
    except RelayError as error:
        found = "refused" if len(str(error)) < 4000 else "refused at length"
    except Exception as error:
        found = f"{type(error).__name__}: {error}"[:500]
    took = time.process_time() - start
    return found if took < SECONDS else f"{found}, after {took:.0f} s"


def changed_bytes(random: Random, data: bytes) -> bytes:
    """Some bytes are others, gone, or there several times."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 5, 20])):
        place = random.randrange(len(changed))
        match random.randrange(6):
            case 0:
                changed[place] = random.randrange(256)
            case 1:
                changed[place] ^= 1 << random.randrange(8)
            case 2:
                del changed[place : place + random.randint(1, 8)]
            case 3:
                changed[place:place] = changed[place : place + random.randint(1, 40)]
            case 4:
                changed[place:place] = b"\xff" * random.randint(1, 10)
            case 5 if random.random() < 0.2:
                del changed[place:]
        if not changed:
            break
    return bytes(changed)


def changed_words(random: Random, data: bytes) -> bytes:
    """Some numbers of four bytes are hostile ones; nothing moves."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 5])):
        place = random.randrange(len(changed) // 4) * 4
        old = int.from_bytes(changed[place : place + 4], "little")
        number = random.choice([*NUMBERS, old + 1, old - 1, old * 2, old + 4, place])
        changed[place : place + 4] = (number % 2**32).to_bytes(4, "little")
    return bytes(changed)


def changed_json(random: Random, document: Any) -> Any:
    """A document with some values replaced by hostile ones, gone, or those of other places."""
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        places = _places(document)
        if not places:
            return random.choice([None, [], "x"])
        holder, key = random.choice(places)
        other_holder, other_key = random.choice(places)
        match random.randrange(4):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1:
                holder[key] = _copy(other_holder[other_key])
            case 2 if isinstance(holder[key], int):
                holder[key] = random.choice(NUMBERS)
            case _:
                holder[key] = random.choice([None, "x", "", [], {}, [{}], True, 1.5, *NUMBERS])
    return document


def _places(document: Any) -> list[tuple[Any, Any]]:
    found, waiting = [], [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            items = list(one.items() if isinstance(one, dict) else enumerate(one))
            found += [(one, key) for key, _ in items]
            waiting += [value for _, value in items]
    return found


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value
