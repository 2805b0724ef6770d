"""The whole flow: a network in floats becomes one in integers.

mod = relay.quantize.quantize(mod, params, dataset)
exe = relay.compile(model, quantize=relay.quantize.int8(dataset))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name
from relay.pipeline import Pipeline
from relay.quantize.annotate import Annotate
from relay.quantize.calibrate import Calibrate
from relay.quantize.dataset import Dataset
from relay.quantize.qconfig import current_qconfig
from relay.quantize.realize import Realize
from relay.quantize.scheme import INT8, Scheme
from relay.transform.infer_type import InferType
from relay.transform.scales.fold_scale_axis import FoldScaleAxis
from relay.transform.simplify.canonicalize_ops import CanonicalizeOps
from relay.transform.simplify.eliminate_common_subexpr import EliminateCommonSubexpr
from relay.transform.simplify.fold_constant import FoldConstant
from relay.transform.simplify.fold_explicit_padding import FoldExplicitPadding
from relay.transform.simplify.simplify_expr import SimplifyExpr
from relay.transform.simplify.simplify_inference import SimplifyInference

# Before annotation. Weights become constants, and normalizations part of them.
PREREQUISITES = (
    InferType(),
    SimplifyInference(),
    FoldConstant(),
    FoldScaleAxis(),
    CanonicalizeOps(),
    FoldConstant(),
    FoldExplicitPadding(),
    SimplifyExpr(),
    EliminateCommonSubexpr(),  # equal values are quantized once
)


def prerequisite_optimize(
    mod: IRModule | Expr, params: Mapping[str, Any] | None = None
) -> IRModule:
    """The program with `params` bound and its normalizations folded into weights."""
    module = mod.copy() if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    if params:
        module["main"] = bind_params_by_name(module["main"], params)
    return Pipeline(PREREQUISITES, name="before quantization")(module)


def quantize(
    mod: IRModule | Expr,
    params: Mapping[str, Any] | None = None,
    dataset: Iterable[Any] | None = None,
    *,
    scheme: Scheme | None = None,
) -> IRModule:
    """The program with products of integers, by a scheme or that of the `qconfig`.

    `params` are weights by the names of parameters of `main`. `dataset` is an iterable of batches,
    each the inputs by name, a list of them, or the array of a single one; all calibrate modes but
    "global_scale" need it. Under a `qconfig` with `do_simulation` the result computes with floats
    that are rounded to the integers.
    """
    config = current_qconfig()
    wanted = config.scheme if scheme is None else scheme
    module = prerequisite_optimize(mod, params)
    module = Annotate(wanted)(module)
    module = Calibrate(None if dataset is None else Dataset(dataset), wanted)(module)
    return module if config.do_simulation else Realize(wanted.rounding)(module)


@frozen
class Quantizer:
    """What `relay.compile(…, quantize=…)` does with a model."""

    scheme: Scheme
    dataset: Dataset

    def __call__(self, module: IRModule, params: Mapping[str, Any]) -> IRModule:
        module = prerequisite_optimize(module, params)
        module = Calibrate(self.dataset, self.scheme)(Annotate(self.scheme)(module))
        return Realize(self.scheme.rounding)(module)


def int8(dataset: Iterable[Any], *, scheme: Scheme = INT8) -> Quantizer:
    """Integers of 8 bits, with ranges from a dataset."""
    return Quantizer(scheme, Dataset(dataset))
