"""Kind checking of types.

Dimensions are numbers and shape variables, tuples hold types, a data type is given as many
arguments as it has parameters, and the name of a data type alone is not a type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from relay import tree
from relay.errors import AnySpan, Diagnostic, KindError, did_you_mean, fail
from relay.ir import dims
from relay.ir.adt import TypeData
from relay.ir.module import IRModule
from relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
)
from relay.ir.variables import free_type_vars


def check_kind(ty: Type, module: IRModule | None = None, span: AnySpan | None = None) -> TypeKind:
    """The kind of `ty`; KindError when it is ill-kinded.

    Without a module, names of data types are not checked.
    """
    if isinstance(ty, TypeData):
        check_definition(ty, module)
        return TypeKind.TypeData
    if type(ty) is TensorType and not ty.occurs:
        return TypeKind.Type  # its dimensions are numbers
    for part in tree.postorder(ty):
        where = part.span or ty.span or span
        match part:
            case TensorType():
                for dim in part.shape:
                    for atom in dims.atoms(dim):
                        _require_dimension(atom, part, where)
            case FuncType(arg_types=arg_types, ret_type=ret_type):
                _require_types((*arg_types, ret_type), part, where)
            case TupleType() | RefType() | TypeRelation():
                _require_types(tree.children(part), part, where)
            case TypeCall():
                _check_type_call(part, module, where)
    return kind_of(ty)


def kind_of(ty: Type) -> TypeKind:
    """The kind of the outermost part."""
    match ty:
        case TypeVar() | IncompleteType() | GlobalTypeVar():
            return ty.kind
        case TypeRelation():
            return TypeKind.Constraint
        case TypeData():
            return TypeKind.TypeData
    return TypeKind.Type


def check_definition(definition: TypeData, module: IRModule | None = None) -> None:
    """A data type's constructors hold types over the data type's own parameters."""
    if definition.header.kind is not TypeKind.AdtHandle:
        _fail(
            f"`{definition.header}` is not the name of a data type",
            "a name of kind AdtHandle",
            f"kind {definition.header.kind.name}",
            definition.span,
        )
    for param in definition.type_vars:
        if param.kind is not TypeKind.Type:
            _fail(
                f"parameter `{param}` of data type `{definition.header.name_hint}` is not a type",
                "parameters of kind Type",
                f"kind {param.kind.name}",
                definition.span,
                "put the dimension into the constructors' tensor types, as a number or `?`",
            )
    known = set(definition.type_vars)
    for constructor in definition.constructors:
        for given in constructor.inputs:
            span = given.span or constructor.span or definition.span
            _require_types((given,), definition, span, f"constructor `{constructor.name_hint}`")
            check_kind(given, module, span)
            for variable in free_type_vars(given):
                if variable not in known:
                    name = definition.header.name_hint
                    _fail(
                        f"type variable `{variable}` in constructor "
                        f"`{constructor.name_hint}` is not bound",
                        f"only parameters of `{name}[{', '.join(map(str, known))}]`",
                        str(variable),
                        span,
                        "add it to the parameters of the data type",
                    )


def _require_dimension(atom: dims.Symbol, tensor: TensorType, span: AnySpan | None) -> None:
    if isinstance(atom, TypeVar | IncompleteType) and atom.kind is not TypeKind.ShapeVar:
        _fail(
            f"`{atom}` is used as a dimension but has kind {atom.kind.name}",
            "a number, a shape variable or `?`",
            f"`{atom}` in {tensor}",
            span,
            f'make it a dimension with relay.ShapeVar("{atom}"), or `[{atom}: Shape]` in text',
        )


def _require_types(
    parts: Sequence[Type], whole: Type, span: AnySpan | None, where: str | None = None
) -> None:
    for part in parts:
        if (kind := kind_of(part)) is TypeKind.Type:
            continue
        hint = None
        if kind is TypeKind.AdtHandle:
            hint = f"apply it to its arguments: `{part}[…]`, or `{part}()` in Python when none"
        place = where or f"`{whole}`"
        _fail(
            f"`{part}` is not a type of values in {place}",
            "a type of kind Type",
            f"`{part}` of kind {kind.name}",
            part.span or span,
            hint,
        )


def _check_type_call(call: TypeCall, module: IRModule | None, span: AnySpan | None) -> None:
    if not isinstance(call.func, GlobalTypeVar) or call.func.kind is not TypeKind.AdtHandle:
        _fail(
            f"`{call.func}` cannot be applied to types",
            "the name of a data type, of kind AdtHandle",
            f"{call.func} of kind {kind_of(call.func).name}",
            span,
        )
    _require_types(call.args, call, span)
    if module is None:
        return
    name = call.func.name_hint
    definition = module.find_type(name)
    if definition is None:
        known = [header.name_hint for header in module.type_definitions]
        hint = did_you_mean(name, known) or "define it with `type`, or import the Prelude"
        _fail(f"unknown data type `{name}`", "a data type of the module", name, span, hint)
    if len(definition.type_vars) != len(call.args):
        _fail(
            f"wrong number of type arguments for `{name}`",
            f"{len(definition.type_vars)} of them",
            f"{len(call.args)} in `{call}`",
            span,
        )


def _fail(
    message: str, expected: str, found: str, span: AnySpan | None, hint: str | None = None
) -> NoReturn:
    fail(KindError, Diagnostic(f"kind mismatch: {message}", span, expected, found, hint))
    raise AssertionError("fail() always raises an error-level diagnostic")
