"""The programs on the page for people who bring programs along run."""

import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[2] / "docs/porting.md").read_text(encoding="utf-8")


def test_the_programs_run():
    names = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(program, "porting.md", "exec"), names)
    np.testing.assert_allclose(names["out"].numpy().sum(), 1, rtol=1e-5)
