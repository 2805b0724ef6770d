"""Bodies with lists of numbers in them, which the text form has no room for:

qnn.dequantize(%q, $[0.5f, 1f]$, 0, axis=1)
"""

from __future__ import annotations

import ast
import re

import numpy as np

import relay
from relay.check.infer import infer_module
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import bind
from relay.transform import Pass
from tests.transform import rewriting

LIST = re.compile(r"\$(.*?)\$")


def parse(body: str, params: str) -> relay.IRModule:
    """The module of one function, with constants for lists."""
    found: dict[str, np.ndarray] = {}

    def name(match: re.Match[str]) -> str:
        text = match[1]
        kind = "float32" if "f" in text else "uint8" if "u8" in text else "int32"
        variable = f"list{len(found)}"
        plain = text.replace("f", "").replace("u8", "")
        found[variable] = np.array(ast.literal_eval(plain), kind)
        return f"%{variable}"

    plain = LIST.sub(name, body)
    more = "".join(
        f", %{name}: Tensor[({', '.join(map(str, one.shape))}), {one.dtype}]"
        for name, one in found.items()
    )
    module = rewriting.parse(plain, params.rstrip() + more)
    main = module["main"]
    lists = {p: relay.const(found[p.name_hint]) for p in main.params if p.name_hint in found}
    kept = [p for p in main.params if p not in lists]
    module["main"] = relay.Function(kept, bind(main.body, lists))
    return infer_module(module)


def assert_rewrites(one_pass: Pass, body: str, wanted: str, params: str) -> None:
    """`body` becomes `wanted`, which means the same and which the pass leaves alone."""
    module = parse(body, params)
    result = one_pass(module)
    assert_structural_equal(result["main"], parse(wanted, params)["main"])
    assert one_pass(result)["main"] is result["main"], "a second time changes something"
    rewriting.assert_types_hold(result)
    rewriting.assert_means_the_same(result, module, 1e-5)


def assert_stays(one_pass: Pass, body: str, params: str) -> None:
    """The pass leaves `body` alone, and gives back the very function."""
    module = parse(body, params)
    assert one_pass(module)["main"] is module["main"]
