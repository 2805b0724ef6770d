"""Type inference, in the three steps of the Relay paper: generate, solve, annotate.

Generation walks the program and gives every expression a type, with holes where nothing is known,
and every use of an operator a relation between its types. The solver (`solver.py`) fills the holes.
Annotation writes the types back: into `checked_type` of every expression, and into the places a
programmer may leave out (the types of variables, the results of functions, type arguments).

Work is kept. A function remembers the signatures it was typed against (`Function.assumptions`), so
a function is inferred again only when it, or a signature it uses, has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from relay import tree
from relay.check.components import strongly_connected
from relay.check.exhaustive import unmatched_cases
from relay.check.kinds import check_definition, check_kind
from relay.check.locate import locate
from relay.check.solver import OperatorConstraint, ProjectionConstraint, Solver
from relay.errors import Diagnostic, DiagnosticContext, RelayError, TypeCheckError, did_you_mean
from relay.ir.adt import TypeData, constructor_type
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Syntax,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.types import (
    BOOL,
    UNIT,
    FuncType,
    IncompleteType,
    Occurs,
    RefType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
)
from relay.ir.variables import free_vars
from relay.op.opdef import OpDef
from relay.tree import Steps

MAX_REPORTS = 20


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a function was typed against: signatures of globals, definitions of data types."""

    globals: Mapping[str, Type]
    types: Mapping[str, TypeData]

    def hold(self, signatures: Mapping[str, Type | None], module: IRModule) -> bool:
        """Whether inferring again would find the same."""
        return all(signatures.get(name) == ty for name, ty in self.globals.items()) and all(
            module.find_type(name) is definition for name, definition in self.types.items()
        )


# --- modules -----------------------------------------------------------------------------------


def infer_module(module: IRModule) -> IRModule:
    """A module of the same functions with every expression typed."""
    return infer_changed(module)[0]


def infer_changed(module: IRModule) -> tuple[IRModule, list[str]]:
    """`infer_module`, and the names of the functions that had to be inferred."""
    for definition in module.type_definitions.values():
        check_definition(definition, module)
    result = module.copy()
    functions = {var.name_hint: function for var, function in module.functions.items()}
    signatures: dict[str, Type | None] = {
        name: f.ty if f.assumptions is not None else f.declared_type
        for name, f in functions.items()
    }
    uses = {name: _globals_used(function) for name, function in functions.items()}
    inferred: list[str] = []
    for group in strongly_connected(uses):
        stale = [name for name in group if not _is_current(functions[name], signatures, module)]
        if not stale:
            continue
        for name in stale:
            signatures[name] = functions[name].declared_type
        typed = _infer_group({name: functions[name] for name in stale}, signatures, module)
        for name, function in typed.items():
            signatures[name] = function.ty
            result[name] = function
        inferred.extend(stale)
    return result, inferred


def _is_current(
    function: Function, signatures: Mapping[str, Type | None], module: IRModule
) -> bool:
    found = function.assumptions
    return isinstance(found, Assumptions) and found.hold(signatures, module)


def _globals_used(function: Function) -> list[str]:
    if isinstance(function.assumptions, Assumptions):
        return list(function.assumptions.globals)
    return [e.name_hint for e in tree.postorder(function) if isinstance(e, GlobalVar)]


def _infer_group(
    functions: Mapping[str, Function], signatures: Mapping[str, Type | None], module: IRModule
) -> dict[str, Function]:
    """Functions that call each other, inferred together."""
    inference = Inference(module, signatures)
    for name, function in functions.items():
        if signatures[name] is None:
            # callers in the group see it with holes, and at one type only
            inference.globals[name] = FuncType(
                tuple(inference.variable_type(p) for p in function.params),
                function.ret_type or IncompleteType(),
            )
    for name, function in functions.items():
        found = tree.run(inference.infer(function))
        if name in inference.globals:
            monomorphic = FuncType(found.arg_types, found.ret_type)  # type: ignore[attr-defined]
            inference.solver.unify(monomorphic, inference.globals[name], function)
    for function in functions.values():
        for variable in free_vars(function):
            inference.report(
                variable,
                f"unbound variable `%{variable.name_hint}`",
                "a parameter, a let or a pattern that binds it",
                f"`%{variable.name_hint}`, which nothing binds",
                "a variable is known by identity, not by name: use the same relay.Var object",
            )
    inference.finish()
    typed = {name: inference.annotate(function) for name, function in functions.items()}
    within = {name: typed[name].ty for name in inference.globals}
    for function in typed.values():
        _assume(function, inference.used_globals | within, inference.used_types)
    return typed


