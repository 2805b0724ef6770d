"""Decisions: the lowest integer is the simplest choice, and everything comes up."""

from collections import Counter

from relay.testing.generator.choices import Seeded, chance, pick, several, signed, weighted


class Lowest:
    """Always the simplest."""

    def integer(self, low, high):
        return low

    def unit(self, make):
        return make()


def test_the_lowest_integer_is_the_simplest_choice():
    assert pick(Lowest(), "abc") == "a"
    assert weighted(Lowest(), [(1, "a"), (9, "b")]) == "a"
    assert not chance(Lowest(), 99)
    assert signed(Lowest(), 5) == 0
    assert several(Lowest(), lambda: 1, 2, 4) == [1, 1]


def test_everything_comes_up():
    choices = Seeded(0)
    assert {pick(choices, "abc") for _ in range(100)} == set("abc")
    assert {signed(choices, 2) for _ in range(100)} == {-2, -1, 0, 1, 2}
    assert {len(several(choices, lambda: 1, 1, 3)) for _ in range(100)} == {1, 2, 3}


def test_weights_and_percentages_are_kept():
    choices = Seeded(0)
    drawn = Counter(weighted(choices, [(1, "a"), (3, "b")]) for _ in range(4000))
    assert 2 < drawn["b"] / drawn["a"] < 4
    assert 0.2 < sum(chance(choices, 25) for _ in range(4000)) / 4000 < 0.3


def test_one_option_needs_no_decision():
    assert pick(None, ["only"]) == "only"
