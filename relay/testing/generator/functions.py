"""Random functions of a module: plain, polymorphic, recursive, and main."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.types import (
    FuncType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.variables import all_type_vars
from relay.testing.generator.calls import LARGEST_EXTENT, MAX_TURNS, construct, let_call
from relay.testing.generator.choices import Choices, chance, pick, several, weighted
from relay.testing.generator.expressions import Writer
from relay.testing.generator.features import Features
from relay.testing.generator.recursion import bounded_type, counting_down
from relay.testing.generator.scope import UNKNOWN_COST, Callee, GeneratorScope
from relay.testing.generator.tensors import call
from relay.testing.generator.types import (
    INT32,
    MAX_EXTENT,
    Vocabulary,
    is_recursive,
    random_dim,
    random_tensor,
    random_type,
    recursive_fields,
)

FUNCTION_COST: Final = 400
MAIN_COST: Final = 3000
# The assumed number of nodes of a value of a recursive data type.
VALUE_SIZE: Final = 10

Made = list[tuple[ir.GlobalVar, ir.Function]]


class Functions:
    """Makes the functions of a module; each may call the earlier ones."""

    def __init__(self, choices: Choices, features: Features, words: Vocabulary) -> None:
        self.choices = choices
        self.features = features
        self.words = words
        self.writer = Writer(choices, features)
        self.count = 0

    def next(self, size: int) -> Made:
        """A function, or two that call each other, of about `size` expressions."""
        self.writer.left = size
        self.writer.memory.clear()
        self.writer.cost, self.writer.limit = 0, FUNCTION_COST
        kinds = [(4, self.plain)]
        if self.features.recursion:
            kinds += [(2, self.counting), (2, self.mutual)]
            if any(is_recursive(d) for d in self.words.definitions):
                kinds += [(2, self.consuming), (2, self.mapping), (1, self.building)]
        return weighted(self.choices, kinds)()

    @property
    def fuel(self) -> int:
        """The nesting depth, logarithmic in the remaining size."""
        return 4 + max(self.writer.left, 1).bit_length() // 2

    def name(self) -> ir.GlobalVar:
        self.count += 1
        return ir.GlobalVar(f"f{self.count - 1}")

    # --- signatures

    def variables(self) -> tuple[Vocabulary, tuple[TypeVar, ...], list[Type]]:
        """A vocabulary with new type variables, the declared ones, and parameters that determine
        them."""
        features, choices = self.features, self.choices
        types, symbols, hidden = [], [], []
        if features.polymorphism:
            types = [TypeVar(n) for n in "AB"[: weighted(choices, [(3, 0), (2, 1), (1, 2)])]]
        if features.named_dims:
            symbols = [ShapeVar(n) for n in "nm"[: weighted(choices, [(3, 0), (2, 1), (1, 2)])]]
        if features.unknown_dims:
            hidden = [ShapeVar("hidden") for _ in range(weighted(choices, [(3, 0), (1, 1)]))]
        words = replace(
            self.words.with_variables(types, (*symbols, *hidden), hidden), largest=LARGEST_EXTENT
        )
        params: list[Type] = [*types, *(self.determining(s, words) for s in (*symbols, *hidden))]
        return words, (*types, *symbols), params

    def determining(self, symbol: TypeVar, words: Vocabulary) -> TensorType:
        """The type of a tensor that has `symbol` as an extent."""
        others = several(self.choices, lambda: random_dim(self.choices, words), 0, 1)
        position = self.choices.integer(0, len(others))
        others.insert(position, symbol)
        return TensorType(tuple(others), pick(self.choices, self.features.dtypes))

    def extra(self, words: Vocabulary, at_most: int) -> list[Type]:
        return several(self.choices, lambda: random_type(self.choices, words), 0, at_most)

    def done(
        self,
        name: ir.GlobalVar,
        params: list[Type],
        result: Type,
        declared: tuple[TypeVar, ...],
        words: Vocabulary,
        cost: int,
        effects: int,
        counts: bool = False,
    ) -> None:
        """Make `name` callable; `effects` is their count before the function was made."""
        variables = tuple(v for v in (*words.type_vars, *words.symbols))
        self.writer.callees.append(
            Callee(
                name,
                FuncType(tuple(params), result, declared),
                variables,
                cost,
                self.writer.effects == effects,
                counts,
            )
        )

    # --- kinds of functions

    def plain(self) -> Made:
        words, declared, params = self.variables()
        params += self.extra(words, 3)
        result = self.result(words)
        variables = [self.writer.parameter(t, words) for t in params]
        scope = GeneratorScope(words).enter(zip(variables, params, strict=True))
        effects = self.writer.effects
        annotated = chance(self.choices, 60)
        body = self.writer.expression(result, scope, self.fuel, annotated)
        name = self.name()
        self.done(name, params, result, declared, words, self.writer.cost, effects)
        shown = words.shown(result) if annotated else None
        attrs = self.writer.attributes()
        return [(name, ir.Function(tuple(variables), body, shown, declared, attrs))]

    def result(self, words: Vocabulary) -> Type:
        if words.type_vars and chance(self.choices, 60):
            a = pick(self.choices, words.type_vars)
            return pick(self.choices, [a, TupleType((a, random_tensor(self.choices, words)))])
        return random_type(self.choices, words)

    def counting(self) -> Made:
        words, declared, states = self.variables()
        states += [bounded_type(self.writer, words)]
        result = bounded_type(self.writer, words)
        name = self.name()
        effects = self.writer.effects
        function, cost = counting_down(
            self.writer, name, tuple(states), result, GeneratorScope(words), self.fuel
        )
        params = [INT32, *states]
        self.done(name, params, result, declared, words, cost, effects, counts=True)
        return [(name, replace_type_params(function, declared))]

    def mutual(self) -> Made:
        """Two functions that count down by calling each other."""
        words, declared, states = self.variables()
        states += [bounded_type(self.writer, words)]
        result = bounded_type(self.writer, words)
        first, second = self.name(), self.name()
        effects = self.writer.effects
        made: Made = []
        costs = 0
        self.writer.left //= 2
        left = self.writer.left
        for name, other in ((first, second), (second, first)):
            self.writer.left = left
            self.writer.memory.clear()
            function, cost = counting_down(
                self.writer, other, tuple(states), result, GeneratorScope(words), self.fuel
            )
            made.append((name, replace_type_params(function, declared)))
            costs += cost
        for name in (first, second):
            params = [INT32, *states]
            self.done(name, params, result, declared, words, costs, effects, counts=True)
        return made

    def consuming(self) -> Made:
        """A fold over a value of a recursive data type.

        def @f(%t: Bush[T], %s: S) -> R {
          match (%t) { Tip => …, Fork(%l, %x, %r) => let %a = @f(%l, %s); … }
        }
        """
        self.writer.limit = FUNCTION_COST // VALUE_SIZE
        words, declared, params = self.variables()
        params += self.extra(words, 1)
        whole = self.recursive_type(words)
        result = bounded_type(self.writer, words)
        name = self.name()
        data = self.writer.variable(whole, words, True, "t")
        others = [self.writer.parameter(t, words) for t in params]
        scope = GeneratorScope(words).enter(zip(others, params, strict=True))
        effects = self.writer.effects
        clauses = []
        for constructor in words.definition(whole).constructors:
            pattern, fields = self.destructure(constructor, whole, words)
            inner = scope.enter(fields)
            below = []
            for index in recursive_fields(constructor):
                variable = self.writer.variable(result, words, False)
                below.append((variable, ir.Call(name, (fields[index][0], *others))))
                inner = inner.enter([(variable, result)])
            body = self.writer.expression(result, inner, self.fuel - 1, True)
            for variable, again in reversed(below):
                body = ir.Let(variable, again, body)
            clauses.append(ir.Clause(pattern, body))
        cost = self.writer.cost * VALUE_SIZE
        function = ir.Function(
            (data, *others), ir.Match(data, tuple(clauses)), words.shown(result), declared
        )
        self.done(name, [whole, *params], result, declared, words, cost, effects)
        return [(name, function)]

    def mapping(self) -> Made:
        """A map over a value of a recursive data type.

        def @f[A, B](%t: Chain[A], %g: fn (A) -> B) -> Chain[B] {
          match (%t) { Empty => Empty, Link(%x, %r) => Link(%g(%x), @f(%r, %g)) }
        }
        """
        whole = self.recursive_type(self.words)
        definition = self.words.definition(whole)
        before = tuple(TypeVar(f"{v.name_hint}1") for v in definition.type_vars)
        after = tuple(TypeVar(f"{v.name_hint}2") for v in definition.type_vars)
        if (
            not self.features.closures
            or not self.features.polymorphism
            or not _is_plain(definition)
        ):
            return self.consuming()
        pairs = list(zip(before, after, strict=True))
        words = self.words.with_variables((*before, *after), ())
        source, target = TypeCall(definition.header, before), TypeCall(definition.header, after)
        name = self.name()
        data = ir.Var("t", source)
        types: list[Type] = [FuncType((a,), b) for a, b in pairs]
        functions = [ir.Var("g", ty) for ty in types]
        effects = self.writer.effects
        self.writer.effects += 1  # of its function parameters
        clauses = []
        for constructor in definition.constructors:
            pattern, fields = self.destructure(constructor, source, words)
            args: list[ir.Expr] = []
            for field, ty in fields:
                if ty == source:
                    args.append(ir.Call(name, (field, *functions)))
                elif isinstance(ty, TypeVar):
                    args.append(ir.Call(functions[before.index(ty)], (field,)))
                else:
                    args.append(field)
            clauses.append(ir.Clause(pattern, ir.Call(constructor, tuple(args))))
        body = ir.Match(data, tuple(clauses))
        function = ir.Function((data, *functions), body, target, (*before, *after))
        self.done(
            name,
            [source, *types],
            target,
            (*before, *after),
            words,
            UNKNOWN_COST * VALUE_SIZE,
            effects,
        )
        return [(name, function)]

    def building(self) -> Made:
        """A function that builds a value of a recursive data type of a given depth."""
        words, declared, params = self.variables()
        whole = self.recursive_type(words)
        name = self.name()
        counter = ir.Var("i", INT32)
        variables = [self.writer.parameter(t, words) for t in params]
        scope = GeneratorScope(words).enter(
            [(counter, INT32), *zip(variables, params, strict=True)]
        )
        definition = words.definition(whole)
        constructor = pick(
            self.choices, [c for c in definition.constructors if recursive_fields(c)]
        )
        effects = self.writer.effects
        base = construct(self.writer, definition.constructors[0], whole, scope, 1, True)
        below = self.writer.variable(whole, words, False)
        args: list[ir.Expr] = [
            below if index in recursive_fields(constructor) else self.part(ty, scope)
            for index, ty in enumerate(words.fields(constructor, whole))
        ]
        less = call("subtract", counter, ir.const(1, "int32"))
        step = ir.Let(below, ir.Call(name, (less, *variables)), ir.Call(constructor, tuple(args)))
        body = ir.If(call("less_equal", counter, ir.const(0, "int32")), base, step)
        cost = self.writer.cost * (MAX_TURNS + 1)
        self.done(name, [INT32, *params], whole, declared, words, cost, effects, counts=True)
        function = ir.Function((counter, *variables), body, words.shown(whole), declared)
        return [(name, function)]

    def part(self, ty: Type, scope: GeneratorScope) -> ir.Expr:
        return self.writer.expression(ty, scope, self.fuel - 2, True)

    def recursive_type(self, words: Vocabulary) -> TypeCall:
        definition = pick(self.choices, [d for d in words.definitions if is_recursive(d)])
        args = tuple(random_type(self.choices, words, 1) for _ in definition.type_vars)
        return TypeCall(definition.header, args)

    def destructure(
        self, constructor: ir.Constructor, ty: TypeCall, words: Vocabulary
    ) -> tuple[ir.PatternConstructor, list[tuple[ir.Var, Type]]]:
        """The pattern `C(%x, %y)`, and its variables with their types."""
        types = words.fields(constructor, ty)
        fields = [(self.writer.pattern_variable(words, t), t) for t in types]
        return ir.PatternConstructor(
            constructor, tuple(ir.PatternVar(v) for v, _ in fields)
        ), fields

    # --- main

    def main(self, size: int) -> ir.Function:
        """Tensors and tuples of them in, data out."""
        self.writer.left = size
        self.writer.memory.clear()
        self.writer.cost, self.writer.limit = 0, MAIN_COST
        choices, features = self.choices, self.features
        symbols: tuple[TypeVar, ...] = ()
        hidden: tuple[TypeVar, ...] = ()
        if features.named_dims:
            symbols = tuple(ShapeVar(n) for n in "nm"[: choices.integer(0, 2)])
        if features.unknown_dims:
            hidden = tuple(ShapeVar("hidden") for _ in range(choices.integer(0, 1)))
        words = replace(self.words, largest=MAX_EXTENT).with_variables((), symbols)
        params: list[Type] = [self.determining(s, words) for s in symbols]
        params += several(choices, lambda: random_tensor(choices, words), 0, 2)
        if chance(choices, 30):
            params.append(TupleType(tuple(random_tensor(choices, words) for _ in range(2))))
        # each `?` of main is independent of the others
        params += [TensorType((h,), pick(choices, features.dtypes)) for h in hidden]
        words = words.with_variables((), hidden, hidden)
        variables = [self.writer.parameter(t, words) for t in params]
        scope = GeneratorScope(words).enter(zip(variables, params, strict=True))
        lets = []
        for callee in self.writer.callees:
            if chance(choices, 50):
                variable, value, scope = let_call(self.writer, callee, scope, self.fuel // 2)
                lets.append((variable, value))
        result = random_type(choices, words, data_only=True)
        annotated = chance(choices, 50)
        body = self.writer.expression(result, scope, self.fuel + 1, annotated)
        for variable, value in reversed(lets):
            body = ir.Let(variable, value, body)
        shown = words.shown(result) if annotated else None
        return ir.Function(tuple(variables), body, shown, symbols)


def _is_plain(definition: TypeData) -> bool:
    """Whether every field is a type parameter, the type itself, or a type without parameters."""
    own = TypeCall(definition.header, definition.type_vars)
    return bool(definition.type_vars) and all(
        isinstance(ty, TypeVar) or ty == own or not all_type_vars(ty)
        for constructor in definition.constructors
        for ty in constructor.inputs
    )


def replace_type_params(function: ir.Function, declared: tuple[TypeVar, ...]) -> ir.Function:
    return ir.Function(function.params, function.body, function.ret_type, declared)
