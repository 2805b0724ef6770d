"""`torch.compile(model, backend="relay")`.

    fast = torch.compile(model, backend="relay", options={"threads": 4})

torch.compile cuts Python into graphs, with guards on what it assumed; AOTAutograd makes functions
of ATen of them, which neither write their inputs nor give views of them, and puts the writes and
views around. Such a function becomes an executable. Weights are arguments of it, so that every
change of a parameter is seen; with `options={"freezing": True}` they are constants, which are laid
out once.

Under grad mode AOTAutograd differentiates the graph and cuts it in two: a forward graph, which also
gives what the backward graph needs, and that. Both are compiled.

What cannot be compiled runs in PyTorch as it is, with one message of the logger `relay`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.fx import GraphModule

from relay.errors import RelayError, did_you_mean
from relay.executors.convention import Argument, Convention
from relay.executors.make import make_executable
from relay.frontend.pytorch.drawing import Draw, without_draws
from relay.frontend.pytorch.graphs import Imported, decompositions, from_graph
from relay.frontend.pytorch.views import Result, without_views
from relay.immutable import frozen

log = logging.getLogger("relay")

# Runs a graph: a function of a list of arguments, which gives a list.
Run = Callable[..., Any]

# The modes of torch.compile: kernels are chosen by what they cost in all of them.
MODES: Final = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
OPTIONS: Final = ("level", "threads", "exact", "checked", "target", "cache", "stack", "memory")


def backend(
    graph: GraphModule,
    inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Run:
    """The backend: a function that does what `graph` does."""
    chosen = _options(mode, options)
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    make = aot_autograd(
        fw_compiler=lambda inner, _: compiled_graph(inner, chosen, saving=True),
        bw_compiler=lambda inner, _: _backward(inner, chosen),
        inference_compiler=lambda inner, _: compiled_graph(inner, chosen, freezing=chosen.freezing),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=decompositions(),
    )
    try:
        return make(graph, inputs)
    except RelayError as error:
        log.warning("torch.compile: a graph runs in PyTorch: %s", error)
        return graph.forward


def _backward(graph: GraphModule, chosen: Chosen) -> Run:
    """A backward graph, whose forward graph has been compiled."""
    try:
        return compiled_graph(graph, chosen)
    except RelayError as error:
        from torch._functorch._aot_autograd.utils import make_boxed_func

        log.warning("torch.compile: a backward graph runs in PyTorch: %s", error)
        run: Run = make_boxed_func(graph.forward)
        return run


@frozen
class Chosen:
    """The options of a call of torch.compile."""

    freezing: bool
    compile: Mapping[str, Any]  # those of `relay.compile`


def _options(mode: str | None, options: Mapping[str, Any] | None) -> Chosen:
    if mode is not None and mode not in MODES:
        raise RelayError(f"there is no mode {mode!r}; there are {', '.join(MODES)}")
    given = dict(options or {})
    freezing = given.pop("freezing", False)
    for name in given:
        if name not in OPTIONS:
            known = ", ".join(("freezing", *OPTIONS))
            hint = did_you_mean(str(name), OPTIONS) or f"there are {known}"
            raise RelayError(f"the backend has no option {name!r}; {hint}")
    return Chosen(bool(freezing), given)


# --- graphs --------------------------------------------------------------------------------------


def compiled_graph(
    graph: GraphModule, chosen: Chosen, *, freezing: bool = False, saving: bool = False
) -> Run:
    """A functional graph of ATen, compiled; its arguments come as one list.

    With `saving`, the results behind those of the function are for the backward graph only.
    """
    from torch._guards import TracingContext
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    apart, results = without_views(graph)
    plain, draws = without_draws(apart)
    context = TracingContext.try_get()
    known = context.fw_metadata if context is not None else None
    kept = known.static_input_indices if freezing and known is not None else ()
    seen = known.num_forward if saving and known is not None else len(results)
    shown = {one.compiled for one in results[:seen]}
    with unset_fake_temporarily():
        imported = from_graph(plain)
        made = CompiledGraph(
            plain, imported, results, draws, shown, chosen.compile, frozenset(kept)
        )
        if not made.frozen:
            made.compile({})
    return made


class CompiledGraph:
    """A graph as an executable. `frozen` are the arguments that are constants: their values are
    those of the first call, and are replaced when torch says that they were written."""

    def __init__(
        self,
        graph: GraphModule,
        imported: Imported,
        results: Sequence[Result],
        draws: Sequence[Draw],
        shown: Collection[int],
        options: Mapping[str, Any],
        frozen: frozenset[int],
    ) -> None:
        # AOTAutograd gives the arguments as one list, which may be emptied; it looks at the object
        self._boxed_call = True
        self.graph = graph
        self.imported = imported
        self.results = results
        self.draws = draws
        self.options = options
        laid_out = enumerate(_results(graph))
        self.orders = [_order(one) if number in shown else None for number, one in laid_out]
        names = dict(zip(imported.taken, imported.names, strict=True))
        self.frozen = {number: name for number, name in names.items() if number in frozen}
        self.taken = [number for number in imported.taken if number not in frozen]
        self.versions: dict[int, Any] = {}
        self.executable: Any = None
        self.failed = False

    def compile(self, weights: Mapping[str, Any]) -> None:
        """Make the executable."""
        from relay.driver import Compiled, compile_program

        own = ("threads", "stack", "memory")
        rest = {name: value for name, value in self.options.items() if name not in own}
        made: Compiled = compile_program(self.imported.module, weights, **rest)
        convention = made.convention
        if convention is not None and weights:
            left = [one for one in convention.arguments if one.name not in weights]
            numbered = [Argument(one.name, one.structure, n) for n, one in enumerate(left)]
            convention = Convention(tuple(numbered), convention.result)
        limits = {name: self.options[name] for name in own if name in self.options}
        parts = (made.program, made.code, made.weights)
        self.executable = make_executable(*parts, convention=convention, **limits)

    def __call__(self, args: list[Any]) -> list[Any]:
        given = list(args)
        args.clear()
        given += [draw(given) for draw in self.draws]
        found = self._run(given)
        made = []
        for result in self.results:
            value = found[result.compiled]
            for step in result.steps:
                value = step(value, given)
            made.append(value)
        return made

    def _run(self, given: Sequence[Any]) -> list[Any]:
        if self.failed:
            return list(self.graph(*given))
        try:
            if self.frozen:
                self._freeze(given)
            found = self.executable(*[given[number] for number in self.taken])
        except RelayError as error:
            # a functional graph: it can run once more, and PyTorch has its own words for errors
            self.failed = self.executable is None
            log.warning("torch.compile: a call runs in PyTorch: %s", error)
            return list(self.graph(*given))
        return [_laid_out(one, order) for one, order in zip(found, self.orders, strict=True)]

    def _freeze(self, args: Sequence[Any]) -> None:
        """Take the constants over at the first call, and where they have changed since."""
        changed = {}
        for number in self.frozen:
            tensor = args[number]
            version = (id(tensor), tensor.data_ptr(), _version(tensor))
            if self.versions.get(number) != version:
                self.versions[number] = version
                changed[self.frozen[number]] = tensor.detach()
        if self.executable is None:
            self.compile(changed)
        elif changed:
            self.executable.set_params(changed)


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _results(graph: GraphModule) -> list[Any]:
    """What torch says about the results of a graph."""
    found = graph.graph.output_node().args[0]
    given = found if isinstance(found, list | tuple) else [found]
    return [getattr(one, "meta", {}).get("val") for one in given]


def _order(value: Any) -> tuple[int, ...] | None:
    """The axes of a result in the order of its strides; None for row by row."""
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return None
    try:
        if value.is_contiguous():
            return None
        strides = [int(stride) for stride in value.stride()]
        order = sorted(range(value.dim()), key=lambda axis: -strides[axis])
    except (RuntimeError, TypeError):  # strides that only a run knows
        return None
    return None if order == [*range(value.dim())] else tuple(order)


def _laid_out(value: Any, order: tuple[int, ...] | None) -> Any:
    """A result as PyTorch lays it out: later code may rely on that."""
    if isinstance(value, np.ndarray):  # of a graph without inputs
        value = torch.from_numpy(value)
    if order is None:
        return value
    return torch.empty_permuted(value.shape, order, dtype=value.dtype).copy_(value)
