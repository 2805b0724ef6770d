"""Images, sound and words as inputs, with Pillow's own pixels and NumPy as oracles."""

import json
import sys
import wave

import numpy as np
import pytest
from PIL import Image

import relay
from relay.cli import media
from relay.cli.media import Normal
from relay.errors import RelayError
from relay.target.kernel import TensorSpec

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)


@pytest.fixture
def photo(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def loaded(path, shape, dtype="float32", normal=Normal()):  # noqa: B008
    return media.load(path, TensorSpec(shape, dtype), normal)


def test_an_image_has_the_layout_and_the_size_of_the_input(photo):
    first = loaded(photo, (1, 3, 6, 5))
    np.testing.assert_array_equal(first[0], np.float32(PIXELS.transpose(2, 0, 1)) / 255)
    np.testing.assert_array_equal(loaded(photo, ("n", "h", "w", 3), "uint8")[0], PIXELS)
    assert loaded(photo, (3, 6, 5)).shape == (3, 6, 5)
    assert loaded(photo, (1, 1, 12, 10)).shape == (1, 1, 12, 10)
    assert loaded(photo, (12, 10)).shape == (12, 10)
    half = loaded(photo, (1, 3, 6, 5), normal=Normal((0.5,), (0.5, 0.25, 0.125)))
    expected = (first - 0.5) / np.float32([0.5, 0.25, 0.125])[:, None, None]
    np.testing.assert_allclose(half, expected, rtol=1e-6)


def test_an_image_that_does_not_fit_is_refused(photo, tmp_path):
    with pytest.raises(RelayError, match="does not fit: an image is for an input of"):
        loaded(photo, (1, 5, 6, 7))
    with pytest.raises(RelayError, match="inputs of floats"):
        loaded(photo, (6, 5), "uint8", Normal((0.5,)))
    with pytest.raises(RelayError, match="--mean has 2 numbers, for 3 channels"):
        loaded(photo, (1, 3, 6, 5), normal=Normal((0.5, 0.5)))
    (tmp_path / "text.png").write_text("text")
    with pytest.raises(RelayError, match="is no image"):
        loaded(tmp_path / "text.png", (6, 5))
    with pytest.raises(RelayError, match="takes numbers"):
        media.numbers("a,b", "--mean")


def test_without_pillow_the_package_is_named(photo, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(RelayError, match="pip install pillow"):
        loaded(photo, (6, 5))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_sound_becomes_numbers(tmp_path, width, capsys):
    path = tmp_path / "tone.wav"
    tone = np.sin(np.arange(100) / 7) * 0.9
    whole = np.int64(np.round(tone * 2 ** (8 * width - 1)))
    raw = (whole + 128 if width == 1 else whole).astype("<i8").view(np.uint8).reshape(-1, 8)
    both = np.repeat(raw[:, :width], 2, axis=0)  # the same on two channels
    with wave.open(str(path), "wb") as file:
        file.setparams((2, width, 16000, 0, "NONE", ""))
        file.writeframes(both.tobytes())
    found = loaded(path, (1, "n"))
    assert found.shape == (1, 100)
    np.testing.assert_allclose(found[0], tone, atol=2.0 ** (2 - 8 * width))
    assert loaded(path, (1, 1, 60)).shape == (1, 1, 60)
    longer = loaded(path, (120,))
    assert not longer[100:].any()
    assert capsys.readouterr().err.count("samples, ") == 2
    with pytest.raises(RelayError, match="one long axis"):
        loaded(path, (3, 40))
    path.write_bytes(b"RIFF")
    with pytest.raises(RelayError, match="is no sound"):
        loaded(path, (1, "n"))


def test_models_run_on_images_and_words(photo, command, tmp_path):
    x, b = relay.var("x", shape=(1, 3, 6, 5)), relay.var("b", shape=(3, 1, 1))
    module = relay.IRModule.from_expr(relay.Function([x, b], relay.add(x, b)))
    (tmp_path / "sum.relay").write_text(module.astext())
    run = ("run", tmp_path / "sum.relay", "--json", "--input")

    def result(*args):
        (found,) = json.loads(command(*run, *args)).values()
        return np.array(found["data"], np.float32)

    image = np.float32(PIXELS.transpose(2, 0, 1))[None] / 255
    np.testing.assert_allclose(result(photo, "--input", "b=ones"), image + 1, rtol=1e-6)
    same = [result("b=zeros", "--input", "x=random", "--seed", seed) for seed in (1, 1, 2)]
    assert (same[0] == same[1]).all() and (same[0] != same[2]).any()
    assert "input number 3" in command(*run, "ones", "--input", "ones", "--input", "ones", code=1)
