"""Step 1 of inference: give every expression a type, and every use of an operator a relation.

Types have holes where nothing is known yet. Relations go to the solver as they are made, so holes
are filled as early as possible. Errors are collected and raised together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from relay import tree
from relay.check.exhaustive import unmatched_cases
from relay.check.kinds import check_kind
from relay.check.locate import locate
from relay.check.solver import OperatorConstraint, ProjectionConstraint, Solver
from relay.check.unify import Mismatch
from relay.errors import Diagnostic, DiagnosticContext, RelayError, TypeCheckError, did_you_mean
from relay.ir import expr as ir
from relay.ir.adt import TypeData, constructor_type
from relay.ir.module import IRModule
from relay.ir.types import (
    BOOL,
    UNIT,
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
)
from relay.op.opdef import OpDef
from relay.tree import Steps

MAX_REPORTS = 20


class Generator:
    """Types and relations of a group of functions, or of one expression."""

    def __init__(self, module: IRModule, signatures: Mapping[str, Type | None]) -> None:
        self.module = module
        self.signatures = signatures
        self.globals: dict[str, Type] = {}  # those of this group whose types are being found
        self.types: dict[int, Type] = {}  # of expressions, by identity
        self.type_args: dict[int, tuple[Any, ...]] = {}  # of calls
        self.used_globals: dict[str, Type] = {}
        self.used_types: dict[str, TypeData] = {}
        self.root: ir.Expr | None = None
        self.diagnostics = DiagnosticContext(TypeCheckError)
        self.solver = Solver(self.report)

    def report(
        self,
        about: ir.Syntax,
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

    def infer(self, expr: ir.Expr) -> Steps[Type]:
        """The type of `expr`, so far."""
        if (known := self.known(expr)) is not None:
            return known
        if self.root is None:
            self.root = expr
        ty: Type
        match expr:
            case ir.Call():
                ty = yield self.call(expr)
            case ir.Let():
                ty = yield self.lets(expr)
            case ir.Function():
                ty = yield self.function(expr)
            case ir.If():
                ty = yield self.if_(expr)
            case ir.Match():
                ty = yield self.match(expr)
            case ir.Tuple():
                ty = TupleType((yield self.all(expr.fields)))
            case ir.TupleGetItem():
                ty = self.projection(expr, (yield self.infer(expr.tuple_value)))
            case ir.RefCreate():
                ty = RefType((yield self.infer(expr.value)))
            case ir.RefRead():
                ref = yield self.infer(expr.ref)
                ty = IncompleteType()
                self.solver.unify(ref, RefType(ty), expr, "only references can be read")
            case ir.RefWrite():
                ref = yield self.infer(expr.ref)
                value = yield self.infer(expr.value)
                self.solver.unify(
                    ref, RefType(value), expr, "the reference does not hold values of that type"
                )
                ty = UNIT
            case ir.TempExpr():
                raise RelayError(
                    f"a {type(expr).__name__} of a pass is still in the program; realize it first"
                )
            case _:
                raise RelayError(f"cannot infer the type of a {type(expr).__name__}")
        self.types[id(expr)] = ty
        return ty

    def all(self, exprs: Iterable[ir.Expr]) -> Steps[tuple[Type, ...]]:
        found = []
        for expr in exprs:
            known = self.known(expr)
            found.append(known if known is not None else (yield self.infer(expr)))
        return tuple(found)

    def known(self, expr: ir.Expr) -> Type | None:
        """The type of an atom, or of an expression that was inferred before."""
        if (found := self.types.get(id(expr))) is not None:
            return found
        match expr:
            case ir.Var():
                return self.variable_type(expr)
            case ir.Constant():
                ty: Type = expr.tensor_type
            case ir.GlobalVar():
                ty = self.global_type(expr)
            case ir.Constructor():
                ty = self.constructor_type(expr)
            case ir.Op():
                return self.operator_as_value(expr)  # a new instance at every use
            case _:
                return None
        self.types[id(expr)] = ty
        return ty

    def variable_type(self, var: ir.Var) -> Type:
        if (found := self.types.get(id(var))) is None:
            found = IncompleteType()
            if var.type_annotation is not None:
                found = self.checked_annotation(var.type_annotation, var)
            self.types[id(var)] = found
        return found

    def checked_annotation(self, annotation: Type, about: ir.Syntax) -> Type:
        check_kind(annotation, self.module, annotation.span or about.span)
        if type(annotation) is TensorType:
            return annotation
        for part in tree.postorder(annotation):
            if isinstance(part, TypeCall):
                name = part.func.name_hint  # type: ignore[attr-defined]
                self.used_types[name] = self.module.type_definition(name)
        return annotation

    def global_type(self, var: ir.GlobalVar) -> Type:
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

    def constructor_type(self, constructor: ir.Constructor) -> Type:
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

    def operator_as_value(self, op: ir.Op) -> Type:
        """The function type of an operator that is used as a value."""
        record = _record(op)
        args = tuple(IncompleteType() for _ in record.arguments)
        result = IncompleteType()
        self.solver.add(OperatorConstraint(op, record, args, result, record.make_attrs({})))
        return FuncType(args, result)

    def function(self, function: ir.Function) -> Steps[Type]:
        params = tuple(self.variable_type(p) for p in function.params)
        body = yield self.infer(function.body)
        result: Type = body
        if function.ret_type is not None:
            declared = self.checked_annotation(function.ret_type, function)
            about = _blamed(function.body, function)
            self.solver.unify(
                body, declared, about, "the body does not have the declared result type"
            )
            result = declared
        return FuncType(params, result, function.type_params)

    def lets(self, let: ir.Let) -> Steps[Type]:
        """A chain of lets, outermost first."""
        chain: list[ir.Let] = []
        expr: ir.Expr = let
        while isinstance(expr, ir.Let) and id(expr) not in self.types:
            chain.append(expr)
            value = expr.value
            if isinstance(value, ir.Function) and expr.variable.type_annotation is None:
                # known before the body is, so recursion may be polymorphic
                declared = value.declared_type
                if declared is not None:
                    self.types.setdefault(id(expr.variable), declared)
            expected = self.variable_type(expr.variable)
            found = yield self.infer(value)
            self.solver.unify(
                found,
                expected,
                _blamed(value, expr),
                f"the value of `%{expr.variable.name_hint}` does not fit",
            )
            expr = expr.body
        ty: Type = yield self.infer(expr)
        for link in chain[1:]:
            self.types[id(link)] = ty
        return ty

    def if_(self, expr: ir.If) -> Steps[Type]:
        cond = yield self.infer(expr.cond)
        self.solver.unify(
            cond, BOOL, _blamed(expr.cond, expr), "the condition is not a scalar bool"
        )
        then = yield self.infer(expr.true_branch)
        other = yield self.infer(expr.false_branch)
        return self.solver.unify(other, then, expr, "the branches have different types")

    def projection(self, expr: ir.TupleGetItem, tuple_type: Type) -> Type:
        found = self.solver.unifier.find(tuple_type)
        if isinstance(found, IncompleteType):
            result = IncompleteType()
            self.solver.add(ProjectionConstraint(expr, found, expr.index, result))
            return result
        return self.solver.project(found, expr.index, expr) or IncompleteType()

    def call(self, call: ir.Call) -> Steps[Type]:
        if isinstance(call.op, ir.Op):
            return self.operator_call(call, _record(call.op))  # type: ignore[return-value]
        callee = self.solver.unifier.find((yield self.infer(call.op)))
        args = yield self.all(call.args)
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

    def apply(self, call: ir.Call, callee: FuncType, args: tuple[Type, ...]) -> Type:
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
            try:
                callee = self.solver.unifier.instantiate_at(callee, holes)
            except Mismatch as mismatch:
                self.report(call, f"{name} has no type at these type arguments: {mismatch.why}")
                return IncompleteType()
        if len(callee.arg_types) != len(args):
            self.report_arity(call, name, len(callee.arg_types))
            return callee.ret_type
        for index, (expected, found) in enumerate(zip(callee.arg_types, args, strict=True)):
            about = _blamed(call.args[index], call)
            self.solver.unify(found, expected, about, f"argument {index} of {name} does not fit")
        for relation in callee.type_constraints:
            op = OpDef(name, relation=relation.func, arguments=())
            inputs, result = relation.args[: relation.num_inputs], relation.args[-1]
            self.solver.add(OperatorConstraint(call, op, inputs, result, relation.attrs))
        self.solver.solve()
        try:
            return self.solver.unifier.resolve(callee.ret_type)
        except Mismatch as mismatch:
            self.report(call, f"the result of {name} has no type: {mismatch.why}")
            return IncompleteType()

    def operator_call(self, call: ir.Call, op: OpDef) -> Steps[Type]:
        args = yield self.all(call.args)
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

    def report_arity(self, call: ir.Call, name: str, expected: int) -> None:
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

    def match(self, expr: ir.Match) -> Steps[Type]:
        data = yield self.infer(expr.data)
        result: Type = IncompleteType()
        for clause in expr.clauses:
            self.bind_pattern(clause.lhs, data)
            found = yield self.infer(clause.rhs)
            result = self.solver.unify(
                found,
                result,
                _blamed(clause.rhs, clause),
                "the clauses of a match have different types",
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

    def bind_pattern(self, pattern: ir.Pattern, ty: Type) -> None:
        """Give the variables of `pattern` their types when it is matched against `ty`."""
        pending = [(pattern, ty)]
        while pending:
            current, expected = pending.pop()
            match current:
                case ir.PatternVar(var=var):
                    about = var if var.span is not None else current
                    self.solver.unify(self.variable_type(var), expected, about)
                case ir.PatternTuple(patterns=patterns):
                    fields = tuple(IncompleteType() for _ in patterns)
                    self.solver.unify(
                        TupleType(fields), expected, current, "the pattern does not fit the value"
                    )
                    pending.extend(zip(patterns, fields, strict=True))
                case ir.PatternConstructor(constructor=constructor, patterns=patterns):
                    signature = self.constructor_type(constructor)
                    if not isinstance(signature, FuncType):
                        continue
                    signature = self.solver.unifier.instantiate(signature)
                    message = "the pattern does not fit the value"
                    self.solver.unify(signature.ret_type, expected, current, message)
                    if len(patterns) != len(signature.arg_types):
                        self.report(
                            current,
                            f"wrong number of fields in a pattern of `{constructor.name_hint}`",
                            f"{len(signature.arg_types)}",
                            f"{len(patterns)}",
                        )
                        continue
                    pending.extend(zip(patterns, signature.arg_types, strict=True))

    def finish(self) -> None:
        """Step 2: solve what is left; raise what was found."""
        left = self.solver.finish()
        for a, b in self.solver.unifier.settle_postponed():
            if self.root is not None:
                self.report(self.root, f"dimensions {a} and {b} are never equal", str(a), str(b))
        if not self.diagnostics.diagnostics:
            for constraint in left[:MAX_REPORTS]:
                what = constraint.about
                name = _callee_name(what.op) if isinstance(what, ir.Call) else "this expression"
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


def _record(op: ir.Op) -> OpDef:
    if not isinstance(op, OpDef):
        raise RelayError(f"operator `{op.name}` has no record; make it with relay.op.define(…)")
    return op


def _blamed(part: ir.Expr, whole: ir.Syntax) -> ir.Syntax:
    """Where an error about `part` of `whole` points: the span of a variable is its binding."""
    return whole if isinstance(part, ir.Var) or part.span is None else part


def _callee_name(op: ir.Expr) -> str:
    match op:
        case ir.GlobalVar():
            return f"`@{op.name_hint}`"
        case ir.Var():
            return f"`%{op.name_hint}`"
        case ir.Constructor() | ir.Op():
            return f"`{op.name}`"
    return "the function"
