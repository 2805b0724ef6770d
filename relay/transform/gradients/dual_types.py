"""Types of duals: values together with the cells that collect their gradients.

    Tensor[(3), float32]      (Tensor[(3), float32], ref(Tensor[(3), float32]))
    fn (A) -> B               fn (ref(fn () -> ()), dual of A) -> dual of B
    List[float32]             List[(float32, ref(float32))]
    Weights                   Weights_dual, whose constructors have duals as fields

Tensors of integers and of truth values are their own duals, and so is data that is constant: data
types whose values are only read, and come from parameters without gradients. A function gets the
tape: a cell with the function that runs the steps backwards which have been made so far.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from relay import tree
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.dims import Dim
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import UNIT, FuncType, GlobalTypeVar, RefType, TupleType, Type, TypeCall
from relay.transform.gradients.accumulate import is_differentiable

STEP = FuncType((), UNIT)
TAPE = RefType(STEP)


class TypeTwins:
    """The duals of types, and the data types and constructors they need."""

    def __init__(self, module: IRModule, read_only: Collection[str] = ()) -> None:
        """Those of the data types that are `read_only` are constant, if their fields allow it."""
        self._twins: dict[str, GlobalTypeVar] = {}
        self._known: dict[Type, Type] = {}
        self.constructors: dict[ir.Constructor, ir.Constructor] = {}
        self.definitions: list[TypeData] = []
        self.constant = set(read_only)
        self._make_twins(module)
        while varying := {name for name in self.constant if self._has_duals(module, name)}:
            self.constant -= varying
            self._twins.clear()
            self.constructors.clear()
            self.definitions.clear()
            self._make_twins(module)

    def _has_duals(self, module: IRModule, name: str) -> bool:
        """Whether there are duals inside of the fields of a data type."""
        definition = module.type_definitions[GlobalTypeVar(name)]
        fields = [ty for c in definition.constructors for ty in c.inputs]
        plain = (is_differentiable(ty) or self.of(ty) == ty for ty in fields)
        return bool(definition.type_vars) or not all(plain)

    def constants(self, pattern: ir.Syntax) -> Iterator[ir.Var]:
        """The variables of a pattern that are bound to tensors in constant data."""
        for part in tree.postorder(pattern):
            if not isinstance(part, ir.PatternConstructor):
                continue
            if part.constructor.belong_to.name_hint not in self.constant:
                continue
            for field in part.patterns:
                if isinstance(field, ir.PatternVar) and is_differentiable(field.var.checked_type):
                    yield field.var

    def of(self, ty: Type) -> Type:
        """The type of the duals of values of a type."""
        if ty not in self._known:
            self._known[ty] = tree.transform(ty, self._visit)
        return self._known[ty]

    def of_argument(self, given: Type | Dim) -> Type | Dim:
        """The dual of a type argument, which may be a dimension."""
        return self.of(given) if isinstance(given, Type) else given

    def constructor(self, before: ir.Constructor) -> ir.Constructor:
        """The constructor of duals."""
        return self.constructors.get(before, before)

    def _visit(self, _: Type, after: Type) -> Type:
        match after:
            case _ if is_differentiable(after):
                return TupleType((after, RefType(after)))
            case FuncType(arg_types=args, ret_type=result, type_params=params):
                return FuncType((TAPE, *args), result, params)
            case TypeCall(func=GlobalTypeVar(name_hint=name), args=args) if name in self._twins:
                return TypeCall(self._twins[name], args)
        return after

    def _make_twins(self, module: IRModule) -> None:
        """A twin for each data type with a field whose dual has another type."""
        definitions = module.type_definitions
        taken = UniqueNames({header.name_hint for header in definitions})
        pending = True
        while pending:
            self._known.clear()
            found = [
                d
                for d in definitions.values()
                if d.header.name_hint not in {*self._twins, *self.constant}
                and any(self.of(ty) != ty for c in d.constructors for ty in c.inputs)
            ]
            for definition in found:
                name = definition.header.name_hint
                self._twins[name] = GlobalTypeVar(taken.fresh(f"{name}_dual"))
            pending = bool(found)
        names = UniqueNames({c.name_hint for d in definitions.values() for c in d.constructors})
        for definition in definitions.values():
            twin = self._twins.get(definition.header.name_hint)
            if twin is None:
                continue
            for before in definition.constructors:
                inputs = tuple(map(self.of, before.inputs))
                name = names.fresh(f"{before.name_hint}_dual")
                self.constructors[before] = ir.Constructor(name, inputs, twin)
            made = tuple(self.constructors[c] for c in definition.constructors)
            self.definitions.append(TypeData(twin, definition.type_vars, made))
