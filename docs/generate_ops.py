"""Write `docs/ops.md`: every operator, from its record.

    python docs/generate_ops.py

Operators stand in the order of the files that define them, and files in the groups below. A file
that is in none of them comes at the end, so that nothing is left out.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import relay
from relay.op import attributes, shapes
from relay.op.opdef import FusionKind, OpDef, Sample

PAGE = Path(__file__).with_name("ops.md")

# What belongs together, in the order of reading: files under relay/op, or folders of them.
GROUPS = {
    "Functions of one tensor": ("tensor.unary", "tensor.convert", "tensor.fast"),
    "Functions of two tensors": ("tensor.binary",),
    "Reductions and scans": ("tensor.reduce", "tensor.collapse", "tensor.scan"),
    "New tensors": ("tensor.creation",),
    "Shapes": ("tensor.shape", "tensor.reshape", "tensor.extend", "nn.pad"),
    "Elements in other places": (
        "tensor.rearrange",
        "tensor.relayout",
        "tensor.blocks",
        "linalg.matrix",
        "tensor.sequence",
    ),
    "Indexing": (
        "tensor.slicing",
        "tensor.indexing",
        "tensor.positions",
        "tensor.scatter",
        "sparse.coordinates",
    ),
    "Sorting and searching": ("tensor.sort", "tensor.search", "nn.trees"),
    "Matrix products": (
        "linalg.matmul",
        "linalg.einsum",
        "sparse.sparse_matrix",
        "linalg.determinant",
        "linalg.matrix_inverse",
    ),
    "Convolutions": (
        "conv.conv",
        "conv.conv_transpose",
        "conv.deformable",
        "conv.conv_blocked",
        "conv.conv_winograd",
        "conv.winograd",
        "conv.conv_gemm",
        "conv.conv_gradient",
        "sparse.sparse_conv",
        "conv.correlation",
        "conv.bitserial",
        "conv.bitpack",
    ),
    "Pools": ("pool.pool", "pool.pool_positions", "pool.pool_adaptive", "pool.pool_gradient"),
    "Activations, normalization and losses": (
        "nn.activation",
        "nn.norm",
        "nn.normalize",
        "nn.loss",
    ),
    "Images": ("nn.upsampling", "image"),
    "Boxes in images": ("vision",),
    "Signals": ("signal.fourier", "nn.fifo"),
    "Random numbers": ("random",),
    "Dynamic shapes": ("dyn",),
    "Quantized networks": (
        "qnn.convert",
        "qnn.arithmetic",
        "qnn.elementwise",
        "qnn.conv",
        "qnn.matmul",
        "qnn.pool",
        "qnn",
        "tensor.fixed_point",
    ),
    "Annotations": ("annotation", "tensor.require"),
    "Memory and lowered programs": ("memory", "vm"),
}
REST = "Others"

FUSION = {
    FusionKind.ELEMWISE: "with everything, element by element",
    FusionKind.BROADCAST: "with everything, stretching axes",
    FusionKind.INJECTIVE: "with everything, moving elements",
    FusionKind.COMM_REDUCE: "with what comes before, as a reduction",
    FusionKind.OUT_ELEMWISE_FUSABLE: "with functions of its elements that come after",
    FusionKind.TUPLE: "as a tuple",
    FusionKind.OPAQUE: "never",
}

HEAD = """# Operators

Every operator, with its arguments, its attributes and what it gives. This page is written by
`docs/generate_ops.py` from the records in `relay/op`.

