"""For every pass that random programs and networks do not move, a program that it changes.

A pass whose arguments name parts of a program is made for its example: together with what the
changed program is given, and must give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import relay
from relay import transform
from relay.analysis import sparse_conv2d, sparse_dense
from relay.interpreter.values import to_value
from relay.ir.module import IRModule
from relay.op import register_op_attr, temporary_operators
from relay.testing import Seeded, random_inputs
from relay.transform import Pass
from tests.transform.subjects import Subject, subject

# How a pass is made for a subject, and what the program afterwards is given and gives.
Making = Callable[[Subject], tuple[Pass, Callable[[IRModule], Subject]]]


@dataclass(frozen=True)
class Example:
    text: str
    make: Making | None = None  # as everywhere when it is not said
    during: Callable[[], Any] = nullcontext

    def subject(self) -> Subject:
        module = relay.parse('#[version = "0.0.5"]\n' + self.text)
        module = transform.InferType()(module)
        return subject(module, random_inputs(module, Seeded(1)))


def with_gradient(given: Subject) -> Callable[[IRModule], Subject]:
    """The sum of a tensor and itself, whose gradient is 2 everywhere."""
    twos = np.full((2, 3), 2, "float32")
    result = to_value((given.result, (twos,)))
    return lambda module: replace(given, result=result)


def other_batch(given: Subject) -> tuple[Pass, Callable[[IRModule], Subject]]:
    (x,) = given.inputs
    after = replace(given, inputs=(x[:1],), result=to_value(given.result.numpy()[:1]))
    return transform.ChangeBatch({"x": 0}, 1), lambda module: after


def stored_in_blocks(kind: Callable[..., Pass], analysis: Any, *form: Any) -> Making:
    """All weights, few zeros as they may have, in blocks of one element."""

    def make(given: Subject) -> tuple[Pass, Callable[[IRModule], Subject]]:
        x, weight = given.inputs
        params = {"w": weight}
        found = analysis.process_params(given.module["main"], params, (1, 1), 0.0, *form)
        assert found.weight_name == ["w"]
        after = replace(given, inputs=(x, *params.values()))
        return kind(found.weight_name, found.weight_shape, *form), lambda module: after

    return make


def transposed(given: Subject) -> tuple[Pass, Callable[[IRModule], Subject]]:
    x, weight = given.inputs
    after = replace(given, inputs=(x, weight.T))
    return transform.SimplifyFCTranspose(["w"]), lambda module: after


def prepared(given: Subject) -> tuple[Pass, Callable[[IRModule], Subject]]:
    x, *weights = given.inputs

    def after(module: IRModule) -> Subject:
        prepare = relay.create_executor("debug", module).evaluate(relay.GlobalVar("prepare"))
        return replace(given, inputs=(x, *prepare(*weights)))

    return transform.LiftWeights(), after


@contextmanager
def attached(operator: str, attribute: str, rewrite: Callable[..., Any]) -> Iterator[None]:
    with temporary_operators():
        register_op_attr(operator, attribute, rewrite)
        yield


def as_maximum(attrs: Any, inputs: Any, types: Any) -> Any:
    return relay.maximum(inputs[0], relay.const(0.0, types[-1].dtype))


def as_wider(attrs: Any, inputs: Any, types: Any) -> Any:
    data, weight, *rest = inputs
    if data.checked_type.dtype == "int16":
        return None
    return relay.qnn.op.dense(relay.cast(data, "int16"), relay.cast(weight, "int16"), *rest)


MATRICES = "%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]"
QUANTIZED = "%x: Tensor[(3, 8), uint8], %w: Tensor[(2, 8), int8]"

EXAMPLES = {
    "CanonicalizeCast": Example(
        """
        def @main(%x: Tensor[(3), int8]) {
          %0 = cast(%x, dtype="int32");
          (add(%0, 1), multiply(%0, 2))
        }
        """
    ),
    "ChangeBatch": Example(
        "def @main(%x: Tensor[(3, 2), float32]) { nn.relu(%x) }", make=other_batch
    ),
    "CollectOuterProducts": Example(
        """
        def @f(%n: int32, %c: ref(Tensor[(64, 64), float32]), %x: Tensor[(1, 64), float32]) {
          if (%n < 1) { () } else {
            let %total = add(ref_read(%c), nn.matmul(%x, %x, transpose_a=True));
            ref_write(%c, %total);
            @f(%n - 1, %c, %x)
          }
        }
        def @main(%n: int32, %x: Tensor[(1, 64), float32]) {
          let %c = ref(zeros(shape=[64, 64], dtype="float32"));
          @f(minimum(%n, 9), %c, %x);
          ref_read(%c)
        }
        """
    ),
    "CombineParallelBatchMatmul": Example(
        """
        def @main(%x: Tensor[(2, 3, 4), float32], %a: Tensor[(2, 5, 4), float32],
                  %b: Tensor[(2, 5, 4), float32], %c: Tensor[(2, 5, 4), float32]) {
          (nn.batch_matmul(%x, %a, transpose_b=True), nn.batch_matmul(%x, %b, transpose_b=True),
           nn.batch_matmul(%x, %c, transpose_b=True))
        }
        """
    ),
    "CombineParallelDense": Example(
        """
        def @main(%x: Tensor[(2, 3), float32], %a: Tensor[(4, 3), float32],
                  %b: Tensor[(4, 3), float32], %c: Tensor[(4, 3), float32],
                  Weights=["a", "b", "c"]) {
          (nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))
        }
        """
    ),
    "Conv2dToSparse": Example(
        """
        def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(1, 1, 4, 3), float32]) {
          nn.conv2d(%x, %w, channels=3, kernel_size=[1, 1], data_layout="NHWC",
                    kernel_layout="HWIO")
        }
        """,
        make=stored_in_blocks(transform.Conv2dToSparse, sparse_conv2d, "NHWC", 1),
    ),
    "DenseToSparse": Example(
        f"def @main({MATRICES}) {{ nn.relu(nn.dense(%x, %w)) }}",
        make=stored_in_blocks(transform.DenseToSparse, sparse_dense),
    ),
    "DynamicToStatic": Example(
        """
        def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(6), float32]) {
          add(%x, reshape(dyn.reshape(%y, shape_of(%x)), newshape=[2, 3]))
        }
        """
    ),
    "EtaExpand": Example(
        """
        def @half(%x: float32) -> float32 { divide(%x, 2f) }
        def @main(%x: float32) -> float32 { let %f = @half; %f(%f(%x)) }
        """
    ),
    "ExpandOperators": Example(
        """
        def @main(%x: Tensor[(4, 3, 5), float32], %gamma: Tensor[(3), float32],
                  %beta: Tensor[(3), float32], %mean: Tensor[(3), float32],
                  %var: Tensor[(3), float32]) {
          nn.batch_norm_training(%x, %gamma, %beta, %mean, %var).0
        }
        """
    ),
    "FakeQuantizationToInteger": Example(
        """
        def @main(%x: Tensor[(2, 6), int8]) {
          %0 = nn.relu(qnn.dequantize(%x, 0.5f, 3, out_dtype="float32"));
          qnn.quantize(%0, 0.5f, 3, out_dtype="int8")
        }
        """
    ),
    "FastMath": Example("def @main(%x: Tensor[(4), float32]) { add(exp(%x), tanh(%x)) }"),
    "FirstOrderGradient": Example(
        "def @main(%x: Tensor[(2, 3), float32]) { add(%x, %x) }",
        make=lambda given: (transform.FirstOrderGradient(), with_gradient(given)),
    ),
    "FlexibleShapeDispatch": Example(
        "def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }",
        make=lambda given: (transform.FlexibleShapeDispatch([1, 4]), lambda module: given),
    ),
    "Inline": Example(
        """
        def @f(%x: int32, Inline=1) -> int32 { add(%x, 1) }
        def @main(%y: int32) -> int32 { @f(negative(%y)) }
        """
    ),
    "LazyGradientInit": Example(
        """
        def @main(%x: Tensor[(2, 3), float32], %c: bool) {
          let %sum = ref(zeros_like(%x));
          if (%c) { ref_write(%sum, add(ref_read(%sum), exp(%x))) } else { () };
          multiply(ref_read(%sum), %x)
        }
        """
    ),
    "Legalize": Example(
        "def @main(%x: Tensor[(2), float32]) { nn.relu(tanh(nn.relu(%x))) }",
        during=lambda: attached("nn.relu", "FTVMLegalize", as_maximum),
    ),
    "LiftWeights": Example(
        """
        def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32], %s: Tensor[(3), float32],
                  Weights=["w", "s"]) { multiply(%x, multiply(%w, exp(%s))) }
        """,
        make=prepared,
    ),
    "MergeCompilerRegions": Example(
        """
        def @main(%x: Tensor[(2, 3), float32]) {
          %0 = multiply(%x, %x);
          multiply(%0, %0)
        }
        """
    ),
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": Example(
        """
        def @main(%x: int32) -> int32 {
          fn (%y: int32, Compiler="c", global_symbol="f") -> int32 { add(%y, 1) }(%x)
        }
        """
    ),
    "QnnCanonicalize": Example(
        f"def @main({QUANTIZED}) {{ qnn.dense(%x, %w, 3, 1, 0.5f, 0.25f) }}"
    ),
    "QnnLegalize": Example(
        f"def @main({QUANTIZED}) {{ qnn.dense(%x, %w, 3, 1, 0.5f, 0.25f) }}",
        during=lambda: attached("qnn.dense", "FTVMQnnLegalize", as_wider),
    ),
    "RemoveUnusedFunctions": Example(
        "def @main() -> int32 { @f() } def @f() -> int32 { 1 } def @g() -> int32 { 2 }"
    ),
    "SimplifyFCTranspose": Example(
        """
        def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 4), float32]) {
          nn.dense(%x, transpose(%w, axes=[1, 0]))
        }
        """,
        make=transposed,
    ),
    "SpecializeCalls": Example(
        """
        def @negate(%x: int32) -> int32 { negative(%x) }
        def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
        def @main(%x: int32) -> int32 { @twice(@negate, %x) }
        """
    ),
    "ToMixedPrecision": Example(f"def @main({MATRICES}) {{ nn.relu(nn.dense(%x, %w)) }}"),
}
