"""Operators of TensorFlow through the importer: how many there are, and how many test cases pass.

    python tools/tensorflow_suite.py                      everything, with a table
    python tools/tensorflow_suite.py --match 'Conv.*'     some; failures with their reasons
    python tools/tensorflow_suite.py --missing            the operators that are refused, by name
    python tools/tensorflow_suite.py --compiled           as native code, not in the interpreter
    python tools/tensorflow_suite.py --record             write what the default tests compare with

TensorFlow says what is right. What it registers is the denominator, without what
`tools/tensorflow_exclusions.txt` leaves out, each family with a reason.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

EXCLUSIONS = ROOT / "tools" / "tensorflow_exclusions.txt"
EVERY = 5  # one in so many cases is recorded


def exclusions() -> list[tuple[str, str]]:
    """Regular expressions of operators that are left out, with the reasons."""
    found, reason = [], ""
    for line in EXCLUSIONS.read_text().splitlines():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            found += [(one, reason) for one in line.split()]
    return found


def registered() -> list[str]:
    """The operators that TensorFlow registers."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    data = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return sorted(one.name for one in op_def_pb2.OpList.FromString(data).op)


def operators() -> tuple[list[str], list[str], Counter[str]]:
    """The operators that have a converter, those that are refused, and those left out, by
    reason."""
    from relay.frontend.tensorflow.converters import built_in, find
    from relay.frontend.tensorflow.survey import LEFT_OUT

    tables, rules = built_in(), exclusions()
    supported, refused, left = [], [], Counter[str]()
    for name in registered():
        if find(tables, name) is not None or name in LEFT_OUT:
            supported.append(name)
            continue
        reason = next((why for rule, why in rules if re.fullmatch(rule, name)), None)
        if reason is None:
            refused.append(name)
        else:
            left[reason] += 1
    return supported, refused, left


def main() -> int:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", default="", help="a regular expression for operators")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.missing:
        supported, refused, left = operators()
        print("\n".join(refused))
        return 0
    from tests.frontend.tensorflow.cases import all_cases
    from tests.frontend.tensorflow.models import PROGRAMS, RECORDED, agree, save
    from tests.frontend.tensorflow.oracle import recorded

    chosen = [one for one in all_cases() if re.search(options.match, one.operator)]
    if options.record:
        from tests.frontend.tensorflow.programs import all_programs

        parts = ((RECORDED, [*map(recorded, chosen[::EVERY])]), (PROGRAMS, [*all_programs()]))
        for path, found in parts:
            save(found, path)
            print(f"{path}: {len(found)} cases, {path.stat().st_size} bytes")
        return 0
    failed = 0
    for one in chosen:
        try:
            agree(recorded(one), compiled=options.compiled)
        except Exception as error:  # any exception is a failure of this case
            failed += 1
            print(f"{one}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    supported, refused, left = operators()
    for reason, count in left.most_common():
        print(f"{count:5} left out: {reason}")
    known = len(supported) + len(refused)
    print(f"operators: {len(supported)} supported, {len(refused)} refused by name, of {known}")
    print(f"cases: {len(chosen) - failed} of {len(chosen)} agree with TensorFlow")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
