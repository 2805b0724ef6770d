"""Eliminate function values (Defunctionalization):

def @main(%x: int32, %c: bool) {
  let %f = if (%c) { fn (%y: int32) { add(%x, %y) } } else { @double };
  %f(1)
}
->
type Function { Main_f(int32), Double }
def @apply(%f: Function, %y: int32) -> int32 {
  match (%f) { Main_f(%x) => @main_f(%x, %y), Double => @double(%y) }
}
def @main(%x: int32, %c: bool) { let %f = if (%c) { Main_f(%x) } else { Double }; @apply(%f, 1) }

A function value becomes a constructor over its captured variables, and calling one becomes a call
of the function `apply` for its type, which dispatches on the constructor. There are a data type and
an `apply` for every function type (`function_types`), and copies of data types that hold functions.

It needs the whole program (Reynolds 1972), where all function values are known. Inner functions are
lifted before (`LambdaLift`), and polymorphic ones are copied for each list of types
(`Monomorphize`), since data does not know what it is used for. A function that takes functions from
the caller of the program, or returns some, has no such form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.normal_forms import CLOSURE, makes_closure
from relay.check.infer import infer_module
from relay.errors import Diagnostic, PassError
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.dims import ANY
from relay.ir.function_attrs import is_opaque, is_sealed
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import FuncType, GlobalTypeVar, TupleType, Type, TypeCall, substitute
from relay.transform.functional.eta_expand import EtaExpand
from relay.transform.functional.function_types import FunctionTypes, with_annotation
from relay.transform.functional.known_functions import made_type
from relay.transform.functional.monomorphize import Monomorphize
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions
from relay.tree import Steps


def Defunctionalization(func: ir.Function, mod: IRModule) -> ir.Function:
    """`func` without function values. The data types, the `apply` functions, and the converted
    functions that it calls are added to `mod`, under new names."""
    if not isinstance(func, ir.Function):
        raise PassError(f"a relay.Function is to be made first order, found {type(func).__name__}")
    if is_sealed(func):
        return func
    taken = UniqueNames({name.name_hint for name in mod.functions})
    known = [name.name_hint for name, f in mod.functions.items() if f is func]
    entry = known[0] if known else taken.fresh("function")
    work = mod.copy()
    work[entry] = func
    work = RemoveUnusedFunctions((entry,))(work)
    work = EtaExpand(expand_constructor=True, expand_operator=True)(work)
    work = Monomorphize()(work)
    made = _FirstOrder(work, entry, taken, mod).module()
    for header, definition in made.type_definitions.items():
        mod[header] = definition
    for name, function in made.functions.items():
        if name.name_hint != entry:
            mod[name] = function
    result = made[entry]
    assert isinstance(result, ir.Function)
    return result


@dataclass
class _FirstOrder:
    """Converts the functions of a module after `Monomorphize`."""

    before: IRModule
    entry: str
    taken: UniqueNames
    given: IRModule  # the original module
    names: dict[str, str] = field(default_factory=dict)
    applying: dict[Type, str] = field(default_factory=dict)  # `apply` functions by class
    values: dict[str, ir.Constructor] = field(default_factory=dict)  # constructors by function
    copies: dict[tuple[Type, ir.Constructor], ir.Constructor] = field(default_factory=dict)
    result: IRModule = field(default_factory=IRModule)

    def module(self) -> IRModule:
        functions = self.before.functions
        self.types = FunctionTypes(self.before, _types_in(self.before))
        self._check_entry()
        kept = self._unchanged() | {self.entry}
        for name in functions:
            hint = name.name_hint
            self.names[hint] = hint if hint in kept else self.taken.fresh(hint)
        self.result = self.before.copy()
        for name in functions:
            del self.result[name]
        self._define_data()
        for name, function in functions.items():
            is_new = name.name_hint == self.entry or name.name_hint not in kept
            self.result[self.names[name.name_hint]] = (
                self._function(function) if is_new else function
            )
        for of_class, apply in self.applying.items():
            self.result[apply] = self._apply(of_class)
        return infer_module(self.result)

    def _unchanged(self) -> set[str]:
        """The functions that are first order, and call only such functions."""
        callers: dict[str, list[str]] = {}
        changed: list[str] = []
        for name, function in self.before.functions.items():
            hint = name.name_hint
            if is_sealed(function):
                continue
            for node in tree.postorder(function):
                if isinstance(node, ir.GlobalVar):
                    callers.setdefault(node.name_hint, []).append(hint)
            is_same = hint in self.given and self.given[hint] is function
            if not is_same or any(map(self._is_function, _values(function))):
                changed.append(hint)
        found = {name.name_hint for name in self.before.functions}
        while changed:
            hint = changed.pop()
            if hint in found:
                found.remove(hint)
                changed.extend(callers.get(hint, ()))
        return found

    def _is_function(self, e: ir.Expr) -> bool:
        """Whether the type of `e` contains functions."""
        return e.ty is not None and self.types.occur_in(e.ty)

    def _check_entry(self) -> None:
        function = self.before[self.entry]
        ty = function.checked_type
        assert isinstance(ty, FuncType)
        for part in (*ty.arg_types, ty.ret_type):
            if self.types.occur_in(part):
                raise PassError(
                    Diagnostic(
                        "the function has functions in its own type, which nobody here knows",
                        function.span,
                        expected="arguments and results without functions",
                        found=str(function.checked_type),
                        hint="write a function around it that gives it the functions it needs",
                    )
                )

    # --- data types

    def _define_data(self) -> None:
        known = self.before.type_definitions
        headers = UniqueNames({header.name_hint for header in known})
        constructors = UniqueNames({c.name_hint for d in known.values() for c in d.constructors})
        classes = list(self.types.members)
        for of_class in classes:
            if isinstance(of_class, FuncType):
                stem = "Function"
                self.applying[of_class] = self.taken.fresh("apply")
            else:
                assert isinstance(of_class, TypeCall) and isinstance(of_class.func, GlobalTypeVar)
                stem = of_class.func.name_hint
            self.types.name(of_class, GlobalTypeVar(headers.fresh(stem)))
        made_of = self._values_by_class()
        for of_class in classes:
            header = self.types.header(of_class)
            found: list[ir.Constructor] = []
            if isinstance(of_class, TypeCall):
                for before, fields in self.types.instance(of_class):
                    copy = ir.Constructor(constructors.fresh(before.name_hint), fields, header)
                    self.copies[of_class, before] = copy
                    found.append(copy)
            for name in made_of.get(of_class, ()):
                captured = tuple(self.types.closed(p.checked_type) for p in self._captured(name))
                hint = constructors.fresh(name[0].upper() + name[1:])
                self.values[name] = ir.Constructor(hint, captured, header)
                found.append(self.values[name])
            # a type without functions has no values
            found = found or [ir.Constructor(constructors.fresh("Nothing"), (), header)]
            self.result[header] = TypeData(header, (), tuple(found))

    def _values_by_class(self) -> dict[Type, list[str]]:
        """The global functions that are used as values, by the classes of their types."""
        found: dict[Type, list[str]] = {}
        for name in _used_as_values(self.before):
            of_class = self.types.class_of(made_type(self.before[name]))
            found.setdefault(of_class, []).append(name)
        return found

    def _captured(self, name: str) -> tuple[ir.Var, ...]:
        function: ir.Function = self.before[name]
        return function.params if makes_closure(function) else ()

    # --- functions

    def _function(self, function: ir.Function) -> ir.Function:
        """A global function; one that makes closures becomes the function of the closures."""
        body = _Body(self, function)
        if not makes_closure(function):
            return body.function(function)
        inner = function.body
        assert isinstance(inner, ir.Function)
        made = body.function(inner)
        captured = tuple(map(body.variable, function.params))
        return tree.replace(
            made,
            params=(*captured, *made.params),
            type_params=(*function.type_params, *inner.type_params),
            attrs=inner.attrs.without(CLOSURE),
        )

    def _apply(self, of_class: Type) -> ir.Function:
        """The function that calls the functions of a class."""
        signature = self.types.signature(of_class)
        header = self.types.header(of_class)
        callee = ir.Var("f", TypeCall(header, ()))
        args = tuple(ir.Var("x", ty) for ty in signature.arg_types)
        clauses = []
        for name, constructor in self.values.items():
            if constructor.belong_to == header:
                fields = tuple(ir.Var(p.name_hint, f) for p, f in self._fields(name, constructor))
                pattern = ir.PatternConstructor(constructor, tuple(map(ir.PatternVar, fields)))
                call = self._call(name, (*fields, *args))
                clauses.append(ir.Clause(pattern, self._as(signature.ret_type, call, name)))
        body: ir.Expr = ir.Match(callee, tuple(clauses))
        if not clauses:
            body = ir.Call(ir.GlobalVar(self.applying[of_class]), (callee, *args))
        return ir.Function((callee, *args), body, signature.ret_type)

    def _fields(self, name: str, constructor: ir.Constructor) -> list[tuple[ir.Var, Type]]:
        return list(zip(self._captured(name), constructor.inputs, strict=True))

    def _as(self, wanted: Type, call: ir.Call, name: str) -> ir.Expr:
        """The result of a function, with the result type of its class."""
        found = made_type(self.before[name])
        assert isinstance(found, FuncType)
        return call if self.types.closed(found.ret_type) == wanted else ir.ascribed(call, wanted)

    def _call(self, name: str, args: Sequence[ir.Var]) -> ir.Call:
        function: ir.Function = self.before[name]
        sizes = function.type_params
        if makes_closure(function) and isinstance(function.body, ir.Function):
            sizes = (*sizes, *function.body.type_params)
        return ir.Call(ir.GlobalVar(self.names[name]), tuple(args), type_args=(ANY,) * len(sizes))


def _values(function: ir.Function) -> Iterator[ir.Expr]:
    """The expressions that are used as values in a global function, not only called by name."""
    for node in tree.postorder(function, lambda n: not is_opaque(n)):
        if isinstance(node, ir.Pattern | ir.Clause) or is_opaque(node):
            continue
        if node is function and makes_closure(function):
            continue
        for part in tree.children(node):
            if isinstance(part, ir.Expr) and not (isinstance(node, ir.Call) and part is node.op):
                yield part
        if isinstance(node, ir.Call) and not _is_named(node.op):
            yield node.op
        if isinstance(node, ir.Match):
            yield from (clause.rhs for clause in node.clauses)
            yield from (
                v for c in node.clauses for v in tree.postorder(c.lhs) if isinstance(v, ir.Var)
            )


def _is_named(callee: ir.Expr) -> bool:
    """Whether a callee is not a function value."""
    return isinstance(callee, ir.GlobalVar | ir.Op | ir.Constructor) or is_opaque(callee)


def _used_as_values(module: IRModule) -> list[str]:
    """The global functions that are values, or make closures."""
    found: dict[str, None] = {}
    for function in module.functions.values():
        if is_sealed(function):
            continue
        for e in _values(function):
            named = e.op if isinstance(e, ir.Call) else e
            if isinstance(named, ir.GlobalVar) and (e is named or makes_closure(module[named])):
                found[named.name_hint] = None
    return list(found)


def _types_in(module: IRModule) -> list[Type]:
    """The types of all values, each once."""
    found: dict[Type, None] = {}
    for function in module.functions.values():
        if not is_sealed(function):
            found.update((e.ty, None) for e in _values(function) if e.ty is not None)
    found.update((made_type(module[name]), None) for name in _used_as_values(module))
    return list(found)


class _Body:
    """Rewrites one global function."""

    def __init__(self, program: _FirstOrder, root: ir.Function) -> None:
        self._program = program
        self._types = program.types
        self._variables: dict[ir.Var, ir.Var] = {}
        self._new: dict[int, Any] = {}
        self._clauses: dict[int, ir.Clause] = {}
        inside = root.body if makes_closure(root) else root
        for node in tree.postorder(inside, lambda n: not is_opaque(n)):
            if isinstance(node, ir.Expr) and node is not inside:
                self._new[id(node)] = self._rewritten(node)

    def function(self, before: ir.Function) -> ir.Function:
        params = tuple(map(self.variable, before.params))
        result = self._types.converted(before.ret_type or before.body.checked_type)
        return tree.replace(before, params=params, body=self._value(before.body), ret_type=result)

    def variable(self, before: ir.Var) -> ir.Var:
        if before not in self._variables:
            ty = before.type_annotation or before.checked_type
            self._variables[before] = with_annotation(before, ty, self._types.converted(ty))
        return self._variables[before]

    def _value(self, e: ir.Expr) -> ir.Expr:
        """The replacement of `e` where it is used as a value."""
        if isinstance(e, ir.Var):
            return self.variable(e)
        if isinstance(e, ir.GlobalVar):
            return ir.Call(self._program.values[e.name_hint], (), span=e.span)
        value: ir.Expr = self._new[id(e)]
        return value

    def _rewritten(self, e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Call():
                return self._call(e)
            case ir.Match():
                return self._match(e)
            case ir.Function() | ir.Var() | ir.GlobalVar() | ir.Op() | ir.Constructor():
                return e  # a kernel; the others are rewritten where they are used
        parts = [self._value(part) for part in tree.children(e) if isinstance(part, ir.Expr)]
        return tree.rebuild(e, parts)

    # --- calls

    def _call(self, e: ir.Call) -> ir.Expr:
        args = tuple(map(self._value, e.args))
        given = tuple(self._types.converted(a) if isinstance(a, Type) else a for a in e.type_args)
        match e.op:
            case ir.GlobalVar(name_hint=name):
                function: ir.Function = self._program.before[name]
                if makes_closure(function):
                    return ir.Call(self._program.values[name], args, span=e.span)
                callee: ir.Expr = ir.GlobalVar(self._program.names[name])
            case ir.Constructor() as constructor:
                if self._types.is_replaced(e.checked_type):
                    return ir.Call(self._copy(constructor, e.checked_type), args, span=e.span)
                callee = constructor
            case op if _is_named(op):
                callee = op
            case op:
                return self._applied(e, op, args)
        return tree.replace(e, op=callee, args=args, type_args=given)

    def _copy(self, constructor: ir.Constructor, ty: Type) -> ir.Constructor:
        return self._program.copies[self._types.class_of(ty), constructor]

    def _applied(self, e: ir.Call, op: ir.Expr, args: tuple[ir.Expr, ...]) -> ir.Expr:
        """A call of a function value, with the type of `e` where that is more precise."""
        of_class = self._types.class_of(op.checked_type)
        apply = ir.GlobalVar(self._program.applying[of_class])
        call = ir.Call(apply, (self._value(op), *args), span=e.span)
        wanted = self._types.converted(e.checked_type)
        if self._types.signature(of_class).ret_type == wanted:
            return call
        return ir.ascribed(call, wanted)

    # --- matches

    def _match(self, e: ir.Match) -> ir.Expr:
        clauses = []
        for clause in e.clauses:
            if id(clause) not in self._clauses:
                self._clauses[id(clause)] = self._clause(clause, e.data.checked_type)
            clauses.append(self._clauses[id(clause)])
        return ir.Match(self._value(e.data), tuple(clauses), e.complete, span=e.span)

    def _clause(self, clause: ir.Clause, ty: Type) -> ir.Clause:
        renamed: list[tuple[ir.Var, ir.Var]] = []
        found = self._types.converted(ty)
        pattern = tree.run(self._pattern(clause.lhs, ty, found, renamed))
        rhs = self._value(clause.rhs)
        for variable, part in reversed(renamed):
            rhs = ir.Let(variable, part, rhs)
        return ir.Clause(pattern, rhs, span=clause.span)

    def _pattern(
        self, pattern: ir.Pattern, ty: Type, found: Type, renamed: list[tuple[ir.Var, ir.Var]]
    ) -> Steps[ir.Pattern]:
        """A pattern for data of the original type `ty` and the converted type `found`.

        A variable whose type differs from that of its field is bound by a let behind the pattern.
        """
        match pattern:
            case ir.PatternVar(var=var):
                variable = self.variable(var)
                if variable.type_annotation in (None, found):
                    return ir.PatternVar(variable, span=pattern.span)
                part = ir.Var(var.name_hint, found)
                renamed.append((variable, part))
                return ir.PatternVar(part, span=pattern.span)
            case ir.PatternConstructor(constructor=constructor, patterns=patterns):
                assert isinstance(ty, TypeCall) and isinstance(found, TypeCall)
                before = self._fields(constructor, ty)
                if self._types.is_replaced(ty):
                    constructor = self._copy(constructor, ty)
                    after = constructor.inputs
                else:
                    after = self._fields(constructor, found)
                parts = yield self._patterns(patterns, before, after, renamed)
                return ir.PatternConstructor(constructor, tuple(parts), span=pattern.span)
            case ir.PatternTuple(patterns=patterns):
                assert isinstance(ty, TupleType) and isinstance(found, TupleType)
                parts = yield self._patterns(patterns, ty.fields, found.fields, renamed)
                return ir.PatternTuple(tuple(parts), span=pattern.span)
        return pattern

    def _patterns(
        self,
        patterns: Sequence[ir.Pattern],
        before: Sequence[Type],
        after: Sequence[Type],
        renamed: list[tuple[ir.Var, ir.Var]],
    ) -> Steps[list[ir.Pattern]]:
        triples = zip(patterns, before, after, strict=True)
        return tree.gather(self._pattern(*each, renamed) for each in triples)

    def _fields(self, constructor: ir.Constructor, ty: TypeCall) -> tuple[Type, ...]:
        definition = self._program.before.type_definition(constructor.belong_to.name_hint)
        given = dict(zip(definition.type_vars, ty.args, strict=True))
        return tuple(substitute(field, given) for field in constructor.inputs)
