"""Parts of exhaustive tests rotate, and can be repeated."""

import subprocess
import sys
from pathlib import Path

from tests.support import sampling
from tests.support.sampling import RUN, part_of, takes

ROOT = Path(__file__).parents[2]
NAMES = [f"case {number}" for number in range(97)]


def test_seeds_in_a_row_take_every_item_once(monkeypatch):
    found = []
    for seed in range(30, 40):
        monkeypatch.setattr(RUN, "seed", seed)
        found += part_of(NAMES, 10)
    assert sorted(found) == sorted(NAMES)


def test_a_test_that_runs_every_other_time_takes_every_item_too(monkeypatch):
    found = []
    for seed in range(30, 50, 2):
        monkeypatch.setattr(RUN, "seed", seed)
        found += part_of(NAMES, 10, within=2)
    assert sorted(found) == sorted(NAMES)


def test_something_is_always_taken():
    assert len(part_of(NAMES[:3], 1000)) == 1
    assert part_of([], 10) == []


def test_the_same_seed_takes_the_same_items(monkeypatch):
    monkeypatch.setattr(RUN, "everything", False)
    taken = [[name for name in NAMES if takes(name, 4)] for _ in range(2)]
    assert taken[0] == taken[1] and 5 < len(taken[0]) < 60
    monkeypatch.setattr(RUN, "everything", True)
    assert all(takes(name, 4) for name in NAMES)


def test_the_seed_is_that_of_the_commit_unless_it_is_given(monkeypatch):
    monkeypatch.setenv(sampling.VARIABLE, "17")
    assert sampling.find_seed() == 17
    monkeypatch.delenv(sampling.VARIABLE)
    assert sampling.find_seed() == sampling.seed_of_commit()


TESTS = """
import pytest

@pytest.mark.rotate(4)
@pytest.mark.parametrize("number", range(8))
def test_one_of_many(number): pass

@pytest.mark.full
def test_much(): pass

def test_long(): pass

def test_short(): pass
"""


def collected(tmp_path, *options):
    """How many of the tests above a run takes."""
    for file in ("pyproject.toml", "tests/conftest.py", "tests/support/sampling.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text((ROOT / file).read_text())
    (tmp_path / "tests/test_made.py").write_text(TESTS)
    (tmp_path / "tests/slow.txt").write_text("test_made.py::test_long\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return sum("test_made.py::" in line for line in done.stdout.splitlines())


def test_a_run_takes_what_is_asked_for(tmp_path):
    assert collected(tmp_path) == 2 + 2
    assert collected(tmp_path, "-m", "quick") == 2 + 1
    assert collected(tmp_path, "-m", "full") == 8 + 3
    assert collected(tmp_path, "tests/test_made.py::test_one_of_many") == 8
