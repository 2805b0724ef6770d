"""Outline annotated regions into functions for other compilers:

def @main(%x: Tensor[(4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  exp(annotation.compiler_end(nn.relu(%0), compiler="dnnl"))
}
->
def @main(%x: Tensor[(4), float32]) { exp(@tvmgen_default_dnnl_main_0(%x)) }
def @tvmgen_default_dnnl_main_0(%dnnl_0_i0: Tensor[(4), float32], Primitive=1, Inline=1,
                                Compiler="dnnl", global_symbol="tvmgen_default_dnnl_main_0") {
  nn.relu(%dnnl_0_i0)
}

A composite function `dnnl.…` outside of all regions is a region by itself. Values that leave a
region are results of its function, a tuple if there are several; a tuple that leaves as a whole
leaves field by field. Values from outside are parameters, except for constants with
`bind_constants`. Annotations for the compiler `default` are removed.

A region must be straight-line code without effects, in one block, and independent of its own
results. Others stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from relay import tree
from relay.analysis.annotated_regions import AnnotatedRegion, AnnotatedRegionSet, below, compiler_of
from relay.analysis.purity import Purity
from relay.check.components import strongly_connected
from relay.check.infer import infer_expr, infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.attrs import DictAttrs
from relay.ir.function_attrs import is_foreign, is_sealed
from relay.ir.module import IRModule
from relay.ir.names import as_word
from relay.ir.scopes import Scopes
from relay.ir.variables import free_type_vars, free_vars
from relay.op.annotation import compiler_begin, compiler_end
from relay.op.opdef import OpDef
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.external.merge_composite import COMPOSITE
from relay.tree import Steps

NOBODY = "default"

Rewrite = Callable[[ir.Syntax, ir.Syntax], ir.Syntax]


@frozen
class PartitionGraph(ModulePass):
    """Moves annotated regions and composite functions into global functions.

    `mod_name` becomes a part of their names. With `bind_constants` constants that enter a region
    are inside its function, else they are arguments of it.
    """

    required = ("InferType",)
    mod_name: str = "default"
    bind_constants: bool = True

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        taken = {name.name_hint for name in module.functions}
        changed: dict[str, ir.Function] = {}
        for name, function in module.functions.items():
            if is_sealed(function):
                continue
            annotated = _annotated(function, module)
            if not any(_is(node, compiler_end) for node in tree.postorder(annotated)):
                if annotated is not function:
                    changed[name.name_hint] = annotated
                continue
            partition = _Partition(self, name.name_hint, taken, annotated)
            after = partition.result()
            if after is not function:
                changed.update({name.name_hint: after, **partition.made})
        for key, function in changed.items():
            module[key] = function
        return infer_module(module) if changed else module


def _is(node: ir.Syntax, op: ir.Op) -> bool:
    return isinstance(node, ir.Call) and node.op is op


# --- normalizing annotations ---------------------------------------------------------------------


def _annotated(function: ir.Function, module: IRModule) -> ir.Function:
    """`function` with tuples that leave regions split, annotations for `default` removed, and
    regions around composite functions that are in none."""
    prepared = _rewritten(function, _prepared)
    regions = AnnotatedRegionSet(prepared, compiler_begin, compiler_end)

    def around(before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
        compiler = _compiler_of_composite(before)
        if compiler is None or regions.get_region(before) is not None:
            return after
        assert isinstance(after, ir.Call)
        inside = [compiler_begin(arg, compiler=compiler) for arg in after.args]
        return compiler_end(tree.replace(after, args=tuple(inside)), compiler=compiler)

    result = _rewritten(prepared, around)
    if result is function:
        return function
    return infer_expr(result, module)


def _rewritten(function: ir.Function, rewrite: Rewrite) -> ir.Function:
    """`function` rewritten, except inside sealed and composite functions."""
    settled: dict[ir.Syntax, ir.Syntax] = {
        node: node
        for node in tree.postorder(function)
        if isinstance(node, ir.Function) and _is_settled(node)
    }
    return tree.transform(function, rewrite, settled)


def _is_settled(function: ir.Function) -> bool:
    return is_sealed(function) or COMPOSITE in function.attrs


def _prepared(_: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
    if not isinstance(after, ir.Call) or after.op not in (compiler_begin, compiler_end):
        return after
    (data,) = after.args
    if compiler_of(after) == NOBODY:
        return data
    if after.op is compiler_end and isinstance(data, ir.Tuple):
        return tree.run(_field_by_field(data, after))
    return after


def _field_by_field(data: ir.Expr, end: ir.Call) -> Steps[ir.Expr]:
    """The fields of a tuple, each with its own end."""
    if not isinstance(data, ir.Tuple):
        return tree.replace(end, args=(data,))
    fields = yield tree.gather(_field_by_field(part, end) for part in data.fields)
    return tree.replace(data, fields=tuple(fields))


def _compiler_of_composite(node: ir.Syntax) -> str | None:
    """The compiler of a composite function that is called in place."""
    if isinstance(node, ir.Call) and isinstance(node.op, ir.Function) and not is_foreign(node.op):
        compiler, dot, _ = str(node.op.attrs.get(COMPOSITE, "")).partition(".")
        return compiler if dot and compiler else None
    return None


# --- cutting -------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Cut:
    """A region that becomes a function, with its inputs and outputs, each once and in order."""

    region: AnnotatedRegion
    inputs: list[ir.Expr] = field(default_factory=list)
    outputs: list[ir.Expr] = field(default_factory=list)
    call: ir.Call | None = None

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(e): number for number, e in enumerate(self.outputs)}

    def number_of(self, output: ir.Syntax) -> int:
        return self._numbers[id(output)]


class _Partition:
    """Moves the regions of one function into functions."""

    def __init__(
        self, options: PartitionGraph, owner: str, taken: set[str], function: ir.Function
    ) -> None:
        self.made: dict[str, ir.Function] = {}
        self._options = options
        self._owner = owner
        self._taken = taken
        self._function = function
        self._purity = Purity(function)
        self._scopes = Scopes(function)
        self._position: dict[int, int] = {}
        self._users: dict[int, list[ir.Syntax]] = {}
        for position, node in enumerate(tree.postorder(function)):
            self._position[id(node)] = position
            for child in tree.children(node):
                self._users.setdefault(id(child), []).append(node)
        regions = AnnotatedRegionSet(function, compiler_begin, compiler_end)
        self._cuts: dict[int, _Cut] = {}  # by the nodes of the regions
        for region in regions:
            if (cut := self._cut(region)) is not None:
                self._cuts.update((id(node), cut) for node in region.nodes)
        for cut in set(_tangled(function, self._cuts)):
            for member in cut.region.nodes:
                del self._cuts[id(member)]

    def result(self) -> ir.Function:
        new: dict[int, ir.Syntax] = {}

        def of(e: ir.Syntax) -> Steps[ir.Syntax]:
            if id(e) not in new:
                cut = self._cuts.get(id(e))
                new[id(e)] = yield (rebuilt(e) if cut is None else taken(e, cut))
            return new[id(e)]

        def rebuilt(e: ir.Syntax) -> Steps[ir.Syntax]:
            parts: list[ir.Syntax] = yield tree.gather(map(of, tree.children(e)))
            return tree.rebuild(e, parts)

        def taken(e: ir.Syntax, cut: _Cut) -> Steps[ir.Syntax]:
            """A result of a region at its use."""
            if cut.call is None:
                cut.call = self._called(cut, (yield tree.gather(map(of, cut.inputs))))
            if len(cut.outputs) == 1:
                return cut.call
            return ir.TupleGetItem(cut.call, cut.number_of(_value(e)))

        result: ir.Syntax = tree.run(of(self._function))
        assert isinstance(result, ir.Function)
        return result

    def _cut(self, region: AnnotatedRegion) -> _Cut | None:
        """The inputs and outputs of a region; None if it has to stay."""
        if not region.is_consistent:
            raise PassError(
                f"a region for the compiler `{region.target}` begins as one for another: "
                + ", ".join(sorted({compiler_of(e) for e in (*region.args, *region.rets)}))
            )
        inside = [node for node in region.nodes if not _is_border(node)]
        if not inside or not all(map(self._is_plain, inside)):
            return None
        home = self._scopes.home(inside[0])
        if any(self._scopes.home(node) is not home for node in region.nodes):
            return None
        cut = _Cut(region)
        members = set(map(id, region.nodes))
        given: dict[int, ir.Expr] = {}
        for node in inside:
            given.update((self._position[id(at)], e) for at, e in _given(node, members))
            users = self._users[id(node)]
            if any(id(user) not in members or _is(user, compiler_end) for user in users):
                assert isinstance(node, ir.Expr)
                cut.outputs.append(node)
        # in evaluation order, each once
        inputs = {id(e): e for _, e in sorted(given.items(), key=itemgetter(0))}
        cut.inputs = [
            e
            for e in inputs.values()
            if not (isinstance(e, ir.Constant) and self._options.bind_constants)
        ]
        if any(id(e) in members for e in cut.inputs):  # it would need its own result
            return None
        if len(cut.outputs) > 1 and not all(map(self._purity.is_pure, cut.inputs)):
            return None
        return cut

    def _is_plain(self, node: ir.Syntax) -> bool:
        match node:
            case ir.Tuple() | ir.TupleGetItem():
                return True
            case ir.Call(op=OpDef(stateful=stateful, on_values=on_values)):
                return not stateful and not on_values
            case ir.Call(op=ir.Function() as function):
                return not free_vars(function) and Purity(function).is_pure(function.body)
        return False

    def _called(self, cut: _Cut, args: list[ir.Expr]) -> ir.Call:
        """The call of the function made from a region."""
        compiler = as_word(cut.region.target, "compiler")
        base = as_word(f"tvmgen_{self._options.mod_name}_{compiler}_{self._owner}", "")
        number = len(self.made)
        while (name := f"{base}_{number}") in self._taken:
            number += 1
        self._taken.add(name)
        params = {
            id(e): ir.Var(f"{compiler}_{number}_i{n}", e.checked_type)
            for n, e in enumerate(cut.inputs)
        }
        inside: dict[int, ir.Syntax] = {}
        for node in cut.region.nodes:
            if _is(node, compiler_begin):
                inside[id(node)] = params.get(id(_argument(node)), _argument(node))
            elif not _is(node, compiler_end):
                parts = (inside.get(id(p), params.get(id(p), p)) for p in tree.children(node))
                inside[id(node)] = tree.rebuild(node, list(parts))
        results = [inside[id(e)] for e in cut.outputs]
        body = results[0] if len(results) == 1 else ir.Tuple(tuple(results))  # type: ignore[arg-type]
        assert isinstance(body, ir.Expr)
        attrs = {"Primitive": 1, "Inline": 1, "Compiler": cut.region.target, "global_symbol": name}
        function = ir.Function(tuple(params.values()), body, attrs=DictAttrs(attrs))
        types = tuple(free_type_vars(function))
        self.made[name] = tree.replace(function, type_params=types)
        return ir.Call(
            ir.GlobalVar(name), tuple(args), type_args=types, span=cut.region.rets[0].span
        )


def _is_border(node: ir.Syntax) -> bool:
    return isinstance(node, ir.Call) and node.op in (compiler_begin, compiler_end)


def _argument(annotation: ir.Syntax) -> ir.Expr:
    assert isinstance(annotation, ir.Call)
    return annotation.args[0]


def _value(e: ir.Syntax) -> ir.Syntax:
    """The value that leaves a region at `e`."""
    return _argument(e) if _is(e, compiler_end) else e


def _given(node: ir.Syntax, members: set[int]) -> Iterator[tuple[ir.Syntax, ir.Expr]]:
    """The inputs of a region at `node`, each with the node it enters through."""
    for part in below(node):
        if _is(part, compiler_begin):
            yield part, _argument(part)
        elif id(part) not in members and (not ir.is_atom(part) or isinstance(part, ir.Var)):
            assert isinstance(part, ir.Expr)
            yield part, part


def _tangled(function: ir.Function, cuts: dict[int, _Cut]) -> Iterator[_Cut]:
    """The regions that, as one call, would depend on their own results: those on a cycle."""
    parts: dict[int, set[int]] = {}
    unit = {key: id(cut) for key, cut in cuts.items()}
    for node in tree.postorder(function):
        own = unit.get(id(node), id(node))
        needed = parts.setdefault(own, set())
        needed.update(unit.get(id(child), id(child)) for child in tree.children(node))
        needed.discard(own)
    groups = strongly_connected(parts)
    cyclic = {key for group in groups if len(group) > 1 for key in group}
    return (cut for cut in set(cuts.values()) if id(cut) in cyclic)
