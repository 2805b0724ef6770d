"""The text form of programs: what `print(module)` shows, and `relay.parse` reads.

    def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
      %0 = nn.relu(%x) /* ty=Tensor[(2, 3), float32] */;
      add(%0, %0) /* ty=Tensor[(2, 3), float32] */
    }

Every computation that is used as an argument gets a line of its own, so text nests only where the
program has scopes. A shared expression has its line in the innermost block around all its uses,
right before the first statement that needs it. Parsing the text gives the same program, sharing
included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Final

from relay import tree
from relay.ir import expr as ir
from relay.ir.attr_text import attribute, call_attributes, value_text
from relay.ir.layout import (
    DEDENT,
    INDENT,
    NEWLINE,
    Else,
    NumberedBinding,
    Short,
    Text,
    TextBlock,
    render,
)
from relay.ir.literals import SPECIAL, scalar_text
from relay.ir.metadata import MetadataWriter
from relay.ir.module import IRModule
from relay.ir.names import KEYWORDS, UniqueNames, as_word, spell
from relay.ir.scopes import Scope, Scopes
from relay.ir.type_text import TypeWriter, definition_text, delimited, type_text
from relay.ir.types import FuncType, Occurs, TensorType, Type, TypeVar
from relay.ir.variables import binders, free_type_vars, types_in
from relay.tree import Steps

__all__ = ["astext", "pretty_print", "type_text"]

VERSION: Final = "0.0.5"
HEADER: Final = f'#[version = "{VERSION}"]\n'

# The head of a function that is longer gets a line for each parameter.
WIDTH: Final = 100
# Type comments are cut off, since they are not parsed.
MAX_COMMENT: Final = 400
# A longer annotation is left out where inference finds it again.
MAX_ANNOTATION: Final = 10_000
# Words that are neither operators nor constructors. `operator(add)` is the operator where a
# constructor has its name, `constructor(Nil)` a constructor that is not called.
RESERVED: Final = KEYWORDS | SPECIAL.keys() | {"operator", "constructor", "meta"}

Printable = IRModule | ir.Syntax | Type
Annotate = Callable[[ir.Expr], str]


def astext(node: Printable, show_meta_data: bool = True, annotate: Annotate | None = None) -> str:
    """`node` as text; with the metadata section it can be parsed back.

    `annotate` is called with each computation and constant; what it returns becomes a comment.
    """
    if isinstance(node, Type):
        return type_text(node)
    if not isinstance(node, IRModule | ir.Syntax):
        raise TypeError(f"modules, programs and types have a text form, not {type(node).__name__}")
    metadata = MetadataWriter()
    if isinstance(node, IRModule):
        body = HEADER + _module_text(node, metadata, annotate)
    else:
        body = _item_text(node, metadata, annotate) + "\n"
        if show_meta_data and isinstance(node, ir.Expr):
            body = HEADER + body
    if not show_meta_data:
        return body if isinstance(node, IRModule) else body.rstrip("\n")
    table = metadata.text()
    return f"{body}\n{table}" if table else body


def pretty_print(node: Printable) -> str:
    """`node` as text without version header and metadata."""
    if isinstance(node, IRModule):
        return _module_text(node, MetadataWriter(), None)
    return astext(node, show_meta_data=False)


def _module_text(module: IRModule, metadata: MetadataWriter, annotate: Annotate | None) -> str:
    parts = [definition_text(definition) for definition in module.type_definitions.values()]
    constructors = {
        constructor.name_hint
        for definition in module.type_definitions.values()
        for constructor in definition.constructors
    }
    for name, function in module.functions.items():
        printer = _Printer(function, metadata, annotate, constructors)
        parts.append(printer.definition(name.name_hint, function))
    head = f"#[attributes = {value_text(module.attrs, metadata)}]\n" if module.attrs else ""
    return head + "\n\n".join(parts) + ("\n" if parts else "")


def _item_text(node: ir.Syntax, metadata: MetadataWriter, annotate: Annotate | None) -> str:
    printer = _Printer(node, metadata, annotate)
    match node:
        case ir.Pattern():
            return printer.pattern(node)
        case ir.Clause():
            return printer.clause(node)
        case ir.Expr():
            return printer.expression(node)
    raise TypeError(f"a {type(node).__name__} is neither a pattern, a clause nor an expression")


class _Printer:
    """Writes one function of a module, or one expression on its own."""

    def __init__(
        self,
        root: ir.Syntax,
        metadata: MetadataWriter,
        annotate: Annotate | None,
        constructors: Collection[str] = (),
    ) -> None:
        self.metadata = metadata
        self.annotate = annotate
        self.constructors = constructors
        self.types = TypeWriter()
        self.scopes = Scopes(root)
        self.blocks: dict[Scope, TextBlock] = {}
        self.bindings: dict[int, NumberedBinding] = {}  # of shared expressions
        self.determined: dict[FuncType, bool] = {}
        # How many shared expressions are being written for each scope; and the variables of lets
        # whose values are, with the home of the let and how many those were when it began.
        self.hoisting: Counter[Scope] = Counter()
        self.unbound: dict[ir.Var, tuple[Scope, int]] = {}
        variables: list[ir.Var] = []
        bound: set[ir.Var] = set()
        self.is_generic = False  # whether a type variable is written somewhere
        for node in tree.postorder(root):
            if isinstance(node, ir.Var):
                variables.append(node)
            bound.update(binders(node))
            self.is_generic |= any(ty.occurs & Occurs.VARIABLE for ty in types_in(node))
        self.free = [v for v in variables if v not in bound]
        self.names = _variable_names((*self.free, *variables))

    # --- whole items

    def definition(self, name: str, function: ir.Function) -> str:
        """`def @name(…) { … }`"""
        return render(tree.run(self.function(function, f"def @{spell(name, ())}")))

    def expression(self, expr: ir.Expr) -> str:
        """Declarations of what is free in `expr`, then its lines."""
        block = self.blocks[self.scopes.root] = TextBlock()
        for variable in free_type_vars(expr) if self.is_generic else ():
            block.add(f"free_type_var {self.types.declaration(variable)}")
        for free in self.free:
            block.add(f"free_var {self.declaration(free)}")
        tree.run(self.fill(expr, block))
        return render(list(block.lines())[1:])

    def clause(self, clause: ir.Clause) -> str:
        return render(tree.run(self._clause(clause)))

    # --- expressions

    def fill(self, expr: ir.Expr, block: TextBlock, is_bound: bool = False) -> Steps[None]:
        """Write `expr` as the rest of `block`: a let goes on in the same block.

        `is_bound`: the block is what a shared let is bound to, so that let is written here.
        """
        while isinstance(expr, ir.Let) and (is_bound or not self.scopes.is_shared(expr)):
            is_bound = False
            home = self.scopes.home(expr)
            self.unbound[expr.variable] = (home, self.hoisting[home])
            value = yield self.value(expr.value, block)
            is_annotated = self.needs_annotation(expr)
            if self.unbound.pop(expr.variable, None) is None:
                is_annotated = False  # it was declared ahead
            variable = self.declaration(expr.variable, is_annotated)
            comment = ""
            if not self.scopes.is_shared(expr.value):
                comment = self.comment(expr.value, is_annotated)
            block.add("let ", variable, " = ", value, comment)
            self.blocks[self.scopes.opened(expr, "body")] = block
            expr = expr.body
        block.result = yield self.value(expr, block)
        if not self.scopes.is_shared(expr):
            block.is_if = isinstance(expr, ir.If)
            block.comment = self.comment(expr)

    def value(self, expr: ir.Expr, block: TextBlock) -> Steps[Text]:
        """`expr` as it stands to the right of `=` or as a result."""
        if ir.is_atom(expr) or self.scopes.is_shared(expr):
            return self.argument(expr, block)
        return self.computation(expr, block)

    def argument(self, expr: ir.Expr, block: TextBlock) -> Steps[Text]:
        """`expr` as it stands inside another expression: an atom, or bound on a line before."""
        if ir.is_atom(expr):
            return self.atom(expr)
        shared = self.scopes.is_shared(expr)
        if shared:
            if (known := self.bindings.get(id(expr))) is not None:
                return known
            home = self.scopes.home(expr)
            block = self.blocks[home]
            self.hoisting[home] += 1
        text: Text = yield self.computation(expr, block)
        if shared:
            self.hoisting[home] -= 1
        if not shared and (isinstance(expr, ir.TupleGetItem) or _is_bare(expr)):
            return [text, self.annotation(expr)] if self.annotate else text
        binding = NumberedBinding()
        if shared:
            self.bindings[id(expr)] = binding
        block.add(binding, " = ", text, self.comment(expr))
        return binding

    def declare_ahead(self, variable: ir.Var) -> None:
        """Declare the variable of an unfinished let where a line before it uses the variable: a
        recursive function shares an expression with what follows."""
        home, before = self.unbound[variable]
        if self.hoisting[home] > before:
            del self.unbound[variable]
            self.blocks[home].add("let ", self.declaration(variable))

    def arguments(self, exprs: Iterable[ir.Expr], block: TextBlock) -> Steps[list[Text]]:
        """`a, b, …`"""
        texts: list[Text] = []
        for expr in exprs:
            if texts:
                texts.append(", ")
            if ir.is_atom(expr):
                texts.append(self.atom(expr))
            else:
                texts.append((yield self.argument(expr, block)))
        return texts

    def computation(self, expr: ir.Expr, block: TextBlock) -> Steps[Text]:
        """`expr` itself, over its arguments."""
        match expr:
            case ir.Call():
                return self.call(expr, block)  # type: ignore[return-value]
            case ir.Function():
                return self.function(expr, "fn ")  # type: ignore[return-value]
            case ir.Let():
                inner = TextBlock()
                yield self.fill(expr, inner, is_bound=True)
                return inner
            case ir.If():
                cond = yield self.argument(expr.cond, block)
                then = yield self.branch(expr, "true_branch", expr.true_branch)
                other = yield self.branch(expr, "false_branch", expr.false_branch)
                return ["if (", cond, ") ", then, " else ", Else(other)]
            case ir.Match():
                data = yield self.argument(expr.data, block)
                clauses: list[Text] = []
                for clause in expr.clauses:
                    clauses += (NEWLINE, (yield self._clause(clause)), ",")
                head = "match (" if expr.complete else "match? ("
                return [head, data, ") {", INDENT, *clauses, DEDENT, NEWLINE, "}"]
            case ir.Tuple(fields=fields):
                parts = yield self.arguments(fields, block)
                return ["(", *parts, ",)" if len(fields) == 1 else ")"]
            case ir.TupleGetItem():
                whole = yield self.argument(expr.tuple_value, block)
                if isinstance(expr.tuple_value, ir.Constant):
                    whole = ["(", whole, ")"]  # or `1.0` would be a number
                return [whole, f".{expr.index}"]
            case ir.RefCreate():
                return ["ref(", (yield self.argument(expr.value, block)), ")"]
            case ir.RefRead():
                return ["ref_read(", (yield self.argument(expr.ref, block)), ")"]
            case ir.RefWrite():
                parts = yield self.arguments((expr.ref, expr.value), block)
                return ["ref_write(", *parts, ")"]
        # an expression that a pass made for itself
        below = [child for child in tree.children(expr) if isinstance(child, ir.Expr)]
        parts = yield self.arguments(below, block)
        return [type(expr).__name__, "(", *parts, ")"]

    def call(self, call: ir.Call, block: TextBlock) -> Steps[Text]:
        callee: Text = ""
        if isinstance(call.op, ir.Constructor):
            callee = spell(call.op.name_hint, RESERVED)
        else:
            callee = yield self.argument(call.op, block)
            if _is_bare(call.op):
                callee = ["(", callee, ")"]  # or it would be called once only
        if self.needs_type_args(call):
            callee = [callee, f"[{', '.join(map(self.types.argument, call.type_args))}]"]
        parts = yield self.arguments(call.args, block)
        for text in call_attributes(call, self.metadata):
            parts += (", ", text) if parts else (text,)
        if not parts and _is_bare(call):
            return callee
        return [callee, "(", *parts, ")"]

    def needs_type_args(self, call: ir.Call) -> bool:
        """Whether the type arguments have to be written: inference finds those of a typed call if
        the parameters of the function mention them."""
        if not call.type_args:
            return False
        callee = call.op.ty
        if call.ty is None or not isinstance(callee, FuncType):
            return True
        if callee not in self.determined:
            self.determined[callee] = _determined_by_arguments(callee)
        return not self.determined[callee]

    def branch(self, owner: ir.Syntax, field: str, expr: ir.Expr) -> Steps[TextBlock]:
        """A block of its own for one part of `owner`."""
        block = self.blocks[self.scopes.opened(owner, field)] = TextBlock()
        yield self.fill(expr, block)
        return block

    def function(self, function: ir.Function, head: str) -> Steps[Text]:
        head += self.types.parameters(function.type_params)
        params = [self.declaration(p) for p in function.params]
        params += [attribute(k, v, self.metadata) for k, v in function.attrs.items()]
        result = f" -> {self.types.text(function.ret_type)} " if function.ret_type else " "
        body = yield self.branch(function, "body", function.body)
        if len(head) + sum(len(p) + 2 for p in params) + len(result) <= WIDTH or not params:
            return [head, "(", ", ".join(params), ")", result, body]
        lines: list[Text] = []
        for param in params:
            lines += (NEWLINE, param, ",")
        return [head, "(", INDENT, *lines, DEDENT, NEWLINE, ")", result, body]

    def _clause(self, clause: ir.Clause) -> Steps[Text]:
        pattern = self.pattern(clause.lhs)
        body = yield self.branch(clause, "rhs", clause.rhs)
        return [pattern, " => ", Short(body)]

    # --- what needs no line of its own

    def atom(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Var():
                if expr in self.unbound:
                    self.declare_ahead(expr)
                return f"%{self.names[expr]}"
            case ir.GlobalVar():
                return f"@{spell(expr.name_hint, ())}"
            case ir.Constant():
                return self.constant(expr)
            case ir.Op():
                name = spell(expr.name, RESERVED)
                return f"operator({name})" if expr.name in self.constructors else name
            case ir.Constructor():
                name = spell(expr.name_hint, RESERVED)
                return name if expr.inputs else f"constructor({name})"
        raise TypeError(f"a {type(expr).__name__} is not an atom")

    def constant(self, constant: ir.Constant) -> str:
        array = constant.data.array
        text = None if array.shape else scalar_text(array)
        if text is not None:
            return text + self.annotation(constant)
        ty = _comment(f"ty={self.types.text(constant.tensor_type)}")
        return self.metadata.reference(constant) + ty + self.annotation(constant)

    def declaration(self, variable: ir.Var, annotated: bool = True) -> str:
        """`%x: T`"""
        name = f"%{self.names[variable]}"
        annotation = variable.type_annotation
        if annotation is None or not annotated:
            return name
        return f"{name}: {self.types.text(annotation)}"

    def needs_annotation(self, let: ir.Let) -> bool:
        """Whether the type annotation of a let has to be written: not where the value is an
        annotated function, nor where it is too long and inference finds it again."""
        annotation, value = let.variable.type_annotation, let.value
        if annotation is None or value.ty is None or value.ty != annotation:
            return annotation is not None
        if isinstance(value, ir.Function) and value.declared_type is not None:
            return False
        return not self.types.is_longer(annotation, MAX_ANNOTATION)

    def pattern(self, pattern: ir.Pattern) -> str:
        out: list[str] = []
        pending: list[str | ir.Pattern] = [pattern]
        while pending:
            current = pending.pop()
            match current:
                case str():
                    out.append(current)
                case ir.PatternWildcard():
                    out.append("_")
                case ir.PatternVar(var=var):
                    out.append(self.declaration(var))
                case ir.PatternTuple(patterns=patterns):
                    last = ",)" if len(patterns) == 1 else ")"
                    pending.extend(delimited("(", patterns, last))
                case ir.PatternConstructor(constructor=constructor, patterns=patterns):
                    out.append(spell(constructor.name_hint, RESERVED))
                    if patterns:
                        pending.extend(delimited("(", patterns, ")"))
        return "".join(out)

    # --- comments

    def comment(self, expr: ir.Expr, annotated: bool = False) -> str:
        """The comment behind a computation: its type unless it is annotated, and `annotate`'s."""
        if ir.is_atom(expr):
            return ""
        text = ""
        if expr.ty is not None and not annotated and not isinstance(expr, ir.Let):
            text = _comment(f"ty={self.types.brief(expr.ty, MAX_COMMENT)}")
        return text + self.annotation(expr)

    def annotation(self, expr: ir.Expr) -> str:
        if self.annotate is None or not (text := self.annotate(expr)):
            return ""
        return _comment(str(text))


