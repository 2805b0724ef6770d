"""Random expressions of a given type.

A `Writer` works from the wanted type down to variables and constants. Each way to make a value of a
type is a rule; the rules that apply are listed, the simplest first, and one is drawn. What is made
is well typed, ends, and stays small by construction:

- Recursion counts down a small number, or goes into the parts of a value of a data type.
- The cost of every function is known when it is called, so calls do not multiply without end.
- Tensors are clipped before they are bound to a variable (`tensors.py`).
- An expression with effects is not shared: when it happens would depend on who asks first.

`known` says that the context determines the type of an expression. Where it does not, what cannot
tell its own type, such as an empty list, is written with an annotation or with type arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from relay import tree
from relay.ir import dims
from relay.ir.adt import constructor_type
from relay.ir.attrs import DictAttrs
from relay.ir.dims import Dim
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    const,
    get_op,
    is_atom,
)
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
    TypeKind,
    TypeVar,
    substitute,
)
from relay.ir.variables import all_type_vars, free_vars
from relay.testing.generator.choices import Choices, chance, pick, several, weighted
from relay.testing.generator.features import BOUND, Features
from relay.testing.generator.patterns import Patterns
from relay.testing.generator.scope import UNKNOWN_COST, Binding, Callee, Scope
from relay.testing.generator.tensors import Built, TensorRules, call, clipped, converted, simplest
from relay.testing.generator.types import (
    INT32,
    Vocabulary,
    is_bounded,
    match_types,
    random_dim,
    random_tensor,
    random_type,
)

# Functions count on their symbolic dimensions being at most this large.
LARGEST_EXTENT: Final = 6
# A recursive function calls itself at most so often.
MAX_TURNS: Final = 3
# Two variables may have the same name, and names come from anywhere.
NAMES: Final = ("x", "y", "z", "data", "x1", "let", "conv1/weight:0")
# So many of the newest expressions can be used once more.
REMEMBERED: Final = 30

Rule = Callable[[], Expr]
Rules = list[tuple[int, Rule]]


@dataclass(frozen=True)
class Remembered:
    """An expression without effects that was made earlier."""

    built: Built
    ty: Type


class Writer:
    """Writes expressions, and keeps account of their size, cost and effects."""

    def __init__(self, choices: Choices, features: Features) -> None:
        self.choices = choices
        self.features = features
        self.callees: list[Callee] = []  # the functions of the module that are done
        self.left = 0  # how many more expressions there should be
        self.cost = 0  # of what has been written since the beginning of the function
        self.limit = 0  # of the cost
        self.effects = 0  # a count of expressions that have some
        self.memory: list[Remembered] = []

    # --- the two ways in

    def expression(self, goal: Type, scope: Scope, fuel: int, known: bool = False) -> Expr:
        """An expression of type `goal`, whose tensors are within the bound of variables."""
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

    def tensor(self, goal: TensorType, scope: Scope, fuel: int) -> Built:
        """An expression of type `goal`, and the size of its elements."""
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

    # --- using an expression once more

    def remember(self, built: Built, ty: Type, effects_before: int) -> None:
        if self.features.sharing and self.effects == effects_before and not is_atom(built.expr):
            self.memory.append(Remembered(built, ty))
            del self.memory[:-REMEMBERED]

    def remembered(self, goal: Type, scope: Scope) -> list[Remembered]:
        """Earlier expressions of that type which mean something here."""
        fitting = [m for m in reversed(self.memory) if m.ty == goal]
        if not fitting:
            return []
        visible = scope.variables()
        return [m for m in fitting if visible.issuperset(free_vars(m.built.expr))]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """What is made inside is not used outside."""
        kept = list(self.memory)
        try:
            yield
        finally:
            self.memory = kept

    # --- leaves

    def leaf(self, goal: Type, scope: Scope, known: bool) -> Expr:
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
                return Tuple(tuple(self.leaf(f, scope, known) for f in fields))
            case FuncType():
                return self.function(goal, scope, 0, known)
            case RefType(value=value):
                self.effects += 1
                return RefCreate(self.leaf(value, scope, known))
            case TypeCall():
                constructors = scope.words.definition(goal).constructors
                # mostly the first, which does not mention the type itself
                made_by = pick(self.choices, constructors) if chance(self.choices, 40) else None
                return self.construct(made_by or constructors[0], goal, scope, 0, known)
        raise AssertionError(f"nothing of type {goal} is in scope")

    def tensor_leaf(self, goal: TensorType, scope: Scope) -> Built:
        if (cells := scope.of_type(RefType(goal))) and chance(self.choices, 30):
            return Built(self.read(pick(self.choices, cells)), BOUND)
        variables = scope.of_type(goal)
        if variables and not chance(self.choices, 20):
            return Built(self.use(pick(self.choices, variables)), BOUND)
        if not all(isinstance(d, int) for d in goal.shape):
            # what was made for a symbolic shape is worth more than making it again
            if (again := self.remembered(goal, scope)) and chance(self.choices, 70):
                return pick(self.choices, again).built
            for expr, ty in scope.tensors():
                if ty.shape == goal.shape and chance(self.choices, 70):
                    return Built(converted(expr, ty.dtype, goal.dtype), BOUND)

        def witness(symbol: dims.Symbol) -> tuple[Expr, str]:
            expr, ty, axis = scope.tensor_with(symbol)
            others = tuple(i for i in range(len(ty.shape)) if i != axis)
            return (call("max", expr, axis=others) if others else expr), ty.dtype

        return simplest(self.choices, goal, witness)

    def use(self, binding: Binding) -> Expr:
        if not binding.pure:
            self.effects += 1
        return binding.var

    # --- rules for some types

    def own_rules(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Rules:
        """The ways to build a value out of its parts."""
        rules: Rules = [(4, partial(self.leaf, goal, scope, known))]
        if again := self.remembered(goal, scope):
            rules.append((6, lambda: pick(self.choices, again).built.expr))
        match goal:
            case TupleType(fields=fields):
                rules.append(
                    (
                        6,
                        lambda: Tuple(
                            tuple(self.expression(f, scope, fuel - 1, known) for f in fields)
                        ),
                    )
                )
            case FuncType():
                rules.append((6, partial(self.function, goal, scope, fuel - 1, known)))
                if known and (values := self.functions_of_type(goal, scope)):
                    rules.append((4, lambda: pick(self.choices, values)))
            case TypeCall():
                for constructor in scope.words.definition(goal).constructors:
                    rules.append(
                        (3, partial(self.construct, constructor, goal, scope, fuel - 1, known))
                    )
            case RefType():
                rules.append((4, partial(self.reference, goal, scope, fuel - 1, known)))
        return rules

    def reference(self, goal: RefType, scope: Scope, fuel: int, known: bool) -> Expr:
        self.effects += 1
        return RefCreate(self.expression(goal.value, scope, fuel, known))

    def functions_of_type(self, goal: FuncType, scope: Scope) -> list[Expr]:
        """Functions of the module, constructors and operators that can stand for that type."""
        found: list[Expr] = []
        for callee in self.callees:
            plain = FuncType(callee.ty.arg_types, callee.ty.ret_type)
            bindings = match_types(plain, goal, callee.variables)
            cheap = callee.cost <= UNKNOWN_COST and not callee.counts
            if cheap and bindings is not None and _fits(bindings, scope.words):
                found.append(callee.expr)
        if isinstance(goal.ret_type, TypeCall):
            definition = scope.words.definition(goal.ret_type)
            for constructor in definition.constructors:
                ty = constructor_type(constructor, definition)
                plain = FuncType(ty.arg_types, ty.ret_type)
                if ty.arg_types and match_types(plain, goal, definition.type_vars) is not None:
                    found.append(constructor)
        result = goal.ret_type
        if isinstance(result, TensorType) and all(t == result for t in goal.arg_types):
            # those that make no element larger
            names = {1: ["copy", "nn.relu"], 2: ["maximum", "minimum"]}.get(len(goal.arg_types), [])
            found += [get_op(name) for name in names if result.dtype != "bool"]
        return found

    def function(self, goal: FuncType, scope: Scope, fuel: int, known: bool) -> Function:
        """A closure. It may be called from anywhere, so it must be cheap."""
        made, _ = self.closure(goal, scope, fuel, known, UNKNOWN_COST)
        return made

    def closure(
        self, goal: FuncType, scope: Scope, fuel: int, known: bool, cost: int
    ) -> tuple[Function, int]:
        """A function of at most that cost, and what a call of it costs."""
        told = known and chance(self.choices, 20)  # by who calls it
        params = [self.variable(t, scope.words, not told) for t in goal.arg_types]
        inner = scope.enter(zip(params, goal.arg_types, strict=True))
        with self.costing_at_most(cost) as spent:
            annotated = chance(self.choices, 40)
            body = self.expression(goal.ret_type, inner, fuel, known or annotated)
        result = scope.words.shown(goal.ret_type) if annotated else None
        return Function(tuple(params), body, result, (), self.attributes()), spent()

    @contextmanager
    def costing_at_most(self, limit: int) -> Iterator[Callable[[], int]]:
        """What is written inside runs later, if at all; the yielded function tells its cost."""
        before, before_limit = self.cost, self.limit
        self.cost, self.limit = 0, limit
        spent = 0
        try:
            yield lambda: spent
        finally:
            spent = self.cost
            self.cost, self.limit = before + 1, before_limit

    def construct(
        self, constructor: Constructor, goal: TypeCall, scope: Scope, fuel: int, known: bool
    ) -> Expr:
        """A call of a constructor."""
        definition = scope.words.definition(goal)
        bindings = dict(zip(definition.type_vars, goal.args, strict=True))
        return self.apply(
            constructor,
            constructor_type(constructor, definition),
            bindings,
            scope,
            fuel,
            known,
        )

    # --- rules for every type

    def rules(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Rules:
        """The ways to get a value of any type."""
        features = self.features
        rules: Rules = [
            (3, partial(self.let, goal, scope, fuel, known)),
            (2, partial(self.branch, goal, scope, fuel, known)),
            (2, partial(self.projection, goal, scope, fuel, known)),
        ]
        if callees := self.callable_for(goal, scope):
            rules.append((8, partial(self.call_one, callees, scope, fuel, known)))
        if features.adts:
            rules.append((4, partial(self.match, goal, scope, fuel, known)))
        if features.closures:
            rules.append((1, partial(self.applied_closure, goal, scope, fuel, known)))
            rules.append((3, partial(self.let_closure, goal, scope, fuel, known)))
        if features.recursion and self.cost + 40 < self.limit:
            rules.append((2, partial(self.loop, goal, scope, fuel, known)))
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

    def let(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        callees = [c for c in (*self.callees, *scope.callees) if self.cost + c.cost <= self.limit]
        if callees and chance(self.choices, 40):
            variable, value, inner = self.let_call(pick(self.choices, callees), scope, fuel - 1)
        else:
            ty = random_type(self.choices, scope.words)
            annotated = needs_annotation(ty) or chance(self.choices, 30)
            value = self.expression(ty, scope, fuel - 1, annotated)
            variable = self.variable(ty, scope.words, annotated)
            inner = scope.enter([(variable, ty)])
        return Let(variable, value, self.expression(goal, inner, fuel - 1, known))

    def let_call(self, callee: Callee, scope: Scope, fuel: int) -> tuple[Var, Expr, Scope]:
        """A variable, a call whose result it gets, and the scope that has it."""
        bindings = {v: self.type_argument(v, scope.words) for v in callee.variables}
        ty = substitute(callee.ty.ret_type, bindings)
        annotated = needs_annotation(ty)
        value = self.call_one([(callee, bindings)], scope, fuel, annotated)
        variable = self.variable(ty, scope.words, annotated)
        return variable, value, scope.enter([(variable, ty)])

    def let_closure(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """A closure with a name, which can be called as often as its cost allows."""
        if chance(self.choices, 25) and self.features.polymorphism:
            return self.let_polymorphic(goal, scope, fuel, known)
        params = tuple(self.types(scope.words, 0, 2))
        # half of the closures are of use for what is to be made
        result = goal if chance(self.choices, 50) else random_type(self.choices, scope.words, 1)
        ty = FuncType(params, result)
        before = self.effects
        value, cost = self.closure(ty, scope, fuel - 1, False, (self.limit - self.cost) // 2)
        pure = self.effects == before
        annotated = needs_annotation(ty)
        variable = self.variable(ty, scope.words, annotated, "f")
        as_value = [Binding(variable, ty, pure)] if cost <= UNKNOWN_COST else []
        inner = scope.bind(as_value, [Callee(variable, ty, (), cost, pure)])
        return Let(variable, value, self.expression(goal, inner, fuel - 1, known))

    def let_polymorphic(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """`let %f = fn [A](%x: A, …) -> … { … }`, to be called at any type or extent."""
        first: Type
        if self.features.symbolic and chance(self.choices, 40):
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
        value = Function(tuple(variables), body, words.shown(result), (a,))
        variable = self.variable(UNIT, words, False, "f")
        ty = FuncType(params, result, (a,))
        callee = Callee(variable, ty, (a,), spent(), self.effects == before)
        inner = scope.bind([], [callee])
        return Let(variable, value, self.expression(goal, inner, fuel - 1, known))

    def applied_closure(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        ty = FuncType((random_type(self.choices, scope.words, 1),), goal)
        (argument,) = ty.arg_types
        value = self.expression(argument, scope, fuel - 1)
        made, cost = self.closure(ty, scope, fuel - 1, known, (self.limit - self.cost) // 2)
        self.cost += cost
        return Call(made, (value,))

    def branch(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        cond = self.expression(BOOL, scope, fuel - 1)
        true_branch = self.expression(goal, scope, fuel - 1, known)
        return If(cond, true_branch, self.expression(goal, scope, fuel - 1, True))

    def projection(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """A field of a tuple that is at hand, or of one that is made for it."""
        at_hand = [
            (b, i)
            for b in scope.bindings
            if isinstance(b.ty, TupleType)
            for i, t in enumerate(b.ty.fields)
            if t == goal
        ]
        if at_hand and chance(self.choices, 75):
            binding, index = pick(self.choices, at_hand)
            return TupleGetItem(self.use(binding), index)
        fields = [random_type(self.choices, scope.words, 1) for _ in range(2)]
        index = self.choices.integer(0, 1)
        fields[index] = goal
        return TupleGetItem(self.expression(TupleType(tuple(fields)), scope, fuel - 1), index)

    def match(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """A match on something at hand, or on something made for it; every value has a clause."""
        patterns = Patterns(self.choices, scope.words, partial(self.pattern_variable, scope.words))
        matched = [b for b in scope.bindings if isinstance(b.ty, TypeCall | TupleType)]
        if matched and chance(self.choices, 70):
            binding = pick(self.choices, matched)
            data, ty = self.use(binding), binding.ty
        else:
            ty = self.matchable(scope)
            if isinstance(ty, TypeCall) and chance(self.choices, 30):
                return self.sure_match(goal, ty, scope, fuel, known)
            data = self.expression(ty, scope, fuel - 1)
        cases = patterns.cover(ty, self.choices.integer(1, 2))
        clauses = []
        for index, case in enumerate(cases):
            inner = scope.enter(case.variables)
            body = self.expression(goal, inner, fuel - 1, known or index > 0)
            clauses.append(Clause(case.pattern, body))
        return Match(data, tuple(clauses), complete=not chance(self.choices, 15))

    def matchable(self, scope: Scope) -> Type:
        """The type of something to take apart."""
        words = scope.words
        if words.definitions and chance(self.choices, 80):
            definition = pick(self.choices, words.definitions)
            args = tuple(random_type(self.choices, words, 1) for _ in definition.type_vars)
            return TypeCall(definition.header, args)
        return TupleType(tuple(random_type(self.choices, words, 1) for _ in range(2)))

    def sure_match(self, goal: Type, ty: TypeCall, scope: Scope, fuel: int, known: bool) -> Expr:
        """`match? (C(…)) { C(…) => … }`: the case that comes has a clause, others have none."""
        constructor = pick(self.choices, scope.words.definition(ty).constructors)
        data = self.construct(constructor, ty, scope, fuel - 1, False)
        patterns = Patterns(self.choices, scope.words, partial(self.pattern_variable, scope.words))
        (case,) = patterns.fields(constructor, ty)
        inner = scope.enter(case.variables)
        body = self.expression(goal, inner, fuel - 1, known)
        return Match(data, (Clause(case.pattern, body),), complete=False)

    # --- references

    def cell(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """`let %r = ref(…); …`"""
        held = goal if chance(self.choices, 50) else random_type(self.choices, scope.words, 1)
        self.effects += 1
        annotated = needs_annotation(held) or chance(self.choices, 30)
        value = RefCreate(self.expression(held, scope, fuel - 1, annotated))
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
        return Let(variable, value, body)

    def read(self, binding: Binding) -> Expr:
        self.effects += 1
        return RefRead(self.use(binding))

    def write(self, binding: Binding, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """`ref_write(%r, …); …`"""
        assert isinstance(binding.ty, RefType)
        self.effects += 1
        value = self.expression(binding.ty.value, scope, fuel - 1, True)
        written = RefWrite(self.use(binding), value)
        rest = self.expression(goal, scope, fuel - 1, known)
        return Let(Var("_"), written, rest)

    # --- calls

    def callable_for(self, goal: Type, scope: Scope) -> list[tuple[Callee, dict[TypeVar, Any]]]:
        """What can be called for a result of that type, and the type variables it determines."""
        found = []
        for callee in (*self.callees, *scope.callees):
            if self.cost + callee.cost > self.limit:
                continue
            bindings = match_types(callee.ty.ret_type, goal, callee.variables)
            if bindings is not None and _fits(bindings, scope.words):
                found.append((callee, dict(bindings)))
        return found

    def call_one(
        self,
        callees: Sequence[tuple[Callee, dict[TypeVar, Any]]],
        scope: Scope,
        fuel: int,
        known: bool,
    ) -> Expr:
        callee, bindings = pick(self.choices, callees)
        for variable in callee.variables:
            if variable not in bindings:
                bindings[variable] = self.type_argument(variable, scope.words)
        self.cost += callee.cost
        if not callee.pure:
            self.effects += 1
        first = [self.turns(scope, fuel - 1)] if callee.counts else []
        return self.apply(callee.expr, callee.ty, bindings, scope, fuel - 1, known, first)

    def type_argument(self, variable: TypeVar, words: Vocabulary) -> Type | Dim:
        if variable.kind is not TypeKind.ShapeVar:
            return random_type(self.choices, words, 1)
        dim = random_dim(self.choices, words)
        return dim if _fits({variable: dim}, words) else 1

    def turns(self, scope: Scope, fuel: int) -> Expr:
        """How often a recursive function is to call itself."""
        if chance(self.choices, 70):
            return const(self.choices.integer(0, MAX_TURNS), "int32")
        value = self.tensor(INT32, scope, fuel)
        return call("clip", value.expr, a_min=0.0, a_max=float(MAX_TURNS))

    def apply(
        self,
        function: Expr,
        ty: FuncType,
        bindings: dict[TypeVar, Any],
        scope: Scope,
        fuel: int,
        known: bool,
        first: Sequence[Expr] = (),
    ) -> Expr:
        """A call, at the types that `bindings` say. Arguments determine type variables one after
        the other; those that none of them determines are written down."""
        determined = set(all_type_vars(ty.ret_type)) if known else set()
        args = list(first)
        for declared in ty.arg_types[len(args) :]:
            mentioned = [v for v in all_type_vars(declared) if v in bindings]
            settled = all(v in determined for v in mentioned)
            args.append(self.expression(substitute(declared, bindings), scope, fuel, settled))
            determined.update(mentioned)
        unknown = [p for p in ty.type_params if p not in determined]
        if not unknown and not (ty.type_params and chance(self.choices, 10)):
            return Call(function, tuple(args))
        told_by_result = set(all_type_vars(ty.ret_type)).issuperset(unknown)
        if not unknown or not told_by_result or chance(self.choices, 50):
            given = tuple(shown_argument(p, bindings[p], scope.words) for p in ty.type_params)
            return Call(function, tuple(args), None, given)
        result = scope.words.shown(substitute(ty.ret_type, bindings))
        variable = Var(pick(self.choices, NAMES), result)
        return Let(variable, Call(function, tuple(args)), variable)

    # --- recursion

    def loop(self, goal: Type, scope: Scope, fuel: int, known: bool) -> Expr:
        """A function with a name that calls itself, counting down, and a call of it.

        let %f = fn (%i: int32, %s: S) -> R { if (%i <= 0) { … } else { … %f(%i - 1, …) … } };
        %f(3, …)
        """
        state = self.bounded_type(scope.words)
        result = goal if is_bounded(goal, scope.words) else self.bounded_type(scope.words)
        variable = self.variable(UNIT, scope.words, False, "f")
        before = self.effects
        value, cost = self.counting_down(variable, (state,), result, scope, fuel - 1)
        callee = Callee(
            variable,
            FuncType((INT32, state), result),
            (),
            cost,
            self.effects == before,
            counts=True,
        )
        inner = scope.bind([], [callee])
        if result == goal and chance(self.choices, 70):
            body = self.call_one([(callee, {})], inner, fuel - 1, known)
        else:
            body = self.expression(goal, inner, fuel - 1, known)
        return Let(variable, value, body)

    def bounded_type(self, words: Vocabulary) -> Type:
        """A type whose values do not grow from turn to turn."""
        ty = random_type(self.choices, words, 1)
        return ty if is_bounded(ty, words) else random_tensor(self.choices, words)

    def counting_down(
        self,
        recur: Expr,
        states: tuple[Type, ...],
        result: Type,
        scope: Scope,
        fuel: int,
    ) -> tuple[Function, int]:
        """`fn (%i, states…) -> result` that calls `recur` with %i - 1; and its cost."""
        counter = Var("i", INT32)
        params = [self.parameter(t, scope.words) for t in states]
        inner = scope.enter([(counter, INT32), *zip(params, states, strict=True)])
        share = max(1, (self.limit - self.cost) // (2 * (MAX_TURNS + 1)))
        with self.costing_at_most(share) as spent:
            base = self.expression(result, inner, fuel - 1, True)
            args = [self.expression(t, inner, fuel - 1, True) for t in states]
            less = call("subtract", counter, const(1, "int32"))
            again: Expr = Call(recur, (less, *args))
            if chance(self.choices, 40):
                # the result of the inner turn is used, so this is not a tail call
                inside = self.variable(result, scope.words, False)
                again = Let(
                    inside,
                    again,
                    self.expression(result, inner.enter([(inside, result)]), fuel - 1, True),
                )
        body = If(call("less_equal", counter, const(0, "int32")), base, again)
        function = Function((counter, *params), body, scope.words.shown(result))
        return function, spent() * (MAX_TURNS + 1)

    # --- attributes, types and variables

    def attributes(self) -> DictAttrs:
        """Attributes of a function, which mean nothing to anybody."""
        if not chance(self.choices, 5):
            return DictAttrs()
        values = [1, 'a "note"', 2.5, True, None, (1, 2), (), ("a", (1.0, False)), {"b": 3}]
        return DictAttrs({"note": pick(self.choices, values), "testing.level": -1})

    def types(self, words: Vocabulary, low: int, high: int) -> list[Type]:
        return several(self.choices, lambda: random_type(self.choices, words, 1), low, high)

    def variable(self, ty: Type, words: Vocabulary, annotated: bool, name: str = "") -> Var:
        return Var(name or pick(self.choices, NAMES), words.shown(ty) if annotated else None)

    def parameter(self, ty: Type, words: Vocabulary) -> Var:
        return self.variable(ty, words, True)

    def pattern_variable(self, words: Vocabulary, ty: Type) -> Var:
        return self.variable(ty, words, chance(self.choices, 20))


def _within_bound(rule: Rule) -> Built:
    return Built(rule(), BOUND)


def _fits(bindings: Mapping[TypeVar, Any], words: Vocabulary) -> bool:
    """Whether dimensions given to a function are within what it counts on."""
    return all(
        words.extent(value) <= LARGEST_EXTENT
        for variable, value in bindings.items()
        if variable.kind is TypeKind.ShapeVar
    )


def shown_argument(variable: TypeVar, value: Any, words: Vocabulary) -> Type | Dim:
    """A type argument as the program shows it."""
    if variable.kind is TypeKind.ShapeVar:
        return words.shown_dim(value)
    return words.shown(value)


def needs_annotation(ty: Type) -> bool:
    """Whether a value of that type may not tell its type by itself: an empty list does not."""
    return any(isinstance(part, TypeCall) and part.args for part in tree.postorder(ty))
