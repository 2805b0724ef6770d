"""The generator of DCGAN (Radford et al. 2016)."""

from __future__ import annotations

from relay import op
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import Workload, create_workload


def _up(data: Expr, channels: int, name: str, layout: str) -> Expr:
    """A transposed convolution with stride 2."""
    return layers.conv2d_transpose(
        data,
        name=name,
        channels=channels,
        kernel_size=(4, 4),
        strides=(2, 2),
        padding=(1, 1),
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
    )


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    code: Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """A latent vector to a 64x64 image, by four transposed convolutions."""
    if oshape[1:] != (64, 64):
        raise ValueError(f"the generator makes images of 64 by 64, not {oshape[1:]}")
    code = var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    x: Expr = op.nn.dense(code, var("dense_weight"), units=4 * 4 * ngf * 8)
    x = op.nn.relu(x)
    shape = (batch_size, ngf * 8, 4, 4) if layout == "NCHW" else (batch_size, 4, 4, ngf * 8)
    x = op.reshape(x, newshape=shape)
    for number, channels in enumerate((ngf * 4, ngf * 2, ngf), 2):
        x = _up(x, channels, f"g{number}_deconv", layout)
        x = layers.batch_norm_infer(
            x, axis=layout.index("C"), epsilon=1e-5 + 1e-12, scale=False, name=f"g{number}_bn"
        )
        x = op.nn.relu(x)
    out = op.tanh(_up(x, oshape[0], "g5_deconv", layout))
    return Function(tuple(free_vars(out)), out)


def get_workload(
    batch_size: int,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Workload:
    """The network and its parameters."""
    net = get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype)
    return create_workload(net)
