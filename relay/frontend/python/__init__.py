"""Programs written as Python functions.

    @relay.function
    def norm(x: relay.Tensor[n, 128], eps: float) -> relay.Tensor[n, 128]:
        scale = relay.sqrt(relay.mean(x * x, axis=-1, keepdims=True) + eps)
        return x / scale

The source of the function is read and translated; the function itself never runs.

    source.py       the text of a function, its syntax tree, and spans
    unsupported.py  the parts of Python that are refused, and what to write instead
    liveness.py     live variables
    annotations.py  `Tensor[n, 128]`                types.py         annotations as Relay types
    declarations.py `@relay.data`                   standard.py      the prelude's data types
    statics.py      Python values known at translation time
    values.py       Python data as values of a program, and back
    program.py      a program: the functions and data types that an entry needs
    unit.py         one function being translated: its types so far, and its errors
    lifting.py      Python values as expressions
    operators.py    arithmetic, comparison, logic    indexing.py     `x[i, 1:]`
    calls.py        calls                            expressions.py  the other expressions
    blocks.py       statements as contexts           branches.py     control-flow merges
    patterns.py     `match`        loops.py  `while`, `for`        statements.py  the others
    comprehensions.py  `[… for …]`
    functions.py    global and nested functions      load.py         the decorator
    gradients.py    `relay.grad`
"""

from relay.frontend.python.annotations import Tensor as Tensor
from relay.frontend.python.declarations import data as data
from relay.frontend.python.gradients import grad as grad
from relay.frontend.python.gradients import value_and_grad as value_and_grad
from relay.frontend.python.load import RelayFunction as RelayFunction
from relay.frontend.python.load import function as function
