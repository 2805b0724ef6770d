"""The standard library: files of Relay text in `relay/std`, and the prelude as Python attributes.

p = Prelude()
relay.Call(p.map, [f, xs])          # p.map, p.foldl, …: the functions, as GlobalVars
p.cons(x, p.nil())                  # p.cons, p.nil, p.some, p.none, p.rose: the constructors
p.l(relay.scalar_type("int32"))     # p.l, p.optional, p.tree: the data types

In a `relay.function` the same is found by name: `relay.prelude.map`, `.Cons`, `.List[A]`.

Tensor arrays (`relay.tensor_array`) exist for every element type and shape; a family of them is
defined in the module on the first lookup, here or in the module itself
(`mod["tensor_array_read_float32"]`, `mod.get_type("tensor_float32_t")`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from relay import tree
from relay.errors import RelayError, did_you_mean
from relay.ir.adt import TypeData
from relay.ir.compare import structural_equal
from relay.ir.dims import Dim
from relay.ir.expr import Constructor, Function, GlobalVar
from relay.ir.module import IRModule
from relay.ir.types import GlobalTypeVar
from relay.parser import parse

if TYPE_CHECKING:
    from relay.tensor_array import StaticTensorArrayOps, TensorArrayOps

Definitions = tuple[tuple[TypeData, ...], tuple[tuple[GlobalVar, Function], ...]]

# The files, and those that each one imports.
FILES: Mapping[str, tuple[str, ...]] = {
    "core.rly": (),
    "prelude.rly": (),
    "nat.rly": ("prelude.rly",),
    "gradient.rly": (),
    "sequence.rly": ("prelude.rly",),
}


def import_from_std(module: IRModule, file: str) -> None:
    """Import a file of the standard library, and those it depends on.

    Existing definitions are kept, so importing twice changes nothing.
    """
    if file not in FILES:
        hint = did_you_mean(file, FILES)
        raise RelayError(
            f"the standard library has no file {file!r}; "
            + (hint or f"it has {', '.join(sorted(FILES))}")
        )
    add_definitions(module, _load(file))


def add_definitions(module: IRModule, definitions: Definitions) -> None:
    """Add types and functions to a module; existing definitions are kept."""
    types, functions = definitions
    # constructors are compared by identity, so functions use those of the module
    own: dict[Constructor, Constructor] = {}
    for definition in types:
        known = module.find_type(definition.header.name_hint)
        if known is None:
            module[definition.header] = definition
        elif known is not definition:
            own.update(_match_constructors(definition, known))
    for name, function in functions:
        if name not in module:
            renamed = tree.transform(function, lambda _, after: after, own) if own else function
            module[name] = renamed


@cache
def _load(file: str) -> Definitions:
    """The definitions of a file and of those it depends on; cached, so that modules share their
    inferred types too."""
    known = IRModule()
    for needed in FILES[file]:
        import_from_std(known, needed)
    text = resources.files("relay").joinpath("std", file).read_text(encoding="utf-8")
    parsed = parse(text, f"std/{file}", known)
    return tuple(parsed.type_definitions.values()), tuple(parsed.functions.items())


def _match_constructors(ours: TypeData, theirs: TypeData) -> dict[Constructor, Constructor]:
    """Our constructors -> those of an equal definition."""
    if not structural_equal(ours, theirs):
        name = ours.header.name_hint
        raise RelayError(
            f"the module has a type `{name}` of its own, which is not that of the standard library"
        )
    return dict(zip(ours.constructors, theirs.constructors, strict=True))


def define_tensor_array(module: IRModule, name: str) -> bool:
    """Define the family of tensor arrays that contains that name, if there is one."""
    from relay.tensor_array import define_family_of  # most programs have no tensor arrays

    return define_family_of(module, name)


class Prelude:
    """A module with the prelude; all its functions, the data types and constructors are
    attributes."""

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
        self.mod.accept(define_tensor_array)

    def __getattr__(self, name: str) -> Any:
        if name == "mod":  # not set yet while copying or unpickling
            raise AttributeError(name)
        if name in self.TYPES:
            return self.mod.get_global_type_var(self.TYPES[name])
        if name in self.CONSTRUCTORS:
            return self.mod.get_constructor(self.CONSTRUCTORS[name])
        if name in self.mod:
            return self.mod.get_global_var(name)
        if (found := self._of_tensor_arrays(name)) is not None:
            return found
        hint = did_you_mean(name, dir(self))
        raise AttributeError(f"the prelude has no `{name}`" + (f"; {hint}" if hint else ""))

    def __dir__(self) -> list[str]:
        functions = [variable.name_hint for variable in self.mod]
        return sorted(["mod", *self.TYPES, *self.CONSTRUCTORS, *functions])

    # --- tensor arrays, imported on use: most programs have none

    def _of_tensor_arrays(self, name: str) -> GlobalVar | GlobalTypeVar | Constructor | None:
        """`tensor_array_read_float32`, `tensor1_float32`, … of the families of all ranks."""
        if not define_tensor_array(self.mod, name):
            return None
        if name in self.mod:
            return self.mod.get_global_var(name)
        defined = self.mod.find_type(name)
        return defined.header if defined else self.mod.find_constructor(name)

    def _family(self, dtype: str) -> TensorArrayOps:
        from relay.tensor_array import TensorArrayOps

        return TensorArrayOps(self, dtype)

    def _static(
        self, dtype: str, shape: Sequence[Dim], batch_dim: int | None = None
    ) -> StaticTensorArrayOps:
        from relay.tensor_array import StaticTensorArrayOps

        return StaticTensorArrayOps(self, dtype, shape, batch_dim)

    def get_name(self, canonical: str, dtype: str) -> str:
        """The name of `canonical` ("tensor_array_read") in the family of an element type."""
        return self._family(dtype).get_name(canonical)

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """That function of the family."""
        return self._family(dtype).get_global_var(canonical)

    def get_type(self, canonical: str, dtype: str) -> GlobalTypeVar:
        """The data type of the family; it goes by the name `tensor_t`."""
        return self._family(dtype).get_type(canonical)

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Constructor:
        """A constructor of data type `ty_name`, which is one of the family."""
        return self.mod.get_constructor(ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """`tensor_nil`, `tensor0`, … `tensor6` of the family."""
        return self._family(dtype).get_ctor(canonical)

    def get_name_static(
        self, canonical: str, dtype: str, shape: Sequence[Dim], batch_dim: int | None = None
    ) -> str:
        """The name of `canonical` in the family of an element type and a shape."""
        return self._static(dtype, shape, batch_dim).get_name(canonical)

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Dim], batch_dim: int | None = None
    ) -> GlobalVar:
        """That function of the family."""
        return self._static(dtype, shape, batch_dim).get_global_var(canonical)

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Dim]) -> GlobalTypeVar:
        """The data type of the family; it goes by the name `tensor_t`."""
        return self._static(dtype, shape).get_type(canonical)

    def get_ctor_static(
        self, ty_name: str, canonical: str, dtype: str, shape: Sequence[Dim]
    ) -> Constructor:
        """A constructor of data type `ty_name`, which is one of the family."""
        return self.mod.get_constructor(ty_name, self.get_name_static(canonical, dtype, shape))

    def get_tensor_ctor_static(
        self, canonical: str, dtype: str, shape: Sequence[Dim]
    ) -> Constructor:
        """`tensor_nil` or `tensor_constructor` of the family."""
        return self._static(dtype, shape).get_ctor(canonical)


_OF_TENSOR_ARRAYS = ("StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape")
_CLASSES = ("List", "Cons", "Nil", "Option", "Some", "Nothing", "Tree", "Rose")


def __getattr__(name: str) -> Any:
    if name in _OF_TENSOR_ARRAYS:
        import relay.tensor_array

        return getattr(relay.tensor_array, name)
    if name in _CLASSES:
        from relay.frontend.python import standard

        return getattr(standard, name)
    if not name.startswith("_") and (function := GlobalVar(name)) in dict(_load("prelude.rly")[1]):
        return function
    raise AttributeError(f"module 'relay.prelude' has no attribute {name!r}")
