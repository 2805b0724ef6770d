"""Every example runs, and checks its own results."""

import subprocess
import sys
from pathlib import Path

import pytest

NEEDS = {"21_training": "sklearn"}  # packages that an environment may lack
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.rotate(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
