"""Operators of TFLite through the importer: how many there are, and how many test cases pass.

    python tools/tflite_suite.py                      everything, with a table
    python tools/tflite_suite.py --match 'CONV.*'     some; failures with their reasons
    python tools/tflite_suite.py --missing            the operators that are refused, by name
    python tools/tflite_suite.py --compiled           as native code instead of in the interpreter

LiteRT's interpreter says what is right. Every entry of BuiltinOperator has a converter, or is
refused by its name; `tools/tflite_exclusions.txt` says why. So are custom operators.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

EXCLUSIONS = Path(__file__).with_name("tflite_exclusions.txt")
# entries that are no operators
NONE = frozenset({"CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"})


def operators() -> tuple[list[str], list[str]]:
    """The operators of TFLite that have a converter, and those that are refused."""
    from relay.frontend.tflite.converters import built_in, find
    from relay.frontend.tflite.reader import BUILTIN

    tables = built_in()
    names = sorted(set(BUILTIN.values()) - NONE)
    supported = [name for name in names if find(tables, name, False) is not None]
    return supported, sorted(set(names) - set(supported))


def reasons() -> dict[str, str]:
    """Why operators are refused."""
    found, reason = {}, ""
    for line in EXCLUSIONS.read_text().splitlines():
        if line.startswith("#"):
            reason = line.lstrip("# ")
            continue
        for rule in line.split():
            found |= {name: reason for name in operators()[1] if re.fullmatch(rule, name)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", default="", help="a regular expression for operators")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    supported, refused = operators()
    if options.missing:
        why = reasons()
        print("\n".join(f"{name}: {why.get(name, 'not yet')}" for name in refused))
        return 0
    from tests.frontend.tflite.cases import all_cases
    from tests.frontend.tflite.models import agree

    chosen = [case for case in all_cases() if re.search(options.match, case.operator)]
    failed = 0
    for case in chosen:
        try:
            agree(case, compiled=options.compiled)
        except Exception as error:  # any exception is a failure of this case
            failed += 1
            print(f"{case}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    print(f"operators: {len(supported)} supported, {len(refused)} refused by name, of ", end="")
    print(f"{len(supported) + len(refused)}; {len(reasons())} of those refused have a reason")
    print(f"cases: {len(chosen) - failed} of {len(chosen)} agree with LiteRT")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
