"""Object code is compiled once for what it depends on."""

import logging
import subprocess
import sys

import pytest

import relay
from relay.cache import Cache, compile_cached, key_of
from relay.target import Target
from relay.target.llvm import compile as compiler

TEXT = "define i32 @answer() { ret i32 42 }"


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "kernels", 10_000)


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, "relay")
    return caplog


def test_only_what_is_new_is_compiled(cache, logged):
    target = Target.host()
    other = TEXT.replace("answer", "other")
    first = compile_cached([[TEXT]], target, cache)
    second = compile_cached([[TEXT], [other], [TEXT]], target, cache)
    assert second[0] == second[2] == first[0] != second[1]
    assert "1 of 2 kernels are new" in logged.text
    logged.clear()
    assert compile_cached([[TEXT], [other], [TEXT]], target, Cache(cache.path)) == second
    assert "new" not in logged.text


def test_the_name_of_an_entry_depends_on_all_that_its_code_depends_on(monkeypatch):
    host = Target("llvm -level=avx2")
    names = {
        key_of([TEXT], host),
        key_of([TEXT, ""], host),
        key_of([TEXT + " "], host),
        key_of([TEXT[:10], TEXT[10:]], host),
        key_of([TEXT], Target("llvm -level=baseline")),
        key_of([TEXT], host, 1),
    }
    assert key_of([TEXT], Target(str(host))) in names
    monkeypatch.setattr("relay.target.llvm.compile.COMPILER_VERSION", compiler.COMPILER_VERSION + 1)
    names.add(key_of([TEXT], host))
    monkeypatch.setattr("relay.target.llvm.compile.llvm_version", lambda: "another")
    names.add(key_of([TEXT], host))
    monkeypatch.setattr(relay, "__version__", "another")
    names.add(key_of([TEXT], host))
    assert len(names) == 9


def test_the_runtime_comes_from_the_cache_too(tmp_path):
    code = (
        "import sys; from relay.cache import Cache; from relay.target import Target\n"
        "cache = Cache(sys.argv[1]); found = Target('llvm').support(False, cache)\n"
        "assert Target('llvm').support(False) == found; print(cache.statistics.stored)"
    )
    for stored in ("1\n", "0\n"):
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "kernels"], capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == (stored, "")