def _assume(
    function: Function, signatures: Mapping[str, Type], types: Mapping[str, TypeData]
) -> None:
    object.__setattr__(function, "assumptions", Assumptions(signatures, types))


# --- single expressions ------------------------------------------------------------------------


def infer_expr(expr: Expr, module: IRModule | None = None) -> Expr:
    """`expr` typed. Variables free in it have the types of their annotations."""
    if module is not None:
        module = infer_module(module)
    module = module or IRModule()
    signatures = {var.name_hint: f.ty for var, f in module.functions.items()}
    inference = Inference(module, signatures)
    tree.run(inference.infer(expr))
    inference.finish()
    typed: Expr = inference.annotate(expr)
    if isinstance(typed, Function) and not free_vars(typed):
        _assume(typed, inference.used_globals, inference.used_types)
    return typed


def infer_local(expr: Expr, module: IRModule | None = None) -> Type:
    """The type of one expression over children that are typed; it is noted on `expr` itself."""
    inference = Inference(module or IRModule(), {})
    for child in tree.children(expr):
        if isinstance(child, Expr) and child.ty is not None:
            inference.types[id(child)] = child.ty
    ty = tree.run(inference.infer(expr))
    inference.finish()
    found = inference.solver.unifier.resolve(ty)
    object.__setattr__(expr, "ty", found)
    return found


# --- the three steps ---------------------------------------------------------------------------


