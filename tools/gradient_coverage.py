"""Which operators have a gradient rule, and why the others have none.

    python tools/gradient_coverage.py

Rules are differentiated against PyTorch and against central differences by
`tests/op/test_gradients.py`.
"""

from __future__ import annotations

from collections import defaultdict

from relay.op.gradient_rules import Composed
from relay.op.opdef import OpDef, records


def kind(op: OpDef) -> str:
    """What the field `gradient` of a record is."""
    if op.gradient is None:
        return "nothing is said"
    if isinstance(op.gradient, str):
        return f"no rule: {op.gradient}"
    if isinstance(op.gradient, Composed):
        return "differentiated as other operators"
    return "a rule"


def main() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for op in records():
        found[kind(op)].append(op.name)
    total = sum(map(len, found.values()))
    for what, names in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4}  {what}")
        print("      " + " ".join(names))
    covered = total - sum(len(names) for what, names in found.items() if what.startswith("no"))
    print(f"{covered} of {total} operators have a gradient")


if __name__ == "__main__":
    main()
