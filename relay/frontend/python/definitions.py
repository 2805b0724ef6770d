"""Data types declared in Python as definitions of a Relay module."""

from __future__ import annotations

from relay.errors import FrontendError
from relay.frontend.python.declarations import Case, Declaration, declaration_of
from relay.frontend.python.standard import CLASSES
from relay.frontend.python.types import TypeReader
from relay.ir.adt import TypeData
from relay.ir.expr import Constructor
from relay.ir.module import IRModule
from relay.ir.types import GlobalTypeVar, Type, TypeVar, substitute
from relay.tree import postorder


def definition_of(declaration: Declaration) -> TypeData:
    """The definition; from here on the data type has no more constructors."""
    if declaration.definition is None:
        declaration.definition = _library(declaration) or _define(declaration)
    return declaration.definition


def constructor_of(cls: type) -> Constructor:
    """The constructor that a `relay.data` class stands for."""
    declaration = declaration_of(cls)
    assert declaration is not None
    definition = definition_of(declaration)
    classes = [case.cls for case in declaration.cases]
    return definition.constructors[classes.index(cls)]


def _library(declaration: Declaration) -> TypeData | None:
    if declaration.library is None:
        return None
    module = IRModule()
    module.import_from_std(declaration.library)
    definition = module.type_definition(declaration.name)
    inside = {part for c in definition.constructors for ty in c.inputs for part in postorder(ty)}
    names = {part.name_hint for part in inside if isinstance(part, GlobalTypeVar)}
    declaration.uses.extend(CLASSES[name] for name in sorted(names))
    return definition


def _define(declaration: Declaration) -> TypeData:
    reader = TypeReader(declaration.find, declaration.uses.append)
    variables = tuple(TypeVar(p.__name__) for p in declaration.parameters)
    reader.variables.update(zip(declaration.parameters, variables, strict=True))
    constructors = [
        Constructor(case.name, _inputs(case, declaration, reader), declaration.header)
        for case in declaration.cases
    ]
    if unknown := [name for name in reader.variables if name not in declaration.parameters]:
        raise FrontendError.of(
            f"`{declaration.name}` does not have the type parameter `{unknown[0]}`",
            declaration.span(),
            "type variables of the class, and dimensions that are numbers or relay.Any()",
            str(unknown[0]),
        )
    return TypeData(declaration.header, variables, tuple(constructors))


def _inputs(case: Case, declaration: Declaration, reader: TypeReader) -> tuple[Type, ...]:
    renamed: dict[TypeVar, Type] = {}
    inputs = [reader.read(f.annotation, declaration.span(case, f.name)) for f in case.fields]
    for inside, outside in case.renamed.items():
        if inside is not outside and inside in reader.variables:
            renamed[reader.variables.pop(inside)] = reader.variables[outside]
    return tuple(substitute(ty, renamed) for ty in inputs)
