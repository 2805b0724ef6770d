"""Environment variables: typed, read on use, errors that name them."""

from pathlib import Path

import pytest

from relay import settings
from relay.errors import SettingError


def test_an_absent_or_empty_variable_is_none(monkeypatch):
    for setting in settings.ALL:
        monkeypatch.delenv(setting.name, raising=False)
        assert setting.read() is None
        monkeypatch.setenv(setting.name, "  ")
        assert setting.read() is None


def test_a_change_is_seen_by_the_next_call(monkeypatch):
    for threads in (1, 7):
        monkeypatch.setenv("RELAY_NUM_THREADS", str(threads))
        assert settings.NUM_THREADS.read() == threads


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "99999"])
def test_a_number_of_threads_must_make_sense(monkeypatch, text):
    monkeypatch.setenv("RELAY_NUM_THREADS", text)
    with pytest.raises(SettingError) as error:
        settings.NUM_THREADS.read()
    assert "RELAY_NUM_THREADS" in str(error.value)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1000", 1000),
        ("512M", 512 * 2**20),
        ("1.5g", 3 * 2**29),
        ("2GB", 2**31),
        ("2 GiB", 2**31),
        ("4k", 4096),
    ],
)
def test_sizes_have_units(monkeypatch, text, size):
    monkeypatch.setenv("RELAY_CACHE_SIZE", text)
    assert settings.cache_size() == size


@pytest.mark.parametrize("text", ["much", "-1", "1Q", "G", "1e400", "nan"])
def test_other_sizes_are_refused(monkeypatch, text):
    monkeypatch.setenv("RELAY_CACHE_SIZE", text)
    with pytest.raises(SettingError, match="RELAY_CACHE_SIZE"):
        settings.cache_size()


def test_the_cache_is_where_the_user_says_or_where_the_system_does(monkeypatch):
    monkeypatch.setenv("RELAY_CACHE_DIR", "/somewhere")
    assert settings.cache_folder() == Path("/somewhere")
    monkeypatch.setenv("RELAY_CACHE_DIR", "off")
    assert settings.cache_folder() is None
    monkeypatch.delenv("RELAY_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert settings.cache_folder() == Path("/caches/relay")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert settings.cache_folder() == Path("/home/somebody/.cache/relay")


def test_every_setting_is_in_the_table_at_the_top():
    for setting in settings.ALL:
        assert setting.name in settings.__doc__
        assert setting.doc
