"""A process in which Triton's functions are interpreted, which is decided when it is imported.

It reads pickled (text of a kernel, buffers) from its standard input, runs the launches and writes
the buffers back.
"""

import json
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path


class Worker:
    """The process, as the tests see it."""

    def __init__(self):
        root = Path(__file__).parent.parent.parent
        command = [sys.executable, "-m", "tests.support.triton_worker"]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,
            env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        )

    def run(self, text, buffers, workspace):
        """The buffers after the launches of a kernel; each is bytes, in the order of its words."""
        pickle.dump((text, buffers, workspace), self.process.stdin)
        self.process.stdin.flush()
        kind, found = pickle.load(self.process.stdout)
        if kind == "error":
            raise RuntimeError(found)
        return found


@cache
def worker():
    return Worker()


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the interpreter prints is not an answer
    modules = {}
    while True:
        try:
            text, buffers, workspace = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = "done", run(text, buffers, workspace, modules)
        except Exception as error:
            answer = "error", f"{error}\n{json.loads(text)['source']}"
        pickle.dump(answer, answers)
        answers.flush()


def run(text, buffers, workspace, modules):
    import torch

    from relay.target.cuda.triton_compiler import module_of

    kernel = json.loads(text)
    pointers = {
        "*i8": torch.int8, "*i16": torch.int16, "*i32": torch.int32, "*i64": torch.int64,
        "*u8": torch.uint8, "*u16": torch.uint16, "*u32": torch.uint32, "*u64": torch.uint64,
        "*fp16": torch.float16, "*bf16": torch.bfloat16, "*fp32": torch.float32,
        "*fp64": torch.float64,
    }  # fmt: skip
    # a row of other values behind every tensor: what is written there is an error
    given = [torch.frombuffer(bytearray(one or bytes(8)), dtype=torch.uint8) for one in buffers]
    between = torch.full((workspace + 64,), 0x7F, dtype=torch.uint8)
    if text not in modules:
        modules[text] = module_of(kernel["source"], f"interpreted_{len(modules)}")
    for launch in kernel["launches"]:
        arguments = []
        for (kind, at), pointer in zip(launch["arguments"], launch["types"], strict=True):
            memory = given[at] if kind == "word" else between[at : at + workspace // 8 * 8]
            size = pointers[pointer].itemsize
            arguments.append(memory[: len(memory) // size * size].view(pointers[pointer]))
        getattr(modules[text], launch["function"])[tuple(launch["grid"])](*arguments)
    return [one.numpy().tobytes() for one in given]


if __name__ == "__main__":
    main()
