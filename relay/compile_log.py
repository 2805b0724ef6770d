"""What the log says about a compilation, at level INFO."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from relay.program.program import Program

if TYPE_CHECKING:
    from relay.cache.kernels import KernelCache

log = logging.getLogger("relay")


class CompileLog:
    """The clock of one compilation."""

    def __init__(self) -> None:
        self._started = self._lowered = time.perf_counter()

    def cached(self, program: Program, target: object) -> None:
        """The whole program was cached."""
        log.info(
            "a program of %d kernels for %s, compiled before: %.2f s",
            len(program.kernels),
            target,
            time.perf_counter() - self._started,
        )

    def lowered(self) -> None:
        """Passes have run and kernels are lowered."""
        self._lowered = time.perf_counter()

    def compiled(self, program: Program, kernels: KernelCache) -> None:
        """The program is compiled."""
        log.info(
            "%d kernels of %d functions, %d of them made anew, for %s: %.2f s for passes and "
            "kernels, %.2f s for their code",
            len(program.kernels),
            kernels.found + kernels.made,
            kernels.made,
            kernels.target,
            self._lowered - self._started,
            time.perf_counter() - self._lowered,
        )
