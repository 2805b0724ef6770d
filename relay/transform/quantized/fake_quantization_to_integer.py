"""Compute with integers between dequantize and quantize:

%0 = qnn.dequantize(%x, 0.5f, 3, out_dtype="float32");
%1 = nn.conv2d(%0, qnn.dequantize(%w, 0.25f, 0, out_dtype="float32"));
qnn.quantize(nn.relu(%1), 2f, 5, out_dtype="int8")
->
%0 = qnn.conv2d(%x, %w, 3, 0, 0.5f, 0.25f, …);
maximum(qnn.requantize(%0, 0.125f, 0, 2f, 5, …), 5i8)

for %x: Tensor[(1, 4, 5, 5), int8], %w: Tensor[(8, 4, 1, 1), int8]

A network that was trained or calibrated for integers comes with float operators between
conversions. The rules are in two files: `quantized_products` has those of products, which add up
integers whether or not the result is quantized; `quantized_steps` those of everything else between
two conversions. Scales and zero points must be constants.

Operators without a rule stay on floats, and so does what would gain nothing: an element-wise chain
between two conversions becomes one kernel by fusion, which reads and writes integers.

The attribute `FTVMFakeQuantizationToInteger` of an operator is a rule of its own: a function of the
call and of the window through which it sees the program, as in `relay.transform.simplify.peephole`.
It is tried before the others.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.fake_quantized_ops import list_fake_quantized_op_freqs
from relay.errors import Diagnostic, PassError
from relay.immutable import frozen
from relay.ir.expr import Call, Function
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.op.opdef import OpDef, records
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional.to_graph_normal_form import ToGraphNormalForm
from relay.transform.infer_type import InferType
from relay.transform.quantized import quantized_products, quantized_steps
from relay.transform.simplify.peephole import Rules, rewritten

ATTRIBUTE = "FTVMFakeQuantizationToInteger"
CONVERSIONS = ("qnn.dequantize", "qnn.quantize")


@frozen
class FakeQuantizationToInteger(ModulePass):
    """Operators on floats between conversions become operators on integers.

    With `hard_fail` it is an error if some are left; `optional_qnn_ops` names operators that are
    exchanged on request only: "nn.softmax". `use_qat` has no effect: products whose results are not
    quantized are computed in integers without it. `thorough` exchanges also what
    gains nothing, because fusion makes one kernel of it anyway, and what is rounded once more: a
    mean before a product. `relay.compile` runs without `thorough`.
    """

    opt_level = 0
    required = ("InferType",)
    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: tuple[str, ...] = ()
    thorough: bool = True

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if not any(_has_conversions(function) for function in module.functions.values()):
            return module
        # rules do not see through the name of what is more than one call
        module = ToGraphNormalForm()(module)
        rules = (
            _own_rules(),
            quantized_products.RULES,
            quantized_steps.rules(self.optional_qnn_ops, self.thorough),
        )
        for name, function in [*module.functions.items()]:
            if not is_foreign(function) and _has_conversions(function):
                module[name.name_hint] = rewritten(function, *rules)
        module = InferType()(module)
        if self.hard_fail and (left := list_fake_quantized_op_freqs(module)):
            raise PassError(
                Diagnostic(
                    "operators between conversions are left on floats",
                    found=", ".join(f"{count} x {name}" for name, count in sorted(left.items())),
                    hint="without `hard_fail` they are computed with floats",
                )
            )
        return module


def _own_rules() -> Rules:
    """The rules that are attached to operators."""
    own = {op.name: op.get_attr(ATTRIBUTE) for op in records()}
    return {name: (rule,) for name, rule in own.items() if rule is not None}


def _has_conversions(function: Function) -> bool:
    return any(
        isinstance(node, Call) and isinstance(node.op, OpDef) and node.op.name in CONVERSIONS
        for node in tree.postorder(function)
    )
