"""Make a copy of every polymorphic function for each list of types it is used at:

def @pair[A](%x: A) -> (A, A) { (%x, %x) }
def @main() { (@pair(1), @pair(2f), @pair(3)) }
->
def @main() { (@pair_int32(1), @pair_float32(2f), @pair_int32(3)) }
def @pair_int32(%x: int32) -> (int32, int32) { (%x, %x) }
def @pair_float32(%x: float32) -> (float32, float32) { (%x, %x) }

Afterwards every value has one type, and polymorphic functions are gone. A polymorphic function that
is used as a value is the copy for the types it is used at there, `@map(@pair, %xs)` for example.
One that remembers something, and so is made by a function marked `Closure`, is made once for each
list of types:

let %f = @main_f(%x); (%f(1), %f(2f))
->
let %f = @main_f_int32(%x); let %f1 = @main_f_float32(%x); (%f(1), %f1(2f))

Dimensions are no types: a function of vectors of any size stays one function, and where a type has
dimensions that are not numbers, the copy is one for all sizes.

def @main[n: Shape](%x: Tensor[(n, 3), int8]) { @pair(%x) }
->
def @main[n: Shape](%x: Tensor[(n, 3), int8]) { @pair_int8_nx3[n](%x) }
def @pair_int8_nx3[n: Shape](%x: Tensor[(n, 3), int8]) { (%x, %x) }

Two things have no such form, and are errors: a function that calls itself at larger and larger
types, and a polymorphic function in a place that asks for one, like a parameter of that type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.normal_forms import makes_closure
from relay.check.infer import infer_module
from relay.errors import AnySpan, Diagnostic, LowerError, TypeCheckError
from relay.ir import dims
from relay.ir.attrs import DictAttrs
from relay.ir.copying import copied
from relay.ir.dims import Dim
from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    PatternConstructor,
    PatternVar,
    Syntax,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames, as_word
from relay.ir.types import (
    UNIT,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeKind,
    TypeVar,
    substitute,
)
from relay.transform.base import ModulePass, is_foreign
from relay.transform.context import PassContext

# The copies of one function that may ask for each other in a row: more are a program without end.
MAX_CHAIN = 20
MAX_NAME = 60

_AT_ONE_TYPE = "AtOneType"  # marks functions that stand for another one for a while

TypeArgs = tuple[Type | Dim, ...]


@dataclass(frozen=True)
class Monomorphize(ModulePass):
    """Leaves no type parameters but dimensions in what an entry function reaches."""

    opt_level = 0
    required = ("LambdaLift",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if not any(map(_varies, module.functions.values())):
            return module
        if _varies(module["main"]) if "main" in module else False:
            raise _error(
                "`@main` is polymorphic, so nobody knows which types to compile it for",
                module["main"].span,
                hint="write types instead of its type parameters",
            )
        return infer_module(_Copies(_at_one_type(module)).module())


def is_polymorphic(ty: Type | None) -> bool:
    """Whether `ty` is that of a function with type parameters; dimensions do not count."""
    return isinstance(ty, FuncType) and any(map(_is_type, ty.type_params))


def _is_type(param: TypeVar) -> bool:
    return param.kind is not TypeKind.ShapeVar


def _varies(function: Function) -> bool:
    """Whether there is to be a copy for each list of types, in the place of the function itself."""
    if is_foreign(function):
        return False
    inner = function.body if makes_closure(function) else function
    return any(_is_type(p) for f in (function, inner) for p in _type_params(f))


def _type_params(e: Expr) -> tuple[TypeVar, ...]:
    return e.type_params if isinstance(e, Function) else ()


def _error(message: str, span: AnySpan | None, **more: str) -> LowerError:
    return LowerError(Diagnostic(message, span, **more))


# --- polymorphic functions as values ------------------------------------------------------------


def _at_one_type(module: IRModule) -> IRModule:
    """The module with a function written around polymorphic ones that are values:

    @map(@id, %xs)  ->  @map(fn (%x) { @id(%x) }, %xs)

    Inference finds out at which types that calls the other one.
    """
    changed: dict[GlobalVar, Function] = {}
    for name, function in module.functions.items():
        if is_foreign(function):
            continue
        new: dict[int, Syntax] = {}
        for node in tree.postorder(function):
            parts = [
                _calling(new[id(part)], part) if _is_value(node, i, part) else new[id(part)]
                for i, part in enumerate(tree.children(node))
            ]
            new[id(node)] = tree.rebuild(node, parts)
        if new[id(function)] is not function:
            after = new[id(function)]
            assert isinstance(after, Function)
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
            "a polymorphic function is used where one is asked for that has one type",
            first.span,
            found=first.message,
            hint="call it by its name, or write a function for each type it is used at",
        ) from None


def _is_value(user: Syntax, index: int, part: Syntax) -> bool:
    """Whether a polymorphic function is used here without being called."""
    if not isinstance(part, Expr) or not is_polymorphic(part.ty):
        return False
    match user:
        case Call():
            is_called = index == 0
        case Let(variable=variable):
            is_called = part is variable or (part is user.value and is_polymorphic(variable.ty))
        case Function():
            is_called = isinstance(part, Function) or part in user.params
        case PatternConstructor() | PatternVar():
            is_called = True
        case _:
            is_called = False
    return not is_called


def _calling(callee: Any, before: Any) -> Function:
    params = tuple(Var(f"x{i}") for i in range(len(before.ty.arg_types)))
    return Function(params, Call(callee, params), attrs=DictAttrs({_AT_ONE_TYPE: 1}))


# --- copies -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Copy:
    """A copy of `@name` that is going to be made; `asked_by` another one."""

    name: str
    new_name: str
    types: dict[TypeVar, Type]  # for its type parameters
    sizes: tuple[TypeVar, ...]  # the type parameters it gets for dimensions in those
    asked_by: _Copy | None
    is_plain: bool  # made by a `Closure`, but there is nothing to remember

    def chain(self) -> Iterator[_Copy]:
        """Itself and those that led to it."""
        current: _Copy | None = self
        while current is not None:
            yield current
            current = current.asked_by


@dataclass
class _Copies:
    """The functions of a module, which ask for copies of others."""

    before: IRModule
    known: dict[tuple[Any, ...], _Copy] = field(default_factory=dict)
    pending: list[_Copy] = field(default_factory=list)
    stand_ins: list[TypeVar] = field(default_factory=list)

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

    def made(self, wanted: _Copy) -> Function:
        copy = copied(self.before[wanted.name], wanted.types)
        if makes_closure(copy):
            assert isinstance(copy.body, Function)
            copy = tree.replace(copy, ret_type=copy.body.declared_type)
            if wanted.is_plain:
                copy = tree.replace(copy.body)
        copy = tree.replace(copy, type_params=(*wanted.sizes, *copy.type_params))
        return self.rewritten(copy, wanted)

    def rewritten(self, function: Function, within: _Copy | None) -> Function:
        """The function over copies of those it uses."""
        result = tree.transform(function, _Uses(self, function, within).rewritten)
        assert isinstance(result, Function)
        return result

    def ask(
        self, callee: GlobalVar, given: TypeArgs, inner: TypeArgs, within: _Copy | None, call: Call
    ) -> tuple[_Copy, TypeArgs]:
        """The copy of a function for these types, and the dimensions that are left to be given.

        `inner` is for the function that a `Closure` makes.
        """
        function = self.before[callee]
        params = function.type_params
        args = dict(zip(params, given, strict=True))
        if inner:
            args.update(zip(_type_params(function.body), inner, strict=True))
        sizes: list[Dim] = []
        types = {p: self.abstracted(a, sizes) for p, a in args.items() if isinstance(a, Type)}
        types = {p: a for p, a in types.items() if _is_type(p)}
        key = (callee.name_hint, *types.values())
        if key not in self.known:
            self.known[key] = self.new_copy(callee.name_hint, types, sizes, within, call)
            self.pending.append(self.known[key])
        left = tuple(args[p] for p in params if not _is_type(p))
        return self.known[key], (*sizes, *left)

    def new_copy(
        self,
        name: str,
        types: dict[TypeVar, Type],
        sizes: Sequence[Dim],
        within: _Copy | None,
        call: Call,
    ) -> _Copy:
        own = tuple(ShapeVar(d.name_hint if isinstance(d, TypeVar) else "n") for d in sizes)
        renamed = dict(zip(self.stand_ins, own, strict=False))
        types = {p: substitute(ty, renamed) for p, ty in types.items()}
        new_name = self.names.fresh("_".join([name, *_words(types.values())])[:MAX_NAME])
        function = self.before[name]
        is_plain = makes_closure(function) and not (function.params or own)
        is_plain = is_plain and all(map(_is_type, function.type_params))
        made = _Copy(name, new_name, types, own, within, is_plain)
        chain = [copy for copy in made.chain() if copy.name == name]
        if len(chain) > MAX_CHAIN:
            first = [", ".join(map(str, copy.types.values())) for copy in reversed(chain[-3:])]
            raise _error(
                f"`@{name}` calls itself at larger and larger types",
                call.span or self.before[name].span,
                found=f"{' -> '.join(first)} -> …",
                hint="a function may call itself at other types as long as it comes back to them",
            )
        return made

    def abstracted(self, ty: Type, sizes: list[Dim]) -> Type:
        """`ty` with variables for its dimensions that are no numbers, which are added to `sizes`.

        Equal ones are one variable. Holes are left where any type will do.
        """
        if not ty.occurs:
            return ty
        inside = [part for part in tree.postorder(ty) if isinstance(part, FuncType)]
        own = {param for part in inside for param in part.type_params}

        def stand_in(dim: Dim) -> Dim:
            if dim not in sizes:
                sizes.append(dim)
            while len(self.stand_ins) < len(sizes):
                self.stand_ins.append(ShapeVar(f"n{len(self.stand_ins)}"))
            return self.stand_ins[sizes.index(dim)]

        def size(dim: Dim) -> Dim:
            if isinstance(dim, int | dims.Any):
                return dim
            if own.isdisjoint(a for a in dims.atoms(dim) if isinstance(a, TypeVar)):
                return stand_in(dim)
            free = {atom: stand_in(atom) for atom in dims.atoms(dim) if atom not in own}
            return dims.substitute(dim, lambda atom: free.get(atom, atom))

        def visit(_: Type, after: Type) -> Type:
            if isinstance(after, TensorType) and after.occurs:
                return TensorType(tuple(map(size, after.shape)), after.dtype)
            return UNIT if isinstance(after, IncompleteType) else after

        return tree.transform(ty, visit)


class _Uses:
    """Rewrites one function, which may be a copy itself, over copies of those it uses."""

    def __init__(self, copies: _Copies, function: Function, within: _Copy | None) -> None:
        self.copies = copies
        self.within = within
        # variables that are polymorphic functions, and the variables that take their places
        self.aliases: dict[Syntax, Expr] = {}
        self.instead: dict[Var, dict[TypeArgs, tuple[Var, Expr]]] = {}
        self.captured: dict[int, tuple[Expr, ...]] = {}
        for node in tree.postorder(function):
            if isinstance(node, Let) and is_polymorphic(node.variable.ty):
                self.aliases[node.variable] = node.value
                self.instead[node.variable] = {}

    def rewritten(self, before: Any, after: Any) -> Any:
        match before:
            case Call() if is_polymorphic(before.ty) and self.makes_closure(before):
                self.captured[id(before)] = after.args  # it is made for the types it is called at
            case Call(op=callee) if is_polymorphic(callee.ty):
                return self.called(before, after)
            case Let(variable=variable) if variable in self.instead:
                body = after.body
                for copy, value in reversed(self.instead[variable].values()):
                    body = Let(copy, value, body, span=before.span)
                return body
            case Function(attrs=attrs) if attrs.get(_AT_ONE_TYPE):
                if not isinstance(after.body.op, Constructor):
                    return after.body.op
                return tree.replace(after, attrs=attrs.without(_AT_ONE_TYPE))
        return after

    def makes_closure(self, e: Expr) -> bool:
        return isinstance(e, Call) and isinstance(e.op, GlobalVar) and self.is_varying(e.op)

    def is_varying(self, name: GlobalVar) -> bool:
        return name in self.copies.before and _varies(self.copies.before[name])

    def called(self, before: Call, after: Call) -> Expr:
        """The call of a polymorphic function, as one of the copy for its types."""
        variable, callee = None, before.op
        while callee in self.aliases:
            assert isinstance(callee, Var)
            variable, callee = callee, self.aliases[callee]
        if isinstance(callee, Constructor):
            return after
        if isinstance(callee, GlobalVar):
            if not self.is_varying(callee):
                return after
            copy, left = self.copies.ask(callee, before.type_args, (), self.within, before)
            target = GlobalVar(copy.new_name)
            return target if copy.is_plain else tree.replace(after, op=target, type_args=left)
        if not isinstance(callee, Call) or not self.makes_closure(callee):
            raise _error(
                "a polymorphic function is called that is not known by name",
                before.span or callee.span,
                found=f"a function of type {callee.ty}",
                hint="call a function of the module, or one that a `let` names",
            )
        left = tuple(a for a in before.type_args if not isinstance(a, Type))
        made = self.closure(callee, before)
        if variable is not None:
            known = self.instead[variable]
            if before.type_args not in known:
                known[before.type_args] = (Var(variable.name_hint, span=variable.span), made)
            made = known[before.type_args][0]
        return tree.replace(after, op=made, type_args=left)

    def closure(self, maker: Call, call: Call) -> Expr:
        """The closure for the types of one call."""
        assert isinstance(maker.op, GlobalVar)
        copy, left = self.copies.ask(maker.op, maker.type_args, call.type_args, self.within, call)
        target = GlobalVar(copy.new_name)
        if copy.is_plain:
            return target
        return Call(target, self.captured[id(maker)], maker.attrs, left, span=maker.span)


# --- names --------------------------------------------------------------------------------------


def _words(types: Iterable[Type]) -> list[str]:
    """What a copy for these types is called after; only as much as fits into a name."""
    words: list[str] = []
    pending = list(types)[::-1]
    while pending and sum(map(len, words)) < MAX_NAME:
        ty = pending.pop()
        match ty:
            case TensorType(shape=shape, dtype=dtype):
                sizes = ("any" if d == dims.ANY else as_word(f"{d}", "") for d in shape)
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
