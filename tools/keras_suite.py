"""Layers of Keras and operations of `keras.ops` through the importer: how many there are, and how
many test cases pass.

    python tools/keras_suite.py                      everything, with a table
    python tools/keras_suite.py --match 'Conv.*'     some; failures with their reasons
    python tools/keras_suite.py --missing            what is refused, by name, with the reasons
    python tools/keras_suite.py --compiled           as native code instead of in the interpreter
    KERAS_BACKEND=tensorflow python tools/keras_suite.py     beside that backend of Keras

Cases are ours, and those of the tests of layers that ship in Keras. Keras says what is right.
`tools/keras_exclusions.txt` says why some are refused.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

EXCLUSIONS = Path(__file__).with_name("keras_exclusions.txt")
BASES = frozenset({"Layer", "Wrapper", "InputLayer"})  # not layers that compute something


def layers() -> dict[str, bool]:
    """The classes of `keras.layers`, and whether they have a converter."""
    from relay.frontend.keras.config import LayerInfo
    from relay.frontend.keras.converters import built_in, find
    from tests.frontend.keras.models import keras

    tables = built_in()
    kinds = {
        one.__name__: one
        for name in dir(keras.layers)
        if inspect.isclass(one := getattr(keras.layers, name)) and issubclass(one, keras.Layer)
    }
    return {
        name: find(tables, LayerInfo(name, name, "keras.layers", "", {})) is not None
        for name in sorted(kinds.keys() - BASES)
    }


def operations() -> dict[str, bool]:
    """The operations that `keras.ops` records in models, and whether they have a converter."""
    from relay.frontend.keras.config import LayerInfo
    from relay.frontend.keras.converters import MODULES, built_in, find
    from tests.frontend.keras.models import keras

    tables = built_in()
    found = {}
    for module in MODULES:
        home = import_module(f"keras.src.ops.{module}")
        for name, one in vars(home).items():
            if not inspect.isclass(one) or one.__module__ != home.__name__:
                continue
            if issubclass(one, keras.Operation):
                info = LayerInfo(name, name, home.__name__, "", {})
                found[f"{module}.{name}"] = find(tables, info) is not None
    return found


def exclusions() -> dict[str, str]:
    """Names that are refused on purpose, with the reasons."""
    lines = (one.partition("#")[0].strip() for one in EXCLUSIONS.read_text().splitlines())
    pairs = (one.partition(":") for one in lines if one)
    return {name.strip(): reason.strip() for name, _, reason in pairs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", default="", help="a regular expression for layers")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    reasons = exclusions()
    for what, known in (("layers", layers()), ("operations", operations())):
        missing = [name for name, has in known.items() if not has]
        left_out = [name for name in missing if name in reasons]
        if options.missing:
            print("\n".join(f"{one}: {reasons.get(one, 'not yet')}" for one in missing))
            continue
        print(
            f"{what}: {len(known) - len(missing)} supported, {len(missing)} refused by name, of "
            f"{len(known)}; {len(left_out)} of those refused have a reason"
        )
    if options.missing:
        return 0
    from tests.frontend.keras.cases import layer_cases
    from tests.frontend.keras.models import agree
    from tests.frontend.keras.operation_cases import operation_cases
    from tests.frontend.keras.shipped_cases import shipped_cases

    failed = 0
    shipped, left = shipped_cases()
    kinds = {"layers": layer_cases(), "operations": operation_cases(), "Keras's own tests": shipped}
    print(
        "\n".join(f"{count:5} of Keras's own tests left out: {why}" for why, count in left.items())
    )
    for what, cases in kinds.items():
        chosen = [one for one in cases if re.search(options.match, one.kind)]
        wrong = 0
        for case in chosen:
            try:
                agree(case, compiled=options.compiled)
            except Exception as error:  # any exception is a failure of this case
                wrong += 1
                print(f"{case}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        print(f"cases of {what}: {len(chosen) - wrong} of {len(chosen)} agree with Keras")
        failed += wrong
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
