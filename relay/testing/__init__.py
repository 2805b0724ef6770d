"""For tests of programs and passes: networks, random well-typed programs, helpers.

    module = random_module(Seeded(7), references=False)
    inputs = random_inputs(module, Seeded(7))

`relay.testing.strategies` has Hypothesis strategies for such programs. Networks are imported on
first use: `relay.testing.resnet.get_workload()`.
"""

from __future__ import annotations

import importlib
from pkgutil import iter_modules
from typing import Any

from relay.testing.generate import assert_generated_ok, random_module
from relay.testing.generator.choices import Choices, Seeded
from relay.testing.generator.features import Features
from relay.testing.generator.values import random_inputs
from relay.testing.results import assert_has_type, assert_same_value, extents_of
from relay.testing.run import count_ops, rand, run_infer_type, run_opt_pass

__all__ = [
    "Choices",
    "Features",
    "Seeded",
    "assert_generated_ok",
    "assert_has_type",
    "assert_same_value",
    "count_ops",
    "extents_of",
    "rand",
    "random_inputs",
    "random_module",
    "run_infer_type",
    "run_opt_pass",
]

# Names that are imported on first use, with their modules.
_HOMES = {
    "add_nat_definitions": "nat",
    "check_grad": "gradients",
    "check_operator": "operators",
    "count": "nat",
    "create_workload": "init",
    "make_nat_expr": "nat",
    "make_nat_value": "nat",
}


def _files() -> list[str]:
    return [module.name for module in iter_modules(__path__)]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if not name.startswith("_") and name in _files():
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_HOMES, *_files()})
