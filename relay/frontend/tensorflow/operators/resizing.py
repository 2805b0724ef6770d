"""Resized images, and regions of images."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64, static
from relay.frontend.common.indices import in_range
from relay.frontend.common.resampling import Interpolation, ResizedAxis, axis_by_axis
from relay.frontend.common.resized_images import coordinates, linear, nearest, resized_to
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, const

table = Table()


def _positions(node: Node) -> str:
    return coordinates(node, node.flag("align_corners"), node.flag("half_pixel_centers"))


@table("ResizeBilinear")
def resize_bilinear(node: Node, data: Expr, size: Expr) -> Expr:
    return linear(node, node.as_dtype(data, "float32"), size, _positions(node))


@table("ResizeNearestNeighbor")
def resize_nearest_neighbor(node: Node, data: Expr, size: Expr) -> Expr:
    return nearest(node, data, size, _positions(node))


@table("ResizeBicubic")
def resize_bicubic(node: Node, data: Expr, size: Expr) -> Expr:
    """With half pixel centers weights are those of Keys' kernel, otherwise steeper ones."""
    positions = _positions(node)
    centers = positions == "half_pixel"
    return resized_to(
        node,
        node.as_dtype(data, "float32"),
        size,
        method="cubic",
        coordinate_transformation_mode=positions,
        cubic_alpha=-0.5 if centers else -0.75,
        cubic_exclude=int(centers),
    )


@table("ResizeArea")
def resize_area(node: Node, data: Expr, size: Expr) -> Expr:
    """Means of the areas that elements cover, where the sizes divide."""
    node.must_have_axes(data, 4, "images")
    wanted = static(node.known.of(node.sizes(size)))
    extents = static(node.shape(data)[1:3])
    if wanted is None or extents is None or node.flag("align_corners"):
        raise node.refused("the sizes must be known before the model runs", hint=node.give_sizes)
    if any(extent % one for extent, one in zip(extents, wanted, strict=True)):
        raise node.refused(
            "areas of parts of elements are not translated", f"divisors of {extents}"
        )
    steps = tuple(extent // one for extent, one in zip(extents, wanted, strict=True))
    floats = node.as_dtype(data, "float32")
    return op.nn.avg_pool2d(floats, pool_size=steps, strides=steps, layout="NHWC")


@table("ScaleAndTranslate")
def scale_and_translate(node: Node, data: Expr, size: Expr, scale: Expr, translation: Expr) -> Expr:
    """As `tf.image.resize` uses it: whole images, with kernels that widen when they shrink."""
    node.must_have_axes(data, 4, "images")
    kernel = node.choice("kernel_type", "lanczos3", ("triangle", "keyscubic"))
    factors = node.numbers(scale, "the scale")
    if any(node.numbers(translation, "the translation")):
        raise node.refused("images that are moved are not translated", "a translation of 0")
    wanted = static(node.known.of(node.sizes(size)))
    if wanted is None:
        raise node.refused("the size must be known before the model runs")
    axes = []
    for place, (factor, new) in enumerate(zip(factors, wanted, strict=True)):
        old = node.static_extent(data, 1 + place, "the size of images")
        if abs(factor * old - new) > 1e-3 * new:
            raise node.refused("parts of images are not translated", f"{new / old}", str(factor))
        extent, count = node.let(int64(old)), node.let(int64(new))
        above, below = const(float(new), "float64"), const(float(old), "float64")
        axes.append(ResizedAxis(1 + place, old, new, extent, count, above, below, True))
    by = Interpolation(
        "linear" if kernel == "triangle" else "cubic",
        "half_pixel",
        alpha=-0.5,
        exclude_outside=True,
        antialias=node.flag("antialias", True),
    )
    return axis_by_axis(node, node.as_dtype(data, "float32"), axes, by)


@table("CropAndResize")
def crop_and_resize(node: Node, data: Expr, boxes: Expr, images: Expr, size: Expr) -> Expr:
    sizes = tuple(int(one) for one in node.numbers(size, "the size"))
    method = node.choice("method", "bilinear", ("bilinear", "nearest"))
    return op.image.crop_and_resize(
        node.as_dtype(data, "float32"),
        boxes,
        in_range(node, images, data),
        sizes,
        "NHWC",
        "bilinear" if method == "bilinear" else "nearest_neighbor",
        node.real("extrapolation_value"),
    )


@table("AdjustContrastv2")
def adjust_contrast(node: Node, images: Expr, factor: Expr) -> Expr:
    """Each channel is scaled around its mean."""
    axes = (node.rank(images) - 3, node.rank(images) - 2)
    mean = node.let(op.mean(images, axis=axes, keepdims=True))
    return (images - mean) * op.cast(factor, node.dtype(images)) + mean


# --- colors --------------------------------------------------------------------------------------


@table("RGBToHSV")
def rgb_to_hsv(node: Node, data: Expr) -> Expr:
    red, green, blue = node.fields(op.split(data, 3, axis=-1).astuple(), 3)
    zero = node.number(0, data)
    most = node.let(op.maximum(op.maximum(red, green), blue))
    range_ = node.let(most - op.minimum(op.minimum(red, green), blue))
    is_flat = node.let(op.equal(range_, zero))
    by = node.let(node.number(1 / 6, data) / op.where(is_flat, node.number(1, data), range_))
    third, two = node.number(1 / 3, data), node.number(2 / 3, data)
    of_red = by * (green - blue)
    of_green = by * (blue - red) + third
    of_blue = by * (red - green) + two
    other = op.where(op.equal(green, most), of_green, of_blue)
    turned = node.let(op.where(op.equal(red, most), of_red, other))
    angle = node.let(op.where(is_flat, zero, turned))
    hue = op.where(angle < zero, angle + node.number(1, data), angle)
    depth = op.where(most > zero, range_ / op.where(most > zero, most, node.number(1, data)), zero)
    return op.concatenate([hue, depth, most], axis=-1)


@table("HSVToRGB")
def hsv_to_rgb(node: Node, data: Expr) -> Expr:
    hue, depth, value = node.fields(op.split(data, 3, axis=-1).astuple(), 3)
    six = node.let(hue * node.number(6, data))
    one = node.number(1, data)

    def side(center: float, sign: int) -> Expr:
        away = op.abs(six - node.number(center, data)) - one
        return op.clip(away if sign > 0 else node.number(1, data) - away, 0.0, 1.0)

    red, green, blue = side(3, 1), side(2, -1), side(4, -1)
    parts = [((part - one) * depth + one) * value for part in (red, green, blue)]
    return op.concatenate(parts, axis=-1)


@table("AdjustHue", "AdjustSaturation")
def adjust_color(node: Node, images: Expr, by: Expr) -> Expr:
    """AdjustHue, AdjustSaturation: rotates the hue, or scales the saturation, limited to 1."""
    colors = node.let(rgb_to_hsv(node, images))
    hue, depth, value = node.fields(op.split(colors, 3, axis=-1).astuple(), 3)
    change = op.cast(node.scalar(by), node.dtype(images))
    if node.operator == "AdjustHue":
        turned = node.let(hue + change)
        hue = node.let(turned - op.floor(turned))
    else:
        depth = node.let(op.clip(depth * change, 0.0, 1.0))
    return hsv_to_rgb(node, node.let(op.concatenate([hue, depth, value], axis=-1)))
