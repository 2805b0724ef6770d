"""Compute gradients of weights from several outer products at once:

def @f(%n: int32, %c: ref(Tensor[(64, 64), float32]), %x: Tensor[(1, 64), float32]) {
  if (%n < 1) { () } else {
    let %total = add(ref_read(%c), nn.matmul(%x, %x, transpose_a=True));
    ref_write(%c, %total);
    @f(%n - 1, %c, %x)
  }
}
def @main(%n: int32, %x: Tensor[(1, 64), float32]) {
  let %c = ref(zeros(shape=[64, 64], dtype="float32"));
  @f(%n, %c, %x);
  ref_read(%c)
}
->
type Products[A, L, R] { Whole(A), Plus(L, R, Products[A, L, R]) }
def @f(…) -> () {
  if (…) { () } else {
    let %_: () = ref_write(%c, Plus(%x, %x, ref_read(%c)));
    @f(…)
  }
}
def @main(…) -> … {
  let %c: … = ref(Whole[…](zeros(…)));
  let %_: () = @f(%n, %c, %x);
  @sum_of_products(ref_read(%c), zeros(…))
}
def @sum_of_products(…) -> … { … }

In a loop or a recursive function a weight gets one product of a column and a row for each turn, and
adding each of them reads and writes a whole matrix. Cells of such matrices hold a matrix and the
products still to be added to it afterwards. Reading a cell adds them, eight in one matrix product.
Programs without recursion stay as they are, and so do those that take or give cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Final

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import TensorType, Type, TypeCall, TypeVar
from relay.op.gradient_rules import build
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.gradients.cells import NewCells, has_hidden_cells, is_cell, is_static, used

__all__ = ["CollectOuterProducts"]

SMALLEST: Final = 1 << 12  # elements of a matrix; a smaller one is added to at once
TOGETHER: Final = (8, 4, 2, 1)  # how many products become one


@frozen
class CollectOuterProducts(ModulePass):
    """Adds outer products to the gradient of a weight several at a time."""

    opt_level = 3
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        found = _outer_products(module)
        if not found or has_hidden_cells(module):
            return module
        return infer_module(_Collected(module, found).module())


@frozen
class _Product:
    """An outer product that a write adds to a cell."""

    write: ir.RefWrite
    call: ir.Call
    unused: Sequence[ir.Var]  # variables of values that nothing else needs

    @property
    def matrix(self) -> Type:
        return self.call.checked_type

    @property
    def factors(self) -> tuple[Type, ...]:
        return tuple(factor.checked_type for factor in self.call.args)


def _outer_products(module: IRModule) -> list[_Product]:
    """The products that a program with recursion adds to cells."""
    functions = {name: list(tree.postorder(f)) for name, f in module.functions.items()}
    found = [product for nodes in functions.values() for product in _added(nodes)]
    if not found:
        return []
    calls = CallGraph(module)
    repeats = any(calls.is_recursive(n) or _has_loop(nodes) for n, nodes in functions.items())
    return found if repeats else []


def _has_loop(nodes: Sequence[Any]) -> bool:
    """Whether a function inside calls itself."""
    for node in nodes:
        if isinstance(node, ir.Let) and isinstance(node.value, ir.Function):
            inside: Iterable[Any] = tree.postorder(node.value)
            if node.variable in inside:
                return True
    return False


def _added(nodes: Sequence[Any]) -> list[_Product]:
    values = {node.variable: node.value for node in nodes if isinstance(node, ir.Let)}
    uses: Counter[Any] = Counter()
    for node in nodes:
        uses.update(used(node))
    found = []
    for node in nodes:
        if not isinstance(node, ir.RefWrite) or not is_cell(node.ref.checked_type):
            continue
        total = values.get(node.value, node.value)  # type: ignore[call-overload]
        if not _is_call(total, "add") or uses[node.value] != 1:
            continue
        known, product = (values.get(one, one) for one in total.args)
        if not isinstance(known, ir.RefRead) or known.ref is not node.ref:
            continue
        if uses[total.args[0]] == uses[total.args[1]] == 1 and _is_outer(product):
            unused = [one for one in (node.value, *total.args) if one in values]
            found.append(_Product(node, product, unused))
    return found


def _is_call(e: ir.Expr, name: str) -> bool:
    return isinstance(e, ir.Call) and isinstance(e.op, ir.Op) and e.op.name == name


def _is_outer(e: ir.Expr) -> bool:
    """Whether this is a product of a column and a row, and large enough."""
    if not _is_call(e, "nn.matmul"):
        return False
    assert isinstance(e, ir.Call)
    assert e.attrs is not None
    types = [one.checked_type for one in (*e.args, e)]
    if not e.attrs["transpose_a"] or e.attrs["transpose_b"]:
        return False
    if not all(is_static(_tensor(ty)) for ty in types):
        return False
    left, _, matrix = (_tensor(ty) for ty in types)
    same = len({_tensor(ty).dtype for ty in types}) == 1
    return same and left.concrete_shape[:-1] == (1,) and prod(matrix.concrete_shape) >= SMALLEST


def _tensor(ty: Type) -> TensorType:
    assert isinstance(ty, TensorType)
    return ty


class _Collected:
    """Rewrites a module."""

    def __init__(self, module: IRModule, found: Sequence[_Product]) -> None:
        self._factors: dict[Type, tuple[Type, ...]] = {}  # of the products in cells of a matrix
        for product in found:
            self._factors[product.matrix] = product.factors
        self._products = {product.write: product for product in found}
        self._unused = {variable for product in found for variable in product.unused}
        self._made: dict[ir.Expr, Sequence[ir.Expr]] = {}  # the factors of products, rewritten
        self._calls = {product.call for product in found}
        self._before = module
        self._types = NewCells(module, self._content)
        self._header = self._types.header("Products")
        matrix, left, right = variables = tuple(map(TypeVar, ("A", "L", "R")))
        whole = TypeCall(self._header, variables)
        self._whole = self._types.constructor("Whole", (matrix,), self._header)
        self._plus = self._types.constructor("Plus", (left, right, whole), self._header)
        self._definition = TypeData(self._header, variables, (self._whole, self._plus))
        names = UniqueNames({name.name_hint for name in module.functions})
        self._sums = {ty: ir.GlobalVar(names.fresh("sum_of_products")) for ty in self._factors}

    def module(self) -> IRModule:
        made = self._types.module(self._definition)
        for name, function in self._before.functions.items():
            made[name] = tree.transform(function, self._visit)
        for matrix, name in self._sums.items():
            assert isinstance(matrix, TensorType)
            made[name] = self._sum(matrix, name)
        return made

    def _content(self, matrix: TensorType) -> Type | None:
        factors = self._factors.get(matrix)
        return None if factors is None else TypeCall(self._header, (matrix, *factors))

    def _visit(self, before: Any, after: Any) -> Any:
        match before:
            case ir.Call() if before in self._calls:
                self._made[before] = after.args
            case ir.Let() if before.variable in self._unused:
                return after.body
            case ir.RefCreate() if self._types.changes(before.checked_type):
                return tree.replace(after, value=ir.Call(self._whole, (after.value,)))
            case ir.RefRead() if self._types.changes(before.ref.checked_type):
                matrix = _tensor(before.checked_type)
                return ir.Call(self._sums[matrix], (after, _zeros(matrix)), span=before.span)
            case ir.RefWrite() if before in self._products:
                factors = self._made[self._products[before].call]
                known = ir.RefRead(after.ref)
                return tree.replace(after, value=ir.Call(self._plus, (*factors, known)))
            case ir.RefWrite() if self._types.changes(before.ref.checked_type):
                return tree.replace(after, value=ir.Call(self._whole, (after.value,)))
        return self._types.retyped(before, after)

    def _sum(self, matrix: TensorType, name: ir.GlobalVar) -> ir.Function:
        """The function that adds the products in a cell to each other, and to its matrix."""
        content = self._content(matrix)
        given, total = ir.Var("products", content), ir.Var("total", matrix)
        value = ir.Var("value")
        whole = ir.PatternConstructor(self._whole, (ir.PatternVar(value),))
        clauses = [ir.Clause(whole, build("add", value, total))]
        for count in TOGETHER:
            factors = [(ir.Var("left"), ir.Var("right")) for _ in range(count)]
            rest = ir.Var("rest")
            pattern: ir.Pattern = ir.PatternVar(rest)
            for pair in reversed(factors):
                fields = (*map(ir.PatternVar, pair), pattern)
                pattern = ir.PatternConstructor(self._plus, fields)
            left, right = map(_stacked, zip(*factors, strict=True))
            product = build("nn.matmul", left, right, transpose_a=True)
            call = ir.Call(name, (rest, build("add", total, product)))
            clauses.append(ir.Clause(pattern, call))
        return ir.Function((given, total), ir.Match(given, tuple(clauses)), matrix)


def _stacked(rows: Sequence[ir.Expr]) -> ir.Expr:
    """Rows as one matrix."""
    if len(rows) == 1:
        return rows[0]
    return build("concatenate", ir.Tuple(tuple(rows)), axis=0)


def _zeros(ty: TensorType) -> ir.Expr:
    return build("zeros", shape=ty.concrete_shape, dtype=ty.dtype)
