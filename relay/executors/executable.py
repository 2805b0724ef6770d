"""Compiled models as Python callables.

    exe = relay.compile(mod, params)
    y = exe(x)                        by position, by name (exe(data=x)), or both
    exe.set_params(weight=w)          new weights; values computed from them are updated

Results have the kind of the inputs: NumPy arrays, torch tensors, relay.nd arrays. They never change
afterwards, and inputs are never written. Calls are thread-safe.

There are two kinds: `straight_line.py`, and that of a target for whole programs
(`relay.target.llvm.executable`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError, RelayError, did_you_mean
from relay.executors.convention import Convention
from relay.executors.cores import MOST_THREADS, default_threads
from relay.executors.report import BenchmarkResult, Kernels, Memory, Profile, time_calls
from relay.executors.roof import Roof
from relay.executors.state import HasState
from relay.executors.weights import HasWeights
from relay.files import as_path
from relay.immutable import frozen
from relay.program import program as isa
from relay.program.native import NativeProgram
from relay.target.kernel import TensorSpec
from relay.target.loaded import Loaded
from relay.target.target import Target

if TYPE_CHECKING:
    from relay.interpreter.values import Value

_KINDS: Final = {".c": "c", ".a": "archive", ".so": "shared"}  # others are object files


@frozen
class Code:
    """The code of the kernels of a program, and of the functions of a whole program."""

    target: Target
    objects: tuple[bytes, ...]
    program: NativeProgram | None = None
    # the runtime of both (`Target.support`)
    support: Mapping[str, bytes] = field(default_factory=dict, compare=False)


class Executable(HasWeights, HasState, ABC):
    """A compiled model. `weights` are the given constants by name, `prepared` the constants
    computed from them, if known."""

    runs_here = True  # not for those that are saved only
    is_prepared = True  # whether `constants` are those that kernels read
    _loaded: Loaded
    convention: Convention | None = None  # of the model, which calls follow
    inputs: tuple[Any, ...]  # names and types
    outputs: tuple[Any, ...]

    def __init__(self, program: isa.Program, code: Code, threads: int | None) -> None:
        if self.runs_here:
            code.target.require_here("the code")
        self.program = program
        self.code = code
        self.threads = default_threads() if threads is None else threads
        if type(self.threads) is not int or not 1 <= self.threads <= MOST_THREADS:
            raise RelayError(f"a call uses 1 to {MOST_THREADS} threads, not {threads!r}")

    # --- calling

    @abstractmethod
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it."""

    @abstractmethod
    def evaluate(self, *args: Any, **named: Any) -> Value:
        """The result as a value of the interpreter."""

    def example_inputs(self, seed: int = 0) -> tuple[Any, ...]:
        """Random inputs, if all are tensors of known sizes: normally distributed floats, zeros."""
        main = self.program[isa.MAIN]
        chance = np.random.default_rng(seed)

        def example(register: isa.Register) -> np.ndarray:
            spec = main.registers[register]
            shape = spec.shape if isinstance(spec, TensorSpec) else ()
            static = tuple(size for size in shape if isinstance(size, int))
            if not isinstance(spec, TensorSpec | isa.ScalarSpec) or static != shape:
                raise refusal(
                    f"there is no example of a {isa.spec_text(spec)}", "inputs for the call"
                )
            kind = dtypes.to_numpy(spec.dtype)
            numbers = chance.standard_normal(static, np.float32)
            return numbers.astype(kind) if dtypes.is_float(spec.dtype) else np.zeros(static, kind)

        values = [param.value for param in main.arguments]
        return tuple(isa.unflatten(v, [example(leaf) for leaf in isa.flatten(v)]) for v in values)

    def example_call(self, seed: int = 0) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A call with random inputs."""
        inputs = self.example_inputs(seed)
        if self.convention is None:
            return inputs, {}
        return self.convention.call_of(isa.flatten(inputs))

    def in_order(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments of a call in the order of the parameters."""
        if self.convention is not None:
            leaves = self.convention.take_apart(args, named)
            values = tuple(param.value for param in self.program[isa.MAIN].arguments)
            return list(isa.unflatten(values, leaves))
        params = self.program[isa.MAIN].arguments
        names = [param.name for param in params]  # not necessarily unique
        if len(args) > len(params):
            raise refusal("too many inputs", self.signature, f"{len(args)}")
        given = dict(enumerate(args))
        for name, data in named.items():
            if name not in names:
                hint = did_you_mean(name, names) or f"there is {', '.join(names) or 'none'}"
                raise EvaluationError.of(f"there is no input `{name}`", hint=hint)
            if names.count(name) > 1:
                raise refusal(f"several inputs are called `{name}`", "them by position")
            if names.index(name) in given:
                raise refusal(f"input `{name}` is given twice", self.signature)
            given[names.index(name)] = data
        if missing := [f"`{name}`" for place, name in enumerate(names) if place not in given]:
            together = len(args) == 1 and isinstance(args[0], Mapping | list | tuple)
            stars = "**" if together and isinstance(args[0], Mapping) else "*"
            advice = f"inputs are given one by one: exe({stars}inputs)" if together else None
            raise refusal(f"no value for {', '.join(missing)}", self.signature, hint=advice)
        return [given[place] for place in range(len(params))]

    @property
    def signature(self) -> str:
        """The inputs as text."""
        return ", ".join(map(str, self.inputs)) or "no inputs"

    # --- inspection

    @property
    @abstractmethod
    def memory(self) -> Memory:
        """The memory it needs."""

    @property
    @abstractmethod
    def kernels(self) -> Kernels:
        """Its kernels, in the order of their first call."""

    @abstractmethod
    def profile(
        self, *args: Any, repeat: int = 10, roof: Roof | None = None, **named: Any
    ) -> Profile:
        """The time of its kernels: medians of `repeat` runs; without arguments, with random
        inputs. With a roof (`relay.machine.measure()`), how near they are to it."""

    def specialize(self, *args: Any, **named: Any) -> None:
        """Make the version for the sizes of these arguments now, if there are open sizes; the
        results of calls stay the same. The executable was compiled with `tiered`."""
        self.in_order(args, named)

    def make_versions(self, specializer: Any) -> None:
        """Have versions made for sizes that are seen again (`relay.compile(…, tiered=True)`)."""

    def benchmark(
        self, *args: Any, repeat: int = 10, number: int | None = None, **named: Any
    ) -> BenchmarkResult:
        """Time `repeat` times `number` calls, by default as many as take about 20 ms; without
        arguments, with random inputs."""
        expect_positive(repeat=repeat, number=1 if number is None else number)
        if not args and not named:
            args, named = self.example_call()
        once = partial(self, *args, **named)
        once()
        return time_calls(once, repeat, number or 1, 20 if number is None else None)

    def export(
        self,
        path: str | os.PathLike[str],
        kind: str | None = None,
        *,
        name: str | None = None,
        embed: bool = True,
        **limits: int,
    ) -> Path:
        """Write the model for C: an "object", an "archive" or a "shared" library, or source text,
        "c", of the target `c`; and a header. By default what the end of the name says. A "folder"
        has what builds a program, for WebAssembly a module and a page.

        Returns the path of the header, whose names begin with `name`, by default that of the file.
        Without `embed` the weights are a separate file. `limits` are the bytes that a
        microcontroller has, `ram` and `flash`: a model that takes more is refused.
        """
        if kind is None:
            kind = _KINDS.get(as_path(path).suffix, "object")
        return self.code.target.export(self, path, kind, name=name, embed=embed, **limits)

    def save(self, path: str | os.PathLike[str], *, params: bool = False) -> None:
        """Write the executable to one file, for `relay.load`.

        With `params` the file has the original weights, so that they can be changed later;
        otherwise only the constants that kernels read. Links are followed, and anything but a
        regular file is refused.
        """
        from relay.executors.artifact import save

        save(self, path, params=params)

    def __reduce__(self) -> Any:
        """Pickled and copied as the bytes of `save` with current weights; unpickling runs code."""
        from relay.executors.artifact import load_pickled, to_bytes

        return load_pickled, (to_bytes(self), self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options besides the program and its weights."""
        return {"threads": self.threads}

    def __repr__(self) -> str:
        outputs = ", ".join(map(str, self.outputs))
        return f"<Relay executable ({self.signature}) -> ({outputs})>"


def expect_positive(**counts: int) -> None:
    """Refuse counts that are not positive."""
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise RelayError(f"`{name}` is a number from 1 on, found {count!r}")


def refusal(
    message: str, expected: object, found: object = None, hint: str | None = None
) -> EvaluationError:
    """The error of a call or a change of weights."""
    seen = None if found is None else str(found)
    return EvaluationError.of(message, expected=str(expected), found=seen, hint=hint)
