"""Lists of tensors concatenated to one tensor, by functions defined per element type on first use.

A list is concatenated in pairs, until one tensor is left:

    [a, b, c, d, e]  ->  [ab, cd, e]  ->  [abcd, e]  ->  abcde

Rows that are appended one at a time are kept in a list of fewer than `BLOCK` rows and a list of
chunks, the newest first. Four chunks of one length become one, so that there are O(log n) chunks:

    [g, f, e, d, c, b, a], []  +  h                          [], [abcdefgh]
    […], [3 times 8 rows, 32 rows, 128 rows]  +  a row       [], [64 rows, 128 rows]

Every element is copied O(log n) times.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common.builder import int64
from relay.immutable import frozen
from relay.ir.dims import Any
from relay.ir.expr import Call, Expr, GlobalVar, If, Tuple, const
from relay.ir.module import IRModule
from relay.ir.types import GlobalTypeVar, TensorType, TypeCall
from relay.op import bitwise_and, equal
from relay.parser.parser import parse_module

BLOCK = 8  # rows per chunk at first; a power of two


def list_of(element: TensorType) -> TypeCall:
    return TypeCall(GlobalTypeVar("List"), (element,))


def dynamic_along(element: TensorType, axis: int) -> TensorType:
    """A tensor type with unknown extents for an axis and for named dimensions, which global
    functions cannot name."""
    shape = [
        size if isinstance(size, int) and place != axis else Any()
        for place, size in enumerate(element.shape)
    ]
    return TensorType(tuple(shape), element.dtype)


def concatenated(
    module: IRModule, values: Expr, element: TensorType, axis: int, empty: Expr
) -> Expr:
    """A list of tensors of a type, concatenated along an axis; `empty` for an empty list."""
    name = f"concatenate {element} along {axis}"
    function = _defined(module, name, _CONCATENATE, chunk=element, axis=axis)
    return Call(function, (values, const(False), empty))


@frozen
class Rows:
    """The types of rows that are appended one at a time, and of chunks of them."""

    row: TensorType
    chunk: TensorType

    @staticmethod
    def of(ty: TensorType) -> Rows:
        """`ty` is the type of a row in the scope of a loop."""
        chunk = dynamic_along(TensorType((Any(), *ty.shape), ty.dtype), 0)
        return Rows(TensorType(chunk.shape[1:], ty.dtype), chunk)

    @property
    def types(self) -> tuple[TypeCall, TypeCall]:
        """The types of the list of rows and of the list of chunks."""
        return list_of(self.row), list_of(self.chunk)

    def all(self, module: IRModule, rows: Expr, chunks: Expr, empty: Expr) -> Expr:
        """All rows as one tensor, the oldest first; `empty` where there are none."""
        name = f"all of {self.row}"
        function = _defined(module, name, _ALL_ROWS, row=self.row, chunk=self.chunk)
        return Call(function, (rows, chunks, empty))

    def _push(self, module: IRModule) -> GlobalVar:
        """The function that appends a block of rows to chunks."""
        rows = [f"%row_{place}" for place in range(BLOCK - 1)]
        pattern = "_"
        for row in rows:
            pattern = f"Cons({row}, {pattern})"
        types = {"row": self.row, "chunk": self.chunk}
        block = f"({', '.join(rows)}, %newest)"
        name = f"chunks of {self.row} and a block"
        return _defined(module, name, _PUSH_BLOCK, pattern=pattern, block=block, **types)


def with_rows(
    module: IRModule,
    number: Expr,
    newest: Sequence[Expr],
    before: Sequence[tuple[Expr, Expr]],
    kinds: Sequence[Rows],
) -> Expr:
    """Lists of rows and chunks, alternately, with one more row of each kind; `number` is how many
    there were."""
    cons, nil = module.get_constructor("Cons"), module.get_constructor("Nil")
    longer: list[Expr] = []
    full: list[Expr] = []
    for row, (rows, chunks), kind in zip(newest, before, kinds, strict=True):
        longer += [Call(cons, (row, rows)), chunks]
        full += [Call(nil, ()), Call(kind._push(module), (row, rows, chunks))]
    last = int64(BLOCK - 1)
    return If(equal(bitwise_and(number, last), last), Tuple(tuple(full)), Tuple(tuple(longer)))


def _defined(module: IRModule, name: str, text: str, **parts: object) -> GlobalVar:
    """The global function of that name, defined by a template on first use."""
    if name not in module:
        parsed = parse_module(text.format(name=name, **parts), "stacking.py", module)
        for variable in parsed.get_global_vars():
            if variable.name_hint not in module:
                module[variable] = parsed[variable]
    return module.get_global_var(name)


_CONCATENATE = """
def @`{name}, in pairs`(%chunks: List[{chunk}], %reversed: bool, %done: List[{chunk}])
    -> List[{chunk}] {{
  match (%chunks) {{
    Cons(%first, Cons(%second, %rest)) => @`{name}, in pairs`(%rest, %reversed, Cons(
      if (%reversed) {{
        concatenate((%second, %first), axis={axis})
      }} else {{
        concatenate((%first, %second), axis={axis})
      }},
      %done
    )),
    Cons(%last, _) => Cons(%last, %done),
    _ => %done,
  }}
}}

