"""The standard library: files of Relay text in `relay/std`, and the prelude as Python attributes.

p = Prelude()
relay.Call(p.map, [f, xs])          # p.map, p.foldl, …: the functions, as GlobalVars
p.cons(x, p.nil())                  # p.cons, p.nil, p.some, p.none, p.rose: the constructors
p.l(relay.scalar_type("int32"))     # p.l, p.optional, p.tree: the data types
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from relay import tree
from relay.errors import RelayError, did_you_mean
from relay.ir.adt import TypeData
from relay.ir.compare import structural_equal
from relay.ir.expr import Function, GlobalVar, Syntax
from relay.ir.module import IRModule
from relay.parser import parse

# What there is, and which other files each one builds on.
FILES: Mapping[str, tuple[str, ...]] = {
    "core.rly": (),
    "prelude.rly": (),
    "nat.rly": ("prelude.rly",),
    "gradient.rly": (),
}


def import_from_std(module: IRModule, file: str) -> None:
    """Take over a file of the standard library, and those it builds on.

    What the module already defines stays as it is, so importing twice changes nothing.
    """
    if file not in FILES:
        hint = did_you_mean(file, FILES)
        raise RelayError(
            f"the standard library has no file {file!r}; "
            + (hint or f"it has {', '.join(sorted(FILES))}")
        )
    types, functions = _load(file)
    # functions find constructors by identity, so they get those the module already has
    own: dict[Syntax, Syntax] = {}
    for definition in types:
        known = module.find_type(definition.header.name_hint)
        if known is None:
            module[definition.header] = definition
        elif known is not definition:
            own.update(_match_constructors(definition, known))
    for name, function in functions:
        if name not in module:
            module[name] = (
                tree.transform(function, lambda _, after: after, own) if own else function
            )


@cache
def _load(file: str) -> tuple[tuple[TypeData, ...], tuple[tuple[GlobalVar, Function], ...]]:
    """The definitions of a file and of those it builds on. They are immutable, and kept: modules
    that share them share what inference has found out about them too."""
    known = IRModule()
    for needed in FILES[file]:
        import_from_std(known, needed)
    text = resources.files("relay").joinpath("std", file).read_text(encoding="utf-8")
    parsed = parse(text, f"std/{file}", known)
    return tuple(parsed.type_definitions.values()), tuple(parsed.functions.items())


def _match_constructors(ours: TypeData, theirs: TypeData) -> dict[Syntax, Syntax]:
    """Our constructors with those of a definition that says the same."""
    if not structural_equal(ours, theirs):
        name = ours.header.name_hint
        raise RelayError(
            f"the module has a type `{name}` of its own, which is not that of the standard library"
        )
    return dict(zip(ours.constructors, theirs.constructors, strict=True))


class Prelude:
    """A module with the prelude in it; functions, data types and constructors are attributes.

    Every function of the module is found here, so what is imported later is too.
    """

    TYPES: Mapping[str, str] = {"l": "List", "optional": "Option", "tree": "Tree"}
    CONSTRUCTORS: Mapping[str, str] = {
        "cons": "Cons",
        "nil": "Nil",
        "some": "Some",
        "none": "None",
        "rose": "Rose",
    }

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = IRModule() if mod is None else mod
        import_from_std(self.mod, "prelude.rly")

    def __getattr__(self, name: str) -> Any:
        if name == "mod":  # not there yet: a copy or a pickle is being put together
            raise AttributeError(name)
        if name in self.TYPES:
            return self.mod.get_global_type_var(self.TYPES[name])
        if name in self.CONSTRUCTORS:
            return self.mod.get_constructor(self.CONSTRUCTORS[name])
        if name in self.mod:
            return self.mod.get_global_var(name)
        hint = did_you_mean(name, dir(self))
        raise AttributeError(f"the prelude has no `{name}`" + (f"; {hint}" if hint else ""))

    def __dir__(self) -> list[str]:
        functions = [variable.name_hint for variable in self.mod]
        return sorted(["mod", *self.TYPES, *self.CONSTRUCTORS, *functions])
