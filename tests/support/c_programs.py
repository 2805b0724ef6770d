"""Programs in C that call exported whole programs with given arguments and print the results.

    text = program("net", library, [[value, value], …])      a call for each list of arguments

What is printed is the same on every machine that computes the same: numbers with all their digits,
constructors by name.
"""

import numpy as np

from relay import dtypes
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue
from relay.program.program import DataSpec, ReferenceSpec, ScalarSpec
from relay.target.llvm.c.types import CTypes, c_scalar

HEAD = """
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "{name}.h"

static {name} *model;
static int budget; /* of values that are printed: cells may form circles */
"""


def leaves(value):
    """A value with nested tuples taken apart."""
    if isinstance(value, TupleValue):
        return [leaf for part in value.fields for leaf in leaves(part)]
    return [value]


class Printer:
    """The parts of a program for the types of a library."""

    def __init__(self, name: str, types: CTypes) -> None:
        self.name = name
        self.types = types
        self.data = {one.name: one for one in types.data}

    # --- values as expressions in C

    def of(self, spec):
        return self.data[self.types.value(spec).rstrip(" *")]

    def expression(self, value, spec):
        if isinstance(spec, ScalarSpec):
            return number(np.asarray(value.data if hasattr(value, "data") else value).item(), spec)
        if isinstance(spec, DataSpec | ReferenceSpec):
            if isinstance(value, RefValue):
                one, parts = self.of(spec).constructors[0], leaves(value.value)
            else:
                assert isinstance(value, ConstructorValue)
                parts = [leaf for part in value.fields for leaf in leaves(part)]
                (one,) = (
                    each
                    for each in self.of(spec).constructors
                    if each.text.partition("(")[0] == value.constructor.name
                )
            if not one.places and self.of(spec).is_data:
                return f"{one.name}()"
            given = [
                self.expression(part, place.spec)
                for part, place in zip(parts, one.places, strict=True)
            ]
            return f"{one.name}({', '.join(['model', *given])})"
        return self.tensor(np.asarray(value), spec)

    def tensor(self, array, spec):
        sizes = ", ".join(map(str, array.shape)) or "0"
        scalar = ScalarSpec(spec.dtype)
        data = ", ".join(number(element, scalar) for element in array.ravel().tolist())
        elements = f"(const {c_scalar(spec.dtype)}[]){{{data}}}" if data else "NULL"
        given = f"model, {elements}, {array.ndim}, (const int64_t[]){{{sizes}}}"
        return f"{self.name}_{spec.dtype}_copy({given})"

    # --- printing

    def functions(self):
        for dtype in self.types.elements:
            yield f"static void show_{self.name}_{dtype}({self.name}_{dtype} *);"
        for one in self.types.data:
            yield f"static void show_{one.name}({one.name} *);"
        for dtype in self.types.elements:
            kind = f"{self.name}_{dtype}"
            show = shown(f"{kind}_data(value)[i]", ScalarSpec(dtype))
            yield (
                f"static void show_{kind}({kind} *value) {{\n  int64_t count = 1;\n"
                f"  for (int i = 0; i < {self.name}_rank(value); i++) {{\n"
                f'    printf("[%" PRId64 "]", {self.name}_sizes(value)[i]);\n'
                f"    count *= {self.name}_sizes(value)[i];\n  }}\n"
                f'  printf(" ");\n  for (int64_t i = 0; i < count; i++) {show}\n}}'
            )
        for one in self.types.data:
            cases = []
            for each in one.constructors:
                fields = " ".join(
                    self.show(f"{each.name}{place.name.removeprefix('field')}(value)", place.spec)
                    for place in each.places
                )
                label = f"if ({one.name}_tag(value) == {each.name}_tag) " if one.is_data else ""
                cases.append(f'  {label}{{ printf("{each.text.partition("(")[0]} "); {fields} }}')
            lines = "\n".join(cases)
            yield (
                f"static void show_{one.name}({one.name} *value) {{\n"
                f"  if (budget-- <= 0) return;\n{lines}\n}}"
            )

    def show(self, text, spec):
        if isinstance(spec, ScalarSpec):
            return shown(text, spec)
        kind = self.types.value(spec).rstrip(" *")
        return f"show_{kind}({text});"


def number(value, spec):
    """A literal in C; numbers that C has no type for are their bits."""
    if dtypes.is_float(spec.dtype):
        if spec.dtype not in ("float32", "float64"):
            bits = np.asarray(value).astype(dtypes.to_numpy(spec.dtype)).view("uint16")
            return str(int(bits))
        value = float(value)
        if not np.isfinite(value):
            return "NAN" if value != value else ("INFINITY" if value > 0 else "-INFINITY")
        return f"({c_scalar(spec.dtype)}){value.hex()}"
    if spec.dtype == "bool":
        return "true" if value else "false"
    if spec.dtype == "uint64":
        return f"UINT64_C({int(value)})"
    text = f"INT64_C({int(value)})" if value > -(2**63) else "INT64_MIN"
    return f"({c_scalar(spec.dtype)}){text}"


def shown(text, spec):
    """The statement that prints a number."""
    if spec.dtype in ("float32", "float64"):
        return f'printf("%.6e ", (double){text});'
    return f'printf("%" PRId64 " ", (int64_t){text});'


def program(name: str, types: CTypes, calls) -> str:
    """The whole program."""
    made = Printer(name, types)
    parts = [HEAD.format(name=name), *made.functions(), "int main(void) {"]
    parts.append(f"  if ({name}_create(&model, NULL, 1)) return 1;")
    for values in calls:
        given = [leaf for value in values for leaf in leaves(value)]
        lines, arguments, drop = [], [], []
        for i, (value, param) in enumerate(zip(given, types.params, strict=True)):
            lines.append(f"{types.value(param.spec)}a{i} = {made.expression(value, param.spec)};")
            arguments.append(f"a{i}")
            if not isinstance(param.spec, ScalarSpec):
                drop.append(f"{name}_release(model, a{i});")
        for i, result in enumerate(types.results):
            lines.append(f"{types.value(result.spec)}r{i};")
        arguments += [f"&r{i}" for i in range(len(types.results))]
        lines.append(f"int status = {name}_run({', '.join(['model', *arguments])});")
        lines.append("budget = 1000;")
        lines.append(f'if (status) printf("%d %s", status, {name}_message(model));')
        shows = " ".join(made.show(f"r{i}", r.spec) for i, r in enumerate(types.results))
        lines.append(f"else {{ {shows} }}")
        lines.append('printf("\\n");')
        lines += drop
        lines += [
            f"{name}_release(model, r{i});"
            for i, r in enumerate(types.results)
            if not isinstance(r.spec, ScalarSpec)
        ]
        parts.append("  {\n    " + "\n    ".join(lines) + "\n  }")
    parts += [f"  {name}_destroy(model);", "  return 0;", "}"]
    return "\n".join(parts)
