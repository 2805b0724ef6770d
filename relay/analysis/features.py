"""The language features that a program uses."""

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


_WITHOUT_NODE = (Feature.fGraph, Feature.fLetRec)
_OF_NODE: dict[type, Feature] = {
    getattr(e, feature.name[1:]): feature for feature in Feature if feature not in _WITHOUT_NODE
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
        # the home of the variable is the body unless the value uses it too
        body = scopes.opened(node, "body") if isinstance(node, e.Let) else None
        if isinstance(node, e.Let) and scopes.home(node.variable) is not body:
            yield Feature.fLetRec
