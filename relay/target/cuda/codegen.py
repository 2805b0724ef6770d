"""The text of a kernel: Triton functions, and the launches that call them in order.

The text is JSON. Arguments of a launch are tensors: `["word", i]` is argument i of the kernel,
`["workspace", n]` the address n bytes into its workspace.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from relay import dtypes
from relay.target.cuda import matmul, rows
from relay.target.cuda.expressions import POINTERS
from relay.target.cuda.helpers import helper_texts
from relay.target.cuda.launches import Launch, Work
from relay.target.cuda.nests import nests
from relay.target.kernel import KernelCode
from relay.te.compute import Tensor
from relay.te.schedule import Schedule

if TYPE_CHECKING:
    from relay.target.cuda.target import CUDATarget

ALIGNMENT: Final = 256  # bytes
HEAD: Final = "import triton\nimport triton.language as tl\n"
DEPENDENT: Final = "from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait\n"


# Lines of a function: Triton compiles 250 in a few seconds, 800 in half a minute.
LONGEST: Final = 500


def generate(name: str, schedule: Schedule, target: CUDATarget) -> KernelCode | None:
    """The code of a kernel whose tensors have known sizes; None if it would be too long."""
    facts = target.architecture
    found = nests(schedule)
    home = {
        id(tensor): i
        for i, nest in enumerate(found)
        for stage in nest.stages
        for tensor in stage.tensors
    }
    outputs = {id(tensor) for tensor in schedule.outputs}
    stored = set(outputs)
    for i, nest in enumerate(found):
        for stage in nest.stages:
            stored |= {id(t) for t in stage.inputs if home.get(id(t), i) != i}
    launches = []
    for nest in found:
        work = Work(
            nest,
            frozenset(stored),
            facts.multiprocessors,
            facts.dependent_launch,
            target.precision == "tf32",
        )
        if prod(nest.rows) and any(id(t) in stored for t in work.parameters):
            template = rows if nest.product is None else matmul
            launches.append(template.launch(work))
    if max((len(one.lines) for one in launches), default=0) > LONGEST:
        return None
    places, workspace = _places(schedule, launches)
    text = {
        "arch": facts.name,
        "source": _source(name, launches, facts.dependent_launch),
        "launches": [
            {
                "function": _function(name, number),
                "grid": list(one.grid),
                "warps": one.warps,
                "stages": one.stages,
                "types": [POINTERS[tensor.dtype] for tensor in one.parameters],
                "arguments": [places[id(tensor)] for tensor in one.parameters],
            }
            for number, one in enumerate(launches)
        ],
    }
    return KernelCode(json.dumps(text), workspace=workspace)


def _places(schedule: Schedule, launches: Sequence[Launch]) -> tuple[dict[int, list[Any]], int]:
    """The place of every tensor, by its identity, and the size of the workspace."""
    words = [*schedule.inputs, *schedule.outputs]
    places: dict[int, list[Any]] = {id(tensor): ["word", i] for i, tensor in enumerate(words)}
    size = 0
    for one in launches:
        for tensor in one.parameters:
            if id(tensor) not in places:
                places[id(tensor)] = ["workspace", size]
                size += -(-_nbytes(tensor) // ALIGNMENT) * ALIGNMENT
    return places, size


def _nbytes(tensor: Tensor) -> int:
    return prod(tensor.extents) * dtypes.to_numpy(tensor.dtype).itemsize


def _function(name: str, number: int) -> str:
    return f"{name}_{number}"


def _source(name: str, launches: Sequence[Launch], dependent: bool) -> str:
    """The functions of all launches, with what they call."""
    combiners = dict.fromkeys(text for one in launches for text in one.combiners)
    helpers = dict.fromkeys(helper for one in launches for helper in one.helpers)
    texts = [HEAD + (DEPENDENT if dependent else ""), *helper_texts(helpers), *combiners]
    for number, one in enumerate(launches):
        parameters = ", ".join(f"p{i}" for i in range(len(one.parameters)))
        head = f"@triton.jit\ndef {_function(name, number)}({parameters}):\n"
        texts.append(head + "\n".join(one.lines) + "\n")
    return "\n\n".join(texts)
