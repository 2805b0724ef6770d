"""The dataflow graph of a function, as FuseOps sees it:

let %y = exp(%x); add(%y, @f(sqrt(%y)))  ->  exp to sqrt and to add; sqrt and add to the outside

The nodes are calls of operators, tuples of tensors and their fields; all else is outside. Values
flow through a `let` if they may be computed at their use, so a program in A-normal form has the
dataflow of its graph. They do not flow between blocks (branches, clauses, bodies of functions). An
edge says how a value is used, which is mostly what the consumer does with all its arguments; but a
broadcast that does not stretch an argument uses it element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from relay import tree
from relay.analysis.forest import Forest
from relay.analysis.normal_forms import Blocks
from relay.analysis.precompute import is_precomputable, is_worth_storing, size_of
from relay.analysis.purity import Purity, manages_memory
from relay.ir.expr import Call, Constant, Expr, Function, Let, Syntax, Tuple, TupleGetItem, Var
from relay.ir.function_attrs import is_sealed
from relay.ir.scopes import Scope
from relay.ir.types import Occurs, TensorType, TupleType
from relay.op.opdef import FusionKind, OpDef
from relay.transform.fusion.fusion_reductions import Reduction, reduction_of


@dataclass(slots=True, eq=False)
class Node:
    """A call of an operator, a tuple of tensors, or a field of one."""

    expr: Call | Tuple | TupleGetItem
    kind: FusionKind
    outputs: list[tuple[int, FusionKind]] = field(default_factory=list)  # (consumer, kind of use)
    reduction: Reduction | None = None
    once: bool = False  # computed from constants only, once
    leaves_to: Syntax | None = None  # a user outside of kernels

    @property
    def is_operator(self) -> bool:
        return isinstance(self.expr, Call)

    @property
    def name(self) -> str:
        return name_of(self.expr)


class Dataflow(Blocks):
    """The operators of a function in topological order."""

    def __init__(self, root: Function) -> None:
        self._sealed: set[Scope] = set()
        super().__init__(root)
        self._function = root
        self.nodes: list[Node] = []
        self._number: dict[int, int] = {}
        order = list(tree.postorder(root))
        self._lets = {e.variable: e for e in order if isinstance(e, Let)}
        self._bound: dict[Var, int | None] = {}
        self._weights: dict[int, int] = {}  # node of constants only -> their bytes
        for e in order:
            if (kind := self._kind(e)) is not None:
                assert isinstance(e, Call | Tuple | TupleGetItem)
                self._number[id(e)] = len(self.nodes)
                reduction = reduction_of(e) if isinstance(e, Call) else None
                self.nodes.append(Node(e, kind, reduction=reduction, once=self._is_once(e)))
            for part, edge in self._uses_in(e, kind):
                self._connect(e, part, edge)

    def number(self, e: Syntax) -> int | None:
        """The node of `e`, or of the value that a variable is bound to."""
        return self._through(e) if isinstance(e, Var) else self._number.get(id(e))

    def opened(self, owner: Syntax, field: str) -> Scope:
        scope = super().opened(owner, field)
        sealed = is_sealed(owner)
        if sealed or scope.parent in self._sealed:
            self._sealed.add(scope)
        return scope

    def _through(self, variable: Var) -> int | None:
        """The node that a variable is bound to by a transparent `let`."""
        passed: list[Var] = []
        found: int | None = None
        e: Syntax = variable
        while isinstance(e, Var):
            if e in self._bound:
                found = self._bound[e]
                break
            passed.append(e)
            let = self._lets.get(e)
            if let is None or not self._is_transparent(let):
                break
            e = let.value
        else:
            found = self._number.get(id(e))
        self._bound.update(dict.fromkeys(passed, found))
        return found

    def _is_transparent(self, let: Let) -> bool:
        """Whether the value may be computed at its use: it is pure, and has its declared type."""
        value, declared = let.value, let.variable.type_annotation
        if not isinstance(value, Var) and id(value) not in self._number:
            return False
        if (declared is not None and declared != value.ty) or not self.may_move:
            return False
        return isinstance(value, Var) or self._purity.is_pure(value)

    @cached_property
    def may_move(self) -> bool:
        """Whether operators may be reordered: no tensor is mutated."""
        return not manages_memory(self._function)

    @cached_property
    def _purity(self) -> Purity:
        return Purity(self._function)

    def _kind(self, e: Syntax) -> FusionKind | None:
        """The fusion kind of `e`; None if it is not part of kernels."""
        if self.home(e) in self._sealed:
            return None
        match e:
            case Call(op=OpDef() as op):
                if op.on_values or op.has_attr("TNonComputational"):
                    return None
                if not all(_is_for_kernels(part) for part in (e, *e.args)):
                    return None
                # a shape that depends on values must be known before the kernel runs
                if op.stateful or op.runtime_shape is not None:
                    return FusionKind.OPAQUE
                return FusionKind.COMM_REDUCE if op.row_reductions else op.fusion
            case Tuple():
                return FusionKind.TUPLE if _is_for_kernels(e) else None
            case TupleGetItem():
                return FusionKind.INJECTIVE if _is_for_kernels(e.tuple_value) else None
        return None

    def _is_once(self, e: Call | Tuple | TupleGetItem) -> bool:
        """Whether the next node depends on constants only, and is worth storing."""
        match e:
            case Call(op=OpDef() as op, args=parts) if is_precomputable(op):
                pass
            case Tuple(fields=parts):
                pass
            case TupleGetItem(tuple_value=value):
                parts = (value,)
            case _:
                return False
        read = 0
        for part in parts:
            if isinstance(part, Constant):
                read += size_of(part.ty) or 0
            elif (number := self.number(part)) is not None and number in self._weights:
                read += self._weights[number]
            else:
                return False
        made = size_of(e.ty)
        if not parts or made is None or not is_worth_storing(made, read):
            return False
        self._weights[len(self.nodes)] = read
        return True

    def _uses_in(
        self, e: Syntax, kind: FusionKind | None
    ) -> Iterator[tuple[Syntax, FusionKind | None]]:
        """The values that `e` uses, with the kind of use; None is a use outside of kernels."""
        children = tree.children(e)
        match e:
            case Call() if kind is not None:
                for arg in e.args:
                    plain = kind is FusionKind.BROADCAST and _has_same_shape(e, arg)
                    yield arg, FusionKind.ELEMWISE if plain else kind
            case Tuple() | TupleGetItem() if kind is not None:
                yield from ((part, FusionKind.INJECTIVE) for part in children)
            case Let():
                if self._through(e.variable) is None:
                    yield e.value, None
                yield e.body, None
            case _:
                yield from ((part, None) for part in children)

    def _connect(self, user: Syntax, part: Syntax, edge: FusionKind | None) -> None:
        if (number := self.number(part)) is None:
            return
        node = self.nodes[number]
        if edge is not None and self.home(user) is self.home(node.expr):
            node.outputs.append((self._number[id(user)], edge))
        else:
            node.leaves_to = user


def _is_for_kernels(e: Expr) -> bool:
    """Whether the value is a tensor or a tuple of tensors."""
    ty = e.checked_type
    fields = ty.fields if isinstance(ty, TupleType) else (ty,)
    return all(isinstance(f, TensorType) for f in fields)


def _has_same_shape(call: Call, arg: Expr) -> bool:
    """Whether the result provably has the shape of `arg`; `?` may broadcast."""
    result, ty = call.checked_type, arg.checked_type
    if not isinstance(result, TensorType) or not isinstance(ty, TensorType):
        return False
    return result.shape == ty.shape and not ty.occurs & Occurs.ANY


def name_of(e: Syntax) -> str:
    """The name of an expression in reasons."""
    match e:
        case Call(op=OpDef(name=name)):
            return name
        case TupleGetItem(index=index):
            return f".{index}"
    return type(e).__name__


def post_dominators(nodes: list[Node]) -> list[int | None]:
    """The immediate post-dominator of every node."""
    last = len(nodes) - 1
    forest = Forest()  # node i of the graph is node last - i here: consumers come first
    for node in reversed(nodes):
        meeting: int | None = None
        if node.leaves_to is None:
            for n, (user, _) in enumerate(node.outputs):
                meeting = last - user if n == 0 else forest.meet(meeting, last - user)
        forest.add(meeting)
    return [None if parent is None else last - parent for parent in reversed(forest.parent)]
