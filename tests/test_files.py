"""Files written for the user: whole or not at all, and never in place of something else."""

import os
import socket
import stat

import numpy as np
import pytest

import relay
from relay.errors import RelayError
from relay.files import replacing


def write(path, data=b"new"):
    with replacing(path, "the text") as unfinished:
        unfinished.write_bytes(data)


def test_a_file_is_made_or_replaced_in_one_step(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    with replacing(path, "the text") as unfinished:
        unfinished.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    with pytest.raises(ZeroDivisionError), replacing(path, "the text") as unfinished:
        unfinished.write_bytes(b"half of it")
        raise ZeroDivisionError
    full = OSError(28, "No space left on device")
    refused = pytest.raises(RelayError, match=r"the text cannot be written to .*No space left")
    with refused, replacing(path, "the text") as unfinished:
        unfinished.write_bytes(b"half of it")
        raise full
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_kept(tmp_path):
    path = tmp_path / "file"
    write(path)
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "file"
    first, second = tmp_path / "first", tmp_path / "second"
    first.symlink_to("second")
    second.symlink_to(target)
    write(first, b"made where the link leads")
    write(first, b"replaced there")
    assert target.read_bytes() == b"replaced there"
    assert first.is_symlink()
    assert second.is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def _pipe(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(os.path.relpath(path))


def _circle(path):
    path.symlink_to(path.name)


def _link_to_a_pipe(path):
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def _device(path):
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError:
        pytest.skip("devices cannot be made here")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkdir, "a folder"),
        (_pipe, "a pipe"),
        (_link_to_a_pipe, "a pipe"),
        (_socket, "a socket"),
        (_circle, "a link that leads to itself"),
        (_device, "a device"),
    ],
)
def test_what_is_no_file_stays_what_it_is(tmp_path, make, kind):
    path = tmp_path / "place"
    make(path)
    before = path.lstat()
    with pytest.raises(RelayError, match=f"cannot be written to .*it is {kind}"):
        write(path)
    assert os.path.samestat(path.lstat(), before)


@pytest.mark.parametrize("path", ["", "a\0b", "missing/file", "x" * 300])
def test_a_path_where_nothing_can_be_is_named(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RelayError, match="the text cannot be written to"):
        write(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 3, b"file"])
def test_a_path_is_a_string_or_a_path(path):
    with pytest.raises(RelayError, match="a string or a path, found"):
        write(path)


def test_whatever_writes_for_the_user_follows_links_and_refuses_pipes(tmp_path):
    x = relay.var("x", shape=(2,), dtype="float32")
    w = relay.var("w", shape=(2,), dtype="float32")
    mod = relay.IRModule.from_expr(relay.Function([x, w], x + w))
    params = {"w": np.ones(2, "float32")}
    exe = relay.compile(mod, params)
    machine = relay.vm.compile(mod, "llvm", params)
    writers = {
        "m.relayx": exe.save,
        "m.o": exe.export,
        "m.a": lambda path: exe.export(path, "archive", embed=False),
        "vm.zip": machine.lib.export_library,
        "m.onnx.data": lambda path: relay.to_onnx(mod, params, weights=path),
    }
    for name, writer in writers.items():
        folder = tmp_path / name.replace(".", "_")
        folder.mkdir()
        link = tmp_path / name
        link.symlink_to(folder / name)
        writer(link)
        assert link.is_symlink()
        assert (folder / name).is_file()
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(RelayError, match="it is a pipe"):
            writer(link)
        assert (folder / name).is_fifo()
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
