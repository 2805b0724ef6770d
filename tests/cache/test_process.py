"""The frames between processes."""

import io

import pytest

from relay.cache.process import read_frame, write_frame


@pytest.mark.parametrize("data", [b"", b"x", bytes(100_000)])
def test_a_frame_comes_back(data):
    stream = io.BytesIO()
    write_frame(stream, data)
    stream.seek(0)
    assert read_frame(stream) == data
    with pytest.raises(EOFError):
        read_frame(stream)


def test_half_a_frame_is_the_end():
    stream = io.BytesIO()
    write_frame(stream, b"something")
    with pytest.raises(EOFError):
        read_frame(io.BytesIO(stream.getvalue()[:-1]))
