"""Object code becomes functions in this process.

    library = load([object, …], ["kernel_a", "kernel_b"])
    address = library.address("kernel_a")

Only LLVM's linker is used: nothing is compiled here. The code stays mapped for as long as the
`Library` lives; whoever keeps an address keeps the library.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from relay.errors import Diagnostic, TargetError
from relay.target.llvm.machine import target_machine
from relay.target.llvm.objects import architecture
from relay.target.llvm.target import LLVMTarget


class Library:
    """Loaded code. Addresses may be asked for from any thread."""

    def __init__(self, engine: Any, tracker: Any, addresses: dict[str, int]) -> None:
        self._engine = engine
        self._trackers = [tracker]
        self._addresses = addresses
        self._lock = threading.Lock()

    def address(self, symbol: str) -> int:
        """Where the function `symbol` begins."""
        found = self._addresses.get(symbol)
        if found is not None:
            return found
        with self._lock:
            try:
                tracker = self._engine.lookup(_NAME, symbol)
            except RuntimeError:
                raise TargetError(
                    Diagnostic(f"the loaded code has no function `{symbol}`")
                ) from None
            # LLVM unloads the code when any of its trackers goes
            self._trackers.append(tracker)
            found = self._addresses[symbol] = int(tracker[symbol])
        return found

    def keep_forever(self) -> None:
        """Never unload the code, not even when the interpreter ends: threads may be inside it."""
        for tracker in self._trackers:
            tracker.detach()
        self._engine.detach()


_NAME = "relay"


def load(
    objects: bytes | Sequence[bytes],
    symbols: Sequence[str] = (),
    imports: Mapping[str, int] | None = None,
) -> Library:
    """Link `objects` into this process.

    `symbols` are the functions that will be asked for: all at once is faster than one by one.
    `imports` gives the addresses of functions the code expects from elsewhere.
    """
    from llvmlite import binding

    host = LLVMTarget.here()
    builder = binding.JITLibraryBuilder()
    for data in (objects,) if isinstance(objects, bytes) else objects:
        if architecture(data) not in (host.arch, None):  # LLVM would link it all the same
            raise TargetError(
                Diagnostic(
                    "the compiled code cannot be loaded: it is for another kind of machine",
                    expected=host.arch,
                    found=architecture(data),
                )
            )
        builder.add_object_img(data)
    for symbol in symbols:
        builder.export_symbol(symbol)
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    builder.add_current_process()
    try:
        engine = binding.create_lljit_compiler(
            target_machine(host),
            use_jit_link=sys.platform.startswith("linux"),
            suppress_errors=True,
        )
        tracker = builder.link(engine, _NAME)
    except RuntimeError as error:
        raise TargetError(
            Diagnostic("the compiled code cannot be loaded", found=str(error).strip())
        ) from None
    return Library(engine, tracker, {symbol: int(tracker[symbol]) for symbol in symbols})
