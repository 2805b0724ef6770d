"""Selects the schedule of each stage.

Cheap stages are inlined. The others are clustered around the stages that write results: a sum of
products in the tiles of its reader, reductions in the rows of theirs; what cannot be computed
inside a reader is computed before it. Outputs of one shape share their loops.

Stages that depend on constants only (packed weights) become separate kernels, which run once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relay import tree
from relay.target.kernel import Scheduled
from relay.target.llvm.schedules import PARALLEL_ELEMENTS
from relay.target.llvm.schedules.contraction import (
    Form,
    contraction,
    matching_loops,
    recognize,
    uncast,
)
from relay.target.llvm.schedules.contraction import plans as contraction_plans
from relay.target.llvm.schedules.depthwise import depthwise, is_depthwise
from relay.target.llvm.schedules.elementwise import elementwise
from relay.target.llvm.schedules.grouped import grouped, is_grouped
from relay.target.llvm.schedules.hoist import constants_only, hoist, needed
from relay.target.llvm.schedules.integers import use_dot_products
from relay.target.llvm.schedules.plan import RULES, Plan
from relay.target.llvm.schedules.rows import rows
from relay.target.llvm.schedules.small import small
from relay.target.llvm.schedules.winograd import WINOGRAD, Blocks, Convolution, tiling
from relay.target.llvm.schedules.winograd import plans as winograd_plans
from relay.target.llvm.schedules.winograd_loops import winograd
from relay.target.llvm.target import LLVMTarget
from relay.te.compute import Computation, Procedure, Tensor
from relay.te.expr import Binary, Call, Expr, Read, Var, index
from relay.te.loops import serial
from relay.te.schedule import (
    Schedule,
    Stage,
    cache_write,
    create,
    facts,
    inline,
    join,
)

ONE = index(1)


@dataclass
class _Cluster:
    """A stage that writes memory, and the stages computed in its loops, in order."""

    root: str
    inside: list[str] = field(default_factory=list)
    form: Form | None = None  # if the inner stage is a sum of products
    image: str = ""  # the stage that the only inner stage reads through windows
    tiling: tuple[Convolution, Blocks] | None = None  # of Winograd's algorithm, for that sum
    parts: str = ""  # the sums of products that the only inner stage scales and adds up


def choose(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    target: LLVMTarget,
    constants: Sequence[Tensor] = (),
    *,
    threads: bool = True,
    exact: bool = False,
    plan: Plan = RULES,
) -> Scheduled:
    """The schedules that compute `outputs` from `inputs`, of which `constants` never change;
    `exact`: by direct sums only; `plan` decides where it says something, else the rules here."""
    known = {id(tensor) for tensor in constants}
    s, clusters = _clustered(outputs, inputs, target, known)
    for cluster in clusters:
        if cluster.form is not None and not exact and not target.is_small:
            axes = s[cluster.inside[0]].computation.axes
            cluster.tiling = tiling(cluster.form, axes, target, known, plan)
        s = _schedule(s, cluster, target, known, threads, plan)
    before, main = hoist(s, known)
    algorithm = WINOGRAD if any(cluster.tiling for cluster in clusters) else ""
    return Scheduled(tuple(before), main, algorithm)


def plans(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    target: LLVMTarget,
    constants: Sequence[Tensor] = (),
    *,
    exact: bool = False,
) -> tuple[Plan, ...]:
    """Other plans for the same kernel that may be faster, each once."""
    known = {id(tensor) for tensor in constants}
    s, clusters = _clustered(outputs, inputs, target, known)
    found: list[Plan] = []
    for cluster in clusters:
        if cluster.form is None:
            continue
        (name,) = cluster.inside
        axes = s[name].computation.axes
        if not exact:
            found += winograd_plans(cluster.form, axes, target, known)
        matched = matching_loops(s, cluster.root, name)
        direct = exact or tiling(cluster.form, axes, target, known) is None
        if direct and matched is not None:
            found += contraction_plans(matched[0], name, cluster.form, target)
    return tuple(dict.fromkeys(found))


def _clustered(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], target: LLVMTarget, known: set[int]
) -> tuple[Schedule, list[_Cluster]]:
    s = _join_outputs(_localize_reductions(inline_cheap(create(outputs, inputs), known)))
    return _clusters(use_dot_products(s, target, known), known)


# --- inlining


def inline_cheap(s: Schedule, known: set[int]) -> Schedule:
    """Inline stages that are not worth storing, nor computing once because they are `known`."""
    s = _inline_read_once(s)
    for name in [stage.name for stage in s.stages]:
        stage = s[name]
        if not isinstance(stage.op, Computation) or stage.is_reduction:
            continue
        readers = s.readers(name)
        if not readers or any(isinstance(one.op, Procedure) for one in readers):
            continue
        if not _worth_keeping(s, stage, readers) and not _worth_hoisting(s, stage, readers, known):
            s = inline(s, name)
    return s


def _inline_read_once(s: Schedule) -> Schedule:
    """Inline stages of which every element is read once, however expensive.

    From the last one, so that the paths of a diamond are one reader when its start is visited.
    """
    for name in reversed([stage.name for stage in s.stages]):
        stage = s[name]
        if not isinstance(stage.op, Computation) or stage.is_reduction or s.is_output(stage):
            continue
        match s.readers(name):
            case [Stage(op=Computation(reduction=None)) as reader]:
                made = {id(tensor) for tensor in stage.tensors}
                places = {read.indices for read in facts.reads(reader) if id(read.source) in made}
                if len(places) * facts.points(reader) <= facts.elements(stage):
                    s = inline(s, name)
    return s


def _worth_keeping(s: Schedule, stage: Stage, readers: Sequence[Stage]) -> bool:
    if any(_is_factor(stage, reader) for reader in readers):
        # a padded image is read many times; a transposed one can be read in place
        return not all(isinstance(uncast(body), Read) for body in stage.computation.bodies)
    if s.is_output(stage) and not any(one.is_reduction for one in readers):
        return False
    uses = sum(facts.points(reader) for reader in readers)
    return uses > facts.elements(stage) * 3 // 2 and facts.is_expensive(stage)


def _worth_hoisting(s: Schedule, stage: Stage, readers: Sequence[Stage], known: set[int]) -> bool:
    """Whether a stage divides constants, or calls functions of them, and its readers compute other
    things with it."""
    parts = [part for body in stage.computation.bodies for part in tree.postorder(body)]
    slow = any(isinstance(part, Call) or _divides(part) for part in parts)
    if not known or not stage.inputs or not slow:
        return False
    return constants_only(s, stage.name, known) and not any(
        constants_only(s, one.name, known) for one in readers
    )


def _divides(part: Expr) -> bool:
    return isinstance(part, Binary) and part.op == "div"


def _is_factor(stage: Stage, reader: Stage) -> bool:
    """Whether the stage is a factor of a sum of products."""
    reduction = reader.computation.reduction
    if reduction is None or len(reduction.values) != 1:
        return False
    value = reduction.values[0]
    if not (isinstance(value, Binary) and value.op == "mul"):
        return False
    made = {id(tensor) for tensor in stage.tensors}
    factors = [uncast(value.left), uncast(value.right)]
    return any(isinstance(one, Read) and id(one.source) in made for one in factors)


def _localize_reductions(s: Schedule) -> Schedule:
    """Compute reductions that are outputs in a local stage, which the output copies."""
    for stage in s.stages:
        if stage.is_reduction and s.is_output(stage):
            s = cache_write(s, stage.name, f"{stage.name}.acc")
    return s


def _join_outputs(s: Schedule) -> Schedule:
    """Join independent outputs of one shape."""
    names = [
        stage.name
        for stage in s.stages
        if s.is_output(stage) and isinstance(stage.op, Computation) and not stage.is_reduction
    ]
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            if first in s.names and second in s.names and _can_join(s, s[first], s[second]):
                s = join(s, first, second)
    return s


def _can_join(s: Schedule, first: Stage, second: Stage) -> bool:
    shapes = [[axis.extent for axis in one.computation.axes] for one in (first, second)]
    if shapes[0] != shapes[1]:
        return False
    # nothing between the two may depend on the first
    return first.name not in needed(s, second) and not s.readers(first.name)


# --- clusters


def _clusters(s: Schedule, known: set[int]) -> tuple[Schedule, list[_Cluster]]:
    clusters: list[_Cluster] = []
    home: dict[str, _Cluster] = {}  # stage -> the cluster it is computed in
    for name in reversed([stage.name for stage in s.stages]):
        stage = s[name]
        readers = s.readers(name)
        around = {id(home[one.name]): home[one.name] for one in readers if one.name in home}
        for_images = any(one.name not in home for one in readers)  # which have no cluster
        alone = s.is_output(stage) or isinstance(stage.op, Procedure) or for_images
        if alone or len(around) != 1:
            s, cluster = _new_cluster(s, name, known)
        else:
            (candidate,) = around.values()
            if _can_enter(s, stage, candidate, known):
                candidate.inside.insert(0, name)
                form = recognize(s, name, known) if stage.is_reduction else None
                candidate.form = form if _is_product(s, candidate, name, form) else candidate.form
                home[name] = candidate
                continue
            if _is_grouped(s, stage, candidate):
                candidate.parts = name  # what else it reads is computed before
                home[name] = candidate
                continue
            if _is_image(s, stage, candidate, known):
                candidate.image = name  # its inputs are computed before
                continue
            s, cluster = _new_cluster(s, name, known)
        clusters.append(cluster)
        for member in (cluster.root, *cluster.inside):
            home[member] = cluster
    clusters.reverse()
    return s, [part for cluster in clusters for part in _split_without_reduction(s, cluster)]


def _split_without_reduction(s: Schedule, cluster: _Cluster) -> list[_Cluster]:
    """Split clusters without reductions: stored stages are computed before their readers."""
    if any(s[name].is_reduction for name in cluster.inside):
        return [cluster]
    return [*map(_Cluster, cluster.inside), _Cluster(cluster.root)]


def _new_cluster(s: Schedule, name: str, known: set[int]) -> tuple[Schedule, _Cluster]:
    stage = s[name]
    if not stage.is_reduction:
        return s, _Cluster(name)
    inner = f"{name}.acc"
    s = cache_write(s, name, inner)
    cluster = _Cluster(name, [inner])
    form = recognize(s, inner, known)
    cluster.form = form if _is_product(s, cluster, inner, form) else None
    return s, cluster


def _is_product(s: Schedule, cluster: _Cluster, name: str, form: Form | None) -> bool:
    return (
        form is not None
        and cluster.inside == [name]
        and matching_loops(s, cluster.root, name) is not None
    )


def _can_enter(s: Schedule, stage: Stage, cluster: _Cluster, known: set[int]) -> bool:
    """Whether a stage can be computed in the loops of a cluster without recomputation."""
    root = s[cluster.root]
    if isinstance(root.op, Procedure) or cluster.form is not None:
        return False
    if not root.computation.axes:  # scalars
        return not stage.computation.axes
    if known and constants_only(s, stage.name, known) and not constants_only(s, root.name, known):
        return False  # it is hoisted
    form = recognize(s, stage.name, known) if stage.is_reduction else None
    if form is not None:
        alone = not cluster.inside
        return alone and matching_loops(s, cluster.root, stage.name) is not None
    if not stage.is_reduction and _reads_a_product(s, root, known):
        return False  # the product is computed in tiles, if it is alone
    return _is_row(s, stage)


def _reads_a_product(s: Schedule, root: Stage, known: set[int]) -> bool:
    """Whether a stage is the only reader of a sum of products, with matching loops."""
    below = [s.stage_of(tensor) for tensor in root.inputs]
    return any(
        one is not None
        and one.is_reduction
        and [reader.name for reader in s.readers(one.name)] == [root.name]
        and recognize(s, one.name, known) is not None
        and matching_loops(s, root.name, one.name) is not None
        for one in below
    )


def _is_image(s: Schedule, stage: Stage, cluster: _Cluster, known: set[int]) -> bool:
    """Whether only the one reduction of a cluster reads the stage: then it can be computed a few
    lines at a time, with little recomputation."""
    readers = s.readers(stage.name)
    if [reader.name for reader in readers] != cluster.inside or not readers[0].is_reduction:
        return False
    if stage.is_reduction or cluster.form is not None or cluster.image:
        return False
    return not constants_only(s, stage.name, known)


def _is_grouped(s: Schedule, stage: Stage, cluster: _Cluster) -> bool:
    """Whether the only reduction of a cluster adds up the sums of products of a stage, scaled."""
    readers = s.readers(stage.name)
    if [reader.name for reader in readers] != cluster.inside or cluster.parts:
        return False
    matched = matching_loops(s, cluster.root, readers[0].name)
    return matched is not None and is_grouped(s, stage, readers[0])


def _is_row(s: Schedule, stage: Stage) -> bool:
    """Whether every reader reads the stage at its own loop variables."""
    made = {id(tensor) for tensor in stage.tensors}
    count = len(stage.computation.axes)
    if stage.is_reduction and count == 0:
        return False
    for reader in s.readers(stage.name):
        simplify = facts.simplifier(reader)
        own = {loop.var for loop in reader.loops if not loop.reduces}
        for read in facts.reads(reader):
            if id(read.source) not in made:
                continue
            places = [
                simplify(place)
                for place, extent in zip(read.indices, read.source.shape, strict=True)
                if extent != ONE  # the only index is 0
            ]
            if stage.is_reduction:
                if not all(isinstance(place, Var) and place in own for place in places):
                    return False
            elif not all(isinstance(place, Var) for place in places):
                return False
    return True


# --- schedules


def _schedule(
    s: Schedule,
    cluster: _Cluster,
    target: LLVMTarget,
    known: set[int],
    threads: bool,
    plan: Plan,
) -> Schedule:
    root = s[cluster.root]
    if isinstance(root.op, Procedure):
        if threads and facts.touched(root) >= PARALLEL_ELEMENTS:
            return s
        return s.with_stage(replace(root, op=replace(root.op, body=serial(root.op.body))))
    if target.is_small and len(cluster.inside) == 1 and not cluster.parts:
        simple = small(s, cluster.root, cluster.inside[0])
        if simple is not None:
            image = cluster.image
            return elementwise(simple, image, target, threads=False) if image else simple
    if cluster.form is not None:
        (name,) = cluster.inside
        matched = matching_loops(s, cluster.root, name)
        assert matched is not None
        before = {loop.name for loop in s[cluster.root].loops}
        s, loops = matched
        if cluster.tiling is not None:
            found = (*cluster.tiling, loops, target)
            return winograd(s, cluster.root, name, *found, threads=threads, plan=plan)
        where = (cluster.root, name, cluster.form, loops)
        split = {loop.name for loop in s[cluster.root].loops} - before
        return contraction(s, *where, target, known, split=split, threads=threads, plan=plan)
    if cluster.parts:
        (name,) = cluster.inside
        matched = matching_loops(s, cluster.root, name)
        assert matched is not None
        s, loops = matched
        return grouped(s, cluster.root, name, cluster.parts, loops, target, known, threads=threads)
    if len(cluster.inside) == 1 and is_depthwise(s, cluster.inside[0]):
        (name,) = cluster.inside
        if (own := _image_loops(s, cluster.root, name)) is not None:
            s, loops = own
            how = (loops, cluster.image, target)
            return depthwise(s, cluster.root, name, *how, threads=threads)
    if cluster.inside:
        s = _without_instructions(s, cluster.inside)
        return rows(s, cluster.root, cluster.inside, target, image=cluster.image, threads=threads)
    return elementwise(s, cluster.root, target, threads=threads)


def _image_loops(s: Schedule, root: str, name: str) -> tuple[Schedule, list[str]] | None:
    """The loops of the root for the axes of windows of channels, if it has a loop for each."""
    found = matching_loops(s, root, name)
    return found if found is not None and len(found[1]) > 1 else None


def _without_instructions(s: Schedule, names: Sequence[str]) -> Schedule:
    """Remove dot-product instructions, which need tiles."""
    for name in names:
        loops = tuple(replace(loop, instruction=None) for loop in s[name].loops)
        s = s.with_stage(replace(s[name], loops=loops))
    return s
