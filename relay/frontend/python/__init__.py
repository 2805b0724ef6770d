"""Programs written as Python functions.

    @relay.function
    def norm(x: relay.Tensor[n, 128], eps: float) -> relay.Tensor[n, 128]:
        scale = relay.sqrt(relay.mean(x * x, axis=-1, keepdims=True) + eps)
        return x / scale

The source of the function is read and translated; the function itself never runs.

    source.py       the text of a function, its syntax tree, and where things stand in it
    unsupported.py  the parts of Python that have no meaning here, and what to write instead
    liveness.py     which variables are still needed where
    annotations.py  `Tensor[n, 128]`                types.py         annotations as Relay types
    declarations.py `@relay.data`                   standard.py      the prelude's data types
    statics.py      what is known of Python without running it
    values.py       Python's data as values of a program, and back

    program.py      a program: the functions and data types that an entry needs
    unit.py         one function being translated: its types so far, and its errors
    lifting.py      Python's values as expressions
    operators.py    arithmetic, comparison, logic    indexing.py     `x[i, 1:]`
    calls.py        calls                            expressions.py  the other expressions
    blocks.py       statements as contexts, and how ways through a program meet again
    patterns.py     `match`        loops.py  `while`, `for`        statements.py  the others
    comprehensions.py  `[… for …]`
    functions.py    functions, nested and not        load.py         the decorator
"""

from relay.frontend.python.annotations import Tensor as Tensor
from relay.frontend.python.declarations import data as data
from relay.frontend.python.load import RelayFunction as RelayFunction
from relay.frontend.python.load import function as function
