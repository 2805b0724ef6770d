"""Quantization: floating-point networks become integer networks.

mod = relay.quantize.quantize(mod, params, dataset)          under relay.quantize.qconfig(…)
exe = relay.compile(model, quantize=relay.quantize.int8(dataset))
"""

from relay.quantize.annotate import annotate
from relay.quantize.budget import Budget, budget
from relay.quantize.calibrate import calibrate
from relay.quantize.dynamic import Dynamic, dynamic
from relay.quantize.flow import Quantizer, int8, prerequisite_optimize, quantize
from relay.quantize.loss import Loss, Report
from relay.quantize.mixed import Mixed, mixed
from relay.quantize.points import QAnnotateKind, kind2str
from relay.quantize.qconfig import QConfig, current_qconfig, qconfig
from relay.quantize.realize import realize
from relay.quantize.report import report
from relay.quantize.scheme import INT8, INT8_W4, SHIFTS, Integers, Scheme, power_of_two
from relay.quantize.weight_only import WeightOnly, weight_only

__all__ = [
    "INT8",
    "INT8_W4",
    "SHIFTS",
    "Budget",
    "Dynamic",
    "Integers",
    "Loss",
    "Mixed",
    "QAnnotateKind",
    "QConfig",
    "Quantizer",
    "Report",
    "Scheme",
    "WeightOnly",
    "annotate",
    "budget",
    "calibrate",
    "current_qconfig",
    "dynamic",
    "int8",
    "kind2str",
    "mixed",
    "power_of_two",
    "prerequisite_optimize",
    "qconfig",
    "quantize",
    "realize",
    "report",
    "weight_only",
]
