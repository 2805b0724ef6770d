"""Compiled kernels on disk: found again, never trusted blindly, never in the way."""

import errno
import hashlib
import itertools
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

import relay
from relay.cache import Cache

KEY = "ab" + "0" * 62


def key(number):
    return f"{number:064x}"[::-1]


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "kernels", 10_000)


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, "relay")
    return caplog


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


# --- keeping -----------------------------------------------------------------------------------


def test_what_was_put_is_found_again_by_another_process(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"
    assert Cache(cache.path).get(KEY) == b"code"
    assert (cache.statistics.hits, cache.statistics.misses, cache.statistics.stored) == (1, 1, 1)


def test_the_folder_is_for_the_user_alone(cache):
    cache.put(KEY, b"code")
    assert cache.path.stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o077 == 0 for file in files(cache.path))


def test_a_cache_without_a_folder_keeps_nothing():
    cache = Cache(None)
    cache.put(KEY, b"code")
    assert cache.get(KEY) is None
    assert cache.size() == 0
    cache.clear()


def test_a_cache_is_a_folder():
    with pytest.raises(relay.RelayError, match="a string or a path, found int"):
        Cache(3)


def test_clearing_removes_entries_and_nothing_else(cache):
    cache.put(KEY, b"code")
    other = cache.path / "ab" / "notes.txt"
    other.write_text("mine")
    cache.clear()
    assert files(cache.path) == [other]
    assert cache.get(KEY) is None


# --- trust -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"x" + data[1:],
        lambda data: data + b"\0",
    ],
)
def test_a_damaged_entry_is_removed(cache, damage, logged):
    cache.put(KEY, b"some code")
    (file,) = files(cache.path)
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get(KEY) is None
    assert not file.exists()
    assert cache.statistics.damaged == 1
    assert "damaged" in logged.text
    cache.put(KEY, b"some code")
    assert cache.get(KEY) == b"some code"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system with owners of files")
def test_a_folder_of_somebody_else_is_not_used(cache, monkeypatch, logged):
    cache.put(KEY, b"code")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    theirs = Cache(cache.path)
    assert theirs.get(KEY) is None
    assert "belongs to another user" in logged.text


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_others_may_write_to_is_not_used(cache, mode, logged):
    cache.put(KEY, b"code")
    cache.path.chmod(mode)
    open_to_all = Cache(cache.path)
    assert open_to_all.get(KEY) is None
    open_to_all.put(key(7), b"more")
    assert len(files(cache.path)) == 1
    assert "others may write to it" in logged.text


def test_an_entry_is_found_under_its_own_name_only(cache):
    for number in range(3):
        cache.put(key(number), b"code of %d" % number)
    for one, other in itertools.permutations(files(cache.path), 2):
        kept = other.read_bytes()
        other.write_bytes(one.read_bytes())
        assert cache.get(one.name) == b"code of %d" % int(one.name[::-1], 16)
        assert cache.get(other.name) is None
        assert not other.exists()
        other.write_bytes(kept)


def test_an_entry_of_an_earlier_format_is_a_miss(cache):
    cache.put(KEY, b"code")
    (file,) = files(cache.path)
    file.write_bytes(b"relay object 1\n" + hashlib.sha256(b"code").digest() + b"code")
    assert cache.get(KEY) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system with pipes among its files")
def test_an_entry_that_is_a_pipe_is_not_waited_for(cache):
    cache.put(KEY, b"code")
    (file,) = files(cache.path)
    file.unlink()
    os.mkfifo(file)
    assert cache.get(KEY) is None


