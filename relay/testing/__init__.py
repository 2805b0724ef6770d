"""For tests: random programs that are right by construction, and short ways to run a pass.

    module = random_module(Seeded(7), references=False)
    inputs = random_inputs(module, Seeded(7))

With Hypothesis, `relay.testing.strategies` makes such programs and shrinks those that fail.
"""

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
