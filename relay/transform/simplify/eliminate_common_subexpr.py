"""Compute equal expressions once:

add(exp(%x), exp(%x))  ->  %0 = exp(%x); add(%0, %0)

Two expressions are equal when they are calls of one operator with equal attributes, equal
projections or tuples, and their operands are equal; constants are compared bit by bit. A variable
equals the value it is bound to. References, calls of functions and operators with effects are never
equal.

A branch, a clause or a function reuses expressions of the scopes around it. Two branches share
nothing, since it would be computed for both when one needs it. Where the remaining expression is
bound to a variable, the variable is used, and others for it are removed:

let %a = exp(%x); let %b = exp(%x); add(%a, %b)  ->  let %a = exp(%x); add(%a, %a)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relay import tree
from relay.analysis.normal_forms import Blocks
from relay.analysis.purity import manages_memory
from relay.check.redirect_typed import redirect_typed
from relay.immutable import frozen
from relay.ir.compare import data_key
from relay.ir.expr import Call, Constant, Expr, Function, Let, Syntax, Tuple, TupleGetItem, Var
from relay.ir.scopes import Scope, Scopes
from relay.nd import Weight
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass

# Constants are compared by this many of their elements before they are compared by all.
SAMPLED = 16


@frozen
class EliminateCommonSubexpr(FunctionPass):
    """Merges equal expressions; those with `fskip(e)` are left alone."""

    opt_level = 3
    required = ("InferType",)
    fskip: Callable[[Expr], bool] | None = None

    def rewrite(self, function: Function) -> Function:
        if manages_memory(function):
            return function
        while (numbering := _Numbering(function, self.fskip)).repeats:
            merging = _Merging(function, numbering)
            if not merging.replacements:
                break
            function = redirect_typed(function, merging.replacements)
            # what is merged may be used by more than one block from then on, and belong to the
            # block around them, where still others reach it
            if not merging.several_blocks:
                break
        return function


class _Numbering:
    """A number for every computation that can be merged, the same for those that are the same."""

    def __init__(self, function: Function, fskip: Callable[[Expr], bool] | None) -> None:
        self.lets: list[Let] = []
        self._numbers: dict[int, int] = {}
        self._by_key: dict[Any, int] = {}
        self._named: dict[Var, Expr] = {}  # what variables are bound to
        nodes = list(tree.postorder(function))
        for node in nodes:
            if isinstance(node, Let):
                self.lets.append(node)
                self._named[node.variable] = node.value
        self._constants = _constant_keys([n for n in nodes if isinstance(n, Constant)])
        self.merging: list[Expr] = []
        for node in nodes:
            if isinstance(node, Expr) and not isinstance(node, Var):
                key = None if fskip is not None and fskip(node) else self._key(node)
                if key is not None:
                    self.merging.append(node)
                self._numbers[id(node)] = self._number(id(node) if key is None else key)

    @property
    def repeats(self) -> bool:
        """Whether two computations have one number."""
        return len({self._numbers[id(node)] for node in self.merging}) < len(self.merging)

    def of(self, e: Expr) -> int:
        """The number of `e`. A variable has that of its value, once that is known."""
        path = []
        while isinstance(e, Var) and (value := self._named.get(e)) is not None:
            path.append(e)
            e = value
        if id(e) not in self._numbers:
            return self._number(id(e))
        for variable in path:
            self._named[variable] = e
        return self._numbers[id(e)]

    def _number(self, key: Any) -> int:
        return self._by_key.setdefault(key, len(self._by_key))

    def _key(self, e: Expr) -> Any:
        """What is the same for the same computations; None where none is the same."""
        match e:
            case Constant():
                return self._constants[id(e)]
            case Call(op=OpDef(stateful=False, on_values=False) as op):
                arguments = tuple(map(self.of, e.args))
                return ("call", id(op), data_key(e.attrs), e.type_args, e.ty, arguments)
            case Tuple(fields=fields):
                return ("tuple", e.ty, *map(self.of, fields))
            case TupleGetItem(tuple_value=value, index=index):
                return ("field", e.ty, index, self.of(value))
        return None


def _constant_keys(constants: Sequence[Constant]) -> dict[int, Any]:
    """What is the same for equal constants. All elements are looked at only where some are equal:
    the weights of a network are large and hardly ever the same."""
    groups: defaultdict[Any, list[Constant]] = defaultdict(list)
    keys: dict[int, Any] = {}
    for constant in constants:
        if isinstance(constant.data, Weight):  # equal today
            keys[id(constant)] = ("weight", constant.data.name)
            continue
        array = constant.data.array
        sample = array.reshape(-1)[:: max(1, array.size // SAMPLED)]
        groups[array.shape, constant.data.dtype, sample.tobytes()].append(constant)
    for group in groups.values():
        for constant in group:
            alone = len(group) == 1
            keys[id(constant)] = ("constant", id(constant) if alone else data_key(constant.data))
    return keys


class _Merging:
    """What each computation is replaced by: the same one further out or, in its own block, before.

    The blocks are visited from the outside in, with the computations in reach by their numbers.
    """

    def __init__(self, function: Function, numbering: _Numbering) -> None:
        self.replacements: dict[Syntax, Syntax] = {}
        self._names = {id(let.value): let for let in reversed(numbering.lets)}
        self._scopes = Scopes(function)
        blocks = Blocks(function)
        members: defaultdict[Scope, list[Expr]] = defaultdict(list)
        for e in numbering.merging:
            members[blocks.root if isinstance(e, Constant) else blocks.home(e)].append(e)
        inside = _nested(members)
        self.several_blocks = bool(inside)
        seen: dict[int, Expr] = {}
        pending: list[tuple[Scope, list[int] | None]] = [(blocks.root, None)]
        while pending:
            block, added = pending.pop()
            if added is not None:  # the block is left
                for number in added:
                    del seen[number]
                continue
            added = []
            for e in members.get(block, ()):
                number = numbering.of(e)
                if number in seen:
                    if (kept := self._in_reach(seen[number], e)) is not None:
                        self.replacements[e] = kept
                else:
                    seen[number] = e
                    added.append(number)
            pending.append((block, added))
            pending.extend((inner, None) for inner in reversed(inside.get(block, ())))
        self._drop_names(numbering.lets)

    def _in_reach(self, kept: Expr, e: Expr) -> Expr | None:
        """`kept`, by its name where that is known at all uses of `e`; None where what it is made
        of may not be known either."""
        here = self._scopes.home(e)
        let = self._names.get(id(kept))
        if let is not None:
            body = self._scopes.opened(let, "body")
            if here.ancestor_at(body.depth) is body:
                return let.variable
        around = self._scopes.home(kept)
        return kept if here.ancestor_at(around.depth) is around else None

    def _drop_names(self, lets: Sequence[Let]) -> None:
        """A second name for what has one goes, unless the two declare different types."""
        for let in lets:
            name = self.replacements.get(let.value)
            same = isinstance(name, Var) and name.type_annotation == let.variable.type_annotation
            if name is not None and same:
                self.replacements[let] = let.body
                self.replacements[let.variable] = name


def _nested(scopes: Iterable[Scope]) -> dict[Scope, list[Scope]]:
    """The scopes inside each scope, of those that are given and all around them."""
    inside: dict[Scope, list[Scope]] = {}
    known: set[Scope] = set()
    for scope in scopes:
        while scope not in known and scope.parent is not None:
            known.add(scope)
            inside.setdefault(scope.parent, []).append(scope)
            scope = scope.parent
    return inside
