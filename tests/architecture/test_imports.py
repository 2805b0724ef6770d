"""The shape of the package: what imports what, and what every file must have."""

import ast
import subprocess
import sys
from collections import Counter
from dataclasses import FrozenInstanceError
from functools import cache
from pathlib import Path

import pytest

import relay
from relay.transform import catalogue
from tests.support.looping import each

ROOT = Path(relay.__file__).parent
TESTS = Path(__file__).parent.parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__main__.py")

# Bottom-up: a part may import the parts before it, never those after it.
LAYERS = (
    "immutable",
    "errors",
    "late_names",
    "arena",
    "files",
    "settings",
    "progress",
    "dtypes",
    "scalar_functions",
    "extents",
    "tree",
    "nd",
    "safetensors",
    "te",
    "ir",
    "tir",
    "op",
    "check",
    "builder",
    "loops",
    "parser",
    "prelude",
    "serialize",
    "interpreter",
    "analysis",
    "dataflow_pattern",
    "target",
    "transform",
    "data_dep_optimization",
    "qnn",
    "pipeline",
    "lower",
    "external",
    "program",
    "executors",
    "graph_executor",
    "cache",
    "target.llvm",
    "target.cuda",
    "target.c",
    "frontend",
    "export",
    "optim",
    "compile_log",
    "driver",
    "tuning",
    "quantize",
    "target.accel",
    "contrib",
    "build_module",
    "onnx_backend",
    "machine",
    "debug_executor",
    "debugging",
    "viz",
    "compat",
    "cli",
    "testing",
)
# What imports a layer and is imported by it, and so belongs to it.
BESIDE = {
    "native": "target.llvm",  # its runtime, in LLVM IR
    "tensor_array": "prelude",
    "vm": "executors",
}
# What may be imported inside a function from further up, and why. A module-level import never may.
LATE = {
    **dict.fromkeys(
        [("ir", "viz"), ("te", "viz"), ("executors", "viz")],
        "notebooks ask an object how it is shown",
    ),
    ("analysis", "transform"): "the kernels of a program are what fusion makes of it",
    ("executors", "driver"): "an executor of compiled programs has them compiled",
    ("frontend", "driver"): "functions of PyTorch are made of compiled programs",
    ("ir", "op"): "the operator table fills itself on the first look",
    ("ir", "prelude"): "a module imports files of the standard library by name",
    ("nd", "target"): "a tensor on a device is made by the target of its kind",
    ("prelude", "frontend"): "the prelude's data types, as the Python frontend declares them",
    ("ir", "serialize"): "relay.ir.save_json is where people look for it",
}
MACHINERY = {
    "__init__",
    "base",
    "catalogue",
    "context",
    "function_pass",
    "instruments",
    "pass_info",
    "sequential",
}


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"


@cache
def parsed_file(path):
    return ast.parse(path.read_text())


# Programs whose control flow is native code of the host, and kernels that its runtime calls.
HOSTED = ("target.cuda.program.", "target.c.")


def part_of(module):
    """The layer of `relay.x.y`: x.y or x, or what x stands beside."""
    first, inner = (*module.split(".")[1:3], "", "")[:2]
    part = f"{first}.{inner}" if f"{first}.{inner}" in LAYERS else first
    return BESIDE.get(part, part)


def imports(path):
    """(imported module, whether at the top of the file), of modules of the package."""
    parsed = parsed_file(path)
    top = set(map(id, _statements(_not_in_functions(parsed.body))))
    for node in _statements(parsed.body):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = node.module == "relay"
            names = [f"relay.{a.name}" if whole else node.module for a in node.names]
        else:
            continue
        yield from ((name, id(node) in top) for name in names if name.split(".")[0] == "relay")


def _statements(body):
    """All statements, also those inside of others; expressions are far more, and import nothing."""
    pending = list(body)
    while pending:
        yield (node := pending.pop())
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, part, ())


def _not_in_functions(statements):
    """The statements that run when the file is imported."""
    found = []
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.ClassDef):
            found.extend(_not_in_functions(statement.body))
            found.extend(_not_in_functions(getattr(statement, "orelse", [])))
        else:
            found.append(statement)
    return found


def test_every_part_of_the_package_has_its_place():
    known = {*LAYERS, *BESIDE, "__init__"}
    assert {name_of(path).split(".")[0] for path in FILES} <= known


@each("path", FILES)
def test_imports_point_downwards(path):
    here = part_of(f"relay.{name_of(path)}")
    if here == "__init__":
        assert not list(imports(path)), "the package itself resolves its names when asked"
        return
    for module, at_top in imports(path):
        there = part_of(module)
        if there not in LAYERS:
            continue  # a name of the package itself, such as relay.Call
        downwards = LAYERS.index(there) <= LAYERS.index(here)
        if not downwards and not at_top and (here, there) in LATE:
            continue
        assert downwards, f"{name_of(path)} imports {module}, which is a layer above it"


@pytest.mark.parametrize("top", [ROOT, TESTS], ids=["relay", "tests"])
def test_no_folder_holds_more_than_forty_files(top):
    folders = Counter(path.parent for path in top.rglob("*.py"))
    assert not {folder: count for folder, count in folders.items() if count > 40}


@pytest.mark.parametrize("target", [layer for layer in LAYERS if layer.startswith("target.")])
def test_a_target_is_reached_through_its_object_only(target):
    """All else of the package asks `relay.target.target.Target`, whatever the target is."""
    for path in FILES:
        here = part_of(f"relay.{name_of(path)}")
        if here != target and not (target == "target.llvm" and name_of(path).startswith(HOSTED)):
            found = [module for module, _ in imports(path) if part_of(module) == target]
            assert not found, f"{name_of(path)} imports {found[0]}"


def test_llvm_is_loaded_by_its_target_only_and_on_use():
    """All else of the package works where llvmlite is not installed."""
    for path in FILES:
        parsed = parsed_file(path)
        users = [n for n in _statements(parsed.body) if _imports_llvmlite(n)]
        at_top = set(map(id, _statements(_not_in_functions(parsed.body))))
        assert not users or name_of(path).startswith("target.llvm."), name_of(path)
        assert not any(id(n) in at_top for n in users), f"{name_of(path)} loads it when imported"


def _imports_llvmlite(node):
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "llvmlite" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "llvmlite"


@each("path", FILES)
def test_every_file_says_what_it_is_for(path):
    docstring = ast.get_docstring(parsed_file(path))
    assert docstring, f"{path.name} opens without a docstring"


@each("name", sorted(catalogue.files().keys() - MACHINERY))
def test_every_file_of_passes_has_a_test(name):
    *folder, file = catalogue.files()[name].split(".")[1:]
    assert TESTS.joinpath(*folder, f"test_{file}.py").exists()


@each("name", sorted(catalogue.exports()))
def test_passes_are_frozen_and_documented(name):
    offered = getattr(relay.transform, name)
    assert offered.__doc__
    if isinstance(offered, type) and issubclass(offered, relay.transform.Pass):
        with pytest.raises(FrozenInstanceError):
            offered.__new__(offered).name = "another"


def test_public_names_resolve():
    missing = []
    for name in relay.__all__:
        try:
            getattr(relay, name)
        except (AttributeError, ImportError) as error:
            missing.append((name, error))
    assert not missing


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, relay\n"
        "heavy = {'numpy', 'ml_dtypes', 'greenlet', 'llvmlite', 'relay.ir.expr'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
