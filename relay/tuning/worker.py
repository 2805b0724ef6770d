"""A process that tries plans: both ends of its pipe.

    python -m relay.tuning.worker       reads requests, writes answers, until its input ends

A request is a frame (`relay.cache.process`) of JSON with the plan and all that kernels depend on,
and one with the text of the function; an answer is a frame of JSON: the seconds of a call by the
plan and by the rules, or the reason why there are none. What takes too long ends with the process,
as does a kernel that breaks it.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict
from typing import IO, Any, Final

from relay.cache.process import READY, Worker, read_frame, write_frame
from relay.errors import RelayError
from relay.immutable import frozen
from relay.lower.kernel import Options
from relay.program.primitives import Primitive
from relay.target.target import Target, described

LOST: Final = "the process that tried it ended, or took too long"


@frozen
class Timed:
    """Seconds per call of a plan and by the rules, or why there are none."""

    seconds: float = 0.0
    rules: float = 0.0
    reason: str = ""

    @property
    def speedup(self) -> float:
        """How much faster the plan is than the rules; 0 if it failed."""
        return self.rules / self.seconds if self.seconds else 0.0


class TrialWorker(Worker):
    """The process, as the tuner sees it."""

    module = __spec__.name

    def time(
        self,
        wanted: Primitive,
        text: str,
        target: Target,
        options: Options,
        *,
        threads: int,
        turns: int,
        timeout: float,
    ) -> Timed:
        """The times of the plan of `options`; after `LOST` the worker is of no use any more."""
        request = {
            "constant": list(map(bool, wanted.constant)),
            "target": str(target),
            "options": asdict(options),
            "threads": threads,
            "turns": turns,
        }
        limit = threading.Timer(timeout, self._process.kill)
        limit.start()
        try:
            write_frame(self._requests, json.dumps(request).encode())
            write_frame(self._requests, text.encode())
            self._requests.flush()
            return Timed(**json.loads(read_frame(self._answers)))
        except (EOFError, OSError, ValueError):
            return Timed(reason=LOST)
        finally:
            limit.cancel()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """The other end: time what is asked for until nothing more comes."""
    from relay.cache.worker import typed_function
    from relay.tuning.trial import Trial

    write_frame(answers, READY)
    answers.flush()
    last: tuple[Any, Trial] | None = None  # of the function that was asked for last
    while True:
        try:
            request = json.loads(read_frame(requests))
            text = read_frame(requests).decode()
        except EOFError:
            return
        plan = request["options"].pop("plan")
        key = (text, json.dumps(request))
        try:
            if last is None or last[0] != key:
                wanted = Primitive(typed_function(text), tuple(request["constant"]))
                target, options = described(request["target"]), Options(**request["options"])
                last = key, Trial(wanted, target, options, threads=request["threads"])
            timed = Timed(*last[1].times(plan, request["turns"]))
        except (RelayError, MemoryError) as error:
            timed = Timed(reason=str(error).partition("\n")[0] or type(error).__name__)
        write_frame(answers, json.dumps(asdict(timed)).encode())
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
