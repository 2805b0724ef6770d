"""A primitive function by itself: verified, and timed by several plans.

    trial = Trial(primitive, target, options, threads=1)
    trial.times("tile=6x4", turns=5)     (seconds of the plan, seconds by the rules)

Results are compared with those of plain loops, one for every axis, which no rule has touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Final

import numpy as np

from relay import dtypes, nd
from relay.cache import Cache
from relay.cache.kernels import KernelCache
from relay.check.infer import infer_module
from relay.errors import RelayError
from relay.executors.executable import Code
from relay.executors.straight_line import StraightLineExecutable
from relay.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.lower.kernel import Options
from relay.program.lower import lower_module
from relay.program.primitives import Primitive
from relay.target.target import Target

PLAIN: Final = "plain"
_SECONDS: Final = 0.01  # of a turn
_HOPELESS: Final = 1.5  # times as slow: not timed any longer
# The largest difference, relative to the largest result; integers are equal.
_TOLERANCE: Final = {"float64": 1e-9, "float32": 1e-4}
_ROUGH: Final = 3e-2


class Trial:
    """A primitive function over random inputs."""

    def __init__(
        self, primitive: Primitive, target: Target, options: Options, *, threads: int
    ) -> None:
        self.primitive = primitive
        self.target = target
        self.options = replace(options, plan="")
        self.threads = threads
        chance = np.random.default_rng(0)
        leaves = [_leaf(ty) for param in primitive.function.params for ty in _leaves(param)]
        self._arrays = [_example(ty, chance) for ty in leaves]
        known = primitive.constant
        self._inputs = [a for a, fixed in zip(self._arrays, known, strict=True) if not fixed]
        self._expected = self._run(self._executable(PLAIN))
        self._rules = self._executable("")

    def times(self, plan: str, turns: int) -> tuple[float, float]:
        """Seconds per call of a plan and by the rules, medians of turns; an error if its results
        are others."""
        made = self._executable(plan)
        self._verify(self._run(made))
        runs = [self._timed(exe) for exe in (made, self._rules)]
        found: tuple[list[float], list[float]] = ([], [])
        for _ in range(turns):
            for seconds, run in zip(found, runs, strict=True):
                seconds.append(run())
            if found[0][-1] > _HOPELESS * found[1][-1]:
                break
        return median(found[0]), median(found[1])

    def _executable(self, plan: str) -> StraightLineExecutable:
        options = replace(self.options, plan=plan)
        kernels = KernelCache(Cache(None), self.target, options)
        program, constants = lower_module(self._module(), kernels)
        objects = kernels.compile(program.kernels)
        support = self.target.support(False, Cache.default())
        code = Code(self.target, objects, None, support)
        weights = {name: array.array for name, array in constants.items()}
        return StraightLineExecutable(program, code, weights, self.threads)

    def _module(self) -> IRModule:
        """A program that calls the function: constants are constant, all else its inputs."""
        params: list[Var] = []
        args: list[Expr] = []
        leaves = iter(zip(self._arrays, self.primitive.constant, strict=True))
        for param in self.primitive.function.params:
            parts: list[Expr] = []
            for ty in _leaves(param):
                array, fixed = next(leaves)
                if fixed:
                    parts.append(Constant(nd.array(array)))
                else:
                    params.append(Var(f"x{len(params)}", ty))
                    parts.append(params[-1])
            whole = isinstance(param.checked_type, TupleType)
            args.append(Tuple(tuple(parts)) if whole else parts[0])
        main = Function(tuple(params), Call(self.primitive.function, tuple(args)))
        return infer_module(IRModule({"main": main}))

    def _run(self, exe: StraightLineExecutable) -> list[np.ndarray]:
        return [np.array(result) for result in exe.run_flat(self._inputs)]

    def _verify(self, results: list[np.ndarray]) -> None:
        for found, expected, info in zip(results, self._expected, self._rules.outputs, strict=True):
            if not dtypes.is_float(info.dtype):
                same = bool(np.array_equal(found, expected))
            else:
                largest = np.abs(expected[np.isfinite(expected)]).max(initial=1e-30)
                most = float(largest) * _TOLERANCE.get(info.dtype, _ROUGH)
                same = np.allclose(found, expected, rtol=0, atol=most, equal_nan=True)
            if not same:
                raise RelayError("another result than that of plain loops")

    def _timed(self, exe: StraightLineExecutable) -> Callable[[], float]:
        """A function that gives the seconds of the fastest call of a turn."""

        def turn() -> float:
            fastest = float("inf")
            end = time.perf_counter() + _SECONDS
            while (start := time.perf_counter()) < end:
                exe.run_flat(self._inputs)
                fastest = min(fastest, time.perf_counter() - start)
            return fastest

        exe.run_flat(self._inputs)  # a warm-up
        return turn


def _leaves(param: Var) -> tuple[Type, ...]:
    ty = param.checked_type
    return ty.fields if isinstance(ty, TupleType) else (ty,)


def _leaf(ty: Type) -> TensorType:
    if not isinstance(ty, TensorType):
        raise RelayError(f"a kernel over a {ty} is not tuned")
    return ty


def _example(ty: TensorType, chance: np.random.Generator) -> np.ndarray:
    """Random elements: normal ones, bytes of any value, other integers 0 or 1, as indices are."""
    kind = dtypes.to_numpy(ty.dtype)
    if dtypes.is_float(ty.dtype):
        return chance.standard_normal(ty.concrete_shape, np.float32).astype(kind)
    if kind.itemsize == 1 and kind.kind in "iu":
        limits = np.iinfo(kind)
        return chance.integers(limits.min, limits.max + 1, ty.concrete_shape, kind)
    return chance.integers(0, 2, ty.concrete_shape).astype(kind)
