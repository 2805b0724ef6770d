"""The report of all operators of a script that are not supported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relay.errors import FrontendError
from relay.frontend.common import converters as common
from relay.frontend.common.naming import quoted
from relay.frontend.common.unsupported import unsupported
from relay.frontend.pytorch.converters import COMPLEX, find
from relay.frontend.pytorch.script.converter import Handler
from relay.frontend.pytorch.script.graph import Block, Call, schema_of
from relay.frontend.pytorch.script.numbers import FUNCTIONS
from relay.frontend.pytorch.script.texts import is_known

CONTROL = ("prim::If", "prim::Loop")
_FOLDERS = re.compile(r".*[/\\]")


def survey(
    program: Block, tables: Sequence[common.Converters], handlers: Mapping[str, Handler]
) -> FrontendError:
    """The error about all operators of a program that are not supported."""
    found: dict[str, list[str]] = {}
    for call in program.everything():
        if call.kind not in handlers and call.kind not in CONTROL and not _is_known(call, tables):
            name = f"{call.kind} ({call.attribute})" if call.kind == "prim::PythonOp" else call.kind
            place = _FOLDERS.sub("", call.span.source_name.name.partition(",")[0])
            found.setdefault(f"operator {quoted(name)}", []).append(place)
    return unsupported(
        found, "operators of your own: from_pytorch(model, infos, operators=[table])"
    )


def _is_known(call: Call, tables: Sequence[common.Converters]) -> bool:
    """Whether there is a converter of what is called."""
    if not call.schema:
        return False
    namespace, _, name = call.kind.partition("::")
    schema = schema_of(call.schema)
    of_tensors = any("Tensor" in one.type for one in schema.arguments)
    if not of_tensors and (
        name in FUNCTIONS or is_known(name) or name in ("slice", "sum", "any", "all", "ne")
    ):
        return True
    if schema.writes is not None:
        if name in ("zero_", "fill_", "copy_", "detach_"):
            return True
        name = name.removesuffix("_")
    return any(
        find(tables, domain, name, schema.overload) is not None
        for domain in (namespace, f"{COMPLEX}{namespace}")
    )
