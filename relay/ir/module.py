"""IRModule: a small mutable map from names to immutable functions and type definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from relay import tree
from relay.errors import RelayError, SourceName, did_you_mean
from relay.ir.adt import TypeData
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, as_expr
from relay.ir.types import GlobalTypeVar, Occurs, TypeKind, TypeVar
from relay.ir.variables import free_type_vars, free_vars

# Adds the definition of a name to a module if it knows it, and says whether it did.
Offer = Callable[["IRModule", str], bool]


class IRModule:
    """Functions and data types by name. A pass gets a copy, so none changes its argument."""

    def __init__(
        self,
        functions: Mapping[Any, Expr] | None = None,
        type_definitions: Mapping[GlobalTypeVar, TypeData] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        self._functions: dict[str, tuple[GlobalVar, Function]] = {}
        self._types: dict[str, TypeData] = {}
        self._constructors: dict[str, Constructor] = {}
        self.attrs = DictAttrs(attrs)
        self.source_map: dict[str, SourceName] = {}
        self._offers: tuple[Offer, ...] = ()
        for header, definition in (type_definitions or {}).items():
            self[header] = definition
        for name, function in (functions or {}).items():
            self[name] = function

    @staticmethod
    def from_expr(
        expr: Expr,
        functions: Mapping[GlobalVar, Expr] | None = None,
        type_defs: Mapping[GlobalTypeVar, TypeData] | None = None,
    ) -> IRModule:
        """A module whose `main` is `expr`, closed over its free variables if it is no function."""
        module = IRModule(functions, type_defs)
        name = "main"
        expr = as_expr(expr)
        if not isinstance(expr, Function):
            expr = _close(expr)
        elif "global_symbol" in expr.attrs:
            name = expr.attrs["global_symbol"]
        module[name] = expr
        return module

    # --- functions

    @property
    def functions(self) -> dict[GlobalVar, Function]:
        """All functions, in the order they were added."""
        return dict(self._functions.values())

    def functions_items(self) -> list[tuple[GlobalVar, Function]]:
        """(name, function), sorted by name."""
        return [self._functions[name] for name in sorted(self._functions)]

    def __getitem__(self, name: str | GlobalVar | GlobalTypeVar) -> Any:
        if isinstance(name, GlobalTypeVar):
            return self.type_definition(name.name_hint)
        return self._find(name)[1]

    def _find(self, name: str | GlobalVar) -> tuple[GlobalVar, Function]:
        key = _name(name)
        if key in self._functions or (self._defined_now(key) and key in self._functions):
            return self._functions[key]
        raise RelayError(f"the module has no function `@{key}`" + self._hint(key, self._functions))

    def __setitem__(self, name: str | GlobalVar | GlobalTypeVar, value: Any) -> None:
        if isinstance(name, GlobalTypeVar):
            self._set_type(name, value)
            return
        key = _name(name)
        if isinstance(name, str):
            known = self._functions.get(key)
            name = known[0] if known else GlobalVar(key)
        value = _bound(value) if isinstance(value, Function) else _close(as_expr(value))
        self._functions[key] = (name, value)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, GlobalTypeVar):
            return name.name_hint in self._types
        return isinstance(name, str | GlobalVar) and _name(name) in self._functions

    def __delitem__(self, name: str | GlobalVar) -> None:
        del self._functions[self._find(name)[0].name_hint]

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(list(self.functions))

    def get_global_var(self, name: str | GlobalVar) -> GlobalVar:
        """The variable that names function `name`."""
        return self._find(name)[0]

    def get_global_vars(self) -> list[GlobalVar]:
        """The variables of all functions, sorted by name."""
        return [var for var, _ in self.functions_items()]

    def update_func(self, name: GlobalVar | str, function: Expr) -> None:
        """Set one function."""
        self[name] = function

    def update(self, other: IRModule | Mapping[GlobalVar, Expr]) -> None:
        """Take over every function and type of `other`."""
        if isinstance(other, IRModule):
            for header, definition in other.type_definitions.items():
                self[header] = definition
            other = other.functions
        for name, function in other.items():
            self[name] = function

    # --- data types

    @property
    def type_definitions(self) -> dict[GlobalTypeVar, TypeData]:
        """All data types, in the order they were added."""
        return {definition.header: definition for definition in self._types.values()}

    def type_definition(self, name: str) -> TypeData:
        """The definition of data type `name`."""
        if name in self._types or (self._defined_now(name) and name in self._types):
            return self._types[name]
        raise RelayError(f"the module has no type `{name}`" + self._hint(name, self._types))

    def find_type(self, name: str) -> TypeData | None:
        return self._types.get(name)

    def find_constructor(self, name: str) -> Constructor | None:
        return self._constructors.get(name)

    def _set_type(self, header: GlobalTypeVar, definition: TypeData) -> None:
        name = header.name_hint
        if not isinstance(definition, TypeData) or definition.header != header:
            raise RelayError(f"the definition of type `{name}` must be a TypeData with that header")
        before = self._types.get(name)
        if before is definition:
            return
        own = {c.name_hint for c in before.constructors} if before else set()
        seen: set[str] = set()
        for constructor in definition.constructors:
            known = self._constructors.get(constructor.name_hint)
            taken = known is not None and known.name_hint not in own
            if taken or constructor.name_hint in seen:
                owner = known.belong_to.name_hint if known else name
                raise RelayError(
                    f"constructor `{constructor.name_hint}` of type `{name}` is already defined "
                    f"by type `{owner}`; constructors share one namespace"
                )
            seen.add(constructor.name_hint)
        for gone in own:
            del self._constructors[gone]
        self._types[name] = definition
        self._constructors.update({c.name_hint: c for c in definition.constructors})

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The name of data type `name`, to be used in type calls."""
        return self.type_definition(name).header

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        return list(self.type_definitions)

    def get_type(self, name: str) -> tuple[Any, ...]:
        """(type name, *constructors) of a data type."""
        definition = self.type_definition(name)
        return (definition.header, *definition.constructors)

    def get_constructor(self, tag: int | str, name: str | None = None) -> Constructor:
        """The constructor of that tag or name; `get_constructor("List", "Cons")` does as well."""
        if name is not None:
            for constructor in self.type_definition(str(tag)).constructors:
                if constructor.name_hint == name:
                    return constructor
            raise RelayError(f"type `{tag}` has no constructor `{name}`")
        if isinstance(tag, str) and tag not in self._constructors:
            self._defined_now(tag)
        for constructor in self._constructors.values():
            if tag in (constructor.tag, constructor.name_hint):
                return constructor
        raise RelayError(f"the module has no constructor {tag!r}")

    # --- lazy definitions

    def accept(self, offer: Offer) -> None:
        """Ask `offer` to define names that are looked up and missing."""
        if offer not in self._offers:
            self._offers = (*self._offers, offer)

    def _defined_now(self, name: str) -> bool:
        return any(offer(self, name) for offer in self._offers)

    # --- the whole

    def __deepcopy__(self, memo: object) -> IRModule:
        return self.copy()

    def __reduce__(self) -> Any:
        """Python pickles it as JSON: programs nest deeper than its stack."""
        from relay.serialize import load_json, save_json

        return load_json, (save_json(self),)

    def copy(self) -> IRModule:
        """A module of its own over the same functions and types."""
        made = IRModule()
        made._functions = dict(self._functions)
        made._types = dict(self._types)
        made._constructors = dict(self._constructors)
        made.attrs = self.attrs
        made.source_map = dict(self.source_map)
        made._offers = self._offers
        return made

    shallow_copy = copy

    def with_attr(self, name: str, value: Any) -> IRModule:
        """A copy with one attribute set."""
        made = self.copy()
        made.attrs = self.attrs.with_item(name, value)
        return made

    def import_from_std(self, file: str) -> None:
        """Take over a file of the standard library: `prelude.rly`, `nat.rly`, …"""
        from relay.prelude import import_from_std

        import_from_std(self, file)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text form; with the metadata section it can be parsed back."""
        from relay.ir.printer import astext

        return astext(self, show_meta_data, annotate)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.program(self)

    def __repr__(self) -> str:
        return self.astext(show_meta_data=False)

    @staticmethod
    def _hint(name: str, known: Mapping[str, Any]) -> str:
        hint = did_you_mean(name, known)
        return f"; {hint}" if hint else ""


@runtime_checkable
class HasModule(Protocol):
    """An object that converts to a module, such as a `relay.function`."""

    def __relay_module__(self) -> IRModule: ...


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, GlobalVar):
        return name.name_hint
    raise RelayError(f"a function is named by a string or a relay.GlobalVar, found {name!r}")


def _bound(function: Function) -> Function:
    """The function with the unbound shape variables of its parameters as type parameters: global
    functions are polymorphic in their named dimensions."""
    used: dict[TypeVar, None] = {}
    for param in function.params:
        ty = param.type_annotation
        if ty is not None and ty.occurs & Occurs.VARIABLE:
            used.update(dict.fromkeys(free_type_vars(ty)))
    unbound = [v for v in used if v.kind is TypeKind.ShapeVar and v not in function.type_params]
    if not unbound:
        return function
    return tree.replace(function, type_params=(*function.type_params, *unbound))


def _close(expr: Expr) -> Function:
    """A function of the variables that are free in `expr`."""
    return Function(tuple(free_vars(expr)), expr, None, tuple(free_type_vars(expr)))
