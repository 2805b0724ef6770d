"""What a function gives as a program beside what it gives in Python: Python is the oracle."""

import numpy as np
import pytest

import relay
from relay.nd import NDArray


def data(value):
    """A result as plain data of Python."""
    if isinstance(value, NDArray):
        return value.item() if value.shape == () else value.numpy()
    if isinstance(value, tuple | list):
        return type(value)(map(data, value))
    return value


def assert_same(function, *args):
    """The program and the Python function give the same."""
    compare(data(relay.function(function)(*args)), function(*args))


def compare(found, expected):
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for part, other in zip(found, expected, strict=True):
            compare(part, other)
    elif isinstance(expected, np.ndarray):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5)
    else:
        assert found == expected
        assert type(found) is type(expected)


def body(function):
    """The text of a program without its header and type comments."""
    import re

    text = relay.function(function).module.astext(show_meta_data=False)
    text = re.sub(r" /\* ty=.*?\*/", "", text)
    return text.split("\n", 1)[1].strip()


def error(function):
    """The error that translating gives, as text."""
    with pytest.raises(relay.RelayError) as raised:
        _ = relay.function(function).module
    assert isinstance(raised.value, relay.DiagnosticError), "a place in the source is missing"
    return str(raised.value)
