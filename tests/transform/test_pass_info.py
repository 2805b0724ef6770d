"""What is known of a pass without running it."""

from relay.transform import PassInfo


def test_an_info_is_a_value():
    assert PassInfo(1, "a", ["b"]) == PassInfo(opt_level=1, name="a", required=("b",))
    assert PassInfo(1, "a", None).required == ()


def test_its_text_has_everything():
    assert str(PassInfo(1, "a", ["b", "c"])) == "pass name: a, opt_level: 1, required: [b, c]"
