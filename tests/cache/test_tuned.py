"""The results of tuning: kept, shared, and read whatever the file holds."""

import os

from relay.cache import Cache
from relay.cache.tuned import FILE, Result, Tuned, key_of
from relay.target.target import Target

RESULT = Result("k", "tile=6x4", 1.25, ("tile=6x4", "tile=4x4"))


def test_results_are_kept_and_the_last_one_counts(tmp_path):
    one = Tuned(tmp_path)
    before = one.stamp
    one.put(RESULT)
    assert one.get("k") == RESULT and one.stamp != before
    other = Tuned(tmp_path)
    assert other.get("k") == RESULT and other.plan("k") == "tile=6x4" and other.plan("l") == ""
    other.put(Result("k", "", 1.0, ()))
    assert Tuned(tmp_path).plan("k") == ""


def test_damaged_lines_are_passed_over(tmp_path):
    Tuned(tmp_path).put(RESULT)
    whole = (tmp_path / FILE).read_bytes()
    for rest in (b'["half', b"{}", b"[1, 2, 3, 4]", b'["k", "p", "x", []]', b"\xff\x00", b"7"):
        (tmp_path / FILE).write_bytes(rest + b"\n" + whole + rest)
        found = Tuned(tmp_path)
        assert found.get("k") == RESULT
        found.put(Result("l", "p", 2.0, ()))
        assert Tuned(tmp_path).plan("l") == "p"
        assert Tuned(tmp_path).get("k") == RESULT


def test_without_a_folder_nothing_is_kept():
    found = Tuned.of(Cache(None))
    assert found.is_empty and found.stamp == ""
    found.put(RESULT)
    assert found.plan("k") == "tile=6x4" and Tuned.of(Cache(None)).is_empty


def test_the_file_belongs_to_the_user_alone(tmp_path):
    Tuned(tmp_path).put(RESULT)
    if hasattr(os, "geteuid"):
        assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_a_key_says_what_a_plan_depends_on():
    given = [("fn", (True,), Target("llvm"), False)]
    given += [("fn", (False,), Target("llvm"), False), ("fn", (True,), Target("llvm"), True)]
    given += [("fm", (True,), Target("llvm"), False)]
    given += [("fn", (True,), Target("llvm -mcpu=x86-64"), False)]
    assert len({key_of(*one) for one in given}) == len(given)
