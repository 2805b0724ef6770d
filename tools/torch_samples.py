"""Samples of torch's own operator database as exported programs, and what eager torch gives.

    entry = entries()["nn.functional.softmax"]
    program = exported(samples_of(entry, torch.float32)[:20])

The tensors of a sample are the inputs of a small module, all other arguments are its constants.
Several samples become one program: exporting takes longer than running.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree

from relay.nd import NDArray
from tools.torch_core_samples import CORE, FIRST

# results that are unique only up to a sign or a phase: their entries say what to compare
FACTORIZATIONS = ("linalg.", "svd", "qr", "pca_lowrank", "geqrf", "lu")


def sorted_by_places(x: torch.Tensor, dim: int = -1, *args: Any, **kwargs: Any) -> torch.Tensor:
    """What `argsort` sorts: the places of equal elements are anybody's."""
    if not kwargs:
        places = torch.argsort(x, dim, *args)
    else:  # with a keyword torch takes all of them as keywords only
        places = torch.argsort(x, dim=dim, **kwargs)
    return torch.gather(x, dim, places) if x.dim() else x


def sorted_and_by_places(
    x: torch.Tensor, *args: Any, **kwargs: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `sort` gives, and what its places sort."""
    found, places = torch.sort(x, *args, **kwargs)
    dim = kwargs.get("dim", args[0] if args else -1)
    return found, torch.gather(x, dim, places) if x.dim() else x


def smallest_by_places(
    x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `kthvalue` gives, and what lies at its places."""
    found, places = torch.kthvalue(x, k, dim, keepdim)
    if not x.dim():
        return found, x
    taken = torch.gather(x, dim, places if keepdim else places.unsqueeze(dim))
    return found, taken if keepdim else taken.squeeze(dim)


# calls whose results say only what is unique of them, unless they are stable
UNSTABLE: Mapping[str, Callable[..., Any]] = {
    "argsort": sorted_by_places,
    "sort": sorted_and_by_places,
    "kthvalue": smallest_by_places,
}


@dataclass(frozen=True)
class Slot:
    """The place of a tensor among the inputs of a module."""

    place: int


@dataclass(frozen=True)
class Sample:
    """One call of an operator."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    process: Callable[[Any], Any] | None = None  # what is unique of the results


class NotExported(Exception):
    """torch does not export a sample."""


class Calls(torch.nn.Module):
    """A module that calls operators and returns all their results."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        super().__init__()
        self.copies = False  # whether to copy the inputs, for an operator that writes to them
        self.tensors: list[torch.Tensor] = []
        self.calls = [self._prepared(sample) for sample in samples]

    def _prepared(self, sample: Sample) -> tuple[Sample, list[Any], Any]:
        leaves, spec = pytree.tree_flatten((sample.args, dict(sample.kwargs)))
        for place, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                leaves[place] = Slot(len(self.tensors))
                self.tensors.append(leaf.detach())
        return sample, leaves, spec

    def forward(self, *tensors: torch.Tensor) -> list[Any]:
        results: list[Any] = []
        if self.copies:
            tensors = tuple(one.clone() for one in tensors)
        for sample, leaves, spec in self.calls:
            given = [tensors[one.place] if isinstance(one, Slot) else one for one in leaves]
            args, kwargs = pytree.tree_unflatten(given, spec)
            found = sample.function(*args, **kwargs)
            if sample.process is not None:
                found = sample.process(found)
            results += [one for one in pytree.tree_leaves(found) if one is not None]
        return results


@dataclass(frozen=True)
class Case:
    """An exported program with its inputs and the results of eager torch, all of them and those
    that are no constants."""

    program: Any
    inputs: tuple[torch.Tensor, ...]
    eager: Callable[[], list[torch.Tensor]]
    kept: list[bool]


@dataclass(frozen=True)
class Core:
    """An entry of our own, for a core operator that the database has none of."""

    name: str
    arguments: Sequence[Callable[[], tuple[Any, ...]]]


@cache
def entries() -> dict[str, Any]:
    """The entries of the database by name and variant, and our own as `core.` and the name."""
    from torch.testing._internal.common_methods_invocations import op_db

    found = {".".join(filter(None, (one.name, one.variant_test_name))): one for one in op_db}
    return {**found, **{f"core.{name}": Core(name, makers) for name, makers in CORE.items()}}


def samples_of(entry: Any, dtype: torch.dtype, most: int | None = None) -> list[Sample]:
    """The samples of an entry for an element type, the same ones every time."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    if isinstance(entry, Core):
        operator = getattr(torch.ops.aten, entry.name)
        made = entry.arguments if dtype == torch.float32 else ()
        return [Sample(operator, make(), {}, FIRST.get(entry.name)) for make in made]
    if dtype not in entry.supported_dtypes("cpu"):
        return []
    is_factorization = entry.name.startswith(FACTORIZATIONS)
    found = []
    with warnings.catch_warnings(action="ignore"):
        # all at once: a generator that is left open may change torch's state in the middle of an
        # export
        for one in [*entry.sample_inputs("cpu", dtype, requires_grad=False)][:most]:
            process = one.output_process_fn_grad if is_factorization else None
            is_stable = bool(one.kwargs.get("stable"))
            function = entry.op if is_stable else UNSTABLE.get(entry.name, entry.op)
            sample = Sample(function, (one.input, *one.args), one.kwargs, process)
            if all(tensor.layout is torch.strided for tensor in tensors_of(sample)):
                found.append(sample)
    return found


def tensors_of(sample: Sample) -> list[torch.Tensor]:
    """The tensors among the arguments of a sample."""
    leaves = pytree.tree_leaves((sample.args, dict(sample.kwargs)))
    return [one for one in leaves if isinstance(one, torch.Tensor)]


def exported(samples: Sequence[Sample]) -> Case:
    """The samples as one exported program."""
    module = Calls(samples)
    inputs = tuple(module.tensors)
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        copies = [one.clone() for one in inputs]
        versions = [one._version for one in copies]
        module(*copies)
        module.copies = versions != [one._version for one in copies]
        program = _program(module, inputs)
        if any(one.kind == OutputKind.USER_INPUT_MUTATION for one in outputs_of(program)):
            module.copies = True  # torch does not count all writes as a version
            program = _program(module, inputs)
    kept = [
        not isinstance(one.arg, torch.export.graph_signature.ConstantArgument)
        for one in outputs_of(program)
    ]

    def eager() -> list[torch.Tensor]:
        with warnings.catch_warnings(action="ignore"), torch.no_grad():
            return [*map(as_tensor, module(*inputs))]

    return Case(program, inputs, eager, kept)


def _program(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    try:
        return torch.export.export(module, inputs, strict=False).run_decompositions({})
    except Exception as error:  # whatever torch says
        raise NotExported(f"{type(error).__name__}: {error}") from error


def outputs_of(program: Any) -> list[Any]:
    """What is said of the outputs of a program."""
    return list(program.graph_signature.output_specs)


def pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of floats."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def is_random(program: Any) -> bool:
    """Whether a program draws random numbers."""
    return any(_tagged(node.target, torch.Tag.nondeterministic_seeded) for node in _calls(program))


def is_unset(program: Any) -> bool:
    """Whether results have memory that nothing was written to."""
    names = ("aten.empty", "aten.new_empty")
    return any(str(node.target).startswith(names) for node in _calls(program))


def _calls(program: Any) -> list[Any]:
    return [node for node in program.graph.nodes if node.op == "call_function"]


def _tagged(target: Any, tag: torch.Tag) -> bool:
    return isinstance(target, torch._ops.OpOverload) and tag in target.tags


def as_tensor(value: Any) -> torch.Tensor:
    """A result as a tensor of torch, complex numbers as pairs."""
    if isinstance(value, NDArray):
        value = value.numpy()
    if isinstance(value, torch.Tensor):
        return pairs(value)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    if isinstance(value, bool | int | complex):
        return pairs(torch.as_tensor(value))
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return pairs(torch.from_numpy(array.copy()))


# relative to a number, and to the largest number of a result
TOLERANCES = {
    torch.float16: (4e-3, 2e-3),
    torch.bfloat16: (4e-2, 2e-2),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-7, 1e-8),
}
# entries whose results amplify rounding, and by how much
LOOSE: Mapping[str, float] = {
    # torch itself is off by 4e-7 and 9e-7 in float64 (SciPy says so)
    "special.bessel_j0": 100,
    "special.bessel_y1": 100,
}
# entries whose bytes may differ by 1: torch rounds weights to integers of few bits first
ROUNDED = re.compile(r"_upsample_bilinear2d_aa|nn\.functional\.(interpolate\.bi|upsample_bi)")


def difference(mine: Sequence[torch.Tensor], theirs: Sequence[torch.Tensor], name: str = "") -> str:
    """What differs between results; the empty string if they agree."""
    if len(mine) != len(theirs):
        return f"{len(mine)} results instead of {len(theirs)}"
    for one, other in zip(mine, theirs, strict=True):
        if wrong := wrong_type(one, other):
            return wrong
        rtol, atol = TOLERANCES.get(other.dtype, (0.0, 0.0))
        looser = LOOSE.get(name, 1)
        if other.dtype == torch.uint8 and ROUNDED.match(name):
            atol = 1
        if other.is_floating_point() and other.numel():
            finite = other[torch.isfinite(other)].abs().double()
            atol *= max(1.0, float(finite.max()) if finite.numel() else 0.0)
        try:
            torch.testing.assert_close(
                one, other, rtol=rtol * looser, atol=atol * looser, equal_nan=True
            )
        except AssertionError as error:
            return " ".join(str(error).split())
    return ""


def wrong_type(mine: torch.Tensor, theirs: torch.Tensor) -> str:
    """What differs between the types of results."""
    if mine.dtype != theirs.dtype:
        return f"{mine.dtype} instead of {theirs.dtype}"
    if mine.shape != theirs.shape:
        return f"shape {tuple(mine.shape)} instead of {tuple(theirs.shape)}"
    return ""


DRAWS = 8  # runs of torch that a distribution is made of
UNLIKELY = 1e-5  # this probable, two samples of one distribution differ so much


def other_distribution(
    mine: Sequence[torch.Tensor], theirs: Sequence[Sequence[torch.Tensor]]
) -> str:
    """What differs between the distributions of results and of those of several runs of torch."""
    from scipy.stats import ks_2samp

    for own, others in zip(mine, zip(*theirs, strict=True), strict=True):
        if wrong := wrong_type(own, others[0]):
            return wrong
        left = own.double().flatten().numpy()
        right = torch.cat([one.double().flatten() for one in others]).numpy()
        if len(left) and ks_2samp(left, right).pvalue < UNLIKELY:
            return f"another distribution: {left[:4]}… instead of {right[:4]}…"
    return ""
