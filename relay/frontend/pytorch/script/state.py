"""What calls of a model change, as tensors that an executable keeps.

A value of several forms is kept as the number of its form, and a tensor for each part of each:

    h: Tensor[(0)] or Tensor[(2, 1, 64)]    h.form: int64, h.0: Tensor[(0)], h.1: Tensor[(2, 1, 64)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import op, tree
from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.pytorch.script.coding import case_of
from relay.frontend.pytorch.script.forms import (
    ChainForm,
    DictForm,
    Form,
    ListForm,
    NumberForm,
    ObjectForm,
    TensorForm,
    TupleForm,
    UnionForm,
)
from relay.frontend.pytorch.script.path import Path, packed
from relay.ir import dims
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    If,
    Match,
    PatternConstructor,
    PatternVar,
    Tuple,
    Var,
    const,
)
from relay.ir.types import TensorType, TupleType

COUNT = TensorType((), "int64")


def kept_form(form: Form) -> Form:
    """The form that state keeps from call to call: sizes of inputs may differ in the next one."""
    found: Form = tree.run(_kept_form(form))
    return found


def _kept_form(form: Form) -> tree.Steps[Form]:
    if isinstance(form, TensorForm):
        shape = tuple(one if isinstance(one, int) else dims.ANY for one in form.type.shape)
        return TensorForm(TensorType(shape, form.type.dtype), form.pairs)
    parts = []
    for part in form.forms if isinstance(form, UnionForm) else form.parts:
        parts.append((yield _kept_form(part)))
    given = tuple(parts)
    match form:
        case UnionForm():
            return UnionForm(given)
        case TupleForm():
            return TupleForm(given)
        case ListForm():
            return ListForm(given)
        case DictForm(keys=keys):
            return DictForm(keys, given)
        case ObjectForm(name=name, attributes=attributes):
            return ObjectForm(name, attributes, given)
    return form


def tensors_of(name: str, form: Form) -> list[tuple[str, TensorType]]:
    """The names and types of the tensors that keep a value of a form."""
    found: list[tuple[str, TensorType]] = tree.run(_tensors_of(name, form))
    return found


def _tensors_of(name: str, form: Form) -> tree.Steps[list[tuple[str, TensorType]]]:
    match form:
        case TensorForm(type=ty):
            return [(name, ty)]
        case NumberForm(dtype=dtype):
            return [(name, TensorType((), dtype))]
        case ChainForm():
            raise FrontendError.of(
                f"the attribute {quoted(name)} becomes a list of a length that a run decides",
                expected="a tensor, a number, or a list of known length",
                hint="return the list, and give it to the next call",
            )
    found = [(f"{name}.form", COUNT)] if isinstance(form, UnionForm) else []
    for place, part in enumerate(form.forms if isinstance(form, UnionForm) else form.parts):
        found += yield _tensors_of(f"{name}.{place}", part)
    return found


def restored(path: Path, variables: list[Expr], form: Form) -> list[Expr]:
    """The expressions of a value from the tensors that keep it, which are taken from the list."""
    found: list[Expr] = tree.run(_restored(path, variables, form))
    return found


def _restored(path: Path, variables: list[Expr], form: Form) -> tree.Steps[list[Expr]]:
    if isinstance(form, TensorForm | NumberForm):
        return [variables.pop(0)]
    if not isinstance(form, UnionForm):
        found: list[Expr] = []
        for part in form.parts:
            found += yield _restored(path, variables, part)
        return found
    number = variables.pop(0)
    cases = []
    for place, part in enumerate(form.forms):
        leaves = yield _restored(path, variables, part)
        maker = case_of(path.scope.module, len(form.forms), place)
        cases.append(path.typed(Call(maker, (packed(leaves),)), form.type))
    whole: Expr = cases[-1]
    for place in range(len(cases) - 2, -1, -1):
        whole = If(op.equal(number, const(place, "int64")), cases[place], whole)
    return [path.typed(whole, form.type, "state")]


def kept(path: Path, leaves: list[Expr], form: Form) -> list[Expr]:
    """The tensors that keep a value from its expressions, which are taken from the list."""
    found: list[Expr] = tree.run(_kept(path, leaves, form))
    return found


def _kept(path: Path, leaves: list[Expr], form: Form) -> tree.Steps[list[Expr]]:
    if isinstance(form, TensorForm | NumberForm):
        return [leaves.pop(0)]
    if not isinstance(form, UnionForm):
        found: list[Expr] = []
        for part in form.parts:
            found += yield _kept(path, leaves, part)
        return found
    value = leaves.pop(0)
    types = [ty for _, ty in tensors_of("", form)]
    empty = [[_zeros(ty) for _, ty in tensors_of("", one)] for one in form.forms]
    clauses = []
    for place, part in enumerate(form.forms):
        inside, there = Var("case", part.packed), path.inner()
        parts = there.fields(inside, part.leaves()) if len(part.leaves()) != 1 else [inside]
        own = yield _kept(there, [*parts], part)
        every: list[Expr] = [const(place, "int64")]
        for other, zeros in enumerate(empty):
            every += own if other == place else zeros
        given = [there.typed(one, ty) for one, ty in zip(every, types, strict=True)]
        pattern = PatternConstructor(
            case_of(path.scope.module, len(form.forms), place), (PatternVar(inside),)
        )
        clauses.append(
            Clause(pattern, there.close([Tuple(tuple(given))], [TupleType(tuple(types))]))
        )
    return path.fields(Match(value, tuple(clauses)), types, "state")


def _zeros(ty: TensorType) -> Expr:
    return op.zeros(_known(ty), ty.dtype)


def _known(ty: TensorType) -> tuple[int, ...]:
    return tuple(one if isinstance(one, int) else 0 for one in ty.shape)


def initial(form: Form, handle: Any) -> list[np.ndarray]:
    """The tensors that keep a value which torch holds."""
    found: list[np.ndarray] = tree.run(_initial(form, handle))
    return found


def _initial(form: Form, handle: Any) -> tree.Steps[list[np.ndarray]]:
    from relay.frontend.pytorch.exported import array_of

    match form:
        case TensorForm(pairs=pairs):
            import torch

            plain = torch.view_as_real(handle.resolve_conj()) if pairs else handle
            return [array_of(plain).array]
        case NumberForm(dtype=dtype):
            return [np.array(handle, dtype)]
        case UnionForm(forms=forms):
            place = next(at for at, one in enumerate(forms) if holds(one, handle))
            found = [np.array(place, np.int64)]
            for at, one in enumerate(forms):
                if at == place:
                    found += yield _initial(one, handle)
                else:
                    found += [np.zeros(_known(ty), ty.dtype) for _, ty in tensors_of("", one)]
            return found
    values: Sequence[Any] = ()
    if isinstance(handle, dict):
        values = [*handle.values()]
    elif isinstance(handle, list | tuple):
        values = handle
    found = []
    for part, value in zip(form.parts, values, strict=True):
        found += yield _initial(part, value)
    return found


def holds(form: Form, handle: Any) -> bool:
    """Whether a value of torch is of a form of a union."""
    import torch

    from relay.frontend.pytorch.script.forms import Same, number_type, same
    from relay.frontend.pytorch.types import element_type

    match form:
        case TensorForm(type=ty, pairs=pairs):
            if not isinstance(handle, torch.Tensor) or pairs != handle.dtype.is_complex:
                return False
            rank = len(ty.shape) - pairs
            return handle.dim() == rank and element_type(handle.dtype) == ty.dtype
        case NumberForm(dtype=dtype):
            return number_type(handle) == dtype
        case Same():
            return form == same(handle)
        case TupleForm(fields=fields):
            return isinstance(handle, tuple) and len(handle) == len(fields)
        case ListForm(items=items):
            return isinstance(handle, list) and len(handle) == len(items)
        case DictForm(keys=keys):
            return isinstance(handle, dict) and tuple(handle) == keys
    return False
