"""The accelerator: a tensor core of bytes with its own memories, and its simulator.

config.py     the parameters of a design
target.py     the target, whose host is another target
scheme.py     how networks are quantized for it

offload.py    which parts of a program go to it; compiler.py: as an external compiler
layers.py     a composite function -> a product and steps; ranges prove that nothing overflows
geometry.py   which inputs and weights a point of the result is a sum of
tiling.py     how a layer is divided, by a model of its cycles
emit.py       the instructions of a layer, with tokens and slots
parts.py      a part of a program -> code.py: what is saved

isa.py        instructions, as data and as bytes
memory.py     buffers and memory: what instructions read and write, and hazards
execute.py    what Gemm and Alu compute
simulator.py  a whole program: values, cycles, tokens
device.py     what a program calls; report.py: cycles, how busy units were, the roofline
designs.py    a network on several designs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.late_names import late_names

if TYPE_CHECKING:
    from relay.target.accel.config import Config as Config
    from relay.target.accel.designs import explore as explore
    from relay.target.accel.scheme import SCHEME as SCHEME

__all__, __getattr__, __dir__ = late_names(
    __name__,
    {
        "relay.target.accel.config": ["Config"],
        "relay.target.accel.designs": ["explore"],
        "relay.target.accel.scheme": ["SCHEME"],
    },
)
