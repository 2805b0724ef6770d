"""Frozen dataclasses whose constructor is written when it is first needed."""

from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from relay.immutable import frozen, immutable


def made_of(**options):
    class Point:
        x: int
        y: int = 2
        rest: list[int] = field(default_factory=list)
        memo: int | None = field(default=None, init=False)

        def __post_init__(self):
            object.__setattr__(self, "y", int(self.y))

    return immutable(Point, **options)


def test_objects_are_those_of_a_frozen_dataclass():
    point = made_of()(1, "3")
    assert (point.x, point.y, point.rest, point.memo) == (1, 3, [], None)
    assert [f.name for f in fields(point)] == ["x", "y", "rest", "memo"]
    with pytest.raises(FrozenInstanceError, match="'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError):
        point.z = 2


def test_the_first_object_and_those_after_it_are_made_alike():
    Point = made_of()
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required"):
            Point()
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            Point(1, z=2)
        assert Point(1, y=5).y == 5
    assert Point(1).rest is not Point(1).rest


def test_arguments_may_be_by_keyword_only():
    Point = made_of(kw_only=True)
    assert Point(x=1).x == 1
    with pytest.raises(TypeError, match="positional"):
        Point(1)


def test_a_constructor_of_its_own_is_kept():
    class Root:
        x: int

        def __init__(self):
            object.__setattr__(self, "x", 7)

    assert immutable(Root)().x == 7


def test_a_derived_class_may_have_more():
    Point = made_of()

    @immutable
    class Named(Point):
        name: str = ""

    named = Named(1, name="a")
    assert (named.x, named.name) == (1, "a")

    class Counted(Point):
        def __init__(self):
            super().__init__(4)
            self.count = 1

    counted = Counted()
    counted.count += 1
    assert (counted.x, counted.count, Counted().count) == (4, 2, 1)
    with pytest.raises(FrozenInstanceError):
        counted.x = 5


def test_its_fields_take_apart_in_patterns_as_those_of_a_dataclass():
    @dataclass(frozen=True)
    class Same:
        x: int
        y: int = 2

    class Pair:
        x: int
        y: int = 2

    assert immutable(Pair).__match_args__ == Same.__match_args__


# --- with comparison, hash and repr


def body():
    def total(self):
        return self.x + len(self.y)

    return {
        "__annotations__": {"x": float, "y": tuple, "memo": int},
        "y": field(default=(), repr=False),
        "memo": field(default=0, init=False, compare=False),
        "total": total,
    }


def test_values_are_those_of_a_frozen_dataclass():
    nan = float("nan")
    for decorated in (frozen, dataclass(frozen=True)):
        Point = decorated(type("Point", (), body()))
        first, second = Point(1), Point(1, y=(2,))
        assert repr(first) == "Point(x=1, memo=0)"
        assert first == Point(1) and hash(first) == hash(Point(1))
        assert first != second and first != (1, (), 0)
        assert Point(nan) == Point(nan), "the same object in both"
        assert replace(second, x=3) == Point(3, (2,))
        assert second.total() == 2
        object.__setattr__(second, "memo", 5)
        assert second == Point(1, (2,))
        with pytest.raises(FrozenInstanceError, match="'x'"):
            first.x = 2
        with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required"):
            Point()
        with pytest.raises(TypeError, match="unhashable"):
            hash(Point([]))


def test_values_without_fields_are_equal():
    @frozen
    class Nothing:
        """None at all."""

    assert Nothing() == Nothing() and hash(Nothing()) == hash(Nothing())
    assert repr(Nothing()).endswith("Nothing()")


def test_methods_of_a_class_are_kept():
    @frozen
    class Named:
        name: str
        place: int

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

        def __repr__(self):
            return self.name

    assert Named("a", 1) == Named("a", 2)
    assert {Named("a", 1), Named("a", 2)} == {Named("a", 3)}
    assert repr(Named("a", 1)) == "a"


def test_a_value_that_holds_itself_can_be_shown():
    @frozen
    class Holder:
        content: list

    holder = Holder([])
    holder.content.append(holder)
    assert "..." in repr(holder)


def test_values_and_frozen_dataclasses_derive_from_each_other():
    @frozen
    class Point:
        x: int

    @dataclass(frozen=True)
    class Named(Point):
        name: str = ""

    @frozen
    class Placed(Named):
        place: int = 0

    for made in (Named(1, "a"), Placed(1, "a", 2)):
        assert (made.x, made.name) == (1, "a")
        for name in ("x", "name", "other"):
            with pytest.raises(FrozenInstanceError):
                setattr(made, name, 0)
    assert Placed(1, "a") == Placed(1, "a") != Named(1, "a")
    assert repr(Placed(1)).endswith("Placed(x=1, name='', place=0)")
