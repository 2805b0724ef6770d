"""Uses of operators on the CUDA target, against their references."""

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError
from relay.lower.kernel import Options, Param, Result
from relay.lower.lower import lower_computed
from relay.op.opdef import get
from relay.target.cuda import host
from relay.target.memory import address_of, allocate
from relay.testing.operators import assert_agree, expected, to_tensors, trimmed
from tests.support.operator_uses import uses
from tests.support.sampling import part_of

LARGEST = 20_000  # elements


def some_uses(name, part):
    """One in `part` of the uses of an operator, at least one."""
    return part_of(list(uses(get(name), LARGEST)), part, lambda use: use.name)


def check_use(use, target):
    """Run the kernels of a use; the number of those for the device, and of those for the host."""
    try:
        wanted = expected(use)
    except (EvaluationError, IndexError):
        # an index of a sample may lie outside of a tensor that was made smaller
        if not use.reshaped:
            raise
        return 0, 0
    computed, arrays = to_tensors(use)
    made = lower_computed(computed, [False] * len(arrays), target, Options())
    kernels = list({step.kernel.name: step.kernel for step in made.steps}.values())
    code = target.compile([kernel.ir for kernel in kernels])
    loaded = target.load(kernels, code, threads=1, support={})
    given = {Param(i): np.ascontiguousarray(array) for i, array in enumerate(arrays)}
    for step in made.steps:
        words = [address_of(given[place]) for place in step.inputs]
        for place, spec in zip(step.outputs, step.kernel.outputs, strict=True):
            kind = dtypes.to_numpy(spec.dtype)
            block = allocate(max(1, int(np.prod(spec.shape)) * kind.itemsize))
            block[:] = 0x7F
            count = int(np.prod(spec.shape))
            given[place] = block[: count * kind.itemsize].view(kind).reshape(spec.shape)
            words.append(address_of(block))
        loaded.invoke(step.kernel.name, words)
    results = [given[Result(i)] for i in range(len(computed.outputs))]
    assert_agree(use, trimmed(use.op, results), wanted)
    device = sum(map(host.is_device_code, code))
    return device, len(code) - device