def @`{name}`(%chunks: List[{chunk}], %reversed: bool, %empty: {chunk}) -> {chunk} {{
  match (%chunks) {{
    Cons(%only, Nil) => %only,
    Nil => %empty,
    _ => @`{name}`(@`{name}, in pairs`(%chunks, %reversed, Nil), logical_not(%reversed), %empty),
  }}
}}
"""

# chunks are not longer than those after them: four have one length if the first and the last have
_PUSH_BLOCK = """
def @`{chunk} behind rows`(%newest: {chunk}, %chunks: List[{chunk}]) -> List[{chunk}] {{
  match (%chunks) {{
    Cons(%third, Cons(%second, Cons(%first, %rest))) =>
      if (take(shape_of(%first, dtype="int64"), 0i64, axis=0)
          == take(shape_of(%newest, dtype="int64"), 0i64, axis=0)) {{
        @`{chunk} behind rows`(concatenate((%first, %second, %third, %newest), axis=0), %rest)
      }} else {{
        Cons(%newest, %chunks)
      }},
    _ => Cons(%newest, %chunks),
  }}
}}

def @`{name}`(%newest: {row}, %rows: List[{row}], %chunks: List[{chunk}]) -> List[{chunk}] {{
  match? (%rows) {{ {pattern} => @`{chunk} behind rows`(stack({block}, axis=0), %chunks), }}
}}
"""

# the newest rows and chunks are the smallest: they are concatenated first
_ALL_ROWS = """
def @`{name}, rows`(%parts: List[{row}], %behind: {chunk}) -> {chunk} {{
  match (%parts) {{
    Cons(%last, %rest) => @`{name}, rows`(
      %rest, concatenate((expand_dims(%last, axis=0), %behind), axis=0)
    ),
    _ => %behind,
  }}
}}

def @`{name}, chunks`(%parts: List[{chunk}], %behind: {chunk}) -> {chunk} {{
  match (%parts) {{
    Cons(%last, %rest) => @`{name}, chunks`(%rest, concatenate((%last, %behind), axis=0)),
    _ => %behind,
  }}
}}

def @`{name}`(%rows: List[{row}], %chunks: List[{chunk}], %empty: {chunk}) -> {chunk} {{
  match (%rows) {{
    Cons(%last, %rest) =>
      @`{name}, chunks`(%chunks, @`{name}, rows`(%rest, expand_dims(%last, axis=0))),
    _ => match (%chunks) {{
      Cons(%newest, %older) => @`{name}, chunks`(%older, %newest),
      _ => %empty,
    }},
  }}
}}
"""
