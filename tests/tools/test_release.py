"""Distributions have all files of the package, one version, and a name that is free."""

import fnmatch
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import relay

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "release.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_file_of_the_package_is_distributed():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["relay"]
    package = ROOT / "relay"
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    for path in files:
        inside = path.relative_to(package).as_posix()
        fits = any(fnmatch.fnmatch(inside, pattern) for pattern in patterns)
        assert path.suffix == ".py" or fits, f"{inside} is not in package-data"


def test_the_version_stands_in_one_place():
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.version() == relay.__version__
    assert "version" in PROJECT["project"]["dynamic"] and "version" not in PROJECT["project"]
    assert f"## {relay.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    wrong = subprocess.run(
        [sys.executable, SCRIPT, "dist", "v99"], cwd=ROOT, capture_output=True, text=True
    )
    assert wrong.returncode == 1 and "the tag is v99" in wrong.stderr


def test_the_name_is_not_that_of_another_project():
    assert PROJECT["project"]["name"] == "relay-compiler"
    assert PROJECT["project"]["scripts"] == {"relay": "relay.cli.app:main"}


@pytest.mark.full
def test_a_wheel_works_in_an_environment_of_its_own(tmp_path):
    subprocess.run([sys.executable, SCRIPT, tmp_path / "dist"], cwd=ROOT, check=True)
    names = sorted(path.name for path in (tmp_path / "dist").iterdir())
    assert names == [
        f"relay_compiler-{relay.__version__}-py3-none-any.whl",
        f"relay_compiler-{relay.__version__}.tar.gz",
    ]
