"""The operators of object detection, as `relay.vision`.

Emitted by frontends: `all_class_non_max_suppression`, `get_valid_counts`, `non_max_suppression`,
`roi_align`, `roi_pool`. Only programs written as Relay use `multibox_prior`,
`multibox_transform_loc`, `proposal`, `regular_non_max_suppression`, `yolo_reorg`.
"""

from relay.op.building.helper import exported
from relay.op.vision.multibox import multibox_prior, multibox_transform_loc
from relay.op.vision.nms import (
    all_class_non_max_suppression,
    get_valid_counts,
    non_max_suppression,
    regular_non_max_suppression,
)
from relay.op.vision.proposal import proposal
from relay.op.vision.reorg import yolo_reorg
from relay.op.vision.roi import roi_align, roi_pool

__all__ = exported(globals())
