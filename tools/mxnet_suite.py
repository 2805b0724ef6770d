"""Operators of MXNet through the importer: how many there are, and how many test cases pass.

    python tools/mxnet_suite.py                      everything, with a table
    python tools/mxnet_suite.py --match 'Conv.*'     some; failures with their reasons
    python tools/mxnet_suite.py --compiled           as native code instead of in the interpreter

What MXNet 1.9.1 gave is recorded (`tests/frontend/mxnet/record.py`).
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", default="", help="a regular expression for cases")
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    from relay.frontend.mxnet import symbol as symbols
    from relay.frontend.mxnet.converters import built_in, find
    from tests.frontend.mxnet.models import HERE, agree, cases, unpacked

    tables = built_in()
    zoo = unpacked(HERE / "zoo.zlib")[0]
    for what, texts in (
        ("the zoo", [one["symbol"] for one in zoo.values()]),
        ("the cases, Gluon's layers among them", [one.symbol for one in cases()]),
    ):
        graphs = [symbols.read(text) for text in texts]
        used = {
            one.operator for graph in graphs for one in graph.all_nodes() if not one.is_variable
        }
        refused = sorted(one for one in used if find(tables, one) is None)
        print(f"operators of {what}: {len(used) - len(refused)} supported of {len(used)}", *refused)
    names = {name for table in tables for name in table.names()}
    print(f"names of operators with a converter: {len(names)}")
    chosen = [case for case in cases() if re.search(options.match, case.name)]
    failed = 0
    for case in chosen:
        try:
            agree(case, compiled=options.compiled)
        except Exception as error:  # any exception is a failure of this case
            failed += 1
            print(f"{case}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    print(f"cases: {len(chosen) - failed} of {len(chosen)} agree with MXNet 1.9.1")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