A call in a program is `nn.dense(%x, %w, units=4)`: arguments first, then attributes by name.
Attributes that have a default may be left out. Python builds the same call with
`relay.nn.dense(x, w, units=4)`; where the Python function has other parameters, it is shown too.
"fuses" says how an operator may join others in one kernel. Below are uses of it, as types.
"""


# --- what there is -----------------------------------------------------------------------------


def modules() -> Iterator[ModuleType]:
    """The files of relay/op."""
    for found in pkgutil.walk_packages(relay.op.__path__, "relay.op."):
        yield importlib.import_module(found.name)


def records(module: ModuleType) -> list[OpDef]:
    """The operators that a file defines, in its order."""
    source = ast.parse(inspect.getsource(module))
    imported = {
        alias.asname or alias.name
        for statement in ast.walk(source)
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    found = vars(module).items()
    return [value for name, value in found if isinstance(value, OpDef) and name not in imported]


def groups() -> dict[str, list[tuple[ModuleType, list[OpDef]]]]:
    """The files with operators, by group."""
    places = [(title, place) for title, parts in GROUPS.items() for place in parts]
    titles = {place: title for title, place in places}
    ranks = {place: rank for rank, (_, place) in enumerate(places)}
    found: dict[str, list[tuple[int, ModuleType, list[OpDef]]]] = {t: [] for t in [*GROUPS, REST]}
    for module in modules():
        if defined := records(module):
            file = module.__name__.removeprefix("relay.op.")
            place = file if file in titles else file.split(".")[0]
            entries = found[titles.get(place, REST)]
            entries.append((ranks.get(place, len(ranks)), module, defined))
    return {
        title: [(module, ops) for _, module, ops in sorted(parts, key=lambda part: part[0])]
        for title, parts in found.items()
        if parts
    }


def python_names() -> dict[int, str]:
    """Where Python finds what builds a call, by the identity of the builder."""
    spaces = {"relay": relay.op, "relay.qnn.op": relay.qnn.op}
    for module in (relay, relay.op):
        for name in dir(module):
            part = getattr(module, name)
            if inspect.ismodule(part) and part.__name__.startswith("relay.op."):
                spaces.setdefault(f"{module.__name__}.{name}", part)
    found: dict[int, str] = {}
    for space, module in spaces.items():
        for name in getattr(module, "__all__", ()):
            found.setdefault(id(getattr(module, name)), f"{space}.{name}")
    return found


# --- as text -----------------------------------------------------------------------------------


def signature(helper: Any) -> str:
    """The parameters of a Python function with their defaults."""
    parameters = inspect.signature(helper).parameters.values()
    return ", ".join(str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters)


def example(op: OpDef, sample: Sample) -> str:
    """`operator(types, attributes) : type` for a sample."""
    made = op.make_attrs(sample.attrs)
    given = [str(ty) for ty in sample.types()]
    given += [f"{name}={value!r}" for name, value in sample.attrs.items()]
    result = shapes.output_type(op, sample.types(), made, sample.values())
    return f"{op.name}({', '.join(given)}) : {result}"


def entry(op: OpDef, python: str | None) -> str:
    """What there is to say about one operator."""
    lines = [f"### {op.name}", "", "```", f"{op.name}{op.signature}", "```", "", op.doc, ""]
    if op.helper is not None:
        lines += [f"In Python: `{python}({signature(op.helper)})`", ""]
    lines += [f"- `{name}`: {meaning}" for name, meaning in op.arguments]
    if op.attrs is not None:
        meanings, defaults = attributes.meanings(op.attrs), op.attrs.defaults()
        for name, kind in attributes.declared(op.attrs).items():
            default = f", default `{defaults[name]!r}`" if name in defaults else ""
            lines.append(f"- `{name}` ({attributes.describe(kind)}{default}): {meanings[name]}")
    if result := inspect.getdoc(op.relation):
        lines.append(f"- result: {' '.join(result.split())}")
    effects = "; has effects, so it is neither left out nor repeated" if op.stateful else ""
    lines += [f"- fuses: {FUSION[op.fusion]}{effects}", ""]
    if op.samples:
        lines += ["```", *(example(op, sample) for sample in op.samples[:2]), "```", ""]
    return "\n".join(lines)


def anchor(name: str) -> str:
    """What a heading is called in links."""
    kept = (character for character in name.lower() if character.isalnum() or character in "_- ")
    return "".join(kept).replace(" ", "-")


def contents() -> str:
    """The groups and their operators, as links."""
    lines = []
    for title, parts in groups().items():
        links = [f"[{op.name}](#{anchor(op.name)})" for _, ops in parts for op in ops]
        lines += [f"**[{title}](#{anchor(title)})**: {', '.join(links)}", ""]
    return "\n".join(lines)


def introduction(title: str) -> Iterator[str]:
    """The paragraphs after the first of the folders that a group consists of."""
    for place in GROUPS.get(title, ()):
        module = importlib.import_module(f"relay.op.{place}")
        if hasattr(module, "__path__"):
            yield from (inspect.getdoc(module) or "").split("\n\n")[1:]


def text() -> str:
    """The whole page."""
    names = python_names()
    pieces = [HEAD, contents()]
    for title, parts in groups().items():
        pieces.append(f"## {title}\n")
        pieces += [f"{' '.join(paragraph.split())}\n" for paragraph in introduction(title)]
        for number, (module, ops) in enumerate(parts):
            about = (inspect.getdoc(module) or "").split("\n\n")[0]
            pieces.append("---\n\n" * bool(number) + " ".join(about.split()) + "\n")
            pieces += [entry(op, names.get(id(op.helper or op))) for op in ops]
    return "\n".join(pieces)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
