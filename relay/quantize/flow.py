"""The whole flow, from a floating-point network to one in integers.

mod = relay.quantize.quantize(mod, params, dataset)
exe = relay.compile(model, quantize=relay.quantize.int8(dataset))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from relay.errors import DiagnosticError, PassError, did_you_mean
from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name
from relay.pipeline import Pipeline
from relay.progress import Progress, reported
from relay.quantize.annotate import Annotate
from relay.quantize.bias import with_corrected_biases
from relay.quantize.budget import Budget
from relay.quantize.calibrate import Calibrate
from relay.quantize.dataset import Dataset
from relay.quantize.equalize import equalized
from relay.quantize.network import Network
from relay.quantize.partition import partitioned
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
    keep_float: Sequence[str] | Budget = (),
    progress: bool | Progress = False,
) -> IRModule:
    """The program with products of integers, by a scheme or that of the `qconfig`.

    `params` are weights by the names of parameters of `main`. `dataset` is an iterable of batches,
    each the inputs by name, a list of them, or the array of a single one; all calibrate modes but
    "global_scale" need it. `keep_float` are names of layers, as the report has them, or a `budget`.
    Under a `qconfig` with `do_simulation` the result computes with floats that are rounded to the
    integers. `progress` is that of `relay.compile`.
    """
    config = current_qconfig()
    wanted = config.scheme if scheme is None else scheme
    examples = None if dataset is None else Dataset(dataset)
    module = prerequisite_optimize(mod, params)
    with reported(progress, "quantizing") as report:
        simulated, wanted = _simulated(module, examples, wanted, keep_float, report)
    if config.do_simulation:
        return simulated
    realized = Realize(wanted.rounding, wanted.sums)(simulated)
    if config.partition_conversions == "disabled":
        return realized
    return partitioned(realized, fully_integral=config.partition_conversions == "fully_integral")


def _simulated(
    module: IRModule,
    dataset: Dataset | None,
    scheme: Scheme,
    keep_float: Sequence[str] | Budget,
    progress: Progress,
) -> tuple[IRModule, Scheme]:
    """The calibrated network, and the scheme with the layers that stay floats."""
    if scheme.equalize:
        module = equalized(module)
    if isinstance(keep_float, Budget):
        if dataset is None:
            raise PassError("a budget needs a dataset: it looks at results of the network")
        dataset = Dataset([*dataset])  # it is read more than once
        kept = keep_float.kept_float(module, scheme, dataset, progress)
    else:
        kept = tuple(keep_float)
        _check_names(kept, module)
    if kept:
        scheme = replace(scheme, keep_float=(*scheme.keep_float, *kept))
    if scheme.correct_bias and dataset is not None:
        dataset = Dataset([*dataset])  # it is read twice
    annotated = Annotate(scheme)(module)
    simulated = Calibrate(dataset, scheme, progress)(annotated)
    if scheme.correct_bias:
        if dataset is None:
            raise PassError(f"scheme `{scheme.name}` corrects biases, which needs a dataset")
        simulated = with_corrected_biases(simulated, dataset, progress)
    return simulated, scheme


def _check_names(kept: Sequence[str], module: IRModule) -> None:
    names = [layer.name for layer in Network(module["main"]).layers.values()]
    for name in kept:
        if name not in names:
            raise DiagnosticError.of(
                f"there is no layer `{name}` to keep in floats",
                expected=", ".join(names) or "none: the network has no products",
                hint=did_you_mean(name, names),
            )


@frozen
class Quantizer:
    """What `relay.compile(…, quantize=…)` does with a model."""

    scheme: Scheme
    dataset: Dataset
    keep_float: tuple[str, ...] | Budget = ()
    progress: bool | Progress = False

    def __call__(self, module: IRModule, params: Mapping[str, Any]) -> IRModule:
        module = prerequisite_optimize(module, params)
        with reported(self.progress, "quantizing") as report:
            simulated, scheme = _simulated(
                module, self.dataset, self.scheme, self.keep_float, report
            )
        return Realize(scheme.rounding, scheme.sums)(simulated)


def int8(
    dataset: Iterable[Any],
    *,
    scheme: Scheme = INT8,
    keep_float: Sequence[str] | Budget = (),
    progress: bool | Progress = False,
) -> Quantizer:
    """Integers of 8 bits, or those of another scheme, with ranges from a dataset.

    `keep_float` are names of layers, as the report has them, or a `budget`.
    """
    kept = keep_float if isinstance(keep_float, Budget) else tuple(keep_float)
    return Quantizer(scheme, Dataset(dataset), kept, progress)
