"""require: conditions on values at run time.

    require(%k, %k >= 0, %k, 0, message="`k` is negative", expected="0 or more", shown="k = {}")

Operators check the values that determine their shapes (`OpDef.extents`). Frontends add conditions
of their standards, and their own assumptions.
"""

from __future__ import annotations

from typing import Any

from relay.errors import EvaluationError, with_value
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, const
from relay.ir.types import IncompleteType, Type
from relay.op.gradient_rules import passed
from relay.op.opdef import define
from relay.op.site import Elements, Site

_SHOWN = Elements("int64 or float64", frozenset({"int64", "float64"}))


@attrs
class RequireAttrs(Attrs):
    """message: the error
    expected: the expected value; `{}` in it is `bound`
    shown: the found value; `{}` in it is `found`
    """

    message: str
    expected: str = ""
    shown: str = ""


def _require_type(site: Site) -> Type | None:
    """The type of data; the condition is a bool, the shown values are numbers."""
    site.expect(1, (), "bool")
    for index in (2, 3):
        site.tensor(index, rank=0)
        site.require_elements(index, _SHOWN)
    if not isinstance(site.args[0], IncompleteType):
        return site.args[0]
    site.assign(0, site.result)
    return site.result


def _require(
    data: Any, condition: Any, found: Any, bound: Any, message: str, expected: str, shown: str
) -> Any:
    if not condition.item():
        raise EvaluationError.of(
            message,
            expected=with_value(expected, bound.item()),
            found=with_value(shown, found.item()),
        )
    return data


def require(
    data: Expr,
    condition: Expr,
    message: str,
    expected: str = "",
    shown: str = "",
    found: Expr | None = None,
    bound: Expr | None = None,
) -> Call:
    """Data; if the condition does not hold, the run ends with the message.

    `{}` in `shown` is the scalar `found`, in `expected` the scalar `bound`, of int64; for float64
    it is `{:g}`.
    """
    none = const(0, "int64")
    return REQUIRE(
        data,
        condition,
        none if found is None else found,
        none if bound is None else bound,
        message=message,
        expected=expected,
        shown=shown,
    )


REQUIRE = define(
    "require",
    doc="data; if the condition does not hold, the run ends with a message.",
    arguments=[
        ("data", "anything"),
        ("condition", "the condition, a bool"),
        ("found", "a value for the message, int64 or float64"),
        ("bound", "the expected value for the message"),
    ],
    attrs=RequireAttrs,
    relation=_require_type,
    reference=_require,
    helper=require,
    on_values=True,
    gradient=passed,
)
