"""Dynamic operators: the oracles of the static ones, with values in place of attributes."""

import importlib.util
from pathlib import Path


def static(family, name, *values):
    """The oracle of a static operator; `values` are the attributes that come as arrays: their
    names, and at which place among the arguments."""
    path = Path(__file__).parent / f"{family}.py"
    spec = importlib.util.spec_from_file_location(f"static_{family}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    places = dict(values)

    def oracle(*args, **attrs):
        given = {name: as_plain(args[place]) for name, place in places.items()}
        rest = [arg for place, arg in enumerate(args) if place not in places.values()]
        return module.ORACLES[name](*rest, **given, **attrs)

    return oracle


def as_plain(array):
    if array.ndim == 0:
        return array.item()
    return tuple(tuple(v) if isinstance(v, list) else v for v in array.tolist())


ORACLES = {
    "dyn.reshape": static("shape", "reshape", ("newshape", 1)),
    "dyn.squeeze": static("shape", "squeeze", ("axis", 1)),
    "dyn.expand_dims": static("shape", "expand_dims", ("axis", 1)),
    "dyn.broadcast_to": static("extend", "broadcast_to", ("shape", 1)),
    "dyn.tile": static("extend", "tile", ("reps", 1)),
    "dyn.zeros": static("creation", "zeros", ("shape", 0)),
    "dyn.ones": static("creation", "ones", ("shape", 0)),
    "dyn.full": static("creation", "full", ("shape", 1)),
    "dyn.one_hot": static("creation", "one_hot", ("depth", 3)),
    "dyn.sparse_to_dense": static("coordinates", "sparse_to_dense", ("output_shape", 3)),
    "dyn.strided_slice": static(
        "slicing", "strided_slice", ("begin", 1), ("end", 2), ("strides", 3)
    ),
    "dyn.topk": static("sort", "topk", ("k", 1)),
    "dyn.nn.pad": static("space", "nn.pad", ("pad_width", 1)),
    "dyn.nn.upsampling": static("image", "nn.upsampling", ("scale_h", 1), ("scale_w", 2)),
    "dyn.nn.upsampling3d": static(
        "image", "nn.upsampling3d", ("scale_d", 1), ("scale_h", 2), ("scale_w", 3)
    ),
    "dyn.random.uniform": static("random", "random.uniform", ("out_shape", 3)),
    "dyn.random.normal": static("random", "random.normal", ("out_shape", 3)),
    "dyn.image.resize2d": static("image", "image.resize2d", ("size", 1), ("roi", 2)),
}
