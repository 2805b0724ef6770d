"""Dynamic operators: static operators with some attributes given as tensors.

    dyn.reshape(data, newshape)     is     reshape(data, newshape=…)     once newshape is a value

The reference and the run-time shapes are those of the static operator; only type inference differs.
`static_form` converts a call back where the tensors are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, field, fields, make_dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

from relay.immutable import frozen
from relay.ir.attrs import Attrs
from relay.ir.expr import Call, Constant
from relay.ir.types import TensorType, TupleType, Type
from relay.op.attributes import meanings
from relay.op.facts import Trait
from relay.op.gradient_rules import Rule
from relay.op.opdef import Compute, Extents, FusionKind, OpDef, Sample, define
from relay.op.shapes import output_type, value_type
from relay.op.site import INTEGER, Relation, Site

STATIC_FORM = "StaticForm"  # the attribute of dynamic operators


@frozen
class StaticForm:
    """The static operator, and its attributes by the index of the argument that replaces them."""

    op: OpDef
    values: Mapping[int, str]

    def split(
        self, args: Sequence[Any], attrs: Mapping[str, Any]
    ) -> tuple[list[Any], Attrs | None]:
        """Arguments and attributes for the static operator."""
        rest = [arg for index, arg in enumerate(args) if index not in self.values]
        given = {name: args[index] for index, name in self.values.items()}
        return rest, self.op.make_attrs({**attrs, **given})


def static_form(call: Call) -> Call | None:
    """The equivalent call of the static operator, if its values are constants."""
    form = call.op.get_attr(STATIC_FORM) if isinstance(call.op, OpDef) else None
    if form is None or not all(isinstance(call.args[index], Constant) for index in form.values):
        return None
    attrs = dict(call.attrs.items()) if call.attrs is not None else {}
    args, known = form.split(call.args, attrs)
    return Call(form.op, tuple(args), known, span=call.span)


def define_dynamic(
    static: OpDef,
    *,
    arguments: Sequence[tuple[str, str]],
    relation: Relation,
    samples: Sequence[Sample],
    compute: Compute | None = None,
    extents: Extents | None = None,
    fusion: FusionKind | None = None,
    accept: Callable[[Attrs | None], None] = lambda known: None,
    renamed: Mapping[str, str] = MappingProxyType({}),
    gradient: Rule = None,
) -> OpDef:
    """Define `dyn.<name>`. Arguments replace the attributes of their names, which may be `renamed`;
    `accept` refuses values that contradict the relation. `compute` gets those arguments as tensors;
    `extents` computes the shape of `out`."""
    assert static.attrs is not None
    replaced = {name: renamed.get(name, name) for name, _ in arguments}
    keys = static.attrs.keys()
    values = {i: key for i, key in enumerate(replaced.values()) if key in keys}
    dynamic = [name for name, key in replaced.items() if key in keys]
    form = StaticForm(static, values)

    def result_type(args: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Type, Any, Any]:
        rest, known = form.split(args, attrs)
        accept(known)
        return output_type(static, [value_type(arg) for arg in rest], known), rest, known

    def reference(*args: Any, **attrs: Any) -> Any:
        _, rest, known = result_type(args, attrs)  # refuses invalid values
        assert static.reference is not None
        return static.reference(*rest, **(dict(known.items()) if known is not None else {}))

    op = define(
        f"dyn.{static.name}",
        doc=f"`{static.name}` with dynamic {_listed(dynamic)}.",
        arguments=arguments,
        attrs=_without(static, set(values.values())),
        relation=relation,
        reference=reference,
        compute=compute,
        extents=extents,
        runtime_shape=lambda *args, **attrs: _shapes(result_type(args, attrs)[0]),
        fusion=static.fusion if fusion is None else fusion,
        traits=static.traits & Trait.MOVES,
        gradient=static.gradient if gradient is None else gradient,
        samples=samples,
    )
    op.set_attr(STATIC_FORM, form)
    return op


def _listed(names: list[str]) -> str:
    *before, last = [f"`{name}`" for name in names]
    return f"{', '.join(before)} and {last}" if before else last


def _shapes(ty: Type) -> Any:
    if isinstance(ty, TupleType):
        return tuple(map(_shapes, ty.fields))
    assert isinstance(ty, TensorType)
    return ty.concrete_shape


def _without(static: OpDef, gone: Collection[str]) -> type[Attrs] | None:
    """The remaining attributes, with their meanings and defaults."""
    cls: Any = static.attrs
    kept = [f for f in fields(cls) if f.name not in gone]
    if not kept:
        return None
    hints = get_type_hints(cls)
    made: type[Attrs] = make_dataclass(
        f"Dynamic{cls.__name__}",
        [
            (f.name, hints[f.name], field() if f.default is MISSING else field(default=f.default))
            for f in kept
        ],
        bases=(Attrs,),
        namespace={
            "__doc__": "\n".join(f"{f.name}: {meanings(cls)[f.name]}" for f in kept),
            "__module__": __name__,
        },
        frozen=True,
        slots=True,
        kw_only=True,
    )
    return made


# --- shared by relations -----------------------------------------------------------------------


def value_count(site: Site, index: int) -> int | None:
    """The number of integers in argument `index`, which is the rank of the result; None while it is
    unknown."""
    site.require_elements(index, INTEGER)
    if (values := site.tensor(index, rank=1)) is None:
        return None
    (count,) = values.shape
    if not isinstance(count, int):
        site.fail(
            f"the rank of the result depends on the extent of {site.argument(index)}",
            "a number",
            str(values),
        )
    return count


def require_scalar(site: Site, index: int) -> None:
    """Argument `index` must be an integer scalar."""
    site.tensor(index, rank=0)
    site.require_elements(index, INTEGER)
