"""Write the table of `docs/passes.md`: every pass in one line, from its file.

    python docs/generate_passes.py

What stands above the table is written by hand. Passes stand in the groups below; one that is in
none of them comes at the end, so that nothing is left out.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from relay.pipeline.levels import STRAIGHT_LINE
from relay.pipeline.whole import WHOLE_PROGRAM
from relay.transform import Pass, Sequential, catalogue
from relay.transform.base import find_pass

PAGE = Path(__file__).with_name("passes.md")
MARK = "<!-- from here on by docs/generate_passes.py -->\n"

GROUPS = {
    "Less to compute": (
        "FoldConstant",
        "EliminateCommonSubexpr",
        "DeadCodeElimination",
        "SimplifyInference",
        "ExpandOperators",
        "SimplifyExpr",
        "SimplifyExprPostAlterOp",
        "CanonicalizeOps",
        "CanonicalizeCast",
        "DivToMul",
        "FoldScaleAxis",
        "BackwardFoldScaleAxis",
        "ForwardFoldScaleAxis",
        "FoldExplicitPadding",
        "FlattenAtrousConv",
        "CombineParallelConv2D",
        "CombineParallelDense",
        "CombineParallelBatchMatmul",
        "BatchingOps",
        "LiftWeights",
        "DynamicToStatic",
        "PartialEvaluate",
    ),
    "Kernels": ("RecognizeAttention", "FuseOps", "HandOverConstants", "DefuseOps", "SplitArgs"),
    "Layouts and forms for a target": ("AlterOpLayout", "ConvertLayout", "Legalize"),
    "Quantized networks": ("FakeQuantizationToInteger", "QnnLegalize", "QnnCanonicalize"),
    "Other numbers": ("FastMath", "ToMixedPrecision"),
    "Other weights and sizes": (
        "DenseToSparse",
        "Conv2dToSparse",
        "Conv2dToSparse2",
        "SimplifyFCTranspose",
        "ChangeBatch",
        "FlexibleShapeDispatch",
    ),
    "Memory": (
        "LiftConstants",
        "RemoveStandaloneReshapes",
        "ManifestAlloc",
        "ManifestLifetimes",
        "MemoryPlan",
        "AnnotateUsedMemory",
        "Rematerialize",
    ),
    "When things are computed": (
        "ToBasicBlockNormalForm",
        "ToANormalForm",
        "ToGraphNormalForm",
        "ToCPS",
    ),
    "Functions": (
        "RemoveUnusedFunctions",
        "Inline",
        "AutoInline",
        "EtaExpand",
        "LambdaLift",
        "Monomorphize",
        "SpecializeCalls",
        "BindConstantArguments",
        "Defunctionalization",
    ),
    "Other compilers": (
        "MergeComposite",
        "InlineComposites",
        "AnnotateTarget",
        "MergeCompilerRegions",
        "PartitionGraph",
        "OutlineCompilerFunctionsWithExistingGlobalSymbols",
        "MarkCompilerFunctionsAsExtern",
        "InlineCompilerFunctionsBoundTo",
    ),
    "Looking on, and running others": (
        "InferType",
        "AnnotateSpans",
        "CapturePostDfsIndexInSpans",
        "SpanCheck",
        "CheckIndices",
        "LabelOps",
        "PrintIR",
        "Sequential",
        "ApplyPassToFunction",
    ),
}
REST = "Others"


def passes() -> dict[str, Any]:
    """Every pass by name: classes, and functions that make one."""
    found = {name: catalogue.find(name) for name in sorted(catalogue.exports())}
    return {name: offered for name, offered in found.items() if _is_pass(offered)}


def _is_pass(offered: Any) -> bool:
    if isinstance(offered, type):
        return issubclass(offered, Pass)
    if not inspect.isfunction(offered):
        return False
    made = str(inspect.signature(offered).return_annotation).rpartition(".")[2]
    return made in ("Pass", "Sequential", "FunctionPass", "ModulePass")


def groups() -> dict[str, list[str]]:
    """The names of all passes, by group and in its order."""
    names = passes()
    grouped = {title: [n for n in members if n in names] for title, members in GROUPS.items()}
    placed = {name for members in grouped.values() for name in members}
    grouped[REST] = [name for name in names if name not in placed]
    return {title: members for title, members in grouped.items() if members}


def summary(name: str, offered: Any) -> str:
    """What a pass is for: the first line of its file, or its own where it shares the file."""
    home = inspect.getmodule(offered)
    own = catalogue.file_name(name) == home.__name__.rpartition(".")[2]
    text = inspect.getdoc(home if own else offered).split("\n\n")[0]
    sentence = re.split(r":(?:\s|$)|\. |; nothing is changed", " ".join(text.split()))
    first = sentence[1] if sentence[0] == name else sentence[0]
    return first.rstrip(".:").replace("|", "\\|")


def call(name: str, offered: Any) -> str:
    """`FuseOps(fuse_opt_level=-1)`"""
    parameters = inspect.signature(offered).parameters
    sequence = isinstance(offered, type) and issubclass(offered, Sequential)
    if sequence and offered is not Sequential:  # it has its passes, level and name already
        own = inspect.signature(Sequential).parameters
        parameters = {name: p for name, p in parameters.items() if name not in own}
    shown = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters.values()]
    return f"{name}({', '.join(shown)})"


def first_level(name: str, levels: tuple[tuple[Pass, ...], ...]) -> str:
    """From which level on a pipeline has the pass."""
    for number, members in enumerate(levels):
        inside = (inner for m in members if isinstance(m, Sequential) for inner in m.passes)
        if any(member.name == name for member in (*members, *inside)):
            return str(number)
    return ""


def row(name: str, offered: Any) -> str:
    level = str(offered.opt_level) if isinstance(offered, type) else str(_level_of(name))
    straight = first_level(name, STRAIGHT_LINE)
    programs = first_level(name, WHOLE_PROGRAM)
    cells = [f"`{call(name, offered)}`", summary(name, offered), level, straight, programs]
    return f"| {' | '.join(cells)} |"


def _level_of(name: str) -> int:
    return find_pass(name).opt_level


def table() -> str:
    offered = passes()
    lines = []
    for title, members in groups().items():
        lines += [f"### {title}", "", "| pass | what it does | level | graphs | programs |"]
        lines += ["|---|---|---|---|---|", *(row(name, offered[name]) for name in members), ""]
    return "\n".join(lines)


def text() -> str:
    """The whole page: what is written by hand, and the table."""
    by_hand, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return f"{by_hand}{MARK}\n{table()}"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
