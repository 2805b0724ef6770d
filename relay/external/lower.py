"""Lowers functions of external compilers: to a kernel that calls the code of the compiler.

    def @f(%x: Tensor[(4), float32], Compiler="mine", global_symbol="f") { … }
    ->
    Step(relay_mine_f_4d1e…, (Param(0),), (Result(0),))      and the bytes of `mine.compile(…)`

The kernel is code of the target, which describes its arguments as DLPack tensors and calls a
function that is known when the program is loaded.
"""

from __future__ import annotations

import hashlib

from relay import tree
from relay.errors import LowerError, RelayError
from relay.external.compiler import Part, find_compiler
from relay.immutable import frozen
from relay.ir.expr import Function, Op
from relay.ir.names import as_word
from relay.ir.types import TensorType, TupleType, Type
from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, TensorSpec
from relay.target.target import Target


@frozen
class ExternalCode:
    """A lowered function, its kernel's name, and the code of the external compiler."""

    lowered: Lowered
    compiler: str
    code: bytes


def part_of(function: Function) -> Part:
    """A function that is marked `Compiler` as its compiler gets it."""
    symbol = str(function.attrs.get("global_symbol", function.attrs["Compiler"]))
    inputs = tuple(s for p in function.params for s in _specs(p.checked_type, function))
    outputs = _specs(function.body.checked_type, function)
    return Part(as_word(symbol, "part"), function, inputs, outputs)


def lower_external(function: Function, target: Target) -> ExternalCode:
    """Compile a function that is marked `Compiler`."""
    name = str(function.attrs["Compiler"])
    compiler = find_compiler(name)
    part = part_of(function)
    inputs, outputs = part.inputs, part.outputs
    try:
        code = compiler.compile(part)
    except RelayError:
        raise
    except Exception as error:
        raise LowerError.of(
            f"the external compiler `{name}` failed: {type(error).__name__}: {error}",
            function.span,
        ) from error
    if not isinstance(code, bytes):
        raise LowerError.of(
            f"the external compiler `{name}` gives no code",
            function.span,
            expected="bytes",
            found=type(code).__name__,
        )
    described = hashlib.sha256(code)
    described.update(f"{target} {name} {inputs} {outputs}".encode())
    stem = f"relay_{as_word(name, 'compiler')}_{part.name}"[:80]
    kernel_name = f"{stem}_{described.hexdigest()[:16]}"
    stub = target.external(kernel_name, inputs, outputs)
    nodes = (node for node in tree.postorder(function.body) if isinstance(node, Op))
    kernel = Kernel(
        name=kernel_name,
        inputs=inputs,
        outputs=outputs,
        ir=stub.ir,
        operators=tuple(dict.fromkeys(op.name for op in nodes)),
        compiler=name,
    )
    given = tuple(map(Param, range(len(inputs))))
    made = tuple(map(Result, range(len(outputs))))
    return ExternalCode(Lowered((Step(kernel, given, made),)), name, code)


def _specs(ty: Type, function: Function) -> tuple[TensorSpec, ...]:
    """The tensors of a type, flattened; they have known sizes."""
    leaves: list[TensorSpec] = []
    pending = [ty]
    while pending:
        match pending.pop():
            case TupleType(fields=fields):
                pending += reversed(fields)
            case TensorType() as leaf if all(type(size) is int for size in leaf.shape):
                leaves.append(TensorSpec(leaf.concrete_shape, leaf.dtype))
            case other:
                raise LowerError.of(
                    "a function of an external compiler takes and gives tensors of known sizes",
                    function.span,
                    found=str(other),
                )
    return tuple(leaves)
