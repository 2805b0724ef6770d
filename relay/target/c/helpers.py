"""Small functions that kernels call, in the order in which C needs them.

    relay_exp_float32               a function of `relay.scalar_functions`, written out
    relay_floordiv_int64            an operation that C leaves undefined for some operands
    relay_float16_of_float32        a conversion
    relay_bits_uint32_of_float32    the same bits as another type

A helper is known by its name, so a kernel only lists those that it calls. They need `memcpy`, and
`sqrt`, `fabs` and `copysign` of <math.h>, which most compilers make instructions of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import Template
from typing import Final

from relay.scalar_functions import FUNCTIONS
from relay.target.c.types import bits, c_type
from relay.te import expr as te
from relay.te import math as elementary
from relay.te import narrow
from relay.te.legalize import Facts

# Functions that stay calls in kernels; all others have one or two operations.
CALLED: Final = frozenset(
    name for name, known in FUNCTIONS.items() if known.module and known.kind != "predicate"
)
FACTS: Final = Facts(has_fma=False, has_f16c=True, has_rounding=False, instructions=CALLED)
_WRITTEN_OUT: Final = Facts(has_fma=False, has_f16c=False, has_rounding=False)

_NAME: Final = re.compile(r"relay_(?P<what>[a-z0-9]+?)_(?P<dtype>u?int\d+|float\d+)")
_BITS: Final = re.compile(r"relay_bits_(?P<to>\w+)_of_(?P<of>\w+)")
_HALF: Final = ("relay_float32_of_float16", "relay_float16_of_float32")


def function_name(function: str, dtype: str) -> str:
    return f"relay_{function}_{dtype}"


def definitions(names: Iterable[str]) -> list[str]:
    """The helpers of these names and those that they call, callees first."""
    done: dict[str, str] = {}
    pending = [(name, False) for name in sorted(set(names), reverse=True)]
    waiting: dict[str, str] = {}
    while pending:
        name, ready = pending.pop()
        if name in done:
            continue
        if ready:
            done[name] = waiting[name]
            continue
        waiting[name], called = _definition(name)
        pending.append((name, True))
        pending += [(one, False) for one in sorted(called, reverse=True)]
    return list(done.values())


def _definition(name: str) -> tuple[str, Sequence[str]]:
    """The text of a helper, and the helpers that it calls."""
    if found := _BITS.fullmatch(name):
        return _reinterpret(name, found["to"], found["of"]), ()
    if name in _HALF:
        return _half(name)
    found = _NAME.fullmatch(name)
    assert found is not None, name
    what, dtype = found["what"], found["dtype"]
    if what in FUNCTIONS and FUNCTIONS[what].module:
        return _function(name, what, dtype)
    names = {
        "name": name,
        "type": c_type(dtype),
        "bits": bits(dtype),
        "unsigned": f"uint{bits(dtype)}_t",
        "wide": f"uint{max(32, bits(dtype))}_t",
    }
    if dtype.startswith("float"):
        text = _FLOATS[what]
    else:
        text = (_UNSIGNED if dtype.startswith("u") else _SIGNED).get(what) or _INTEGERS[what]
    return Template(text).substitute(names), ()


def _reinterpret(name: str, to: str, of: str) -> str:
    return (
        f"static inline {c_type(to)} {name}({c_type(of)} a) {{\n"
        f"  {c_type(to)} b;\n  memcpy(&b, &a, sizeof b);\n  return b;\n}}"
    )


def _function(name: str, function: str, dtype: str) -> tuple[str, Sequence[str]]:
    """A mathematical function, as `relay.te.math` writes it out."""
    args = [te.Var(dtype, letter) for letter in "abc"[: FUNCTIONS[function].arguments]]
    kind = "bool" if FUNCTIONS[function].kind == "predicate" else dtype
    body = elementary.expand(te.Call(kind, function, tuple(args)), _WRITTEN_OUT)
    return _written(name, kind, args, body)


def _half(name: str) -> tuple[str, Sequence[str]]:
    """A conversion between float16 and float32."""
    if name.endswith("_of_float16"):
        half = te.Var("float16", "a")
        return _written(name, "float32", [half], narrow.from_narrow(half, _WRITTEN_OUT))
    single = te.Var("float32", "a")
    return _written(name, "float16", [single], narrow.to_narrow(single, "float16", _WRITTEN_OUT))


def _written(
    name: str, dtype: str, args: Sequence[te.Var], body: te.Expr
) -> tuple[str, Sequence[str]]:
    from relay.target.c.values import Writer  # which names helpers

    writer = Writer()
    for arg in args:
        writer.variables[arg] = writer.fresh(arg.name)
    writer.line(f"return {writer.plain(body)};")
    parameters = ", ".join(f"{c_type(arg.dtype)} {writer.variables[arg]}" for arg in args)
    head = f"static inline {c_type(dtype)} {name}({parameters}) {{"
    lines = [head, *writer.body(), "}"]
    return "\n".join(lines), sorted(writer.helpers)


_INTEGERS: Final = {
    "min": "static inline $type $name($type a, $type b) {\n  return a < b ? a : b;\n}",
    "max": "static inline $type $name($type a, $type b) {\n  return a > b ? a : b;\n}",
    "shl": """\
