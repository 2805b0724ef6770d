"""Attributes of operators over spatial axes."""

from relay.ir.attrs import attrs
from relay.op.building.window import WindowAttrs


@attrs
class _Attrs(WindowAttrs):
    size: int = 3
    padding: tuple[int, ...]
    data_layout: str
    kernel_layout: str


@attrs
class _Volumes(_Attrs, axes=3):
    kernel_layout: str = "DHWIO"


def test_defaults_follow_the_number_of_axes():
    assert _Volumes.keys() == ("size", "padding", "data_layout", "kernel_layout")
    assert _Volumes.defaults() == {
        "size": 3,
        "padding": (0,) * 6,
        "data_layout": "NCDHW",
        "kernel_layout": "DHWIO",
    }
    assert (_Volumes.axes, _Volumes.spatial) == (3, "DHW")


def test_a_single_value_is_meant_for_all_axes():
    assert _Volumes(padding=(1,)) == _Volumes(padding=(1, 1, 1))
