"""Scripts that show one difference and nothing else; they fail as long as it is there."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay.debugging.differences import Tolerance
from relay.interpreter.values import TupleValue, Value
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.transform.pass_info import PassInfo

_HEAD = '''"""{title}"""

import base64
import io

import numpy as np
{imports}
import relay
from relay.debugging.differences import largest_difference, leaves


def array(text):
    return np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)


INPUTS = {inputs}
{body}
difference = largest_difference(leaves(found), leaves(expected))
assert difference <= {tolerance}, f"the results differ by {{difference:.3g}}"
print(f"the results agree: the largest difference is {{difference:.3g}}")
'''

_PASS = """
PROGRAM = r'''
{program}'''
before = relay.parse(PROGRAM)
after = relay.transform.{call}(before)
expected, found = (
    relay.create_executor("debug", module).evaluate()(*INPUTS) for module in (before, after)
)
"""

_KERNEL = """
PROGRAM = r'''
{program}'''
module = relay.parse(PROGRAM)
expected = relay.create_executor("debug", module).evaluate()(*INPUTS)
found = relay.compile(module, level={level}, target="{target}").evaluate(*INPUTS)
"""

_ONNX = """
MODEL = base64.b64decode({model})
module, params = relay.frontend.from_onnx(MODEL)
found = relay.create_executor("debug", module).evaluate()(*INPUTS)
session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
names = [one.name for one in session.get_inputs()]
expected = relay.debugging.onnx_nodes.value(session.run(None, dict(zip(names, INPUTS))))
"""

_TORCH = """

class Model(torch.nn.Module):
    def forward(self{parameters}):
        return {call}


inputs = [torch.from_numpy(one) for one in INPUTS]
module, params = relay.frontend.from_pytorch(Model(), inputs)
found = relay.create_executor("debug", module).evaluate()(*INPUTS)
expected = relay.debugging.torch_nodes.value(Model()(*inputs))
"""


def of_pass(module: IRModule, inputs: Sequence[Value], info: PassInfo, tolerance: Tolerance) -> str:
    """A pass gives another program the meaning of `module`."""
    made = info.call if info.options else f"{info.name}()"
    body = _PASS.format(program=module.astext(), call=made)
    imports = "\nfrom relay.target import Target" if "Target(" in info.call else ""
    return _script(
        f"The pass {info.name} changes the meaning of this program.",
        imports,
        inputs,
        body,
        tolerance,
    )


def of_kernel(
    module: IRModule, inputs: Sequence[Value], options: Mapping[str, Any], tolerance: Tolerance
) -> str:
    """Compiled, `module` gives another result than in the interpreter."""
    body = _KERNEL.format(program=module.astext(), **options)
    return _script(
        "The code of this program differs from the interpreter.", "", inputs, body, tolerance
    )


def of_onnx(name: str, model: bytes, inputs: Sequence[Any], tolerance: Tolerance) -> str:
    """A model of one node gives another result than in ONNX Runtime."""
    text = _quoted(base64.b64encode(model).decode())
    title = f"The import of {name} differs from ONNX Runtime."
    imports = "import onnxruntime\n"
    return _script(title, imports, inputs, _ONNX.format(model=text), tolerance)


def of_torch(name: str, count: int, call: str, inputs: Sequence[Any], tolerance: Tolerance) -> str:
    """A call of one operator gives another result than in PyTorch."""
    parameters = "".join(f", x{number}" for number in range(count))
    title = f"The import of {name} differs from PyTorch."
    body = _TORCH.format(parameters=parameters, call=call)
    return _script(title, "import torch\n", inputs, body, tolerance)


def _script(
    title: str, imports: str, inputs: Sequence[Any], body: str, tolerance: Tolerance
) -> str:
    return _HEAD.format(
        title=title,
        imports=imports,
        inputs=f"[{', '.join(map(_literal, inputs))}]",
        body=body,
        tolerance=tolerance.relative,
    )


def _literal(value: Any) -> str:
    """A value as an expression of Python."""
    done: list[str] = []
    pending: list[Any] = [value]
    while pending:
        part = pending.pop()
        match part:
            case str():
                done.append(part)
            case TupleValue():
                pending.append(",)")
                for position, inner in enumerate(reversed(part.fields)):
                    pending += [inner] if position == len(part) - 1 else [inner, ", "]
                done.append("(")
            case NDArray():
                done.append(f"array({_text(part.array)})")
            case _:
                done.append(f"array({_text(np.asarray(part))})")
    return "".join(done).replace("(,)", "()")


def _text(array: np.ndarray) -> str:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return _quoted(base64.b64encode(file.getvalue()).decode())


def _quoted(text: str) -> str:
    lines = textwrap.wrap(text, 88) or [""]
    return "\n    ".join(f'"{line}"' for line in ("", *lines))
