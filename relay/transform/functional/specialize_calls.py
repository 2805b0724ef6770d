"""Call known functions directly, and copy higher-order functions for the functions they are given:

type List { Cons(int32, List), Nil }
def @negate(%x: int32) -> int32 { negative(%x) }
def @map(%f: fn (int32) -> int32, %xs: List) -> List {
  match (%xs) { Cons(%x, %rest) => { Cons(%f(%x), @map(%f, %rest)) }, Nil => Nil }
}
def @main(%xs: List) { @map(@negate, %xs) }
->
type List { Cons(int32, List), Nil }
def @negate(%x: int32) -> int32 { negative(%x) }
def @map(%f: fn (int32) -> int32, %xs: List) -> List { … }
def @main(%xs: List) { @map_negate(%xs) }
def @map_negate(%xs: List) -> List {
  match (%xs) { Cons(%x, %rest) => { Cons(@negate(%x), @map_negate(%rest)) }, Nil => Nil }
}

A closure is known by the function that makes it. Its captured variables become parameters of the
copy, and calling it becomes a call of a function that takes those first:

def @main_f(%y: int32, Closure=1) -> fn (int32) -> int32 { fn (%x: int32) { add(%y, %x) } }
def @main(%y: int32) { let %f = @main_f(%y); %f(1) }
->
def @main_f(%y: int32, Closure=1) { fn (%x: int32) { @main_f_direct(%y, %x) } }
def @main_f_direct(%y: int32, %x: int32) { add(%y, %x) }
def @main(%y: int32) { let %f = @main_f(%y); @main_f_direct(%y, 1) }

So a loop over functions becomes a loop over data, and often the closure is no longer needed. It
runs after `LambdaLift` and `Monomorphize`; copies are made for what an entry reaches. The general
function is called once the copies become too many (a function that makes larger and larger
functions of those it is given) or too large together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.analysis.normal_forms import makes_closure
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.copying import copied
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Syntax, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import FuncType, Occurs, TypeVar, substitute
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional.known_functions import (
    KnownFunction,
    Sizes,
    TypeArgs,
    Variables,
    copy_with,
    made_type,
    renamed,
)

MAX_NESTING = 4  # of a function in the functions that a copy of it is for; 1 if it is recursive
MAX_COPIES = 200
MAX_GROWTH = 20_000  # expressions in all copies
MAX_NAME = 60


@frozen
class SpecializeCalls(ModulePass):
    """Replaces calls of known closures, and calls with known function arguments."""

    opt_level = 2
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        work = _Specializing(module)
        changed = work.run()
        for name, function in changed.items():
            module[name] = function
        return infer_module(module) if changed else module


@dataclass
class _Specializing:
    """The functions of a module, and the copies they request."""

    module: IRModule
    copies: dict[Any, str | None] = field(default_factory=dict)
    direct: dict[str, str] = field(default_factory=dict)  # maker -> what calls its closures
    origin: dict[str, str] = field(default_factory=dict)  # copy -> function
    nesting: dict[str, dict[str, int]] = field(default_factory=dict)  # of functions in a copy
    growth: int = 0

    def __post_init__(self) -> None:
        functions = self.module.functions
        self.names = UniqueNames({name.name_hint for name in functions})
        self.source = {n.name_hint: f for n, f in functions.items() if not is_foreign(f)}
        self.variables = Variables()
        # callees of recursive functions could be nested any number of times
        graph = CallGraph(self.module)
        loops = [name for name in functions if graph.is_recursive(name)]
        self.recursive = {callee.name_hint for name in loops for callee in graph.callees(name)}

    def run(self) -> dict[str, Function]:
        """The functions that are new or changed."""
        done: dict[str, Function] = {}
        entries = ["main"] if "main" in self.source else list(self.source)
        pending = entries[::-1]
        while pending:
            name = pending.pop()
            if name in done or name not in self.source:
                continue
            done[name] = self.rewritten(name)
            for node in tree.postorder(done[name]):
                if isinstance(node, GlobalVar):
                    pending.append(node.name_hint)
        for maker, direct in self.direct.items():
            if maker in done and direct in done:
                done[maker] = _calling(self.source[maker], direct)
        return {n: f for n, f in done.items() if n not in self.module or f is not self.module[n]}

    def rewritten(self, name: str) -> Function:
        function = self.source[name]
        return tree.transform(function, _Uses(self, name, function).rewritten)

    # --- calling closures

    def direct_name(self, maker: str) -> str:
        """The function that takes the captured variables of a closure, then its arguments."""
        if maker not in self.direct:
            function = self.source[maker]
            inner = function.body
            assert isinstance(inner, Function)
            name = self.names.fresh(f"{maker}_direct")
            flat = Function(
                (*function.params, *inner.params),
                inner.body,
                inner.ret_type,
                (*function.type_params, *inner.type_params),
                inner.attrs,
                span=inner.span,
            )
            self.source[name] = copied(flat)
            self.origin[name] = self.origin.get(maker, maker)
            self.nesting[name] = self.nesting.get(maker, {maker: 1})
            self.direct[maker] = name
        return self.direct[maker]

    # --- copies

    def copy_for(
        self, name: str, type_args: TypeArgs, known: Mapping[int, KnownFunction], within: str
    ) -> tuple[str, TypeArgs] | None:
        """The copy of a function for known arguments, by position, and its type arguments; None
        where the limits forbid one."""
        function = self.source[name]
        given = [*type_args, *(dim for one in known.values() for dim in one.type_args)]
        types = dict(zip(function.type_params, type_args, strict=True))
        if any(isinstance(dim, dims.Any) for dim in given) or not all(
            self.fits(function.params[i], one, types) for i, one in known.items()
        ):
            return None
        sizes = Sizes(self.variables)
        abstract = sizes.abstracted(type_args)
        functions = {i: one.map(sizes.abstracted) for i, one in known.items()}
        key = (name, abstract, tuple(functions.items()))
        if key not in self.copies:
            self.copies[key] = None
            origin = self.origin.get(name, name)
            nesting = self.nested(origin, known)
            again = 1 + self.nesting[within].get(origin, 0) if within in self.nesting else 1
            size = sum(1 for _ in tree.postorder(function))
            enough = len(self.copies) > MAX_COPIES or self.growth + size > MAX_GROWTH
            limit = 1 if origin in self.recursive else MAX_NESTING
            if nesting[origin] <= limit and again <= MAX_NESTING and not enough:
                stem = "_".join([name, *(one.name for one in known.values())])
                made = self.names.fresh(stem[:MAX_NAME])
                self.growth += size
                self.copies[key], self.origin[made], self.nesting[made] = made, origin, nesting
                self.source[made] = self.made(function, abstract, functions, sizes)
        copy = self.copies[key]
        return None if copy is None else (copy, tuple(sizes.found))

    def nested(self, origin: str, known: Mapping[int, KnownFunction]) -> dict[str, int]:
        """How often each function is nested in a copy: `f_g_f` has two of `f`."""
        found: dict[str, int] = {}
        for one in known.values():
            for name, count in self.nesting.get(one.name, {one.name: 1}).items():
                found[name] = max(count, found.get(name, 0))
        found[origin] = found.get(origin, 0) + 1
        return found

    def fits(self, param: Var, known: KnownFunction, types: Mapping[TypeVar, Any]) -> bool:
        """Whether passing the function checks nothing at run time: no dimension is `?`."""
        wanted = substitute(param.checked_type, types)
        return not (made_type(self.source[known.name]).occurs | wanted.occurs) & Occurs.ANY

    def made(
        self,
        function: Function,
        abstract: TypeArgs,
        known: Mapping[int, KnownFunction],
        sizes: Sizes,
    ) -> Function:
        own = sizes.named()
        renaming = sizes.renaming(own)
        types = dict(zip(function.type_params, renamed(abstract, renaming), strict=True))
        functions = {i: one.map(lambda given: renamed(given, renaming)) for i, one in known.items()}
        copy = copy_with(function, types, functions, self.source)
        if makes_closure(copy) and not copy.params and not own:
            assert isinstance(copy.body, Function)
            return copy.body
        return tree.replace(copy, type_params=own)


def _calling(maker: Function, direct: str) -> Function:
    """A function that makes closures which call `direct`."""
    inner = maker.body
    assert isinstance(inner, Function)
    args = (*maker.params, *inner.params)
    types = (*maker.type_params, *inner.type_params)
    call = Call(GlobalVar(direct), args, type_args=types)
    return tree.replace(maker, body=tree.replace(inner, body=call))


class _Uses:
    """Rewrites the calls of one function."""

    def __init__(self, work: _Specializing, name: str, function: Function) -> None:
        self.work = work
        self.name = name
        self.values: dict[Expr, Expr] = {}  # of variables, once they are rewritten
        self.named: dict[int, list[Var]] = {}
        for node in tree.postorder(function):
            if isinstance(node, Let):
                declared = node.variable.type_annotation
                if declared is None or declared == node.value.ty:
                    self.named.setdefault(id(node.value), []).append(node.variable)

    def rewritten(self, before: Syntax, after: Any) -> Any:
        if isinstance(before, Call):
            after = self.call(after)
        for variable in self.named.get(id(before), ()):
            self.values[variable] = after
        return after

    def call(self, call: Call) -> Expr:
        function = self.function(call.op)
        if function is not None and not isinstance(call.op, GlobalVar):
            name = function.name
            if makes_closure(self.work.source[name]):
                name = self.work.direct_name(name)
            call = tree.replace(
                call,
                op=GlobalVar(name),
                args=(*function.values(), *call.args),
                type_args=(*function.type_args, *call.type_args),
            )
        if isinstance(call.op, GlobalVar) and call.op.name_hint in self.work.source:
            return self.specialized(call, call.op.name_hint)
        return call

    def specialized(self, call: Call, name: str) -> Expr:
        callee = self.work.source[name]
        known: dict[int, KnownFunction] = {}
        for i, (param, arg) in enumerate(zip(callee.params, call.args, strict=True)):
            if isinstance(param.ty, FuncType) and (found := self.function(arg)) is not None:
                known[i] = found
        if not known:
            return call
        found_copy = self.work.copy_for(name, call.type_args, known, self.name)
        if found_copy is None:
            return call
        copy, sizes = found_copy
        if makes_closure(callee) and not makes_closure(self.work.source[copy]):
            return GlobalVar(copy)
        args: list[Expr] = []
        for i, arg in enumerate(call.args):
            args.extend(known[i].values() if i in known else (arg,))
        return tree.replace(call, op=GlobalVar(copy), args=tuple(args), type_args=sizes)

    def function(self, e: Expr) -> KnownFunction | None:
        """The known function of a rewritten expression; None if it is unknown."""
        while e in self.values:
            e = self.values[e]
        if isinstance(e, GlobalVar):
            return KnownFunction(e.name_hint) if e.name_hint in self.work.source else None
        if isinstance(e, Call) and isinstance(e.op, GlobalVar):
            maker = self.work.source.get(e.op.name_hint)
            simple = all(isinstance(arg, Var | Constant | GlobalVar) for arg in e.args)
            if maker is not None and makes_closure(maker) and simple:
                return KnownFunction(e.op.name_hint, e.type_args, e.args)
        return None
