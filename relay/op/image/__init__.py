"""The operators on images, as `relay.image`.

Emitted by frontends: `crop_and_resize`, `dilation2d`, `grid_sample`, `resize1d`, `resize2d`,
`resize3d`. Only programs written as Relay use `affine_grid`.
"""

from relay.op.building.helper import exported
from relay.op.image.crop import crop_and_resize
from relay.op.image.dilation import dilation2d
from relay.op.image.grid import affine_grid, grid_sample
from relay.op.image.resize import resize1d, resize2d, resize3d

__all__ = exported(globals())