def _is_bare(expr: ir.Expr) -> bool:
    """Whether `expr` is a call of a constructor without fields, which is written without `()`."""
    if not isinstance(expr, ir.Call) or expr.args:
        return False
    return isinstance(expr.op, ir.Constructor) and not expr.op.inputs


def _determined_by_arguments(callee: FuncType) -> bool:
    """Whether the types of the arguments determine every type parameter."""
    mentioned: set[object] = set()
    for ty in callee.arg_types:
        for part in tree.postorder(ty):
            if isinstance(part, TypeVar):
                mentioned.add(part)
            elif isinstance(part, TensorType):
                mentioned.update(d for d in part.shape if isinstance(d, TypeVar))
    return mentioned.issuperset(callee.type_params)


def _comment(text: str) -> str:
    # comments nest, so neither end may occur inside
    return f" /* {text.replace('*/', '* /').replace('/*', '/ *')} */"


def _variable_names(variables: Iterable[ir.Var]) -> dict[ir.Var, str]:
    """A name for each variable: its own, or its own with a number where another has it too."""
    words = {variable: as_word(variable.name_hint, "v") for variable in variables}
    unique = UniqueNames(words.values())
    names: dict[ir.Var, str] = {}
    kept: set[str] = set()
    for variable, word in words.items():
        names[variable] = unique.fresh(word) if word in kept else word
        kept.add(word)
    return names