static inline $type $name($type a, $type b) {
  return ($unsigned)b < $bits ? ($type)(($wide)a << b) : 0;
}""",
    "popcount": """\
static inline $type $name($type a) {
  $type count = 0;
  for ($unsigned rest = ($unsigned)a; rest; rest &= ($unsigned)(rest - 1)) count++;
  return count;
}""",
    "clz": """\
static inline $type $name($type a) {
  $type count = $bits;
  for ($unsigned rest = ($unsigned)a; rest; rest >>= 1) count--;
  return count;
}""",
}
# The quotient by zero is 0, the remainder the dividend; the smallest number by -1 wraps.
_SIGNED: Final = {
    "add": "static inline $type $name($type a, $type b) {\n"
    "  return ($type)(($wide)a + ($wide)b);\n}",
    "sub": "static inline $type $name($type a, $type b) {\n"
    "  return ($type)(($wide)a - ($wide)b);\n}",
    "mul": "static inline $type $name($type a, $type b) {\n"
    "  return ($type)(($wide)a * ($wide)b);\n}",
    "abs": "static inline $type $name($type a) {\n  return a < 0 ? ($type)(0 - ($wide)a) : a;\n}",
    "shr": """\
static inline $type $name($type a, $type b) {
  return ($type)(($unsigned)b < $bits ? a >> b : a < 0 ? -1 : 0);
}""",
    "truncdiv": """\
static inline $type $name($type a, $type b) {
  if (b == 0) return 0;
  return ($type)(b == -1 ? ($type)(0 - ($wide)a) : a / b);
}""",
    "truncmod": """\
static inline $type $name($type a, $type b) {
  if (b == 0) return a;
  return ($type)(b == -1 ? 0 : a % b);
}""",
    "floordiv": """\
static inline $type $name($type a, $type b) {
  if (b == 0) return 0;
  if (b == -1) return ($type)(0 - ($wide)a);
  return ($type)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}""",
    "mod": """\
static inline $type $name($type a, $type b) {
  if (b == 0) return a;
  if (b == -1) return 0;
  $type rest = ($type)(a % b);
  return ($type)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}""",
    "addsat": """\
static inline $type $name($type a, $type b) {
  if (b > 0 && a > INT${bits}_MAX - b) return INT${bits}_MAX;
  if (b < 0 && a < INT${bits}_MIN - b) return INT${bits}_MIN;
  return a + b;
}""",
    "subsat": """\
static inline $type $name($type a, $type b) {
  if (b < 0 && a > INT${bits}_MAX + b) return INT${bits}_MAX;
  if (b > 0 && a < INT${bits}_MIN + b) return INT${bits}_MIN;
  return a - b;
}""",
    "mulsat": """\
static inline $type $name($type a, $type b) {
  if (a == 0 || b == 0) return 0;
  if ((a > 0) == (b > 0)) {
    if (a > 0 ? a > INT${bits}_MAX / b : a == INT${bits}_MIN || b < INT${bits}_MAX / a)
      return INT${bits}_MAX;
  } else if (a > 0 ? (b < -1 && a > INT${bits}_MIN / b) : a < INT${bits}_MIN / b) {
    return INT${bits}_MIN;
  }
  return a * b;
}""",
}
_UNSIGNED: Final = {
    "shr": """\
static inline $type $name($type a, $type b) {
  return b < $bits ? ($type)(a >> b) : 0;
}""",
    **dict.fromkeys(
        ("truncdiv", "floordiv"),
        """\
static inline $type $name($type a, $type b) {
  return b == 0 ? 0 : ($type)(a / b);
}""",
    ),
    **dict.fromkeys(
        ("truncmod", "mod"),
        """\
static inline $type $name($type a, $type b) {
  return b == 0 ? a : ($type)(a % b);
}""",
    ),
}
# Of NaN and a number NaN.
_FLOATS: Final = {
    "min": "static inline $type $name($type a, $type b) {\n  return b != b || a > b ? b : a;\n}",
    "max": "static inline $type $name($type a, $type b) {\n  return b != b || a < b ? b : a;\n}",
}
