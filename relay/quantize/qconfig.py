"""`qconfig`: the scheme of a `with` block, by the names of its settings that people know.

with relay.quantize.qconfig(calibrate_mode="kl_divergence", skip_conv_layers=None):
    mod = relay.quantize.quantize(mod, params, dataset)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final, Literal

from relay.errors import PassError
from relay.immutable import frozen
from relay.quantize.scheme import MODES, Integers, Scheme, power_of_two

PARTITIONS: Final = ("disabled", "enabled", "fully_integral")
DTYPES: Final = ("int8", "uint8", "int16", "uint16")


@frozen
class QConfig:
    """Settings of quantization; entered by `with`, they hold for the block.

    Inputs of products have `nbit_input` bits in `dtype_input`, weights `nbit_weight` in
    `dtype_weight`. Accumulators are `dtype_activation`, int32 or int16, with all their bits in
    `nbit_activation`. `global_scale` is the range of all data in the calibrate_mode of that name;
    `weight_scale` is "power2" for powers of two, "max", or "channel_max" for a scale for each
    output channel. `skip_conv_layers` are numbers of convolutions, `skip_dense_layer` is about all
    dense layers.
    With `do_simulation` the result simulates quantization in floats. `round_for_shift` rounds the
    scales of data to powers of two, so that rescaling is a shift. `rounding` is that of
    `qnn.requantize`. With `partition_conversions` "enabled" what quantizes the inputs and
    dequantizes the results are functions of their own (`relay.quantize.partition`); with
    "fully_integral" it is an error if floats are left between them.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: Literal["int32", "int16"] = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    rounding: Literal["TOEVEN", "UPWARD", "TONEAREST"] = "UPWARD"
    partition_conversions: str = "disabled"

    def __post_init__(self) -> None:
        _one_of("calibrate_mode", self.calibrate_mode, MODES)
        _one_of("weight_scale", self.weight_scale, ("power2", "max", "channel_max"))
        _one_of("partition_conversions", self.partition_conversions, PARTITIONS)
        for name in ("input", "weight"):
            dtype, bits = getattr(self, f"dtype_{name}"), getattr(self, f"nbit_{name}")
            _one_of(f"dtype_{name}", dtype, DTYPES)
            if type(bits) is not int or not 2 <= bits <= int(dtype.lstrip("uint")):
                raise PassError(f"nbit_{name} is 2 to the bits of {dtype}, found {bits!r}")
        _one_of("dtype_activation", self.dtype_activation, ("int32", "int16"))
        if f"int{self.nbit_activation}" != self.dtype_activation:
            raise PassError(
                f"accumulators are {self.dtype_activation} as a whole, found "
                f"nbit_activation={self.nbit_activation!r}"
            )

    @property
    def scheme(self) -> Scheme:
        """The same as a scheme."""
        shift = power_of_two if self.round_for_shift else None
        return Scheme(
            "qconfig",
            data=_integers(self.nbit_input, self.dtype_input, shift),
            weight=_integers(
                self.nbit_weight,
                self.dtype_weight,
                power_of_two if self.weight_scale == "power2" else None,
                "channel" if self.weight_scale == "channel_max" else "tensor",
            ),
            calibrate_mode=self.calibrate_mode,
            global_scale=self.global_scale,
            rounding=self.rounding,
            sums=self.dtype_activation,
            skip_conv_layers=tuple(self.skip_conv_layers or ()),
            skip_dense_layer=self.skip_dense_layer,
        )

    def __enter__(self) -> QConfig:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *failure: object) -> None:
        _entered.set(_entered.get()[:-1])


_entered: ContextVar[tuple[QConfig, ...]] = ContextVar("relay quantization configs", default=())


def qconfig(**settings: Any) -> QConfig:
    """Settings that differ from the default, as a context."""
    if unknown := sorted(set(settings) - set(QConfig.__dataclass_fields__)):
        known = ", ".join(QConfig.__dataclass_fields__)
        raise PassError(f"qconfig has no `{unknown[0]}`; there is {known}")
    return QConfig(**settings)


def current_qconfig() -> QConfig:
    """That of the innermost `with` block; else the default."""
    entered = _entered.get()
    return entered[-1] if entered else QConfig()


def _integers(
    bits: int, dtype: str, scales: Any, per: Literal["tensor", "channel"] = "tensor"
) -> Integers:
    return Integers(bits, not dtype.startswith("u"), True, per, 0, scales)


def _one_of(name: str, found: object, known: Sequence[str]) -> None:
    if found not in known:
        raise PassError(f"{name} is {' or '.join(known)}, found {found!r}")
