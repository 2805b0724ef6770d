"""Options of custom operators: what the package of FlatBuffers writes is read; what is broken or
means harm is refused, in little memory."""

import tracemalloc
from random import Random
from typing import Any

import pytest
from flatbuffers import flexbuffers

from relay.errors import FrontendError
from relay.frontend import from_tflite
from relay.frontend.tflite.flexbuffer import MOST, numbers_of
from tests.frontend.tflite.further_cases import flexible, further
from tests.frontend.tflite.models import build
from tests.support.hostile_files import NUMBERS, changed_bytes, changed_words, outcome

OPTIONS = {"max": 5, "low": -300, "high": 1 << 40, "scale": 0.1, "on": True, "off": False}


def test_numbers_are_read_as_they_were_written() -> None:
    assert numbers_of(flexible(**OPTIONS)) == OPTIONS
    for width in flexbuffers.BitWidth:
        builder = flexbuffers.Builder(force_min_bit_width=width)
        builder.MapFromElements(OPTIONS)
        assert numbers_of(bytes(builder.Finish())) == OPTIONS


def test_numbers_that_stand_elsewhere_are_read_and_other_values_left_out() -> None:
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, add, value in (
            ("a", builder.IndirectInt, -70_000),
            ("b", builder.IndirectUInt, 1 << 40),
            ("c", builder.IndirectFloat, 2.5),
            ("d", builder.String, "text"),
            ("e", builder.TypedVectorFromElements, [1, 2, 3]),
            ("f", builder.MapFromElements, {"again": {"again": 4}}),
        ):
            builder.Key(name)
            add(value)
    numbers = {"a": -70_000, "b": 1 << 40, "c": 2.5}
    assert numbers_of(bytes(builder.Finish())) == numbers


def written(
    *, name: int = 8, names: int = 4, width: int = 4, count: int = 1, value: int = 3, kind: int = 2
) -> bytes:
    """A map of one number by hand: how far back its name and its vector of names lie, the width of
    offsets to names, how many entries it has, and the entry with its kind."""
    words = (1, name, names, width, count, value)
    data = b"one\0" + b"".join((one % 2**32).to_bytes(4, "little") for one in words)
    return data + bytes([kind << 2 | 2, 5, 9 << 2 | 2, 1])


def outcome_of(data: bytes) -> dict[str, Any] | None:
    """The numbers of a map, or nothing where it is refused."""
    try:
        return numbers_of(data)
    except FrontendError as error:
        assert str(error) == "the model is broken: options of a custom operator"
        return None


def test_a_buffer_that_is_cut_off_is_read_or_refused() -> None:
    assert outcome_of(written()) == {"one": 3}
    for data in (written(), flexible(**OPTIONS)):
        for end in range(len(data)):
            outcome_of(data[:end])
            outcome_of(data[end + 1 :])
    assert outcome_of(b"") is outcome_of(b"\x01") is outcome_of(b"\0\0\0") is None


def test_sizes_and_offsets_out_of_range_are_refused() -> None:
    for number in (*NUMBERS, 2**31, 2**32 - 1, MOST + 1):
        if number % 2**32 in (0, 1, 4, 8):
            continue  # what is meant, an empty map, or something else that lies in the buffer
        for part in ("name", "names", "count", "width"):
            found = outcome_of(written(**{part: number}))
            assert found is None or part in ("name", "names"), (part, number, found)
        # a number that stands elsewhere
        found = outcome_of(written(value=number, kind=7))
        assert found is None or number == 7, (number, found)


def test_maps_that_refer_to_themselves_are_read_or_refused() -> None:
    outcome_of(written(names=-12))  # the names of a map are its own entries
    outcome_of(written(name=0))  # a name is the offset that leads to it
    assert outcome_of(written(value=0, kind=9)) == {}  # an entry of a map is the map
    assert outcome_of(written(value=0, kind=7)) == {"one": 0}  # a number is its own offset


def test_names_that_many_entries_share_are_short() -> None:
    """A name of a megabyte 256 times is 256 megabytes, if they begin at other places."""
    text = b"x" * (1 << 20) + b"\0"
    names = b"".join((len(text) + 3 * at).to_bytes(4, "little") for at in range(MOST))
    size = (4 * MOST).to_bytes(4, "little")
    head = size + (4).to_bytes(4, "little") + MOST.to_bytes(4, "little")
    entries = bytes(4 * MOST) + bytes([2 << 2 | 2]) * MOST
    end = (len(entries)).to_bytes(2, "little") + bytes([9 << 2 | 2, 2])
    data = text + names + head + entries + end
    tracemalloc.start()
    found = outcome_of(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is None
    assert most < 1 << 20


def tried(first: int, last: int) -> set[str]:
    """How changed options went, alone and in a model."""
    (case, *_) = [one for one in further() if one.custom]
    model, options = build(case), case.custom
    assert model.count(options) == 1
    found = set()
    for number in range(first, last):
        random = Random(f"flexbuffer {number}")
        for change in (changed_bytes, changed_words):
            changed = change(random, options)
            found.add(outcome(lambda data=changed: numbers_of(data)))
            # of the same length, so that the model around them stays as it is
            same = model.replace(options, changed.ljust(len(options), b"\0")[: len(options)])
            found.add(outcome(lambda data=same: from_tflite(data)))
    return found


def test_changed_options_are_read_or_refused() -> None:
    assert tried(0, 60) == {"fine", "refused"}


@pytest.mark.full
@pytest.mark.parametrize("part", range(1, 6))
def test_many_changed_options_are_read_or_refused(part: int) -> None:
    assert tried(1000 * part, 1000 * (part + 1)) == {"fine", "refused"}
