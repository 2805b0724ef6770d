"""The parts of Python that are refused in a Relay function, and what to write instead.

`docs/python.md` shows this table; everything else is translated. All of them in a function are
reported together, when the function is decorated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from relay.errors import Diagnostic, FrontendError, fail
from relay.frontend.python.source import Source
from relay.immutable import frozen

MAX_REPORTS = 20


@frozen
class Construct:
    """A part of Python: its name, an example, and what to write instead."""

    name: str
    looks: str
    instead: str


_TENSORS_ARE_VALUES = "values do not change; assign a new one to the variable"
_NO_EXCEPTIONS = "there are no exceptions; return a relay.prelude.Option, or leave the case out"
_ASYNC = "a program runs from beginning to end; write a plain function"
_LOOP = "write a `for` loop, or a list: [… for …]"
_OUTSIDE = "put it outside of the function"

# Statements and expressions that are always refused, by the class of their node.
NODES: Mapping[str, Construct] = {
    "Try": Construct("try statement", "try: …", _NO_EXCEPTIONS),
    "TryStar": Construct("try statement with exception groups", "except* …", _NO_EXCEPTIONS),
    "Raise": Construct("raise statement", "raise …", _NO_EXCEPTIONS),
    "Assert": Construct("assert statement", "assert …", _OUTSIDE + ", or into the types"),
    "With": Construct("with statement", "with …:", _OUTSIDE),
    "AsyncWith": Construct("async with statement", "async with …:", _ASYNC),
    "AsyncFor": Construct("async for loop", "async for …:", _ASYNC),
    "AsyncFunctionDef": Construct("async function", "async def …", _ASYNC),
    "Await": Construct("await", "await …", _ASYNC),
    "Yield": Construct("yield", "yield …", "build a list: relay.prelude.Cons(x, xs)"),
    "YieldFrom": Construct("yield from", "yield from …", "build a list with a loop"),
    "Global": Construct("global statement", "global x", "pass the value, and return the new one"),
    "Nonlocal": Construct(
        "nonlocal statement", "nonlocal x", "return the new value, or use relay.RefCreate"
    ),
    "Delete": Construct("del statement", "del x", "leave it out; nothing has to be freed"),
    "Import": Construct("import statement", "import …", _OUTSIDE),
    "ImportFrom": Construct("from-import statement", "from … import …", _OUTSIDE),
    "ClassDef": Construct("class definition", "class …:", _OUTSIDE + "; see relay.data"),
    "SetComp": Construct("set comprehension", "{… for …}", _LOOP),
    "DictComp": Construct("dictionary comprehension", "{…: … for …}", _LOOP),
    "GeneratorExp": Construct("generator expression", "(… for …)", _LOOP),
    "Set": Construct("set", "{a, b}", "use a tuple or a list"),
    "Dict": Construct("dictionary", "{k: v}", "use a relay.data class or a tuple"),
    "JoinedStr": Construct("f-string", 'f"…"', "there is no text in a program"),
    "TemplateStr": Construct("t-string", 't"…"', "there is no text in a program"),
    "NamedExpr": Construct("assignment expression", "(x := …)", "assign in a statement before"),
    "TypeAlias": Construct("type statement", "type X = …", _OUTSIDE),
    "MatchMapping": Construct("pattern of a mapping", "case {…}:", "use a relay.data class"),
}

# Constructs that are refused in one form only.
FORMS: Mapping[str, Construct] = {
    "loop else": Construct("else of a loop", "for …: … else: …", "put it behind the loop"),
    "item assignment": Construct(
        "assignment to an item", "x[i] = …", _TENSORS_ARE_VALUES + ": relay.scatter_nd, …"
    ),
    "attribute assignment": Construct("assignment to an attribute", "x.a = …", _TENSORS_ARE_VALUES),
    "starred assignment": Construct("starred assignment", "a, *b = …", "name every part"),
    "keyword arguments": Construct(
        "double-star argument", "f(**options)", "give every argument by itself"
    ),
    "star parameter": Construct("star parameter", "def f(*xs)", "take a tuple or a list"),
    "keyword parameters": Construct(
        "double-star parameter", "def f(**options)", "name every parameter"
    ),
    "decorator": Construct("decorator of a nested function", "@… def …", _OUTSIDE),
    "complex number": Construct("complex number", "1j", "there are no complex tensors"),
    "bytes": Construct("bytes", 'b"…"', "there is no text in a program"),
}


def constructs() -> list[Construct]:
    """Everything that is refused."""
    return [*NODES.values(), *FORMS.values()]


def check(source: Source, function: ast.FunctionDef) -> None:
    """Report every refused construct in `function`."""
    found = []
    for node, construct in _refused(function):
        message = f"{construct.name} in a Relay function"
        span = source.span(node)
        found.append(Diagnostic(message, span, found=construct.looks, hint=construct.instead))
    if found:
        found.sort(key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))  # type: ignore[union-attr]
        fail(FrontendError, found[:MAX_REPORTS])


def _refused(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, Construct]]:
    for node in ast.walk(function):
        if (construct := NODES.get(type(node).__name__)) is not None:
            yield node, construct
        for form, at in _forms(node):
            # the decorators of the outermost function are Python's business
            if form != "decorator" or node is not function:
                yield at, FORMS[form]


def _forms(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.For(orelse=[first, *_]) | ast.While(orelse=[first, *_]):
            yield "loop else", first
        case ast.Subscript(ctx=ast.Store()):
            yield "item assignment", node
        case ast.Attribute(ctx=ast.Store()):
            yield "attribute assignment", node
        case ast.Starred(ctx=ast.Store()):
            yield "starred assignment", node
        case ast.Call():
            yield from (("keyword arguments", k) for k in node.keywords if k.arg is None)
        case ast.arguments():
            if node.vararg is not None:
                yield "star parameter", node.vararg
            if node.kwarg is not None:
                yield "keyword parameters", node.kwarg
        case ast.FunctionDef(decorator_list=[first, *_]):
            yield "decorator", first
        case ast.Constant(value=complex()):
            yield "complex number", node
        case ast.Constant(value=bytes()):
            yield "bytes", node
