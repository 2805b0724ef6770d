"""Random expressions of a given type.

A `Writer` works from the wanted type down to variables and constants, by rules: it lists those that
apply, the simplest first, and draws one. Expressions are well typed, terminate and have small
values by construction:

- Recursion decreases a small counter, or descends into a value of a data type.
- The cost of a function is known when it is called, and limited.
- Tensors are clipped before they are bound to a variable (`tensors.py`).
- Expressions with effects are not shared.

`known` means that the context determines the type of an expression; elsewhere a value of ambiguous
type, such as an empty list, gets an annotation or type arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from relay.ir import dims
from relay.ir import expr as ir
from relay.ir.types import (
    BOOL,
    UNIT,
    FuncType,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.testing.generator.calls import (
    LARGEST_EXTENT,
    call_one,
    callable_for,
    construct,
    functions_of_type,
    let_call,
)
from relay.testing.generator.choices import chance, pick, weighted
from relay.testing.generator.features import BOUND
from relay.testing.generator.ledger import Ledger
from relay.testing.generator.patterns import Patterns
from relay.testing.generator.recursion import loop
from relay.testing.generator.scope import UNKNOWN_COST, Binding, Callee, GeneratorScope
from relay.testing.generator.simplest_tensor import converted, simplest
from relay.testing.generator.tensors import Built, TensorRules, call, clipped
from relay.testing.generator.types import needs_annotation, random_type

Rule = Callable[[], ir.Expr]
Rules = list[tuple[int, Rule]]


class Writer(Ledger):
    """Makes expressions."""

    # --- entry points

    def expression(
        self, goal: Type, scope: GeneratorScope, fuel: int, known: bool = False
    ) -> ir.Expr:
        """An expression of type `goal`, whose tensors are within `BOUND`."""
        if isinstance(goal, TensorType):
            return clipped(self.tensor(goal, scope, fuel), goal, BOUND).expr
        self.left -= 1
        self.cost += 1
        if fuel <= 0 or self.left <= 0:
            return self.leaf(goal, scope, known)
        before = self.effects
        rules = self.own_rules(goal, scope, fuel, known) + self.rules(goal, scope, fuel, known)
        made = self.choices.unit(weighted(self.choices, rules))
        self.remember(Built(made, 0), goal, before)
        return made

    def tensor(self, goal: TensorType, scope: GeneratorScope, fuel: int) -> Built:
        """An expression of type `goal`, and the bound of its elements."""
        self.left -= 1
        self.cost += 1
        if fuel <= 0 or self.left <= 0:
            return self.tensor_leaf(goal, scope)
        before = self.effects

        def operand(ty: TensorType, at_most: int) -> Built:
            return clipped(self.tensor(ty, scope, fuel - 1), ty, at_most)

        operators = TensorRules(self.choices, scope.words, operand, goal).all()
        rules: list[tuple[int, Callable[[], Built]]] = [
            (4, partial(self.tensor_leaf, goal, scope)),
            *((2, rule) for rule in operators),
        ]
        if again := self.remembered(goal, scope):
            rules.append((8, lambda: pick(self.choices, again).built))
        general = self.rules(goal, scope, fuel, True)
        rules += [(weight, partial(_within_bound, rule)) for weight, rule in general]
        made = self.choices.unit(weighted(self.choices, rules))
        self.remember(made, goal, before)
        return made

    # --- leaves

    def leaf(self, goal: Type, scope: GeneratorScope, known: bool) -> ir.Expr:
        """A variable, or the smallest value of the type."""
        self.cost += 1
        if (cells := scope.of_type(RefType(goal))) and chance(self.choices, 30):
            return self.read(pick(self.choices, cells))
        variables = scope.of_type(goal)
        if variables and (isinstance(goal, TypeVar) or chance(self.choices, 80)):
            return self.use(pick(self.choices, variables))
        match goal:
            case TensorType():
                return clipped(self.tensor_leaf(goal, scope), goal, BOUND).expr
            case TupleType(fields=fields):
                return ir.Tuple(tuple(self.leaf(f, scope, known) for f in fields))
            case FuncType():
                return self.function(goal, scope, 0, known)
            case RefType(value=value):
                self.effects += 1
                return ir.RefCreate(self.leaf(value, scope, known))
            case TypeCall():
                constructors = scope.words.definition(goal).constructors
                # mostly the first, which is not recursive
                made_by = pick(self.choices, constructors) if chance(self.choices, 40) else None
                return construct(self, made_by or constructors[0], goal, scope, 0, known)
        raise AssertionError(f"nothing of type {goal} is in scope")

    def tensor_leaf(self, goal: TensorType, scope: GeneratorScope) -> Built:
        if (cells := scope.of_type(RefType(goal))) and chance(self.choices, 30):
            return Built(self.read(pick(self.choices, cells)), BOUND)
        variables = scope.of_type(goal)
        if variables and not chance(self.choices, 20):
            return Built(self.use(pick(self.choices, variables)), BOUND)
        if not all(isinstance(d, int) for d in goal.shape):
            # reuse tensors of dynamic shape: they are expensive to make
            if (again := self.remembered(goal, scope)) and chance(self.choices, 70):
                return pick(self.choices, again).built
            for expr, ty in scope.tensors():
                if ty.shape == goal.shape and chance(self.choices, 70):
                    return Built(converted(expr, ty.dtype, goal.dtype), BOUND)

        def witness(symbol: dims.Symbol) -> tuple[ir.Expr, str]:
            expr, ty, axis = scope.tensor_with(symbol)
            others = tuple(i for i in range(len(ty.shape)) if i != axis)
            return (call("max", expr, axis=others) if others else expr), ty.dtype

        return simplest(self.choices, goal, witness)

    # --- rules for some types

    def own_rules(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> Rules:
        """Rules that construct a value of the type."""
        rules: Rules = [(4, partial(self.leaf, goal, scope, known))]
        if again := self.remembered(goal, scope):
            rules.append((6, lambda: pick(self.choices, again).built.expr))
        match goal:
            case TupleType(fields=fields):
                rules.append(
                    (
                        6,
                        lambda: ir.Tuple(
                            tuple(self.expression(f, scope, fuel - 1, known) for f in fields)
                        ),
                    )
                )
            case FuncType():
                rules.append((6, partial(self.function, goal, scope, fuel - 1, known)))
                if known and (values := functions_of_type(self, goal, scope)):
                    rules.append((4, lambda: pick(self.choices, values)))
            case TypeCall():
                for constructor in scope.words.definition(goal).constructors:
                    rules.append(
                        (3, partial(construct, self, constructor, goal, scope, fuel - 1, known))
                    )
            case RefType():
                rules.append((4, partial(self.reference, goal, scope, fuel - 1, known)))
        return rules

    def reference(self, goal: RefType, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        self.effects += 1
        return ir.RefCreate(self.expression(goal.value, scope, fuel, known))

    def function(
        self, goal: FuncType, scope: GeneratorScope, fuel: int, known: bool
    ) -> ir.Function:
        """A closure of at most `UNKNOWN_COST`, as it may be called from anywhere."""
        made, _ = self.closure(goal, scope, fuel, known, UNKNOWN_COST)
        return made

    def closure(
        self, goal: FuncType, scope: GeneratorScope, fuel: int, known: bool, cost: int
    ) -> tuple[ir.Function, int]:
        """A function of at most that cost, and its actual cost."""
        told = known and chance(self.choices, 20)  # by the context
        params = [self.variable(t, scope.words, not told) for t in goal.arg_types]
        inner = scope.enter(zip(params, goal.arg_types, strict=True))
        with self.costing_at_most(cost) as spent:
            annotated = chance(self.choices, 40)
            body = self.expression(goal.ret_type, inner, fuel, known or annotated)
        result = scope.words.shown(goal.ret_type) if annotated else None
        return ir.Function(tuple(params), body, result, (), self.attributes()), spent()

    # --- rules for every type

    def rules(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> Rules:
        """Rules that apply to every type."""
        features = self.features
        rules: Rules = [
            (3, partial(self.let, goal, scope, fuel, known)),
            (2, partial(self.projection, goal, scope, fuel, known)),
        ]
        if features.branches:
            rules.append((2, partial(self.branch, goal, scope, fuel, known)))
        if callees := callable_for(self, goal, scope):
            rules.append((8, partial(call_one, self, callees, scope, fuel, known)))
        if features.adts:
            rules.append((4, partial(self.match, goal, scope, fuel, known)))
        if features.closures:
            rules.append((1, partial(self.applied_closure, goal, scope, fuel, known)))
            rules.append((3, partial(self.let_closure, goal, scope, fuel, known)))
        if features.recursion and self.cost + 40 < self.limit:
            rules.append((2, partial(loop, self, goal, scope, fuel, known)))
        if features.references:
            rules.append((2, partial(self.cell, goal, scope, fuel, known)))
            cells = scope.of_type(RefType(goal))
            if cells:
                rules.append((12, lambda: self.read(pick(self.choices, cells))))
            if writable := [b for b in scope.bindings if isinstance(b.ty, RefType)]:
                rules.append(
                    (4, lambda: self.write(pick(self.choices, writable), goal, scope, fuel, known))
                )
        return rules

    def let(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        callees = [c for c in (*self.callees, *scope.callees) if self.cost + c.cost <= self.limit]
        if callees and chance(self.choices, 40):
            variable, value, inner = let_call(self, pick(self.choices, callees), scope, fuel - 1)
        else:
            ty = random_type(self.choices, scope.words)
            annotated = needs_annotation(ty) or chance(self.choices, 30)
            value = self.expression(ty, scope, fuel - 1, annotated)
            variable = self.variable(ty, scope.words, annotated)
            inner = scope.enter([(variable, ty)])
        return ir.Let(variable, value, self.expression(goal, inner, fuel - 1, known))

    def let_closure(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        """`let %f = fn (…) { … }`, to be called within the limit of cost."""
        if chance(self.choices, 25) and self.features.polymorphism:
            return self.let_polymorphic(goal, scope, fuel, known)
        params = tuple(self.types(scope.words, 0, 2))
        # half of the closures return the goal
        result = goal if chance(self.choices, 50) else random_type(self.choices, scope.words, 1)
        ty = FuncType(params, result)
        before = self.effects
        value, cost = self.closure(ty, scope, fuel - 1, False, (self.limit - self.cost) // 2)
        pure = self.effects == before
        annotated = needs_annotation(ty)
        variable = self.variable(ty, scope.words, annotated, "f")
        as_value = [Binding(variable, ty, pure)] if cost <= UNKNOWN_COST else []
        inner = scope.bind(as_value, [Callee(variable, ty, (), cost, pure)])
        return ir.Let(variable, value, self.expression(goal, inner, fuel - 1, known))

    def let_polymorphic(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        """`let %f = fn [A](%x: A, …) -> … { … }`, instantiated by each call."""
        first: Type
        if self.features.named_dims and chance(self.choices, 40):
            a = ShapeVar("k")
            words = scope.words.with_variables((), [a])
            first = TensorType((a,), pick(self.choices, self.features.dtypes))
        else:
            first = a = TypeVar("A")
            words = scope.words.with_variables([a], ())
        words = replace(words, largest=LARGEST_EXTENT)
        params = (first, *self.types(words, 0, 2))
        results = [first, TupleType((first, first)), random_type(self.choices, words, 1)]
        result = pick(self.choices, results)
        variables = [self.parameter(t, words) for t in params]
        inside = replace(scope, words=words).enter(zip(variables, params, strict=True))
        before = self.effects
        with self.forgetting(), self.costing_at_most(UNKNOWN_COST) as spent:
            body = self.expression(result, inside, fuel - 1, True)
        value = ir.Function(tuple(variables), body, words.shown(result), (a,))
        variable = self.variable(UNIT, words, False, "f")
        ty = FuncType(params, result, (a,))
        callee = Callee(variable, ty, (a,), spent(), self.effects == before)
        inner = scope.bind([], [callee])
        return ir.Let(variable, value, self.expression(goal, inner, fuel - 1, known))

    def applied_closure(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        ty = FuncType((random_type(self.choices, scope.words, 1),), goal)
        (argument,) = ty.arg_types
        value = self.expression(argument, scope, fuel - 1)
        made, cost = self.closure(ty, scope, fuel - 1, known, (self.limit - self.cost) // 2)
        self.cost += cost
        return ir.Call(made, (value,))

    def branch(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        cond = self.expression(BOOL, scope, fuel - 1)
        true_branch = self.expression(goal, scope, fuel - 1, known)
        return ir.If(cond, true_branch, self.expression(goal, scope, fuel - 1, True))

    def projection(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        """A field of a tuple in scope, or of a new one."""
        in_scope = [
            (b, i)
            for b in scope.bindings
            if isinstance(b.ty, TupleType)
            for i, t in enumerate(b.ty.fields)
            if t == goal
        ]
        if in_scope and chance(self.choices, 75):
            binding, index = pick(self.choices, in_scope)
            return ir.TupleGetItem(self.use(binding), index)
        fields = [random_type(self.choices, scope.words, 1) for _ in range(2)]
        index = self.choices.integer(0, 1)
        fields[index] = goal
        return ir.TupleGetItem(self.expression(TupleType(tuple(fields)), scope, fuel - 1), index)

    def match(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        """An exhaustive match on a value in scope, or on a new one."""
        patterns = Patterns(self.choices, scope.words, partial(self.pattern_variable, scope.words))
        matched = [b for b in scope.bindings if isinstance(b.ty, TypeCall | TupleType)]
        if matched and chance(self.choices, 70):
            binding = pick(self.choices, matched)
            data, ty = self.use(binding), binding.ty
        else:
            ty = self.matchable(scope)
            if isinstance(ty, TypeCall) and chance(self.choices, 30):
                return self.inexhaustive_match(goal, ty, scope, fuel, known)
            data = self.expression(ty, scope, fuel - 1)
        cases = patterns.cover(ty, self.choices.integer(1, 2))
        clauses = []
        for index, case in enumerate(cases):
            inner = scope.enter(case.variables)
            body = self.expression(goal, inner, fuel - 1, known or index > 0)
            clauses.append(ir.Clause(case.pattern, body))
        return ir.Match(data, tuple(clauses), complete=not chance(self.choices, 15))

    def matchable(self, scope: GeneratorScope) -> Type:
        """A type to match on."""
        words = scope.words
        if words.definitions and chance(self.choices, 80):
            definition = pick(self.choices, words.definitions)
            args = tuple(random_type(self.choices, words, 1) for _ in definition.type_vars)
            return TypeCall(definition.header, args)
        return TupleType(tuple(random_type(self.choices, words, 1) for _ in range(2)))

    def inexhaustive_match(
        self, goal: Type, ty: TypeCall, scope: GeneratorScope, fuel: int, known: bool
    ) -> ir.Expr:
        """`match? (C(…)) { C(…) => … }`: an inexhaustive match that cannot fail."""
        constructor = pick(self.choices, scope.words.definition(ty).constructors)
        data = construct(self, constructor, ty, scope, fuel - 1, False)
        patterns = Patterns(self.choices, scope.words, partial(self.pattern_variable, scope.words))
        (case,) = patterns.fields(constructor, ty)
        inner = scope.enter(case.variables)
        body = self.expression(goal, inner, fuel - 1, known)
        return ir.Match(data, (ir.Clause(case.pattern, body),), complete=False)

    # --- references

    def cell(self, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> ir.Expr:
        """`let %r = ref(…); …`"""
        held = goal if chance(self.choices, 50) else random_type(self.choices, scope.words, 1)
        self.effects += 1
        annotated = needs_annotation(held) or chance(self.choices, 30)
        value = ir.RefCreate(self.expression(held, scope, fuel - 1, annotated))
        ty = RefType(held)
        variable = self.variable(ty, scope.words, annotated, "r")
        binding = Binding(variable, ty, pure=False)
        inner = scope.bind([binding])
        if chance(self.choices, 50):
            body = self.write(binding, goal, inner, fuel - 1, known)
        elif held == goal and chance(self.choices, 30):
            body = self.read(binding)
        else:
            body = self.expression(goal, inner, fuel - 1, known)
        return ir.Let(variable, value, body)

    def read(self, binding: Binding) -> ir.Expr:
        self.effects += 1
        return ir.RefRead(self.use(binding))

    def write(
        self, binding: Binding, goal: Type, scope: GeneratorScope, fuel: int, known: bool
    ) -> ir.Expr:
        """`ref_write(%r, …); …`"""
        assert isinstance(binding.ty, RefType)
        self.effects += 1
        value = self.expression(binding.ty.value, scope, fuel - 1, True)
        written = ir.RefWrite(self.use(binding), value)
        rest = self.expression(goal, scope, fuel - 1, known)
        return ir.Let(ir.Var("_"), written, rest)


def _within_bound(rule: Rule) -> Built:
    return Built(rule(), BOUND)
