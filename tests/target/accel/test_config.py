"""Designs of accelerators, as text, as files, and what they refuse."""

import pytest

from relay.errors import TargetError
from relay.target.accel.config import Config


def test_the_default_is_the_single_batch_design():
    config = Config()
    assert str(config) == "1x16x16"
    assert config.entries == {"inp": 2048, "wgt": 1024, "acc": 2048, "uop": 8192}
    assert (config.uop_bytes, config.macs, config.dram_bytes, config.dram_latency) == (
        4,
        256,
        8,
        64,
    )
    assert Config(4).entries == {"inp": 512, "wgt": 1024, "acc": 512, "uop": 8192}


def test_a_design_is_text_again(tmp_path):
    for text in ("1x16x16", "4x16x16", "4x16x16,log_acc=18,dram_latency=100", "2x8x32,queue=16"):
        assert str(Config.of_text(text)) == text
    assert Config.of_text("batch=4") == Config(4)
    (tmp_path / "design.json").write_text('{"batch": 4, "log_acc": 18}')
    assert Config.of_text(str(tmp_path / "design.json")) == Config(4, log_acc=18)


def test_more_than_32_bits_of_indices_are_words_of_64():
    assert Config(log_wgt=20).uop_bytes == 8
    assert Config(4, log_acc=18).uop_bytes == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch=0", "an integer from 1 to 64"),
        ("log_acc=40", "`log_acc` of an accelerator is out of range"),
        ("64x256x16,log_inp=6", "the inp buffer of an accelerator has a wrong size"),
        ("lanes=3", "no parameter `lanes`"),
        ("log_ac=3", "did you mean `log_acc`"),
        ("big", "`big` says nothing about an accelerator"),
        ("missing.json", "cannot be read"),
    ],
)
def test_what_is_no_design_is_refused(text, message):
    with pytest.raises(TargetError, match=message):
        Config.of_text(text)


def test_a_file_holds_an_object(tmp_path):
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(TargetError, match="no object"):
        Config.of_text(str(tmp_path / "list.json"))
