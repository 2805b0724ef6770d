"""Which constructs of the language a program uses."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from relay import tree
from relay.errors import RelayError
from relay.ir import expr as e
from relay.ir.module import IRModule
from relay.ir.scopes import Scopes


class Feature(IntEnum):
    """A construct of the language; `fGraph` is implicit sharing, `fLetRec` a recursive let."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


_OF_NODE: dict[type, Feature] = {
    e.Var: Feature.fVar,
    e.GlobalVar: Feature.fGlobalVar,
    e.Constant: Feature.fConstant,
    e.Tuple: Feature.fTuple,
    e.TupleGetItem: Feature.fTupleGetItem,
    e.Function: Feature.fFunction,
    e.Op: Feature.fOp,
    e.Call: Feature.fCall,
    e.Let: Feature.fLet,
    e.If: Feature.fIf,
    e.RefCreate: Feature.fRefCreate,
    e.RefRead: Feature.fRefRead,
    e.RefWrite: Feature.fRefWrite,
    e.Constructor: Feature.fConstructor,
    e.Match: Feature.fMatch,
}


def detect_feature(a: e.Expr | IRModule, b: e.Expr | IRModule | None = None) -> set[Feature]:
    """The features of an expression, of a module, or of one of each together."""
    if type(a) is type(b) or (isinstance(a, e.Expr) and isinstance(b, e.Expr)):
        raise RelayError("detect_feature takes one expression and one module at most")
    found: set[Feature] = set()
    for part in (a, b):
        if isinstance(part, IRModule):
            for function in part.functions.values():
                found.update(_features(function))
        elif part is not None:
            found.update(_features(part))
    return found


def _features(root: e.Expr) -> Iterator[Feature]:
    scopes = Scopes(root)
    for node in tree.postorder(root):
        if isinstance(node, e.Op):
            yield Feature.fOp
        elif (feature := _OF_NODE.get(type(node))) is not None:
            yield feature
        if isinstance(node, e.Expr) and scopes.is_shared(node):
            yield Feature.fGraph
        # all uses but those in its own value are in the body, which would then be its home
        if isinstance(node, e.Let) and scopes.home(node.variable) is not scopes.opened(
            node, "body"
        ):
            yield Feature.fLetRec
