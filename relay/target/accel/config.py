"""The parameters of an accelerator: sizes of its tensor core, its buffers and its memory.

    Config.of_text("1x16x16")                         rows, inputs and outputs of one product
    Config.of_text("4x16x16,log_acc=18,dram_latency=100")
    Config.of_text("design.json")                     {"batch": 4, "log_acc": 18}

A core multiplies `batch` rows of `block_in` bytes by `block_out` x `block_in` weights in one cycle,
and adds to 32-bit accumulators. Buffers have `2 ** log_*` bytes; an entry is what one cycle reads.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from relay.errors import RelayError, TargetError, did_you_mean
from relay.immutable import frozen

LIMITS: Final = {  # the least and the greatest value of each parameter
    "batch": (1, 64),
    "block_in": (1, 256),
    "block_out": (1, 256),
    "log_inp": (6, 24),
    "log_wgt": (6, 26),
    "log_acc": (6, 24),
    "log_uop": (6, 18),
    "dram_bytes": (1, 512),
    "dram_latency": (0, 100_000),
    "queue": (2, 65_536),
    "tokens": (2, 65_536),
    "pipeline": (0, 64),
    "mhz": (1, 10_000),
}
MOST_ENTRIES: Final = 65_536  # of a buffer: an index has 16 bits


@frozen
class Config:
    """One design. The defaults are those of the single-batch core."""

    batch: int = 1
    block_in: int = 16
    block_out: int = 16
    log_inp: int = 15
    log_wgt: int = 18
    log_acc: int = 17
    log_uop: int = 15
    dram_bytes: int = 8  # that the memory gives or takes in a cycle
    dram_latency: int = 64  # cycles from a request to its first byte
    queue: int = 512  # instructions that wait before a unit
    tokens: int = 64  # that wait between two units
    pipeline: int = 4  # cycles from the last operation of an instruction to its result
    mhz: int = 200  # to write cycles as time

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise TargetError.of(
                    f"`{name}` of an accelerator is out of range",
                    expected=f"an integer from {least} to {most}",
                    found=repr(value),
                )
        for name, entries in self.entries.items():
            if not 4 <= entries <= MOST_ENTRIES:
                raise TargetError.of(
                    f"the {name} buffer of an accelerator has a wrong size",
                    expected=f"4 to {MOST_ENTRIES} entries",
                    found=f"{entries} entries in 2^{getattr(self, 'log_' + name)} bytes",
                )

    # --- derived sizes

    @property
    def inp_bytes(self) -> int:
        """The bytes of an entry of the input buffer."""
        return self.batch * self.block_in

    @property
    def wgt_bytes(self) -> int:
        """The bytes of an entry of the weight buffer."""
        return self.block_out * self.block_in

    @property
    def acc_bytes(self) -> int:
        """The bytes of an entry of the accumulators."""
        return 4 * self.batch * self.block_out

    @property
    def out_bytes(self) -> int:
        """The bytes of an entry of accumulators that is stored as bytes."""
        return self.batch * self.block_out

    @property
    def uop_widths(self) -> tuple[int, int, int]:
        """The bits of the indices of accumulators, inputs and weights in a micro-operation; the ALU
        reads accumulators by the second one."""
        inp, wgt, acc = (
            ((1 << log) // size - 1).bit_length()
            for log, size in (
                (self.log_inp, self.inp_bytes),
                (self.log_wgt, self.wgt_bytes),
                (self.log_acc, self.acc_bytes),
            )
        )
        return acc, max(inp, acc), wgt

    @property
    def uop_bytes(self) -> int:
        """The bytes of a micro-operation: three indices, in a word of 32 or 64 bits."""
        return 4 if sum(self.uop_widths) <= 32 else 8

    @property
    def entries(self) -> dict[str, int]:
        """How many entries each buffer has."""
        return {
            "inp": (1 << self.log_inp) // self.inp_bytes,
            "wgt": (1 << self.log_wgt) // self.wgt_bytes,
            "acc": (1 << self.log_acc) // self.acc_bytes,
            "uop": (1 << self.log_uop) // self.uop_bytes,
        }

    @property
    def macs(self) -> int:
        """Products per cycle."""
        return self.batch * self.block_in * self.block_out

    @property
    def area(self) -> float:
        """A cost like area, in bytes of buffer: a multiplier of bytes counts as 64 of them, a lane
        of the ALU as 128."""
        buffers = sum(1 << log for log in (self.log_inp, self.log_wgt, self.log_acc, self.log_uop))
        return buffers + 64.0 * self.macs + 128.0 * self.batch * self.block_out

    # --- as text

    @property
    def name(self) -> str:
        """`4x16x16`"""
        return f"{self.batch}x{self.block_in}x{self.block_out}"

    def __str__(self) -> str:
        plain = Config(self.batch, self.block_in, self.block_out) if _is_valid(self) else None
        known = asdict(plain) if plain is not None else {}
        rest = [f"{key}={value}" for key, value in asdict(self).items() if known.get(key) != value]
        return ",".join([self.name, *(r for r in rest if r.split("=")[0] not in _CORE)])

    @classmethod
    def of_text(cls, text: str) -> Config:
        """The design that `-config=` describes: `BxIxO`, `name=value`, or the path of a file."""
        if text.endswith(".json"):
            return cls.of_file(text)
        given: dict[str, Any] = {}
        for word in filter(None, text.split(",")):
            if shape := re.fullmatch(r"(\d+)x(\d+)x(\d+)", word):
                given.update(zip(_CORE, map(int, shape.groups()), strict=True))
                continue
            name, equals, value = word.partition("=")
            if not equals or not re.fullmatch(r"\d+", value):
                raise TargetError.of(
                    f"`{word}` says nothing about an accelerator",
                    expected="BxIxO such as 1x16x16, name=number, or a file that ends in .json",
                    found=text,
                )
            given[name] = int(value)
        return cls.of_values(given)

    @classmethod
    def of_file(cls, path: str) -> Config:
        """The design in a file of JSON."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise TargetError.of(f"the design `{path}` cannot be read: {error}") from error
        if not isinstance(found, dict):
            raise TargetError.of(f"the design `{path}` is no object of names and numbers")
        return cls.of_values(found)

    @classmethod
    def of_values(cls, given: dict[str, Any]) -> Config:
        """The design with these parameters, and the defaults of the others."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise TargetError.of(
                    f"an accelerator has no parameter `{name}`",
                    expected=", ".join(known),
                    hint=did_you_mean(name, known),
                )
        return cls(**given)


_CORE: Final = ("batch", "block_in", "block_out")


def _is_valid(config: Config) -> bool:
    """Whether the core alone, with default buffers, is a design."""
    try:
        Config(config.batch, config.block_in, config.block_out)
    except RelayError:
        return False
    return True
