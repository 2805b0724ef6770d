"""A program: the functions and data types that an entry function needs, as a module.

Functions are translated when the type of their result is needed, or else one after the other. Only
the used parts of the standard library are included, so its other names stay free.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.errors import FrontendError, RelayError
from relay.frontend.python.declarations import declaration_of
from relay.frontend.python.definitions import definition_of
from relay.frontend.python.functions import MAX_VERSIONS, Definition, StaticArgument, Translation
from relay.frontend.python.standard import CLASSES
from relay.ir.expr import Constructor, Function, GlobalVar, PatternConstructor
from relay.ir.function_attrs import GRADIENT
from relay.ir.module import IRModule
from relay.ir.types import UNIT, FuncType, GlobalTypeVar, IncompleteType, Type
from relay.ir.variables import free_type_vars, types_in
from relay.tree import Steps


@dataclass(eq=False)
class Instance:
    """A function of the program: a definition, specialized for the types of its parameters."""

    definition: Definition
    name: str
    types: list[Type | StaticArgument]
    result: Type
    has_declared_result: bool
    unit: Translation
    is_translated: bool = False
    is_started: bool = False

    @property
    def arguments(self) -> tuple[Type, ...]:
        return tuple(ty for ty in self.types if isinstance(ty, Type))


class ProgramBuilder:
    """A module under construction."""

    def __init__(self) -> None:
        self.module = IRModule()
        self.signatures: dict[str, Type | None] = {}
        self.data: dict[str, type] = {}  # the classes of data types, by name
        self._instances: dict[Any, Instance] = {}
        self._counts: dict[Definition, int] = {}
        self._waiting: list[Instance] = []
        self._library = IRModule()

    def translate(self, entry: Definition, given: Sequence[Type | StaticArgument] = ()) -> IRModule:
        """The module whose `main` is `entry`; `given` are for parameters without annotations."""
        tree.run(self._translate_all(entry, given))
        return infer_module(self.module)

    def _translate_all(
        self, entry: Definition, given: Sequence[Type | StaticArgument]
    ) -> Steps[None]:
        first = self._new(entry, given, "main")
        yield self._translate(first)
        while self._waiting:
            yield self._translate(self._waiting.pop())

    # --- functions

    def instance(
        self,
        definition: Definition,
        given: Sequence[Type | StaticArgument],
        node: ast.AST,
        user: Translation,
    ) -> Steps[Instance]:
        """A function specialized for `given`, the types of its parameters without annotation. The
        type of its result is known, unless the call is recursive."""
        key = _key(definition, given)
        found = self._instances.get(key)
        if found is None:
            count = self._counts[definition] = self._counts.get(definition, 0) + 1
            if count > MAX_VERSIONS:
                raise user.error(
                    node,
                    f"`{definition.name}` is needed at more and more types or values",
                    "annotations of its parameters, so that there is one function for all calls",
                )
            found = self._new(definition, given, self._unused(definition.name))
            if found.has_declared_result:
                self._waiting.append(found)
        if not found.has_declared_result and not found.is_started:
            yield self._translate(found)
        return found

    def _new(
        self, definition: Definition, given: Sequence[Type | StaticArgument], name: str
    ) -> Instance:
        unit = Translation(self, definition)
        types, result = unit.signature(given)
        made = Instance(
            definition, name, types, result or IncompleteType(), result is not None, unit
        )
        variables = () if result is None else _variables(made.arguments)
        self.signatures[name] = FuncType(made.arguments, made.result, variables)
        self._instances[_key(definition, given)] = made
        return made

    def _translate(self, instance: Instance) -> Steps[None]:
        if instance.is_started:
            return
        instance.is_started = True
        function = yield instance.unit.function(instance)
        if instance.definition.gradient is not None:
            rule = yield self._rule(instance, function, instance.definition.gradient)
            function = function.with_attr(GRADIENT, rule.name)
        self.module[GlobalVar(instance.name)] = function
        source = instance.definition.source.name
        self.module.source_map[source.name] = source
        if function.ret_type is not None:
            self.signatures[instance.name] = FuncType(
                instance.arguments, function.ret_type, function.type_params
            )
        instance.is_translated = True

    def _rule(self, instance: Instance, function: Function, rule: Definition) -> Steps[Instance]:
        """The function that computes the gradients of another one, which is translated."""
        result = instance.result if function.ret_type is None else function.ret_type
        types = [*instance.arguments, *[instance.unit.resolve(result)] * 2]
        parameters = rule.parameters()
        if len(parameters) != len(types):
            raise FrontendError.of(
                f"`{rule.name}` does not compute the gradients of `{instance.definition.name}`",
                rule.source.span(rule.node),
                f"{len(types)} parameters: those of the function, its result, the gradient of that",
                f"{len(parameters)} parameters",
            )
        given = [ty for p, ty in zip(parameters, types, strict=True) if p.is_untyped]
        node = instance.definition.node
        found: Instance = yield self.instance(rule, given, node, instance.unit)
        return found

    def _unused(self, name: str) -> str:
        names = (name, *(f"{name}_{i}" for i in range(1, len(self.signatures) + 2)))
        return next(n for n in names if n not in self.signatures and n not in self.module)

    # --- the standard library

    def library(self, name: str) -> GlobalVar:
        """A function of the prelude; it is added to the program with all it needs."""
        self._library.import_from_std("prelude.rly")
        pending = [name]
        while pending:
            current = pending.pop()
            if current in self.module and self.module[current] is self._library[current]:
                continue
            if current in self.signatures:
                raise RelayError(
                    f"the program has a function `{current}` of its own, and needs that of the "
                    "prelude; rename it"
                )
            function = self._library[current]
            self.module[current] = function
            self.signatures[current] = function.checked_type
            for e in tree.postorder(function):
                if isinstance(e, GlobalVar):
                    pending.append(e.name_hint)
                elif isinstance(e, Constructor):
                    self.use_data(CLASSES[e.belong_to.name_hint])
                elif isinstance(e, PatternConstructor):
                    self.use_data(CLASSES[e.constructor.belong_to.name_hint])
                for ty in types_in(e):
                    for part in tree.postorder(ty):
                        if isinstance(part, GlobalTypeVar):
                            self.use_data(CLASSES[part.name_hint])
        return GlobalVar(name)

    def is_library(self, variable: GlobalVar) -> bool:
        """Whether a variable names a function of the prelude."""
        self._library.import_from_std("prelude.rly")
        return variable in self._library

    # --- data types

    def use_data(self, cls: type) -> None:
        """Add a data type, and those in its fields, to the program."""
        pending = [cls]
        while pending:
            declaration = declaration_of(pending.pop())
            assert declaration is not None
            known = self.data.get(declaration.name)
            if known is declaration.cls:
                continue
            if known is not None:
                raise FrontendError.of(
                    f"two data types of the program are called `{declaration.name}`",
                    declaration.span(),
                    "one name for each",
                    hint="rename one of them; List, Option and Tree are names of the prelude",
                )
            self.data[declaration.name] = declaration.cls
            definition = definition_of(declaration)
            try:
                self.module[declaration.header] = definition
            except RelayError as error:
                raise FrontendError.of(str(error), declaration.span()) from None
            pending.extend(declaration.uses)


def _key(definition: Definition, given: Sequence[Type | StaticArgument]) -> Any:
    """The key of an instance: types up to the names of their variables, and known values."""
    types = tuple(ty for ty in given if isinstance(ty, Type))
    form = FuncType(types, UNIT, _variables(types))
    values = tuple(None if isinstance(ty, Type) else ty for ty in given)
    return definition, form, values


def _variables(types: Sequence[Type]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(v for ty in types for v in free_type_vars(ty)))