class Inference:
    """Inference of a group of functions, or of one expression."""

    def __init__(self, module: IRModule, signatures: Mapping[str, Type | None]) -> None:
        self.module = module
        self.signatures = signatures
        self.globals: dict[str, Type] = {}  # those of this group whose types are being found
        self.types: dict[int, Type] = {}  # of expressions, by identity
        self.type_args: dict[int, tuple[Any, ...]] = {}  # of calls
        self.used_globals: dict[str, Type] = {}
        self.used_types: dict[str, TypeData] = {}
        self.root: Expr | None = None
        self.diagnostics = DiagnosticContext(TypeCheckError)
        self.solver = Solver(self.report)

    def report(
        self,
        about: Syntax,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note an error and go on, so that one run shows every independent one."""
        span = about.span or locate(about, self.root)
        self.diagnostics.emit(Diagnostic(message, span, expected, found, hint))
        if len(self.diagnostics.diagnostics) >= MAX_REPORTS:
            self.diagnostics.render()

    # --- step 1: generate

    def infer(self, expr: Expr) -> Steps[Type]:
        """The type of `expr`, so far."""
        if (known := self.known(expr)) is not None:
            return known
        if self.root is None:
            self.root = expr
        ty: Type
        match expr:
            case Call():
                ty = yield self.infer_call(expr)
            case Let():
                ty = yield self.infer_lets(expr)
            case Function():
                ty = yield self.infer_function(expr)
            case If():
                ty = yield self.infer_if(expr)
            case Match():
                ty = yield self.infer_match(expr)
            case Tuple():
                ty = TupleType((yield self.infer_all(expr.fields)))
            case TupleGetItem():
                ty = self.infer_projection(expr, (yield self.infer(expr.tuple_value)))
            case RefCreate():
                ty = RefType((yield self.infer(expr.value)))
            case RefRead():
                ref = yield self.infer(expr.ref)
                ty = IncompleteType()
                self.solver.unify(ref, RefType(ty), expr, "only references can be read")
            case RefWrite():
                ref = yield self.infer(expr.ref)
                value = yield self.infer(expr.value)
                self.solver.unify(
                    ref, RefType(value), expr, "the reference does not hold values of that type"
                )
                ty = UNIT
            case TempExpr():
                raise RelayError(
                    f"a {type(expr).__name__} of a pass is still in the program; realize it first"
                )
            case _:
                raise RelayError(f"cannot infer the type of a {type(expr).__name__}")
        self.types[id(expr)] = ty
        return ty

    def infer_all(self, exprs: Iterable[Expr]) -> Steps[tuple[Type, ...]]:
        found = []
        for expr in exprs:
            known = self.known(expr)
            found.append(known if known is not None else (yield self.infer(expr)))
        return tuple(found)

    def known(self, expr: Expr) -> Type | None:
        """The type of an atom, or of what was seen before."""
        if (found := self.types.get(id(expr))) is not None:
            return found
        match expr:
            case Var():
                return self.variable_type(expr)
            case Constant():
                ty: Type = expr.tensor_type
            case GlobalVar():
                ty = self.global_type(expr)
            case Constructor():
                ty = self.constructor_type(expr)
            case Op():
                return self.operator_as_value(expr)  # a new instance at every use
            case _:
                return None
        self.types[id(expr)] = ty
        return ty

    def variable_type(self, var: Var) -> Type:
        if (found := self.types.get(id(var))) is None:
            found = IncompleteType()
            if var.type_annotation is not None:
                found = self.checked_annotation(var.type_annotation, var)
            self.types[id(var)] = found
        return found

    def checked_annotation(self, annotation: Type, about: Syntax) -> Type:
        check_kind(annotation, self.module, annotation.span or about.span)
        for part in tree.postorder(annotation):
            if isinstance(part, TypeCall):
                name = part.func.name_hint  # type: ignore[attr-defined]
                self.used_types[name] = self.module.type_definition(name)
        return annotation

    def global_type(self, var: GlobalVar) -> Type:
        name = var.name_hint
        if name in self.globals:
            return self.globals[name]
        signature = self.signatures.get(name)
        if signature is None:
            known = [v.name_hint for v in self.module.functions]
            self.report(
                var,
                f"unknown function `@{name}`",
                "a function of the module",
                f"`@{name}`",
                did_you_mean(name, known) or "define it, or import the library it is part of",
            )
            return IncompleteType()
        self.used_globals[name] = signature
        return signature

    def constructor_type(self, constructor: Constructor) -> Type:
        name = constructor.belong_to.name_hint
        definition = self.module.find_type(name)
        if definition is None:
            self.report(
                constructor,
                f"constructor `{constructor.name_hint}` belongs to a type the module does not have",
                f"a definition of `{name}` in the module",
                "none",
                "add the TypeData to the module: mod[type_data.header] = type_data",
            )
            return IncompleteType()
        self.used_types[name] = definition
        return constructor_type(constructor, definition)

    def operator_as_value(self, op: Op) -> Type:
        """An operator passed around is a function of as many parameters as it has arguments."""
        if not isinstance(op, OpDef):
            raise RelayError(f"operator `{op.name}` has no record; make it with relay.op.define(…)")
        args = tuple(IncompleteType() for _ in op.arguments)
        result = IncompleteType()
        constraint = OperatorConstraint(op, op, args, result, op.make_attrs({}))
        self.solver.add(constraint)
        return FuncType(args, result)

    def infer_function(self, function: Function) -> Steps[Type]:
        params = tuple(self.variable_type(p) for p in function.params)
        body = yield self.infer(function.body)
        result: Type = body
        if function.ret_type is not None:
            declared = self.checked_annotation(function.ret_type, function)
            self.solver.unify(
                body, declared, function.body, "the body does not have the declared result type"
            )
            result = declared
        return FuncType(params, result, function.type_params)

    def infer_lets(self, let: Let) -> Steps[Type]:
        """A chain of lets, outermost first."""
        chain: list[Let] = []
        expr: Expr = let
        while isinstance(expr, Let) and id(expr) not in self.types:
            chain.append(expr)
            value = expr.value
            if isinstance(value, Function) and expr.variable.type_annotation is None:
                # known before the body is, so the function can call itself at any of its types
                declared = value.declared_type
                if declared is not None:
                    self.types.setdefault(id(expr.variable), declared)
            expected = self.variable_type(expr.variable)
            found = yield self.infer(value)
            self.solver.unify(
                found, expected, value, f"the value of `%{expr.variable.name_hint}` does not fit"
            )
            expr = expr.body
        ty = yield self.infer(expr)
        for link in chain[1:]:
            self.types[id(link)] = ty
        return ty

    def infer_if(self, expr: If) -> Steps[Type]:
        cond = yield self.infer(expr.cond)
        self.solver.unify(cond, BOOL, expr.cond, "the condition is not a scalar bool")
        then = yield self.infer(expr.true_branch)
        other = yield self.infer(expr.false_branch)
        return self.solver.unify(other, then, expr, "the branches have different types")

    def infer_projection(self, expr: TupleGetItem, tuple_type: Type) -> Type:
        found = self.solver.unifier.find(tuple_type)
        if isinstance(found, IncompleteType):
            result = IncompleteType()
            self.solver.add(ProjectionConstraint(expr, found, expr.index, result))
            return result
        return self.solver.project(found, expr.index, expr) or IncompleteType()

    def infer_call(self, call: Call) -> Steps[Type]:
        if isinstance(call.op, Op):
            return (yield self.infer_operator_call(call, call.op))
        callee = self.solver.unifier.find((yield self.infer(call.op)))
        args = yield self.infer_all(call.args)
        if isinstance(callee, IncompleteType):
            result = IncompleteType()
            self.solver.unify(FuncType(args, result), callee, call)
            return result
        if not isinstance(callee, FuncType):
            self.report(
                call,
                "only functions can be called",
                "a function, operator or constructor",
                str(self.solver.unifier.resolve(callee)),
            )
            return IncompleteType()
        return self.apply(call, callee, args)

    def apply(self, call: Call, callee: FuncType, args: tuple[Type, ...]) -> Type:
        """The result of calling a function of type `callee`, at fresh type arguments."""
        name = _callee_name(call.op)
        if call.type_args and len(call.type_args) != len(callee.type_params):
            self.report(
                call,
                f"wrong number of type arguments for {name}",
                f"{len(callee.type_params)} of them",
                f"{len(call.type_args)}",
            )
        elif callee.type_params:
            holes = call.type_args or tuple(IncompleteType(p.kind) for p in callee.type_params)
            self.type_args[id(call)] = holes
            callee = self.solver.unifier.instantiate_at(callee, holes)
        if len(callee.arg_types) != len(args):
            self.report_arity(call, name, len(callee.arg_types))
            return callee.ret_type
        for index, (expected, found) in enumerate(zip(callee.arg_types, args, strict=True)):
            about = call.args[index]
            self.solver.unify(
                found,
                expected,
                about if about.span is not None else call,
                f"argument {index} of {name} does not fit",
            )
        for relation in callee.type_constraints:
            op = OpDef(name, relation=relation.func, arguments=())
            inputs, result = relation.args[: relation.num_inputs], relation.args[-1]
            self.solver.add(OperatorConstraint(call, op, inputs, result, relation.attrs))
        self.solver.solve()
        return callee.ret_type

    def infer_operator_call(self, call: Call, op: Op) -> Steps[Type]:
        if not isinstance(op, OpDef):
            raise RelayError(f"operator `{op.name}` has no record; make it with relay.op.define(…)")
        args = yield self.infer_all(call.args)
        if not op.variadic and len(args) != len(op.arguments):
            self.report_arity(call, f"`{op.name}`", len(op.arguments))
            return IncompleteType()
        attrs = call.attrs
        if attrs is None and op.attrs is not None:
            try:
                attrs = op.make_attrs({})
            except RelayError as error:
                self.report(call, str(error))
                return IncompleteType()
        result = IncompleteType()
        self.solver.add(OperatorConstraint(call, op, args, result, attrs))
        return self.solver.unifier.find(result)

    def report_arity(self, call: Call, name: str, expected: int) -> None:
        found = len(call.args)
        how = "few" if found < expected else "many"
        plural = "" if expected == 1 else "s"
        self.report(
            call,
            f"too {how} arguments for {name}",
            f"{expected} argument{plural}",
            f"{found}",
            "there is no partial application; write a function that takes the rest"
            if found < expected
            else None,
        )

    def infer_match(self, expr: Match) -> Steps[Type]:
        data = yield self.infer(expr.data)
        result: Type = IncompleteType()
        for clause in expr.clauses:
            self.bind_pattern(clause.lhs, data)
            found = yield self.infer(clause.rhs)
            result = self.solver.unify(
                found, result, clause.rhs, "the clauses of a match have different types"
            )
        if expr.complete and (missing := unmatched_cases(expr, self.module)):
            self.report(
                expr,
                "the match is not exhaustive",
                "a clause for every case",
                "no clause for " + ", ".join(f"`{case}`" for case in missing),
                "add the clauses, or write `match?` if the rest cannot happen",
            )
        return result

    def bind_pattern(self, pattern: Pattern, ty: Type) -> None:
        """Give the variables of `pattern` their types when it is matched against `ty`."""
        pending = [(pattern, ty)]
        while pending:
            current, expected = pending.pop()
            match current:
                case PatternVar(var=var):
                    about = var if var.span is not None else current
                    self.solver.unify(self.variable_type(var), expected, about)
                case PatternTuple(patterns=patterns):
                    fields = tuple(IncompleteType() for _ in patterns)
                    self.solver.unify(
                        TupleType(fields), expected, current, "the pattern does not fit the value"
                    )
                    pending.extend(zip(patterns, fields, strict=True))
                case PatternConstructor(constructor=constructor, patterns=patterns):
                    signature = self.constructor_type(constructor)
                    if not isinstance(signature, FuncType):
                        continue
                    signature, _ = self.solver.unifier.instantiate(signature)
                    self.solver.unify(
                        signature.ret_type,
                        expected,
                        current,
                        "the pattern does not fit the value",
                    )
                    if len(patterns) != len(signature.arg_types):
                        self.report(
                            current,
                            f"wrong number of fields in a pattern of `{constructor.name_hint}`",
                            f"{len(signature.arg_types)}",
                            f"{len(patterns)}",
                        )
                        continue
                    pending.extend(zip(patterns, signature.arg_types, strict=True))

    # --- step 2: solve

    def finish(self) -> None:
        """Solve what is left; raise what was found."""
        left = self.solver.finish()
        for a, b in self.solver.unifier.settle_postponed():
            if self.root is not None:
                self.report(self.root, f"dimensions {a} and {b} are never equal", str(a), str(b))
        if not self.diagnostics.diagnostics:
            for constraint in left[:MAX_REPORTS]:
                what = constraint.about
                name = _callee_name(what.op) if isinstance(what, Call) else "this expression"
                self.report(
                    what,
                    f"cannot infer the type of {name}: too little is known about its arguments",
                    "arguments whose types are determined",
                    ", ".join(
                        str(self.solver.unifier.resolve(ty)) for ty in constraint.waits_for()
                    ),
                    "annotate a variable it depends on",
                )
        self.diagnostics.render()

    # --- step 3: annotate

    def annotate(self, expr: Any) -> Any:
        """`expr` with types written back. What has nothing to be filled in keeps its identity."""
        resolve = self.solver.unifier.resolve
        resolved: dict[int, Type] = {}

        def final_type(node: Expr) -> Type:
            ty = self.types[id(node)]
            if not ty.occurs & Occurs.HOLE:
                return ty
            if id(ty) not in resolved:
                found = resolve(ty)
                if found.occurs & Occurs.HOLE:
                    self.report_unknown(node, found)
                resolved[id(ty)] = found
            return resolved[id(ty)]

        def visit(before: Syntax, after: Syntax) -> Syntax:
            if not isinstance(before, Expr) or isinstance(before, Op):
                return after
            if id(before) not in self.types:
                return after  # a constructor inside a pattern, a variable nobody uses
            ty = final_type(before)
            match after:
                case Var(type_annotation=None):
                    after = tree.replace(after, type_annotation=ty)
                case Var(type_annotation=Type(occurs=occurs)) if occurs & Occurs.HOLE:
                    after = tree.replace(after, type_annotation=ty)
                case Function(ret_type=declared):
                    if declared is None or declared.occurs & Occurs.HOLE:
                        after = tree.replace(after, ret_type=ty.ret_type)  # type: ignore[attr-defined]
                case Call(type_args=()) if id(before) in self.type_args:
                    after = tree.replace(after, type_args=self.final_type_args(before))
            if after.ty is not None and after.ty != ty:  # type: ignore[attr-defined]
                after = tree.replace(after)
            object.__setattr__(after, "ty", ty)
            return after

        result = tree.transform(expr, visit)
        self.diagnostics.render()
        return result

    def final_type_args(self, call: Syntax) -> tuple[Any, ...]:
        unifier = self.solver.unifier
        return tuple(
            unifier.resolve_dim(a)
            if isinstance(a, IncompleteType) and a.kind is TypeKind.ShapeVar
            else unifier.resolve(a)
            for a in self.type_args[id(call)]
        )

    def report_unknown(self, node: Expr, found: Type) -> None:
        what = f"`%{node.name_hint}`" if isinstance(node, Var) else "this expression"
        self.report(
            node,
            f"cannot infer the type of {what}",
            "a type that the program determines",
            f"{found}, where `_` is unknown",
            f"annotate {what}" if isinstance(node, Var) else "annotate a variable it depends on",
        )


def _callee_name(op: Expr) -> str:
    match op:
        case GlobalVar():
            return f"`@{op.name_hint}`"
        case Var():
            return f"`%{op.name_hint}`"
        case Constructor():
            return f"`{op.name_hint}`"
        case Op():
            return f"`{op.name}`"
    return "the function"