STRAIGHT = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  nn.relu(add(nn.dense(%x, %w), 0.5f))
}
"""
WHOLE = """
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32], %yes: bool) {
  if (%yes) { sum(%x, axis=[0]) } else { sum(negative(%x), axis=[0]) }
}
"""
X = np.arange(6, dtype="float32").reshape(2, 3)
W = np.arange(12, dtype="float32").reshape(4, 3) - 6


def compiled_rightly(folder):
    """What a cache did while two programs were compiled that then gave the right results."""
    cache = Cache(folder)
    straight = relay.compile(relay.parse(STRAIGHT), {"w": W}, cache=cache)
    np.testing.assert_allclose(straight(X), np.maximum(X @ W.T + 0.5, 0))
    whole = relay.compile(relay.parse(WHOLE), cache=cache)
    np.testing.assert_allclose(whole(X, False), -X.sum(0))
    return cache.statistics


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real") / "kernels"
    compiled_rightly(folder)
    assert compiled_rightly(folder).stored == 0
    return folder


def test_swapped_entries_of_a_real_cache_are_compiled_again(filled, tmp_path):
    names = [file.relative_to(filled) for file in files(filled)]
    for number, pair in enumerate(itertools.combinations(names, 2)):
        copy = tmp_path / str(number)
        shutil.copytree(filled, copy)
        for one, other in (pair, pair[::-1]):
            shutil.copy(filled / one, copy / other)
        if number % 5 == 0:  # the others are looked up only: to compile takes its time
            compiled_rightly(copy)
        for name in pair:
            assert Cache(copy).get(name.name) in (None, Cache(filled).get(name.name))


def _cut(data, at):
    return data[: at % len(data)]


def _flipped(data, at):
    place = at % len(data)
    return data[:place] + bytes([data[place] ^ 1 << at % 8]) + data[place + 1 :]


@pytest.mark.parametrize("damage", [_cut, _flipped])
def test_damaged_entries_of_a_real_cache_are_compiled_again(filled, tmp_path, damage):
    copy = tmp_path / "kernels"
    shutil.copytree(filled, copy)
    chance = random.Random(0)
    for file in files(copy):
        whole = file.read_bytes()
        for _ in range(40):
            file.write_bytes(damage(whole, chance.randrange(1 << 30)))
            assert Cache(copy).get(file.name) is None
        file.write_bytes(damage(whole, chance.randrange(1 << 30)))
    assert compiled_rightly(copy).damaged > 5
    assert compiled_rightly(copy).stored == 0


def test_an_entry_that_is_a_link_is_not_followed(cache, tmp_path):
    cache.put(KEY, b"code")
    (file,) = files(cache.path)
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert cache.get(KEY) is None


# --- disks -------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_is_no_error(cache, monkeypatch, logged):
    cache.put(KEY, b"code")
    monkeypatch.setattr(
        tempfile, "mkstemp", lambda **_: (os.open("/dev/full", os.O_WRONLY), "/nowhere/file")
    )
    cache.put(key(1), b"more")
    cache.put(key(2), b"more")
    assert logged.text.count("not kept") == 1
    assert cache.get(KEY) == b"code"
    assert len(files(cache.path)) == 1


def test_a_read_only_disk_is_no_error(cache, monkeypatch, logged):
    cache.put(KEY, b"code")

    def refuse(**_):
        raise OSError(errno.EROFS, "read-only file system")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    cache.put(key(1), b"more")
    assert "read-only" in logged.text
    assert cache.get(KEY) == b"code"


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, logged):
    (tmp_path / "file").write_text("not a folder")
    cache = Cache(tmp_path / "file" / "kernels")
    cache.put(KEY, b"code")
    assert cache.get(KEY) is None
    assert "no cache of compiled kernels" in logged.text


def test_an_interrupted_write_leaves_nothing_behind_for_long(cache):
    cache.put(KEY, b"code")
    left = cache.path / "ab" / ".writing-xyz"
    left.write_bytes(b"half")
    assert cache.size() > 0
    assert left.exists()  # its writer may be at work
    os.utime(left, (0, 0))
    cache.size()
    assert not left.exists()


# --- size --------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_goes_first(cache):
    for number in range(9):
        cache.put(key(number), bytes(1000))
        (file,) = [file for file in files(cache.path) if file.name == key(number)]
        os.utime(file, (1000 + number, 1000 + number))
    assert cache.get(key(0)) is not None  # used just now
    cache.put(key(9), bytes(1000))
    kept = {file.name for file in files(cache.path)}
    assert key(0) in kept
    assert key(9) in kept
    assert key(1) not in kept
    assert cache.size() <= cache.limit
    assert cache.statistics.evicted == 10 - len(kept)


def test_what_is_larger_than_the_cache_is_not_kept(cache):
    cache.put(KEY, bytes(20_000))
    assert not cache.path.exists()


def test_a_smaller_limit_holds_from_the_next_entry_on(cache):
    for number in range(8):
        cache.put(key(number), bytes(1000))
    Cache(cache.path, 4000).put(key(8), bytes(1000))
    assert cache.size() <= 4000


def test_the_use_of_an_entry_is_noted(cache):
    cache.put(KEY, b"code")
    (file,) = files(cache.path)
    os.utime(file, (0, 0))
    cache.get(KEY)
    assert time.time() - file.stat().st_mtime < 100


# --- several processes -------------------------------------------------------------------------

CROWD = """
import random, sys
from relay.cache import Cache
cache = Cache(sys.argv[1], 60_000)
choose = random.Random(int(sys.argv[2]))
for _ in range(300):
    number = choose.randrange(40)
    key = f"{number:064x}"[::-1]
    expected = bytes([number]) * (500 + 100 * number)
    found = cache.get(key)
    assert found is None or found == expected
    cache.put(key, expected)
assert cache.statistics.damaged == 0
"""


def test_processes_that_write_at_once_do_not_disturb_each_other(tmp_path):
    folder = tmp_path / "kernels"
    crowd = [
        subprocess.Popen([sys.executable, "-c", CROWD, folder, str(seed)], stderr=subprocess.PIPE)
        for seed in range(4)
    ]
    for process in crowd:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    # each process knows its own additions at once, those of the others when it looks again
    assert Cache(folder).size() < 4 * 60_000
    assert not [file for file in files(folder) if file.name.startswith(".")]


def test_the_settings_say_where_and_how_much(monkeypatch, tmp_path):
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELAY_CACHE_SIZE", "2M")
    cache = Cache.default()
    assert (cache.path, cache.limit) == (tmp_path, 2 * 2**20)
    monkeypatch.setenv("RELAY_CACHE_DIR", "off")
    assert Cache.default().path is None
