"""A part of a program as it is saved: instructions, the contents of memory, and where tensors lie.

The bytes are a length, a description in JSON, and blocks of data that it refers to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from relay.errors import TargetError
from relay.immutable import frozen
from relay.target.accel.config import Config
from relay.target.accel.geometry import Blocks, blocks_of
from relay.target.accel.isa import Instruction, decode, encode

MAGIC: Final = b"relay accel 1\n"


@frozen
class Tensor:
    """A tensor of the host, and its address in the memory of the accelerator."""

    shape: tuple[int, ...]
    dtype: str
    address: int


@frozen
class LayerInfo:
    """A layer of the program, for reports."""

    name: str
    begin: int  # its first instruction
    end: int  # the one behind its last one
    products: int  # of blocks: the fewest cycles of the tensor core
    macs: int  # products of numbers that the network asks for


@frozen
class AccelCode:
    """The code of a part."""

    config: Config
    memory: int  # bytes
    program: tuple[Instruction, ...]
    contents: tuple[tuple[int, bytes], ...]  # what lies at which address from the beginning
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    layers: tuple[LayerInfo, ...]

    def to_bytes(self) -> bytes:
        program = encode(self.program)
        blocks = [program, *(data for _, data in self.contents)]
        described = {
            "config": str(self.config),
            "memory": self.memory,
            "sizes": [len(block) for block in blocks],
            "addresses": [address for address, _ in self.contents],
            "inputs": [_listed(tensor) for tensor in self.inputs],
            "outputs": [_listed(tensor) for tensor in self.outputs],
            "layers": [[la.name, la.begin, la.end, la.products, la.macs] for la in self.layers],
        }
        text = json.dumps(described).encode()
        return b"".join((MAGIC, len(text).to_bytes(8, "little"), text, *blocks))

    @classmethod
    def of_bytes(cls, data: bytes) -> AccelCode:
        """The code that was saved."""
        try:
            return cls._read(data)
        except (ValueError, KeyError, TypeError) as error:
            raise TargetError.of(
                f"the code of a part is no code of an accelerator: {error}"
            ) from error

    @classmethod
    def _read(cls, data: bytes) -> AccelCode:
        if not data.startswith(MAGIC):
            raise ValueError("it begins with something else")
        at = len(MAGIC) + 8
        length = int.from_bytes(data[at - 8 : at], "little")
        known: dict[str, Any] = json.loads(data[at : at + length])
        at += length
        blocks = []
        for size in known["sizes"]:
            blocks.append(data[at : at + size])
            at += size
        if at != len(data):
            raise ValueError(f"{len(data)} bytes, {at} expected")
        return cls(
            Config.of_text(known["config"]),
            known["memory"],
            tuple(decode(blocks[0])),
            tuple(zip(known["addresses"], blocks[1:], strict=True)),
            tuple(_tensor(one) for one in known["inputs"]),
            tuple(_tensor(one) for one in known["outputs"]),
            tuple(LayerInfo(*one) for one in known["layers"]),
        )


def _listed(tensor: Tensor) -> list[Any]:
    return [list(tensor.shape), tensor.dtype, tensor.address]


def _tensor(given: Sequence[Any]) -> Tensor:
    shape, dtype, address = given
    return Tensor(tuple(shape), dtype, address)


# --- tensors in blocks


def pack(array: np.ndarray, config: Config) -> np.ndarray:
    """A tensor (N, C, H, W) or (N, C) in blocks, padded with zeros."""
    blocks = blocks_of(array.shape, config)
    batch, lanes = config.batch, config.block_out
    if array.ndim == 2:
        padded = np.zeros((blocks.width * batch, blocks.channels * lanes), array.dtype)
        padded[: array.shape[0], : array.shape[1]] = array
        cut = padded.reshape(blocks.width, batch, blocks.channels, lanes)
        return np.ascontiguousarray(cut.transpose(2, 0, 1, 3))
    extent = blocks.batches * batch, blocks.channels * lanes, *array.shape[2:]
    whole = np.zeros(extent, array.dtype)
    whole[: array.shape[0], : array.shape[1]] = array
    divided = whole.reshape(blocks.batches, batch, blocks.channels, lanes, *array.shape[2:])
    return np.ascontiguousarray(divided.transpose(0, 2, 4, 5, 1, 3))


def unpack(data: np.ndarray, shape: tuple[int, ...], config: Config) -> np.ndarray:
    """The tensor of that shape that lies in blocks."""
    blocks = blocks_of(shape, config)
    batch, lanes = config.batch, config.block_out
    if len(shape) == 2:
        cut = data.reshape(blocks.channels, blocks.width, batch, lanes).transpose(1, 2, 0, 3)
        rows = cut.reshape(blocks.width * batch, blocks.channels * lanes)
        return rows[: shape[0], : shape[1]]
    high, wide = shape[2:]
    divided = data.reshape(blocks.batches, blocks.channels, high, wide, batch, lanes)
    whole = divided.transpose(0, 4, 1, 5, 2, 3).reshape(
        blocks.batches * batch, blocks.channels * lanes, high, wide
    )
    return whole[: shape[0], : shape[1]]


def pack_weight(weight: np.ndarray, config: Config) -> np.ndarray:
    """A weight (O, I, H, W) in blocks (O, I, H, W, o, i), padded with zeros."""
    outer, inner = config.block_out, config.block_in
    outputs, inputs, high, wide = weight.shape
    padded = np.zeros((-(-outputs // outer) * outer, -(-inputs // inner) * inner, high, wide), "i1")
    padded[:outputs, :inputs] = weight
    cut = padded.reshape(-1, outer, padded.shape[1] // inner, inner, high, wide)
    return np.ascontiguousarray(cut.transpose(0, 2, 4, 5, 1, 3))


def pack_bias(values: np.ndarray, channels: int, config: Config) -> np.ndarray:
    """A bias in entries of accumulators, the same in each row."""
    padded = np.zeros(channels * config.block_out, "<i4")
    padded[:] = values[0] if values.size == 1 else 0
    if values.size > 1:
        padded[: values.size] = values
    rows = padded.reshape(channels, 1, config.block_out)
    return np.ascontiguousarray(np.broadcast_to(rows, (channels, config.batch, config.block_out)))


def bytes_of(shape: tuple[int, ...], dtype: str, config: Config) -> int:
    """The bytes of a tensor in blocks."""
    found: Blocks = blocks_of(shape, config)
    return found.count * config.batch * config.block_out * np.dtype(dtype).itemsize
