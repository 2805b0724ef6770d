"""Propagate layouts through a program, from the calls that are converted:

%1 = nn.conv2d(%x, %w, …);   %2 = nn.relu(add(%1, %b));   nn.conv2d(%2, %v, …)
->
%1 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
%2 = nn.conv2d(%1, layout_transform(%w, …), data_layout="NHWC", …);
%3 = nn.relu(add(%2, layout_transform(%b, …)));
%4 = nn.conv2d(%3, layout_transform(%v, …), data_layout="NHWC", …);
layout_transform(%4, src_layout="NHWC", dst_layout="NCHW")

The caller decides about single calls (`Alter`). A value stays in the layout it was computed in, and
operators with a layout rule (`relay.op.building.layout_rules`) follow. A transform is inserted only
where a value is needed in another layout, once for all such uses, and two in a row are merged.
Transforms of weights are left to the passes that fold constants.

Tuples, their fields and variables keep layouts as well. Arguments of functions, data, references,
results of branches and of `let` bodies, and captured variables have their original layout: they
would have to be converted back in every call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import tree
from relay.errors import Diagnostic, PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import is_opaque
from relay.ir.scopes import Scope, Scopes
from relay.ir.types import TensorType, TupleType
from relay.op.building.layout_form import (
    Form,
    Forms,
    LayoutSite,
    Rewritten,
    is_unblocked,
    transform_layout,
)
from relay.op.building.layout_rules import rule_of
from relay.op.opdef import OpDef
from relay.transform.layout.layout_spelling import spelled_layouts

# Rewrites a call to an expression over its arguments; None leaves it unchanged. Arguments that the
# new call uses directly are converted to the layouts in its attributes.
Alter = Callable[[ir.Call], "ir.Expr | None"]


def rewrite_of(op: OpDef, attribute: str, *args: Any) -> ir.Expr | None:
    """The result of a rewriting function that is an attribute of an operator."""
    found = op.get_attr(attribute)(*args)
    if found is None or isinstance(found, ir.Expr):
        return found
    message = f"{attribute} of `{op.name}` gives an expression or None"
    raise PassError(Diagnostic(message, expected="relay.Expr", found=repr(found)))


def propagate(function: ir.Function, alter: Alter) -> ir.Function:
    """The function with calls altered, and their layouts propagated to other operators."""
    root: ir.Syntax = function
    order = list(tree.postorder(root))
    calls = [e for e in order if isinstance(e, ir.Call) and isinstance(e.op, OpDef)]
    altered: dict[int, ir.Expr] = {}
    for call in calls:
        after = alter(call)
        if after is not None and after is not call:
            altered[id(call)] = after
    if not altered:
        return function
    result = _Propagation(function, order, altered).run()
    assert isinstance(result, ir.Function)
    return result


@frozen
class _Held:
    """A rewritten expression, and the layout of its value."""

    expr: ir.Expr
    form: Forms = None


class _Propagation:
    def __init__(
        self, root: ir.Function, order: list[ir.Syntax], altered: dict[int, ir.Expr]
    ) -> None:
        self._root = root
        self._order = order
        self._alterations = altered
        self._scopes = Scopes(root)
        self._held: dict[int, _Held] = {}
        self._rebuilt: dict[int, ir.Syntax] = {}  # clauses and patterns
        self._bound: dict[ir.Var, ir.Expr] = {}
        self._variables: dict[ir.Var, _Held] = {}
        self._laid: dict[tuple[int, Forms, Forms], ir.Expr] = {}  # from form to form
        self._fields: dict[tuple[int, int], ir.Expr] = {}
        self._opaque: dict[Scope, bool] = {}
        self._captured: set[int] = set()
        for node in self._order:
            if isinstance(node, ir.Let):
                self._bound[node.variable] = node.value
            inside = self._function_in(node)
            for child in tree.children(node):
                if self._scopes.home(child).function is not inside:
                    self._captured.add(id(child))

    def _function_in(self, node: ir.Syntax) -> Scope:
        """The function scope in which the children of a node are used."""
        if isinstance(node, ir.Function):
            return self._scopes.opened(node, "body")
        return self._scopes.home(node).function

    def run(self) -> ir.Expr:
        for node in self._order:
            if isinstance(node, ir.Expr):
                if not ir.is_atom(node):
                    self._held[id(node)] = self._settled(node, self._visit(node))
            else:
                self._rebuilt[id(node)] = tree.rebuild(
                    node, [self._plain(child) for child in tree.children(node)]
                )
        return self._as_it_was(self._root)

    def _settled(self, node: ir.Expr, held: _Held) -> _Held:
        """The value, in its original layout if another function captures it."""
        if held.form is not None and id(node) in self._captured:
            return _Held(self._in_form(held, None))
        return held

    def _visit(self, node: ir.Expr) -> _Held:
        match node:
            case ir.Call(op=OpDef() as op):
                return self._call(node, op)
            case ir.Tuple(fields=fields):
                held = [self._now(field) for field in fields]
                forms = tuple(one.form if isinstance(one.form, Form) else None for one in held)
                if any(forms):
                    exprs = [
                        self._in_form(one, form) for one, form in zip(held, forms, strict=True)
                    ]
                    return _Held(_over(node, *exprs), forms)
            case ir.TupleGetItem(tuple_value=value, index=index):
                whole = self._now(value)
                if isinstance(whole.form, tuple):
                    return _Held(_over(node, whole.expr), whole.form[index])
            case ir.Let(variable=variable, value=value):
                bound = self._variable(variable)
                laid = self._in_form(self._now(value), bound.form)
                return _Held(_over(node, bound.expr, laid, self._as_it_was(node.body)))
        return _Held(_over(node, *(self._plain(child) for child in tree.children(node))))

    # --- values

    def _now(self, e: ir.Expr) -> _Held:
        """The rewritten expression."""
        if isinstance(e, ir.Var):
            return self._variable(e)
        return _Held(e) if ir.is_atom(e) else self._held[id(e)]

    def _variable(self, variable: ir.Var) -> _Held:
        """The variable, or a new one if its value has another layout now."""
        if variable not in self._variables:
            value = self._bound.get(variable)
            held = None if value is None else self._held.get(id(value))
            if held is None or held.form is None or not self._may_change(variable, value):
                return _Held(variable)
            changed = ir.Var(variable.name_hint, span=variable.span)
            self._variables[variable] = _Held(changed, held.form)
        return self._variables[variable]

    def _may_change(self, variable: ir.Var, value: ir.Expr | None) -> bool:
        if id(variable) in self._captured:
            return False
        annotation = variable.type_annotation
        return annotation is None or (value is not None and annotation == value.ty)

    def _as_it_was(self, e: ir.Expr) -> ir.Expr:
        return self._in_form(self._now(e), None)

    def _plain(self, part: ir.Syntax) -> ir.Syntax:
        if isinstance(part, ir.Expr):
            return self._as_it_was(part)
        return self._rebuilt.get(id(part), part)

    def _in_form(self, held: _Held, form: Forms) -> ir.Expr:
        """The value in the layout `form`."""
        if held.form == form:
            return held.expr
        # one expression may have several forms: a transpose is its argument with other axes
        key = (id(held.expr), held.form, form)
        if key not in self._laid:
            self._laid[key] = self._relaid(held, form)
        return self._laid[key]

    def _relaid(self, held: _Held, form: Forms) -> ir.Expr:
        now = held.form
        if isinstance(now, Form):
            assert not isinstance(form, tuple)
            names = now.names if form is None else form.names
            target = names if form is None else form.text
            return transform_layout(held.expr, now.renamed(names).text, target)
        if isinstance(form, Form):
            return transform_layout(held.expr, form.names, form.text)
        count = len(now or form or ())
        before, after = now or (None,) * count, form or (None,) * count
        fields = []
        for index in range(count):
            field = _Held(self._field(held.expr, index), before[index])
            fields.append(self._in_form(field, after[index]))
        return ir.Tuple(tuple(fields))

    def _field(self, whole: ir.Expr, index: int) -> ir.Expr:
        """A field of a tuple; the tuple is kept for the effects of its other fields."""
        if isinstance(whole, ir.Tuple) and all(map(ir.is_atom, whole.fields)):
            return whole.fields[index]
        key = (id(whole), index)
        if key not in self._fields:
            self._fields[key] = ir.TupleGetItem(whole, index)
        return self._fields[key]

    # --- calls

    def _call(self, call: ir.Call, op: OpDef) -> _Held:
        if isinstance(call.ty, TensorType | TupleType) and not self._is_opaque(call):
            if (altered := self._altered(call)) is not None:
                return altered
            held = [self._now(arg) for arg in call.args]
            if any(one.form is not None for one in held) and (rule := rule_of(op)) is not None:
                forms = tuple(one.form for one in held)
                site = LayoutSite(call, forms, lambda i, form: self._in_form(held[i], form))
                if (laid := rule(site)) is not None:
                    return _Held(*laid)
        return _Held(_over(call, *(self._plain(child) for child in tree.children(call))))

    def _altered(self, call: ir.Call) -> _Held | None:
        after = self._alterations.get(id(call))
        if after is None:
            return None
        if (laid := self._laid_out(call, after)) is not None:
            return _Held(*laid)
        return _Held(self._over_plain_arguments(call, after))

    def _laid_out(self, before: ir.Call, after: ir.Expr) -> Rewritten | None:
        """The altered call over arguments in its layouts, and the layout of the result."""
        if not isinstance(after, ir.Call) or len(after.args) != len(before.args):
            return None
        old, new = spelled_layouts(before), spelled_layouts(after)
        if old is None or new is None:
            return None
        args: list[ir.Expr] = []
        for i, (arg, given) in enumerate(zip(after.args, before.args, strict=True)):
            source, target = old[0][i], new[0][i]
            if arg is not given:
                args.append(self._over_plain_arguments(before, arg))
            elif source is None or target is None or source == target:
                args.append(self._as_it_was(given))
            elif is_unblocked(source):
                args.append(self._in_form(self._now(given), Form(source, target)))
            else:
                args.append(transform_layout(self._as_it_was(given), source, target))
        call = tree.replace(after, args=tuple(args), span=after.span or before.span)
        out, form = old[1], Form(old[1], new[1])
        if form.is_plain:
            return call, None
        if isinstance(before.ty, TupleType):
            return call, (form, *[None] * (len(before.ty.fields) - 1))
        return (call, form) if is_unblocked(out) else (transform_layout(call, new[1], out), None)

    def _over_plain_arguments(self, call: ir.Call, after: ir.Expr) -> ir.Expr:
        """`after`, an expression over the arguments of `call`, over the rewritten arguments."""
        seeds: dict[ir.Syntax, ir.Syntax] = {arg: self._as_it_was(arg) for arg in call.args}
        result = tree.transform(after, lambda _, now: now, seeds)
        assert isinstance(result, ir.Expr)
        return result

    def _is_opaque(self, call: ir.Call) -> bool:
        """Whether the call is in an opaque function."""
        path: list[Scope] = []
        scope: Scope | None = self._scopes.home(call).function
        found = False
        while scope is not None:
            if scope in self._opaque:
                found = self._opaque[scope]
                break
            path.append(scope)
            owner = scope.owner
            if owner is not self._root and is_opaque(owner):
                found = True
                break
            scope = None if scope.parent is None else scope.parent.function
        self._opaque.update(dict.fromkeys(path, found))
        return found


def _over(e: ir.Expr, *parts: ir.Syntax) -> ir.Expr:
    """`e` with other children; `e` itself if they are unchanged."""
    result = tree.rebuild(e, parts)
    assert isinstance(result, ir.Expr)
    return result


__all__: list[str] = []
