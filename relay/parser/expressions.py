"""Expressions from text.

    sequence    let %x = expression; … %0 = expression; … expression; … expression
    expression  operand (operator operand)*                with precedence, on a stack of its own
    operand     atom, then any of (arguments), [types](arguments), .0

Parsers of nested forms are generators (`relay.tree.run`), so text may nest to any depth. Graph
variables are names for nodes: each use of `%0` is the same node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from relay import tree
from relay.ir import expr as ir
from relay.ir.attr_text import TYPE_KEY
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.literals import SPECIAL
from relay.ir.metadata import MetadataReader
from relay.nd import NDArray
from relay.parser.attributes import make_attributes
from relay.parser.bindings import Bindings
from relay.parser.lexer import GLOBAL, GRAPH, LOCAL, META, NAME, NUMERAL, PROJECTION, QUOTED, Tokens
from relay.parser.patterns import PatternParser
from relay.parser.values import Given
from relay.tree import Steps

OPERATORS: Final = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}
_ENDS_ARGUMENT: Final = (",", ")")


@dataclass(slots=True)
class ForwardDeclaration:
    """A variable that was declared before the let that binds it."""

    variable: ir.Var
    token: int
    is_bound: bool = False


class ExpressionParser(PatternParser):
    """Reads expressions."""

    def __init__(self, tokens: Tokens, metadata: MetadataReader) -> None:
        super().__init__(tokens, metadata)
        self.graph: Bindings[ir.Expr] = Bindings()
        self.declared: Bindings[ForwardDeclaration] = Bindings()
        self.global_uses: list[tuple[str, int]] = []  # (name, token)

    # --- sequences

    def sequence(self) -> Steps[ir.Expr]:
        """Bindings and a result, in a scope of their own."""
        scopes = self.locals.enter(), self.graph.enter(), self.declared.enter()
        lets: list[tuple[ir.Var, ir.Expr, int]] = []
        ahead: list[ForwardDeclaration] = []
        numbered: set[str] = set()
        while True:
            first, kind = self.index, self.kinds[self.index]
            if kind == GRAPH and self.kinds[first + 1] == "=":
                number = self.texts[first]
                if number in numbered:
                    raise self.error(
                        f"graph variable `%{number}` is bound twice in this block", first
                    )
                numbered.add(number)
                self.index += 2
                value = yield self.expression()
                self.expect(";", "behind the binding")
                self.graph.bind(number, value)
            elif kind == "let":
                let = yield self._let()
                if isinstance(let, ForwardDeclaration):
                    ahead.append(let)
                else:
                    lets.append(let)
            else:
                result: ir.Expr = yield self.expression()
                if not self.accept(";"):
                    break
                lets.append((ir.Var("_", span=self.span(first)), result, first))
        self.locals.leave(scopes[0])
        self.graph.leave(scopes[1])
        self.declared.leave(scopes[2])
        for declared in ahead:
            if not declared.is_bound:
                name = declared.variable.name_hint
                raise self.error(f"`%{name}` is declared here and never bound", declared.token)
        for variable, value, first in reversed(lets):
            result = ir.Let(variable, value, result, span=self.span(first))
        return result

    def _let(self) -> Steps[tuple[ir.Var, ir.Expr, int] | ForwardDeclaration]:
        """`let %x = …;`, or `let %x;`, which declares what a let further down binds."""
        first = self.index
        self.index += 1
        if self.kind == GRAPH:
            raise self.unexpected("a local variable", "a name that is a number is a graph variable")
        name = self.expect(LOCAL)
        token = self.index - 1
        annotation = yield self.annotation()
        variable = ir.Var(name, annotation, span=self.tokens.span(token, token))
        if self.accept(";"):
            declared = ForwardDeclaration(variable, token)
            self.locals.bind(name, variable)
            self.declared.bind(name, declared)
            return declared
        self.expect("=")
        ahead = self.declared.current.get(name)
        if ahead is not None and not ahead.is_bound:
            if annotation is not None:
                raise self.error(f"the type of `%{name}` belongs where it is declared", token)
            ahead.is_bound = True
            variable = ahead.variable
        # a function sees its own name; any other value sees what the name meant before
        recursive = self.kind == "fn"
        if recursive:
            self.locals.bind(name, variable)
        value = yield self.expression()
        self.expect(";", "behind the binding")
        if not recursive:
            self.locals.bind(name, variable)
        return variable, value, first

    def block(self) -> Steps[ir.Expr]:
        """`{ … }`"""
        opened = self.index
        self.expect("{")
        if self.kind == "}":
            raise self.unexpected("an expression", "a block has a value; the empty one is `()`")
        body: ir.Expr = yield self.sequence()
        self.close("}", opened)
        return body

    # --- operators

    def expression(self) -> Steps[ir.Expr]:
        """Operands joined by operators, the tightest first, from left to right."""
        operands: list[tuple[ir.Expr, int, int]] = []  # with the tokens they begin and end at
        operators: list[tuple[int, str, int]] = []
        while True:
            first = self.index
            operand = yield self.operand()
            level, name = OPERATORS.get(self.kinds[self.index], (0, ""))
            if not level and not operators:
                return operand  # type: ignore[no-any-return]
            operands.append((operand, first, self.index - 1))
            while operators and operators[-1][0] >= level:
                _, joined, token = operators.pop()
                right, _, last = operands.pop()
                left, first, _ = operands.pop()
                op = self._operator(joined, token)
                call = ir.Call(op, (left, right), span=self.tokens.span(first, last))
                operands.append((call, first, last))
            if not level:
                return operands[0][0]
            operators.append((level, name, self.index))
            self.index += 1

    def _operator(self, name: str, token: int) -> ir.Op:
        if (op := ir.find_op(name)) is None:
            raise self.unknown("operator", name, token, ir.op_names())
        return op

    # --- operands

    def operand(self) -> Steps[ir.Expr]:
        """An atom and what is applied to it."""
        first = self.index
        expr: ir.Expr | None = self.atom()
        if expr is None:
            expr = yield self.nested()
        while True:
            kind = self.kinds[self.index]
            if kind == "(":
                expr = yield self._call(expr, (), first)
            elif kind == PROJECTION:
                self.index += 1
                index = self.index_of(self.texts[self.index - 1][1:], "index")
                expr = ir.TupleGetItem(expr, index, span=self.span(first))
            elif kind == "[":
                type_args = yield self.type_arguments()
                if self.kind == "(":
                    expr = yield self._call(expr, type_args, first)
                elif isinstance(expr, ir.Constructor) and not expr.inputs:
                    expr = ir.Call(expr, (), None, type_args, span=self.span(first))
                else:
                    raise self.unexpected("`(`", "type arguments are followed by arguments")
            else:
                return expr

    def atom(self) -> ir.Expr | None:
        """An expression that has no expressions inside; None for others, with nothing read."""
        first, kind = self.index, self.kinds[self.index]
        if kind == LOCAL:
            return self._local(first)
        if kind == GRAPH:
            return self._graph_variable(first)
        if kind == NUMERAL or kind == "-":
            return self.constant()
        if kind == NAME:
            text = self.texts[first]
            if text in SPECIAL:
                return self.constant()
            if text in ("operator", "constructor") and self.following() == "(":
                return self._explicit(text)
            return self._named(text)
        if kind == GLOBAL:
            name = self.global_name()
            self.global_uses.append((name, first))
            return ir.GlobalVar(name, span=self.span(first))
        if kind == "True" or kind == "False":
            self.index += 1
            return ir.Constant(NDArray(_BOOLS[kind]), span=self.span(first))
        if kind == QUOTED:
            return self._named(self.name(""), quoted=True)
        if kind == META:
            found = self.meta()
            if not isinstance(found, ir.Expr):
                raise self.error(
                    "this metadata is not an expression", first, found=type(found).__name__
                )
            return found
        return None

    def _local(self, token: int) -> ir.Var:
        self.index += 1
        name = self.texts[token]
        variable = self.locals.current.get(name)
        if variable is None:
            known = [f"%{other}" for other in list(self.locals.current)[-1000:]]
            raise self.unknown("variable", f"%{name}", token, known, self.hint_for_variable(name))
        return variable

    def hint_for_variable(self, name: str) -> str:
        """What to try when there is no variable `name`."""
        return f"bind it with `let %{name} = …;` or as a parameter"

    def _graph_variable(self, token: int) -> ir.Expr:
        self.index += 1
        number = self.texts[token]
        found = self.graph.current.get(number)
        if found is None:
            raise self.error(
                f"unknown graph variable `%{number}`",
                token,
                hint=f"bind it before, in this block or one around it: `%{number} = …;`",
            )
        return found

    def _named(self, name: str, quoted: bool = False) -> ir.Expr:
        """A constructor or an operator; a constructor without fields is called."""
        first = self.index - quoted
        self.index = first + 1
        constructor = self.constructors.get(name)
        if constructor is not None:
            if constructor.inputs or self.kind in ("(", "["):
                return constructor
            return ir.Call(constructor, (), span=self.span(first))
        if (op := ir.find_op(name)) is not None:
            return op
        if name in ("meta", "Tensor"):
            raise self.error(f"`{name}` is not an expression", first, hint=_HINTS[name])
        what = "operator or constructor"
        if (hint := self.hint_for_name(name)) is not None:
            raise self.error(f"unknown {what} `{name}`", first, hint=hint)
        raise self.unknown(what, name, first, (*self.constructors, *ir.op_names()))

    def hint_for_name(self, name: str) -> str | None:
        """What to try when there is no operator or constructor `name`."""
        if name in self.locals.current:
            return f"the variable is written `%{name}`"
        return None

    def _explicit(self, what: str) -> ir.Expr:
        """`operator(add)` or `constructor(Nil)`: the thing itself, where a name could be both."""
        self.index += 1
        opened = self.index
        self.index += 1
        token = self.index
        name = self.name(f"of a {what}")
        self.close(")", opened)
        if what == "operator":
            return self._operator(name, token)
        if name not in self.constructors:
            raise self.unknown("constructor", name, token, self.constructors)
        return self.constructors[name]

    def nested(self) -> Steps[ir.Expr]:
        """An expression with expressions inside."""
        first = self.index
        match self.kinds[first]:
            case "(":
                return self._parenthesized()  # type: ignore[return-value]
            case "{":
                return self.block()  # type: ignore[return-value]
            case "fn":
                self.index += 1
                return self.function(first)  # type: ignore[return-value]
            case "if":
                return self._if()  # type: ignore[return-value]
            case "match" | "match?":
                return self._match()  # type: ignore[return-value]
            case "ref":
                value = yield self._operands_of(1)
                return ir.RefCreate(*value, span=self.span(first))
            case "ref_read":
                value = yield self._operands_of(1)
                return ir.RefRead(*value, span=self.span(first))
            case "ref_write":
                value = yield self._operands_of(2)
                return ir.RefWrite(*value, span=self.span(first))
        hint = _HINTS.get(self.kinds[first])
        if first and self.kinds[first - 1] == ";":
            hint = "a sequence ends with an expression, its value, without `;` behind it"
        raise self.unexpected("an expression", hint)

    def _parenthesized(self) -> Steps[ir.Expr]:
        """Grouping, or a tuple."""
        first = self.index
        fields, comma = yield self._fields()
        if len(fields) == 1 and not comma:
            return fields[0]  # type: ignore[no-any-return]
        return ir.Tuple(tuple(fields), span=self.span(first))

    def _fields(self) -> Steps[tuple[list[ir.Expr], bool]]:
        """`(a, b, …)`, and whether a comma came last."""
        if self.kind != "(":
            raise self.unexpected("`(`")
        fields: list[ir.Expr] = yield tree.gather(
            self.sequence() for _ in self.items(")", "an operator, `,` or `)`")
        )
        return fields, self.kinds[self.index - 2] == ","

    def _operands_of(self, count: int) -> Steps[list[ir.Expr]]:
        """The arguments of `ref`, `ref_read` or `ref_write`."""
        first = self.index
        self.index += 1
        fields, _ = yield self._fields()
        if len(fields) != count:
            raise self.error(
                f"wrong number of arguments for `{self.texts[first]}`",
                first,
                self.index - 1,
                expected=str(count),
                found=str(len(fields)),
            )
        return fields  # type: ignore[no-any-return]

    # --- calls

    def _call(self, callee: ir.Expr, type_args: tuple[Any, ...], first: int) -> Steps[ir.Expr]:
        """The arguments and attributes of a call of `callee`, which starts at token `first`."""
        args: list[ir.Expr] = []
        given = Given()
        stored: Attrs | DictAttrs | None = None
        for _ in self.items(")", "an operator, `,` or `)`"):
            if self.at_attribute():
                self.attribute(given)
            elif given or stored is not None:
                raise self.unexpected("an attribute", "arguments come before attributes")
            elif self.kind == META and (stored := self._stored_attributes()) is not None:
                pass
            elif self.kinds[self.index + 1] in _ENDS_ARGUMENT and (atom := self.atom()) is not None:
                args.append(atom)
            else:
                args.append((yield self.sequence()))
        attrs = stored if stored is not None else make_attributes(self, callee, given, first)
        return ir.Call(callee, tuple(args), attrs, type_args, span=self.span(first))

    def _stored_attributes(self) -> Attrs | DictAttrs | None:
        """All attributes of a call from the metadata; None, with nothing read, if it is not one."""
        first = self.index
        found = self.meta()
        if isinstance(found, Attrs | DictAttrs):
            return found
        self.index = first
        return None

    # --- functions and control

    def function(self, first: int) -> Steps[ir.Function]:
        """What follows `fn` or `def @name`; the whole starts at token `first`."""
        scopes = self.locals.enter(), self.type_variables.enter()
        type_params = self.type_parameters()
        params, attrs = yield self._parameters()
        result = None
        if self.accept("->"):
            result = yield self.type_()
        body = yield self.block()
        self.locals.leave(scopes[0])
        self.type_variables.leave(scopes[1])
        variables = tuple(p.variable() for p in type_params)
        span = self.span(first)
        return ir.Function(tuple(params), body, result, variables, DictAttrs(attrs), span=span)

    def _parameters(self) -> Steps[tuple[list[ir.Var], dict[str, Any]]]:
        """`(%x: T, …, name=value, …)`"""
        if self.kind != "(":
            raise self.unexpected("`(` before the parameters")
        params: dict[str, ir.Var] = {}
        given = Given()
        for token in self.items(")"):
            if self.at_attribute():
                self.attribute(given)
            elif given:
                raise self.unexpected("an attribute", "parameters come before attributes")
            else:
                name = self.expect(LOCAL, "as a parameter")
                annotation = yield self.annotation()
                if name in params:
                    raise self.error(f"parameter `%{name}` is declared twice", token)
                params[name] = ir.Var(name, annotation, span=self.tokens.span(token, token))
                self.locals.bind(name, params[name])
        if given.has_type_key:
            given.values[TYPE_KEY] = given.type_key
        return list(params.values()), given.values

    def _if(self) -> Steps[ir.Expr]:
        """`if (…) { … } else { … }`, with `else if` as long as it goes on."""
        links: list[tuple[ir.Expr, ir.Expr, int]] = []
        while True:
            first = self.index
            self.expect("if")
            opened = self.index
            self.expect("(", "before the condition")
            cond = yield self.sequence()
            self.close(")", opened, "an operator or `)`")
            links.append((cond, (yield self.block()), first))
            self.expect("else", "and the other branch")
            if self.kind != "if":
                break
        result: ir.Expr = yield self.block()
        for cond, branch, first in reversed(links):
            result = ir.If(cond, branch, result, span=self.span(first))
        return result

    def _match(self) -> Steps[ir.Expr]:
        first = self.index
        complete = self.kind == "match"
        self.index += 1
        data = yield self.operand()
        opened = self.index
        self.expect("{", "before the clauses")
        clauses: list[ir.Clause] = []
        while self.kind != "}":
            token = self.index
            scope = self.locals.enter()
            lhs = yield self.pattern(set())
            self.expect("=>", "and what the pattern leads to")
            rhs = yield self.sequence()
            self.locals.leave(scope)
            clauses.append(ir.Clause(lhs, rhs, span=self.span(token)))
            self.accept(",")
        self.close("}", opened)
        return ir.Match(data, tuple(clauses), complete, span=self.span(first))


_BOOLS: Final = {"True": np.array(True), "False": np.array(False)}
_HINTS: Final = {
    "%": "a variable is `%` and a name: `%x`",
    "meta": "a reference to the metadata is `meta[relay.Constant][0]`",
    "Tensor": "this is a type; types stand behind `:` and `->`",
    "free_var": "free variables are declared before the expression, and not inside a function",
    "free_type_var": "free type variables are declared before the expression",
    "let": "put a `let` inside an expression between braces: `{ let %x = …; … }`",
    "def": "functions of the module are defined outside of each other; `fn` is one inside",
}
