"""Random modules: well typed and terminating by construction.

    module = random_module(Seeded(7), adts=False)
    inputs = random_inputs(module, Seeded(7))
    relay.create_executor("debug", module).evaluate()(*inputs)

`strategies.py` has the same as Hypothesis strategies, which shrink programs that fail.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from relay.check.infer import infer_module
from relay.check.wellformed import check_well_formed
from relay.ir.expr import Function, GlobalVar
from relay.ir.module import IRModule
from relay.testing.generator.choices import Choices, several
from relay.testing.generator.features import Features
from relay.testing.generator.functions import Functions
from relay.testing.generator.types import Vocabulary, random_definitions


def random_module(choices: Choices, features: Features | None = None, **switches: Any) -> IRModule:
    """A module with a `main`; keywords are fields of `Features`: `size=20, references=False`."""
    features = replace(features or Features(), **switches)
    definitions = random_definitions(choices, features)
    functions = Functions(choices, features, Vocabulary(features, definitions))
    share = features.size // (2 * max(features.functions, 1))
    made = several(choices, lambda: functions.next(share), 0, features.functions)
    found: dict[GlobalVar | str, Function] = dict(chain.from_iterable(made))
    found["main"] = functions.main(features.size)
    return IRModule(found, {d.header: d for d in definitions})


def assert_generated_ok(module: IRModule) -> IRModule:
    """Check that a module is well formed and well typed; returns it with types."""
    check_well_formed(module)
    typed = infer_module(module)
    check_well_formed(typed)
    return typed
