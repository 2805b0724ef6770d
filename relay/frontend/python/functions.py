"""Global and nested functions, and calls of both.

A parameter without an annotation takes its type from the argument, and such a function is
specialized for every combination of argument types. An argument that is not a Relay value (a text,
None, a number, an operator) is a compile-time constant inside.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from relay.frontend.python import liveness, statics
from relay.frontend.python.blocks import Block, FunctionFrame, Locals
from relay.frontend.python.comprehensions import Comprehensions
from relay.frontend.python.lifting import is_instance
from relay.frontend.python.source import Source
from relay.frontend.python.unit import Value
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Op, Var
from relay.ir.types import FuncType, IncompleteType, Occurs, Type
from relay.ir.variables import free_type_vars
from relay.tree import Steps

if TYPE_CHECKING:
    from relay.frontend.python.program import Instance, ProgramBuilder


# More specializations than this are an endless recursion.
MAX_VERSIONS = 500


@frozen
class Parameter:
    """A parameter of a function; `annotation` is a node, a value, or MISSING."""

    name: str
    annotation: Any
    default: Value
    node: ast.arg

    @property
    def is_untyped(self) -> bool:
        return self.annotation is statics.MISSING


@dataclass(frozen=True, eq=False)
class Definition:
    """A decorated function: its source, and the names it sees from outside."""

    function: FunctionType
    node: ast.FunctionDef
    source: Source
    names: statics.Names
    gradient: Definition | None = None  # the function that computes its gradients

    @property
    def name(self) -> str:
        return self.function.__name__

    def parameters(self) -> list[Parameter]:
        """The parameters. Annotations are as Python evaluated them, or nodes where it did not."""
        evaluated = self.function.__annotations__
        arguments = self.node.args
        defaults = dict(self.function.__kwdefaults__ or {})
        plain = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        given = self.function.__defaults__ or ()
        defaults |= dict(zip(plain[len(plain) - len(given) :], given, strict=True))
        return [
            Parameter(
                node.arg,
                _annotation(evaluated.get(node.arg, statics.MISSING), node.annotation),
                defaults.get(node.arg, statics.MISSING),
                node,
            )
            for node in liveness.arguments(self.node)
        ]

    def result(self) -> Any:
        """The annotation of the result, or MISSING."""
        found = self.function.__annotations__.get("return", statics.MISSING)
        return _annotation(found, self.node.returns)


def _annotation(evaluated: Any, node: ast.expr | None) -> Any:
    if node is None:
        return statics.MISSING
    return node if isinstance(evaluated, str) or evaluated is statics.MISSING else evaluated


@dataclass(eq=False)
class LocalFunction:
    """A nested function, translated where its types are known."""

    node: ast.FunctionDef | ast.Lambda
    name: str
    scope: Locals  # where it is defined
    defaults: Mapping[str, Value] = field(default_factory=dict)
    home: Block | None = None  # where it is bound; None: it is inlined where it is used
    versions: dict[Any, Version] = field(default_factory=dict)
    order: list[Version] = field(default_factory=list)  # as they were finished

    def parameters(self) -> list[ast.arg]:
        return liveness.arguments(self.node)


@dataclass(eq=False)
class Version:
    """A specialization of a nested function: the variable it is bound to, and the function."""

    variable: Var
    params: list[str]  # those that are parameters of the program as well
    function: Function | None = None


class Translation(Comprehensions):
    """Translates one global function, with its nested functions."""

    def __init__(self, program: ProgramBuilder, definition: Definition) -> None:
        super().__init__(program, definition.source, definition.names)
        self.definition_ = definition

    # --- the function itself

    def signature(
        self, given: Sequence[Type | StaticArgument]
    ) -> tuple[list[Type | StaticArgument], Type | None]:
        """Types of the parameters (`given` for those without annotation), and of the result."""
        rest = iter(given)
        types: list[Type | StaticArgument] = []
        for parameter in self.definition_.parameters():
            if parameter.is_untyped:
                types.append(next(rest))
            else:
                span = self.span(parameter.node)
                types.append(self.reader.read(parameter.annotation, span))
        declared = self.definition_.result()
        if declared is statics.MISSING:
            return types, None
        node = self.definition_.node
        assert node.returns is not None
        result = self.reader.read(declared, self.span(node.returns))
        bound = {v for ty in types if isinstance(ty, Type) for v in free_type_vars(ty)}
        for variable in free_type_vars(result):
            if variable not in bound:
                raise self.error(
                    node.returns,
                    f"`{variable}` is in the result of `{self.definition_.name}` and in no "
                    "parameter: who calls it could not know what it is",
                    hint="relay.Any() is an extent that only a run knows",
                )
        return types, result

    def function(self, instance: Instance) -> Steps[Function]:
        """Translate the function for the types of an instance."""
        node = self.definition_.node
        frame = FunctionFrame(
            self.definition_.name,
            instance.result,
            instance.has_declared_result,
            liveness.liveness(node.body),
            liveness.parameters(node) | liveness.assigned(node.body),
        )
        scope = Locals(frame)
        params = []
        for parameter, ty in zip(self.definition_.parameters(), instance.types, strict=True):
            if isinstance(ty, Type):
                variable = self.variable(parameter.name, ty, self.span(parameter.node))
                scope.values[parameter.name] = variable
                params.append(variable)
            else:
                scope.values[parameter.name] = ty.value
        body = yield self.body(node.body, scope, self._name_span(node))
        body = self.settle(body)
        self.check()
        self.generator.finish()
        result = self.resolve(instance.result)
        declared = None if result.occurs & Occurs.HOLE else result
        variables = tuple(dict.fromkeys(v for p in params for v in free_type_vars(self.type_of(p))))
        return Function(tuple(params), body, declared, variables, span=self._name_span(node))

    def _name_span(self, node: ast.FunctionDef) -> Any:
        """The span of the name of a function."""
        span = self.span(node)
        column = span.column + len("def ")
        return type(span)(span.source_name, span.line, span.line, column, column + len(node.name))

    # --- functions as values

    def is_function(self, value: Value) -> bool:
        return isinstance(value, LocalFunction) or definition_of(value) is not None

    def function_value(self, value: Value, node: ast.AST, expected: FuncType | None) -> Steps[Any]:
        wanted = list(expected.arg_types) if expected is not None else None
        if isinstance(value, LocalFunction):
            version = yield self._version(value, wanted, node)
            if value.home is None:
                assert version.function is not None
                return version.function
            return version.variable
        definition = definition_of(value)
        assert definition is not None
        untyped = [p for p in definition.parameters() if p.is_untyped]
        given: list[Any] = []
        if untyped and wanted is not None and len(wanted) == len(definition.parameters()):
            given = [
                self._complete(ty, p.name, node)
                for p, ty in zip(definition.parameters(), wanted, strict=True)
                if p.is_untyped
            ]
        elif untyped:
            raise self.error(
                node,
                f"at which types `{definition.name}` is used is not known here",
                "annotations of all its parameters",
                f"no annotation of `{untyped[0].name}`",
            )
        instance = yield self.program.instance(definition, given, node, self)
        return GlobalVar(instance.name, span=self.span(node))

    def _complete(self, ty: Type, name: str, node: ast.AST) -> Type:
        """A type without holes, for a parameter that has no annotation."""
        ty = self.resolve(ty)
        if ty.occurs & Occurs.HOLE:
            raise self.error(
                node,
                f"the type of the argument for `{name}` is not known here",
                f"an annotation of `{name}`",
                str(ty),
            )
        return ty

    # --- calls

    def call_function(
        self, function: Value, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[Value]:
        if isinstance(function, LocalFunction):
            return (yield self._call_local(function, args, keywords, node))
        definition = definition_of(function)
        assert definition is not None
        parameters = definition.parameters()
        defaults = {p.name: p.default for p in parameters}
        names = [p.name for p in parameters]
        values = self.arguments(definition.name, names, defaults, args, keywords, node)
        given: list[Any] = []
        for index, parameter in enumerate(parameters):
            if parameter.is_untyped:
                values[index], key = yield self._open_argument(values[index], parameter.name, node)
                given.append(key)
        instance = yield self.program.instance(definition, given, node, self)
        passed = [v for v, ty in zip(values, instance.types, strict=True) if isinstance(ty, Type)]
        callee = GlobalVar(instance.name, span=self.span(node.func))
        return (yield self.apply(callee, passed, node))

    def _open_argument(
        self, value: Value, name: str, node: ast.AST
    ) -> Steps[tuple[Value, Type | StaticArgument]]:
        """An argument for a parameter without annotation: its type, or the value itself."""
        if is_known(value):
            return value, StaticArgument(value)
        made = yield self.lift(value, node)
        return made, self._complete(self.type_of(made), name, node)

    # --- nested functions

    def lambda_(self, node: ast.Lambda, scope: Locals) -> Value:
        return LocalFunction(node, "lambda", scope.copy())

    def named_lambda(self, name: str, value: Value, block: Block) -> Value:
        if isinstance(value, LocalFunction) and value.home is None:
            value = LocalFunction(value.node, name, value.scope, value.defaults)
            self._bind(value, block)
        return value

    def definition(self, node: ast.FunctionDef, scope: Locals, block: Block) -> Steps[None]:
        plain = [*node.args.posonlyargs, *node.args.args]
        places = list(
            zip(plain[len(plain) - len(node.args.defaults) :], node.args.defaults, strict=True)
        )
        places += [
            (a, d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        ]
        defaults = {}
        for argument, default in places:
            value = yield self.expression(default, scope)
            defaults[argument.arg] = self.bound(argument.arg, value, block, self.span(default))
        made = LocalFunction(node, node.name, scope.copy(), defaults)
        made.scope.values[node.name] = scope.values[node.name] = made
        self._bind(made, block)

    def _bind(self, function: LocalFunction, block: Block) -> None:
        """Bind all specializations of a function, once they are known, where it is defined."""
        function.home = block
        span = self.span(function.node)

        def context(rest: Expr) -> Expr:
            for version in reversed(function.order):
                assert version.function is not None
                rest = Let(version.variable, version.function, rest, span=span)
            return rest

        block.contexts.append(context)

    def _call_local(
        self, function: LocalFunction, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Steps[Value]:
        names = [a.arg for a in function.parameters()]
        values = self.arguments(function.name, names, function.defaults, args, keywords, node)
        given: list[Any] = []
        for index, argument in enumerate(function.parameters()):
            if argument.annotation is not None:
                continue
            value = values[index]
            if not (isinstance(value, Expr) or is_known(value)):
                value = yield self.lift(value, node)
            values[index] = value
            given.append(StaticArgument(value) if is_known(value) else self.type_of(value))
        version = yield self._version(function, None, node, given)
        passed = [v for n, v in zip(names, values, strict=True) if n in version.params]
        callee: Expr = version.variable
        if function.home is None:
            assert version.function is not None
            callee = self.typed(version.function, self.generator.types[id(version.variable)])
        made = yield self.apply(callee, passed, node)
        assert isinstance(made, Call)
        return made

    def _version(
        self,
        function: LocalFunction,
        wanted: Sequence[Type] | None,
        node: ast.AST,
        given: Sequence[Type | StaticArgument] | None = None,
    ) -> Steps[Any]:
        """A specialization of a nested function: types `given` for the parameters without
        annotation, or `wanted` for all parameters."""
        parameters = function.parameters()
        if given is None:
            known = wanted if wanted is not None and len(wanted) == len(parameters) else None
            types = known or [IncompleteType() for _ in parameters]
            given = [
                self.resolve(ty)
                for ty, a in zip(types, parameters, strict=True)
                if a.annotation is None
            ]
        key = tuple(given) if function.home is not None else object()
        if key in function.versions:
            return function.versions[key]
        if len(function.versions) >= MAX_VERSIONS:
            raise self.error(
                node,
                f"`{function.name}` is needed at more and more types or values",
                "annotations of its parameters, so that there is one function for all calls",
            )
        return (yield self._translate(function, list(given), key))

    def _translate(
        self, function: LocalFunction, given: list[Type | StaticArgument], key: Any
    ) -> Steps[Version]:
        node = function.node
        rest = iter(given)
        result: Type = IncompleteType()
        declared = isinstance(node, ast.FunctionDef) and node.returns is not None
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            result = self.reader.read(node.returns, self.span(node.returns))
        body = [] if isinstance(node, ast.Lambda) else node.body
        frame = FunctionFrame(
            function.name,
            result,
            declared,
            liveness.liveness(body),
            liveness.parameters(node) | liveness.assigned(body),
            function.scope.frame,
        )
        scope = Locals(frame, dict(function.scope.values))
        params: list[Var] = []
        for name in frame.locals:
            scope.values.pop(name, None)
        for argument in function.parameters():
            ty: Any
            if argument.annotation is not None:
                ty = self.reader.read(argument.annotation, self.span(argument))
            else:
                ty = next(rest)
            if isinstance(ty, StaticArgument):
                scope.values[argument.arg] = ty.value
                continue
            variable = self.variable(argument.arg, ty, self.span(argument))
            scope.values[argument.arg] = variable
            params.append(variable)
        number = len(function.versions)
        variable = Var(f"{function.name}_{number}" if number else function.name)
        self.typed(variable, FuncType(tuple(self.generator.types[id(p)] for p in params), result))
        version = Version(variable, [p.name_hint for p in params])
        function.versions[key] = version
        span = self.span(node)
        if isinstance(node, ast.Lambda):
            value = yield self.expression(node.body, scope)
            made = yield self.lift(value, node.body, result, open_=True)
            self.unify(self.type_of(made), result, node.body, "the lambda does not fit")
        else:
            made = yield self.body(node.body, scope, self._name_span(node))
        ty = self.resolve(result)
        annotation = None if ty.occurs & Occurs.HOLE else ty
        version.function = Function(tuple(params), made, annotation, span=span)
        self.typed(version.function, self.generator.types[id(variable)])
        function.order.append(version)
        return version

    # --- captured variables

    def lookup(self, node: ast.Name, scope: Locals) -> Value:
        found = super().lookup(node, scope)
        if found is self.definition_.function:
            return self.definition_  # where the decorated function has another name
        if isinstance(found, LocalFunction):
            self._check_captured(found, node, scope)
        return found

    def _check_captured(self, function: LocalFunction, node: ast.AST, scope: Locals) -> None:
        """A closure captures variables when it is defined, while Python would see their current
        values; so these must be the same."""
        pending, seen = [function], {function}
        while pending:
            current = pending.pop()
            for name in sorted(liveness.captured(current.node)):
                before = current.scope.values.get(name, statics.MISSING)
                if isinstance(before, LocalFunction) and before not in seen:
                    seen.add(before)
                    pending.append(before)
                if before is statics.MISSING or _is_hidden(name, scope.frame, current.scope.frame):
                    continue
                if not statics.same(before, scope.values.get(name, statics.MISSING)):
                    raise self.error(
                        node,
                        f"`{current.name}` uses `{name}`, which was assigned anew since "
                        f"`{current.name}` was defined",
                        hint=f"define `{current.name}` later, or pass `{name}` as an argument",
                    )


def _is_hidden(name: str, inside: FunctionFrame, outside: FunctionFrame) -> bool:
    """Whether a variable of the function `outside` is shadowed in the nested function `inside`."""
    frame: FunctionFrame | None = inside
    while frame is not None and frame is not outside:
        if name in frame.locals:
            return True
        frame = frame.parent
    return frame is None


@frozen
class StaticArgument:
    """A Python value that a function is specialized for."""

    value: Value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StaticArgument):
            return False
        if statics.is_static(self.value) and statics.is_static(other.value):
            return repr(self.value) == repr(other.value)
        return self.value is other.value

    def __hash__(self) -> int:
        return hash(repr(self.value)) if statics.is_static(self.value) else id(self.value)


def is_known(value: Value) -> bool:
    """Whether a function is specialized for a value, instead of taking it as a parameter."""
    if isinstance(value, Expr):
        return isinstance(value, Op)
    if isinstance(value, tuple | list):
        return statics.is_static(value)
    if isinstance(value, LocalFunction) or statics.is_array(value):
        return False
    return not is_instance(value)


def definition_of(value: Value) -> Definition | None:
    """The definition of a decorated function; None for anything else."""
    if isinstance(value, Definition):
        return value
    found = getattr(type(value), "__relay_definition__", None)
    return None if found is None else found.__get__(value)
