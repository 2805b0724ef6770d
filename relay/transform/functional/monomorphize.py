"""Copy every polymorphic function for each list of types it is used at:

def @pair[A](%x: A) -> (A, A) { (%x, %x) }
def @main() { (@pair(1), @pair(2f), @pair(3)) }
->
def @main() { (@pair_int32(1), @pair_float32(2f), @pair_int32(3)) }
def @pair_int32(%x: int32) -> (int32, int32) { (%x, %x) }
def @pair_float32(%x: float32) -> (float32, float32) { (%x, %x) }

Afterwards every value has one type, and polymorphic functions are gone. A polymorphic function that
is used as a value is the copy for the types it is used at, in `@map(@pair, %xs)` for example. One
with captured variables, made by a function marked `Closure`, is made once for each list of types.

Dimensions are not types: a function of vectors of any size stays one function, and dynamic
dimensions give one copy for all sizes:

def @pair[A](%x: A) -> (A, A) { (%x, %x) }
def @main[n: Shape](%x: Tensor[(n, 3), int8]) { @pair(%x) }
->
def @main[n: Shape](%x: Tensor[(n, 3), int8]) { @pair_int8_nx3(%x) }
def @pair_int8_nx3[n: Shape](%x: Tensor[(n, 3), int8]) { (%x, %x) }

A parameter that is a polymorphic function is removed: there is a copy for the function passed.

def @id[A](%x: A) -> A { %x }
def @both(%f: fn [A](A) -> A) { (%f(1), %f(2f)) }
def @main() { @both(@id) }
->
def @id_int32(%x: int32) { %x }
def @id_float32(%x: float32) { %x }
def @both_id() { (@id_int32(1), @id_float32(2f)) }
def @main() { @both_id() }

Two things are errors: polymorphic recursion at ever larger types, and a polymorphic function that
is the result of data, a branch or a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.normal_forms import makes_closure
from relay.check.infer import infer_module
from relay.errors import AnySpan, LowerError, TypeCheckError
from relay.immutable import frozen
from relay.ir import dims
from relay.ir import expr as ir
from relay.ir.attrs import DictAttrs
from relay.ir.dims import Dim
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames, as_word
from relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeKind,
    TypeVar,
)
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional import known_functions
from relay.tree import Steps

# A longer chain of copies of one function is an endless recursion.
MAX_CHAIN = 20
MAX_NAME = 60
_AT_ONE_TYPE = "AtOneType"  # marks temporary wrappers of polymorphic functions


@frozen
class Monomorphize(ModulePass):
    """Leaves no type parameters but dimensions in functions reachable from an entry."""

    opt_level = 0
    required = ("LambdaLift",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if not any(map(_varies, module.functions.values())):
            return module
        if "main" in module and _varies(module["main"]):
            raise _error(
                "`@main` is polymorphic, so nobody knows which types to compile it for",
                module["main"].span,
                hint="write types instead of its type parameters",
            )
        return infer_module(_Copies(_at_one_type(module)).module())


def is_polymorphic(ty: Type | None) -> bool:
    """Whether `ty` is a function type with type parameters other than dimensions."""
    return isinstance(ty, FuncType) and any(map(_is_type, ty.type_params))


def _is_type(param: TypeVar) -> bool:
    return param.kind is not TypeKind.ShapeVar


def _varies(function: ir.Function) -> bool:
    """Whether a function is replaced by copies: it is polymorphic, makes polymorphic closures, or
    has polymorphic parameters."""
    if is_foreign(function):
        return False
    own = (*function.type_params, *_inner_type_params(function))
    return any(map(_is_type, own)) or any(is_polymorphic(p.ty) for p in function.params)


def _inner_type_params(function: ir.Function) -> tuple[TypeVar, ...]:
    """The type parameters of the closures that a function makes."""
    inner = function.body
    return inner.type_params if makes_closure(function) and isinstance(inner, ir.Function) else ()


def _error(
    message: str, span: AnySpan | None, *, found: str | None = None, hint: str
) -> LowerError:
    return LowerError.of(message, span, found=found, hint=hint)


# --- polymorphic functions as values ------------------------------------------------------------


def _at_one_type(module: IRModule) -> IRModule:
    """The module with wrappers around polymorphic functions that are values:

    @map(@id, %xs)  ->  @map(fn (%x) { @id(%x) }, %xs)

    Inference then finds the types at which the wrapped function is called.
    """
    changed: dict[ir.GlobalVar, ir.Function] = {}
    for name, function in module.functions.items():
        if is_foreign(function):
            continue
        new: dict[int, ir.Syntax] = {}
        for node in tree.postorder(function):
            parts = [
                _calling(new[id(part)], part) if _is_value(node, i, part) else new[id(part)]
                for i, part in enumerate(tree.children(node))
            ]
            new[id(node)] = tree.rebuild(node, parts)
        after = new[id(function)]
        if after is not function and isinstance(after, ir.Function):
            changed[name] = after
    if not changed:
        return module
    for name, function in changed.items():
        module[name] = function
    try:
        return infer_module(module)
    except TypeCheckError as error:
        first = error.diagnostics[0]
        raise _error(
            "a polymorphic function is a value where it has no single type",
            first.span,
            found=first.message,
            hint="call it by its name, or write a function for each type it is used at",
        ) from None


def _is_value(user: ir.Syntax, index: int, part: ir.Syntax) -> bool:
    """Whether a polymorphic function is used as a monomorphic value here."""
    if not isinstance(part, ir.Expr) or not is_polymorphic(part.ty):
        return False
    match user:
        case ir.Call(op=callee):
            if index == 0:
                return False
            wanted = callee.ty.arg_types[index - 1] if isinstance(callee.ty, FuncType) else None
            return not is_polymorphic(wanted)
        case ir.Let(variable=variable):
            is_alias = part is user.value and is_polymorphic(variable.ty)
            return part is not variable and not is_alias
        case ir.Function(params=params):
            return not isinstance(part, ir.Function) and part not in params
        case ir.PatternConstructor() | ir.PatternVar():
            return False
    return True


def _calling(callee: Any, before: Any) -> ir.Function:
    params = tuple(ir.Var(f"x{i}") for i in range(len(before.ty.arg_types)))
    return ir.Function(params, ir.Call(callee, params), attrs=DictAttrs({_AT_ONE_TYPE: 1}))


# --- copies -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Copy:
    """A requested copy of `@name`; `asked_by` another one."""

    name: str
    new_name: str
    types: Mapping[TypeVar, Type | Dim]  # for its type parameters
    known: Mapping[int, known_functions.KnownFunction]  # for its parameters
    sizes: tuple[TypeVar, ...]  # the type parameters it gets for dimensions in those
    asked_by: _Copy | None
    is_plain: bool  # its closures would capture nothing

    def chain(self) -> Iterator[_Copy]:
        """Itself and those that led to it."""
        current: _Copy | None = self
        while current is not None:
            yield current
            current = current.asked_by


@dataclass
class _Copies:
    """The functions of a module, and the copies they request."""

    before: IRModule
    known: dict[Any, _Copy] = field(default_factory=dict)
    pending: list[_Copy] = field(default_factory=list)
    variables: known_functions.Variables = field(default_factory=known_functions.Variables)

    def __post_init__(self) -> None:
        self.names = UniqueNames({name.name_hint for name in self.before.functions})

    def module(self) -> IRModule:
        result = self.before.copy()
        for name, function in self.before.functions.items():
            if _varies(function):
                del result[name]
            elif not is_foreign(function):
                result[name] = self.rewritten(function, None)
        done = 0
        while done < len(self.pending):
            wanted = self.pending[done]
            result[wanted.new_name] = self.made(wanted)
            done += 1
        return result

    def made(self, wanted: _Copy) -> ir.Function:
        copy = known_functions.copy_with(
            self.before[wanted.name], wanted.types, wanted.known, self.before
        )
        if makes_closure(copy):
            inner = copy.body
            assert isinstance(inner, ir.Function)
            declared = inner.declared_type
            copy = inner if wanted.is_plain else tree.replace(copy, ret_type=declared)
        copy = tree.replace(copy, type_params=(*wanted.sizes, *copy.type_params))
        return self.rewritten(copy, wanted)

    def rewritten(self, function: ir.Function, within: _Copy | None) -> ir.Function:
        """The function calling copies of polymorphic functions."""
        return tree.transform(function, _Uses(self, function, within).rewritten)

    def ask(
        self,
        call: ir.Call,
        inner: known_functions.TypeArgs,
        known: Mapping[int, known_functions.KnownFunction],
        within: _Copy | None,
    ) -> tuple[_Copy, known_functions.TypeArgs]:
        """The copy of the called function, and the type arguments of that.

        `inner` are the type arguments of the closure it makes, `known` its polymorphic arguments.
        """
        assert isinstance(call.op, ir.GlobalVar)
        name, callee = call.op.name_hint, self.before[call.op]
        given = dict(zip(callee.type_params, call.type_args, strict=True))
        if inner:
            given.update(zip(_inner_type_params(callee), inner, strict=True))
        left = {} if known else {p: a for p, a in given.items() if not _is_type(p)}
        types = {p: a for p, a in given.items() if p not in left}
        sizes = known_functions.Sizes(self.variables)
        abstract = sizes.abstracted(tuple(types.values()))
        functions = {i: function.map(sizes.abstracted) for i, function in known.items()}
        key = (name, abstract, tuple(functions.items()))
        if key not in self.known:
            own = sizes.named()
            renaming = sizes.renaming(own)
            types = dict(zip(types, known_functions.renamed(abstract, renaming), strict=True))
            functions = {
                i: function.map(lambda given: known_functions.renamed(given, renaming))
                for i, function in functions.items()
            }
            self.known[key] = self.new_copy(name, types, functions, own, within)
            self.pending.append(self.known[key])
            self.check_end(self.known[key], call)
        sizes_left = (left[param] for param in callee.type_params if param in left)
        return self.known[key], (*sizes.found, *sizes_left)

    def new_copy(
        self,
        name: str,
        types: Mapping[TypeVar, Type | Dim],
        known: Mapping[int, known_functions.KnownFunction],
        sizes: tuple[TypeVar, ...],
        within: _Copy | None,
    ) -> _Copy:
        words = _words(ty for ty in types.values() if isinstance(ty, Type))
        stem = "_".join([name, *words, *(k.name for k in known.values())])
        function = self.before[name]
        remembers = sizes or not all(map(_is_type, function.type_params)) or function.params
        is_plain = makes_closure(function) and not remembers
        new_name = self.names.fresh(stem[:MAX_NAME])
        return _Copy(name, new_name, types, known, sizes, within, is_plain)

    def check_end(self, made: _Copy, call: ir.Call) -> None:
        """An error when copies of one function request each other endlessly."""
        chain = [copy for copy in made.chain() if copy.name == made.name]
        if len(chain) > MAX_CHAIN:
            first = [", ".join(map(str, copy.types.values())) for copy in reversed(chain[-3:])]
            raise _error(
                f"`@{made.name}` calls itself at larger and larger types",
                call.span or self.before[made.name].span,
                found=f"{' -> '.join(first)} -> …",
                hint="a function may call itself at other types as long as it comes back to them",
            )


class _Uses:
    """Rewrites one function, which may be a copy itself, to use copies of others."""

    def __init__(self, copies: _Copies, function: ir.Function, within: _Copy | None) -> None:
        self.copies = copies
        self.within = within
        # variables that are polymorphic functions, and the variables that replace them
        self.aliases: dict[ir.Syntax, ir.Expr] = {}
        self.instead: dict[ir.Var, dict[known_functions.TypeArgs, tuple[ir.Var, ir.Expr]]] = {}
        self.arguments: dict[
            int, tuple[ir.Expr, ...]
        ] = {}  # of calls that make closures, rewritten
        for node in tree.postorder(function):
            if isinstance(node, ir.Let) and is_polymorphic(node.variable.ty):
                self.aliases[node.variable] = node.value
                self.instead[node.variable] = {}

    def rewritten(self, before: Any, after: Any) -> Any:
        match before:
            case ir.Call() if is_polymorphic(before.ty) and self.makes_closure(before):
                self.arguments[id(before)] = after.args  # it is made for the types it is called at
            case ir.Call(op=callee) if is_polymorphic(callee.ty) or self.is_varying(callee):
                return self.called(before, after)
            case ir.Let(variable=variable) if variable in self.instead:
                body = after.body
                for copy, value in reversed(self.instead[variable].values()):
                    body = ir.Let(copy, value, body, span=before.span)
                return body
            case ir.Function(attrs=attrs) if attrs.get(_AT_ONE_TYPE):
                if not isinstance(after.body.op, ir.Constructor):
                    return after.body.op
                return tree.replace(after, attrs=attrs.without(_AT_ONE_TYPE))
        return after

    def makes_closure(self, e: ir.Expr) -> bool:
        return isinstance(e, ir.Call) and self.is_varying(e.op)

    def is_varying(self, e: ir.Expr) -> bool:
        before = self.copies.before
        return isinstance(e, ir.GlobalVar) and e in before and _varies(before[e])

    def origin(self, e: ir.Expr) -> tuple[ir.Var | None, ir.Expr]:
        """The value that a chain of variables leads to, and the last variable of the chain."""
        variable = None
        while e in self.aliases:
            assert isinstance(e, ir.Var)
            variable, e = e, self.aliases[e]
        return variable, e

    def called(self, before: ir.Call, after: ir.Call) -> ir.Expr:
        """A call of a polymorphic function as a call of the copy for its types."""
        variable, callee = self.origin(before.op)
        if isinstance(callee, ir.Constructor):
            return after
        if isinstance(callee, ir.GlobalVar):
            if not self.is_varying(callee):
                return after
            call = tree.replace(before, op=callee)
            return self.copied(call, (), after)
        if not isinstance(callee, ir.Call) or not self.makes_closure(callee):
            raise _error(
                "a polymorphic function is called that is not known by name",
                before.span or callee.span,
                found=f"a function of type {callee.ty}",
                hint="call a function of the module, or one that a `let` names",
            )
        made = self.copied(callee, before.type_args, self.made(callee))
        if variable is not None:
            named = (ir.Var(variable.name_hint, span=variable.span), made)
            made = self.instead[variable].setdefault(before.type_args, named)[0]
        left = tuple(a for p, a in self.inner(callee, before) if not _is_type(p))
        return tree.replace(after, op=made, type_args=left)

    def made(self, maker: ir.Call) -> ir.Call:
        """A call that makes a closure, with rewritten arguments."""
        return tree.replace(maker, args=self.arguments[id(maker)])

    def inner(self, maker: ir.Call, call: ir.Call) -> Iterator[tuple[TypeVar, Type | Dim]]:
        assert isinstance(maker.op, ir.GlobalVar)
        params = _inner_type_params(self.copies.before[maker.op])
        return zip(params, call.type_args, strict=True)

    def copied(self, before: ir.Call, inner: known_functions.TypeArgs, after: ir.Call) -> ir.Expr:
        """The call of the copy of a global function; for `inner`, see `_Copies.ask`."""
        assert isinstance(before.op, ir.GlobalVar)
        params = self.copies.before[before.op].params
        known = {
            i: tree.run(self.function(arg))
            for i, (param, arg) in enumerate(zip(params, before.args, strict=True))
            if is_polymorphic(param.ty)
        }
        copy, type_args = self.copies.ask(before, inner, known, self.within)
        if copy.is_plain:
            return ir.GlobalVar(copy.new_name)
        args: list[ir.Expr] = []
        for i, arg in enumerate(after.args):
            args.extend(known[i].values() if i in known else (arg,))
        return tree.replace(
            after, op=ir.GlobalVar(copy.new_name), args=tuple(args), type_args=type_args
        )

    def function(self, arg: ir.Expr) -> Steps[known_functions.KnownFunction]:
        """The polymorphic function of an argument."""
        _, found = self.origin(arg)
        if isinstance(found, ir.GlobalVar):
            return known_functions.KnownFunction(found.name_hint)
        if isinstance(found, ir.Call) and self.makes_closure(found):
            assert isinstance(found.op, ir.GlobalVar)
            captured: list[ir.Expr | known_functions.KnownFunction] = []
            for before, after in zip(found.args, self.arguments[id(found)], strict=True):
                is_function = is_polymorphic(before.ty)
                captured.append((yield self.function(before)) if is_function else after)
            return known_functions.KnownFunction(
                found.op.name_hint, found.type_args, tuple(captured)
            )
        raise _error(
            "a polymorphic function is an argument that is not known by name",
            arg.span,
            found=f"a function of type {arg.ty}",
            hint="give a function of the module, or one that a `let` names",
        )


# --- names --------------------------------------------------------------------------------------


def _words(types: Iterable[Type]) -> list[str]:
    """The words in the name of a copy for these types, up to the maximal length of a name."""
    words: list[str] = []
    pending = list(types)[::-1]
    while pending and sum(map(len, words)) < MAX_NAME:
        ty = pending.pop()
        match ty:
            case TensorType(shape=shape, dtype=dtype):
                sizes = (_word_of(dim) for dim in shape)
                words += [dtype, "x".join(sizes)] if shape else [dtype]
            case TupleType(fields=fields):
                words.append("tuple" if fields else "unit")
            case FuncType():
                words.append("fn")
            case RefType():
                words.append("ref")
            case GlobalTypeVar(name_hint=name) | TypeVar(name_hint=name):
                words.append(as_word(name, "type"))
        pending += tree.children(ty)[::-1]
    return words


def _word_of(dim: Dim) -> str:
    if isinstance(dim, TypeVar):
        return as_word(dim.name_hint, "n")
    if isinstance(dim, int):
        return str(dim)
    return "any" if dim == dims.ANY else "n"
