"""The rules of evaluation on partially static values, one for each kind of expression.

They are those of `relay.interpreter.evaluate` for code in A-normal form: what is known is computed,
and everything else becomes residual code, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import tree
from relay.analysis.normal_forms import CLOSURE, is_kernel
from relay.errors import AnySpan
from relay.interpreter.values import TupleValue
from relay.interpreter.values import Value as Known
from relay.ir import dims
from relay.ir import expr as ir
from relay.ir.copying import copied
from relay.ir.dims import Dim
from relay.ir.function_attrs import is_foreign, is_opaque
from relay.ir.module import IRModule
from relay.ir.types import (
    UNIT,
    GlobalTypeVar,
    RefType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    substitute,
)
from relay.ir.variables import bound_vars, free_vars
from relay.nd import NDArray
from relay.op.opdef import OpDef
from relay.transform.partial.known_matches import Fit, matched
from relay.transform.partial.known_tensors import computed
from relay.transform.partial.residual_blocks import Block, Branching, closed
from relay.transform.partial.residual_program import Operation, ResidualFunction, ResidualProgram
from relay.transform.partial.specialized_copies import Copies
from relay.transform.partial.static_values import (
    ANY_FUNCTION,
    Closure,
    Environment,
    Fields,
    Value,
    result_type,
)
from relay.transform.partial.unfolding import GiveUp, Unfoldings
from relay.tree import Steps

Evaluation = Steps[Any]


class Evaluator:
    """Evaluates the functions of a module in A-normal form."""

    def __init__(self, module: IRModule, fuel: int) -> None:
        self._module = module
        self._functions = {name.name_hint: f for name, f in module.functions.items()}
        self.out = ResidualProgram()
        self._unfoldings = Unfoldings(fuel)
        self.copies = Copies(self, set(self._functions))

    @property
    def ran_out(self) -> bool:
        """Whether a function ran out of fuel."""
        return self._unfoldings.ran_out

    def residual(self, name: str) -> ir.Function:
        """A function of the module, evaluated for arguments that are not known."""
        function = self._functions[name]
        made: ir.Function = tree.run(self._function(function, Environment(), is_global=True))
        return made

    # --- functions that stay

    def _function(
        self, function: ir.Function, around: Environment, is_global: bool = False
    ) -> Evaluation:
        """The residual function, for arguments that are not known."""
        own = () if is_global else function.type_params
        fresh = {p: TypeVar(p.name_hint, p.kind, span=p.span) for p in own}
        environment = Environment(around, fresh)
        params = [_renewed(param, environment) for param in function.params]

        def given() -> list[Value]:
            return [
                self.out.given(_typed(param, environment), renewed)
                for param, renewed in zip(function.params, params, strict=True)
            ]

        body = yield self.body(function, environment, given)
        return ir.Function(
            tuple(params),
            body,
            result_type(function, environment),
            tuple(fresh.get(p, p) for p in function.type_params),
            function.attrs,
            span=function.span,
        )

    def body(
        self, function: ir.Function, environment: Environment, given: Callable[[], list[Value]]
    ) -> Evaluation:
        """The residual body of a function, for the values of parameters made inside of it."""
        out, unfoldings = self.out, self._unfoldings
        before, out.current = out.current, ResidualFunction()
        block = out.current.block
        values = given()
        for variable, value in zip(function.params, values, strict=True):
            environment[variable] = value
        unfoldings.undecided += 1
        unfoldings.enter(function, values)
        try:
            result = yield self._block(function.body, environment)
        finally:
            unfoldings.end(function)
        atom = yield out.exact(out.with_type(result, result_type(function, environment)))
        body = yield closed(block, atom)
        unfoldings.undecided -= 1
        out.current = before
        return body

    def _opaque(self, function: ir.Function, environment: Environment) -> Evaluation:
        """A function that something else recognizes as a whole, over residual variables."""
        values: dict[ir.Var, ir.Expr] = {}
        for variable in free_vars(function):
            values[variable] = yield self.out.exact(environment[variable])
        return copied(function, environment.types, values)

    # --- blocks

    def _block(self, e: ir.Expr, environment: Environment) -> Steps[Value]:
        while isinstance(e, ir.Let):
            variable = e.variable
            value = yield self._operation(e.value, environment, variable)
            ty = variable.type_annotation or variable.ty or e.value.checked_type
            value = self.out.with_type(value, substitute(ty, environment.types))
            environment[variable] = value
            e = e.body
        return self.atom(e, environment)

    def atom(self, e: ir.Expr, environment: Environment) -> Value:
        match e:
            case ir.Var():
                return environment[e]
            case ir.Constant():
                return self.out.known(e.data, e)
            case ir.GlobalVar(name_hint=name):
                function = self._functions[name]
                closure = None
                if not _is_left_alone(function):
                    closure = Closure(function, Environment(), None, name)
                return Value(function.checked_type, closure, e, exact=e)
        assert isinstance(e, ir.Op | ir.Constructor), "a block ends with an atom"
        return Value(ANY_FUNCTION, e, e, exact=e)  # its type depends on its use

    def _operation(self, e: ir.Expr, environment: Environment, variable: ir.Var) -> Evaluation:
        hint = variable.name_hint
        ty = substitute(e.checked_type, environment.types)
        out = self.out
        match e:
            case ir.Call():
                return self._call(e, environment, ty, hint)
            case ir.Function() if _is_left_alone(e):
                return out.lazily(ty, lambda: self._opaque(e, environment), hint)
            case ir.Function():
                return self.closure(e, environment, ty, hint)
            case ir.If():
                return self._if(e, environment, ty)
            case ir.Match():
                return self._match(e, environment, ty)
            case ir.Tuple(fields=atoms):
                fields = tuple(self.atom(atom, environment) for atom in atoms)
                return self.tuple_of(fields, ty, hint)
            case ir.TupleGetItem(tuple_value=atom, index=index):
                static = self.atom(atom, environment).static
                assert isinstance(static, Fields), "tuples have fields"
                return static.fields[index]
            case ir.RefCreate(value=atom):
                assert isinstance(ty, RefType)
                initial = out.with_type(self.atom(atom, environment), ty.value)
                return out.create(initial, ty, ty.value, hint)
            case ir.RefRead(ref=atom):
                return out.read(self.atom(atom, environment), ty, hint)
            case ir.RefWrite(ref=atom, value=written):
                reference = self.atom(atom, environment)
                yield out.write(reference, self.atom(written, environment))
                return self.tuple_of((), UNIT, hint)
        return self.atom(e, environment)

    def tuple_of(self, fields: tuple[Value, ...], ty: Type, hint: str) -> Value:
        def operation() -> Evaluation:
            return ir.Tuple((yield self.out.all_exact(fields)))

        return self.out.lazily(ty, operation, hint, Fields(fields))

    def closure(
        self, function: ir.Function, environment: Environment, ty: Type, hint: str
    ) -> Value:
        static = Closure(function, environment, self.out.current)
        return self.out.lazily(ty, lambda: self._function(function, environment), hint, static)

    # --- branches

    def _if(self, e: ir.If, environment: Environment, ty: Type) -> Evaluation:
        cond = self.atom(e.cond, environment)
        if isinstance(cond.static, NDArray):
            return self._block(e.true_branch if bool(cond.static) else e.false_branch, environment)

        def make(atom: ir.Expr, bodies: Sequence[ir.Expr]) -> ir.Expr:
            return ir.If(atom, *bodies, span=e.span)

        branches = [
            lambda: self._block(e.true_branch, environment),
            lambda: self._block(e.false_branch, environment),
        ]
        return self._undecided(cond, branches, make, ty)

    def _match(self, e: ir.Match, environment: Environment, ty: Type) -> Evaluation:
        data = self._opened(self.atom(e.data, environment))
        out = self.out
        for clause in e.clauses:
            fit, found = matched(clause.lhs, data)
            if fit is Fit.YES:
                for variable, value in found.items():
                    wanted = substitute(_type_of(variable), environment.types)
                    environment[variable] = out.with_type(value, wanted)
                return self._block(clause.rhs, environment)
            if fit is Fit.MAYBE:
                break
        patterns: list[ir.Pattern] = []

        def branch(clause: ir.Clause) -> Evaluation:
            renamed: dict[ir.Syntax, ir.Syntax] = {}
            _, found = matched(clause.lhs, data)
            for variable in bound_vars(clause.lhs):
                wanted = substitute(_type_of(variable), environment.types)
                renamed[variable] = new = _renewed(variable, environment)
                value = found.get(variable)
                known = value is not None and value.static is not None
                environment[variable] = (
                    out.with_type(value, wanted)
                    if known and value is not None
                    else out.given(wanted, new)
                )
            patterns.append(tree.transform(clause.lhs, lambda _, after: after, renamed))
            return self._block(clause.rhs, environment)

        def make(atom: ir.Expr, bodies: Sequence[ir.Expr]) -> ir.Expr:
            clauses = tuple(map(ir.Clause, patterns, bodies))
            return ir.Match(atom, clauses, e.complete, span=e.span)

        branches = [lambda clause=clause: branch(clause) for clause in e.clauses]
        return self._undecided(data, branches, make, ty)

    def _opened(self, data: Value) -> Value:
        """Data of a type with one constructor has fields, which are read where they are needed."""
        ty = data.ty
        if data.static is not None or not isinstance(ty, TypeCall):
            return data
        if not isinstance(ty.func, GlobalTypeVar):
            return data
        definition = self._module[ty.func]
        if len(definition.constructors) != 1:
            return data
        (constructor,) = definition.constructors
        types = dict(zip(definition.type_vars, ty.args, strict=True))
        parts: list[Value] = []
        for index, field in enumerate(constructor.inputs):
            operation = self._field(data, constructor, index)
            part = Value(substitute(field, types), None, None, data.slot, operation)
            parts.append(self.out.with_parts(part))
        data.static = Fields(tuple(parts), constructor)
        return data

    def _field(self, data: Value, constructor: ir.Constructor, index: int) -> Operation:
        def operation() -> Evaluation:
            atom = yield self.out.exact(data)
            field = ir.Var("x")
            patterns: list[ir.Pattern] = [ir.PatternWildcard() for _ in constructor.inputs]
            patterns[index] = ir.PatternVar(field)
            clause = ir.Clause(ir.PatternConstructor(constructor, tuple(patterns)), field)
            return ir.Match(atom, (clause,))

        return operation

    def _undecided(
        self,
        subject: Value,
        branches: Sequence[Callable[[], Evaluation]],
        make: Callable[[ir.Expr, Sequence[ir.Expr]], ir.Expr],
        ty: Type,
    ) -> Evaluation:
        """The value of branches of which the run takes one, and what references hold behind."""
        out, current = self.out, self.out.current
        outer, blocks = current.block, []
        results: list[Value] = []
        changes: list[Any] = []
        self._unfoldings.undecided += 1
        for branch in branches:
            current.block = Block()
            mark = current.mark()
            results.append((yield branch()))
            blocks.append(current.block)
            changes.append(current.undo(mark))
        self._unfoldings.undecided -= 1
        current.block = outer
        branching = Branching(make, lambda: out.exact(subject), blocks)
        outer.slots.append(branching)
        for cell in dict.fromkeys(cell for one in changes for cell in one):
            contents = [one[cell] if cell in one else current.held(cell) for one in changes]
            known = [value for value in contents if value is not None]
            complete = len(known) == len(contents)
            joined = out.joined(branching, known, cell.content) if complete else None
            current.hold(cell, joined)
        return out.joined(branching, results, ty)

    # --- calls

    def _call(self, e: ir.Call, environment: Environment, ty: Type, hint: str) -> Evaluation:
        args = [self.atom(arg, environment) for arg in e.args]
        out = self.out
        if isinstance(e.op, ir.Function) and is_kernel(e.op):
            kernel = yield self._opaque(e.op, environment)
            atoms = yield out.all_exact(args)
            return out.emitted(ty, tree.replace(e, op=kernel, args=atoms), hint)
        callee = self.atom(e.op, environment)
        type_args = tuple(_instance(one, environment) for one in e.type_args)
        match callee.static:
            case OpDef() as op:
                return self._operator(op, e, args, ty, hint)
            case ir.Constructor() as constructor:
                return self.data(constructor, type_args, args, ty, hint, e.span)
            case Closure() as closure:
                result = yield self._unfolded(closure, type_args, args)
                if result is not None:
                    return result
                copy = yield self.copies.of_call(closure, type_args, args)
                if copy is not None:
                    callee, args = copy
                    type_args = ()
        op = yield out.exact(callee)
        atoms = yield out.all_exact(args)
        out.current.epoch += 1  # it may write to what has escaped
        return out.emitted(ty, ir.Call(op, atoms, e.attrs, type_args, span=e.span), hint)

    def data(
        self,
        constructor: ir.Constructor,
        type_args: tuple[Type | Dim, ...],
        args: Sequence[Value],
        ty: Type,
        hint: str,
        span: AnySpan | None,
    ) -> Value:
        fields = tuple(args)

        def operation() -> Evaluation:
            atoms = yield self.out.all_exact(fields)
            return ir.Call(constructor, atoms, None, type_args, span=span)

        return self.out.lazily(ty, operation, hint, Fields(fields, constructor))

    def _may_unfold(
        self, closure: Closure, type_args: Sequence[Type | Dim], args: Sequence[Value]
    ) -> bool:
        function = closure.function
        # what a function that stays has captured it calls: there is one of it, however many call it
        if closure.name is None and closure.maker is not self.out.current:
            return False
        # uses of one named dimension would become unrelated unknown ones
        if any(isinstance(given, dims.Any) for given in type_args):
            return False
        return len(args) == len(function.params) and len(type_args) == len(function.type_params)

    def _unfolded(
        self, closure: Closure, type_args: Sequence[Type | Dim], args: Sequence[Value]
    ) -> Evaluation:
        """The result of a call; None if the call stays."""
        function, out, unfoldings = closure.function, self.out, self._unfoldings
        if not self._may_unfold(closure, type_args, args):
            return None
        unfolding = unfoldings.begin(function, args)
        if unfolding is None:
            return None
        current, undecided = out.current, unfoldings.undecided
        block, length = current.block, len(current.block.slots)
        mark, notes = current.mark(), len(out.notes)
        types = dict(zip(function.type_params, type_args, strict=True))
        environment = Environment(closure.environment, types)
        out.may_give_up += 1
        try:
            for param, value in zip(function.params, args, strict=True):
                environment[param] = out.with_type(value, _typed(param, environment))
            result = yield self._block(function.body, environment)
            return out.with_type(result, result_type(function, environment))
        except GiveUp as given_up:
            if given_up.unfolding is not unfolding:
                raise
            out.undo(notes)
        finally:
            unfoldings.end(function)
            out.may_give_up -= 1
            if not out.may_give_up:
                out.notes.clear()
        out.current, current.block, unfoldings.undecided = current, block, undecided
        del block.slots[length:]
        current.undo(mark)
        unfoldings.note_given_up(function, args)
        return None

    # --- operators

    def _operator(
        self, op: OpDef, e: ir.Call, args: Sequence[Value], ty: Type, hint: str
    ) -> Evaluation:
        out = self.out
        attrs = e.attrs if e.op is op else None
        if not op.is_repeatable:
            atoms = yield out.all_exact(args)
            if op.on_values:
                out.current.epoch += 1  # it may call functions
            return out.emitted(ty, ir.Call(op, atoms, attrs, span=e.span), hint)
        result = computed(op, ir.Call(op, (), attrs, span=e.span), args)
        if result is not None:
            return self._known(result)

        def operation() -> Evaluation:
            return ir.Call(op, (yield out.all_atoms(args)), attrs, span=e.span)

        return out.lazily(ty, operation, hint)

    def _known(self, value: Known) -> Value:
        """The result of an operator: a tensor, or a tuple of tensors."""
        if isinstance(value, NDArray):
            return self.out.known(value)
        assert isinstance(value, TupleValue)
        fields = tuple(self.out.known(one) for one in value if isinstance(one, NDArray))
        return self.tuple_of(fields, TupleType(tuple(field.ty for field in fields)), "x")


def _is_left_alone(function: ir.Function) -> bool:
    return is_foreign(function) or is_opaque(function) or bool(function.attrs.get(CLOSURE))


def _type_of(variable: ir.Var) -> Type:
    return variable.type_annotation or variable.checked_type


def _typed(variable: ir.Var, environment: Environment) -> Type:
    return substitute(_type_of(variable), environment.types)


def _renewed(variable: ir.Var, environment: Environment) -> ir.Var:
    return ir.Var(variable.name_hint, _typed(variable, environment), span=variable.span)


def _instance(given: Type | Dim, environment: Environment) -> Any:
    types: Any = environment.types
    if isinstance(given, Type):
        return substitute(given, types)
    return dims.substitute(given, lambda symbol: types.get(symbol, symbol))
