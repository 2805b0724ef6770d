"""Object detection as loops over boxes, written from the definitions."""

import itertools
import math

import numpy as np


def iou(a, b, pixel=0.0):
    """Intersection over union of two boxes, given by opposite corners."""
    a0, a1 = sorted((a[0], a[2])), sorted((a[1], a[3]))
    b0, b1 = sorted((b[0], b[2])), sorted((b[1], b[3]))
    sides = [max(min(p[1], q[1]) - max(p[0], q[0]) + pixel, 0.0) for p, q in ((a0, b0), (a1, b1))]
    shared = sides[0] * sides[1]
    area = lambda p, q: (p[1] - p[0] + pixel) * (q[1] - q[0] + pixel)  # noqa: E731
    union = area(a0, a1) + area(b0, b1) - shared
    return shared / union if union > 0 else 0.0


def greedy(candidates, most, suppresses):
    """Of (score, name) pairs, those that none chosen before suppresses, best first."""
    chosen = []
    for _, name in sorted(candidates, key=lambda pair: -pair[0]):
        if len(chosen) != most and not any(suppresses(other, name) for other in chosen):
            chosen.append(name)
    return chosen


def get_valid_counts(data, threshold, score_threshold, id_index, score_index):
    counts, rows, indices = [], [], []
    for image in data.astype(np.float64):
        kept = [
            i
            for i, row in enumerate(image)
            if row[score_index] > threshold and (id_index < 0 or row[id_index] >= 0)
        ]
        blank = len(image) - len(kept)
        counts.append(len(kept))
        rows.append([*image[kept], *[[-1] * data.shape[2]] * blank])
        indices.append(kept + [-1] * blank)
    return (
        np.array(counts),
        np.array(rows).reshape(data.shape),
        np.array(indices).reshape(data.shape[:2]),
    )


def non_max_suppression(
    data,
    valid_count,
    indices,
    max_output_size,
    iou_threshold,
    force_suppress,
    top_k,
    coord_start,
    score_index,
    id_index,
    return_indices,
    invalid_to_bottom,
):
    all_rows, all_names, counts = [], [], []
    for image, valid, names in zip(data.astype(np.float64), valid_count, indices, strict=True):
        candidates = [
            (image[i][score_index], i)
            for i in range(valid)
            if id_index < 0 or image[i][id_index] >= 0
        ]
        candidates.sort(key=lambda pair: -pair[0])
        if top_k > 0:
            candidates = candidates[:top_k]

        def suppresses(i, j, image=image):
            same = force_suppress or id_index < 0 or image[i][id_index] == image[j][id_index]
            boxes = (image[k][coord_start : coord_start + 4] for k in (i, j))
            return same and iou_threshold > 0 and iou(*boxes) >= iou_threshold

        chosen = greedy(candidates, int(max_output_size), suppresses)
        if invalid_to_bottom:
            order = chosen
        else:
            order = [i if i in chosen else None for _, i in candidates]
        rows = [[-1] * data.shape[2] if i is None else image[i] for i in order]
        all_rows.append(rows + [[-1] * data.shape[2]] * (len(image) - len(rows)))
        all_names.append([names[i] for i in chosen] + [-1] * (len(image) - len(chosen)))
        counts.append([len(chosen)])
    return (np.array(all_names), np.array(counts)) if return_indices else np.array(all_rows)


def all_class(boxes, scores, most, iou_threshold, score_threshold, output_format):
    batch, classes, count = scores.shape
    found = []
    for n, c in np.ndindex(batch, classes):
        candidates = [
            (s, i) for i, s in enumerate(scores[n, c].astype(float)) if s > score_threshold
        ]

        def suppresses(i, j, n=n):
            overlap = iou(*boxes[n, [i, j]].astype(float))
            return 0 <= iou_threshold < overlap

        found += [(n, c, i) for i in greedy(candidates, int(most), suppresses)]
    if output_format == "onnx":
        blank = [(-1, -1, -1)] * (batch * classes * count - len(found))
        return np.array(found + blank), np.array([len(found)])
    lists = [[(c, i) for m, c, i in found if m == n] for n in range(batch)]
    width = classes * count
    return (
        np.array([kept + [(0, 0)] * (width - len(kept)) for kept in lists]),
        np.array(
            [
                [float(scores[n, c, i]) for c, i in kept] + [0.0] * (width - len(kept))
                for n, kept in enumerate(lists)
            ]
        ),
        np.array([len(kept) for kept in lists]),
    )


def regular(
    boxes,
    scores,
    max_detections_per_class,
    max_detections,
    num_classes,
    iou_threshold,
    score_threshold,
):
    background = scores.shape[2] - num_classes
    results = [[], [], [], []]
    for places, image in zip(boxes.astype(float), scores.astype(float), strict=True):
        found = []
        for c in range(num_classes):
            values = image[:, c + background]
            candidates = [(s, i) for i, s in enumerate(values) if s >= score_threshold]
            chosen = greedy(
                candidates,
                max_detections_per_class,
                lambda i, j, places=places: iou(places[i], places[j]) > iou_threshold,
            )
            found += [(values[i], c, i) for i in chosen]
        found = sorted(found, key=lambda entry: -entry[0])[:max_detections]
        blank = max_detections - len(found)
        results[0].append([*(places[i] for *_, i in found), *[[0] * 4] * blank])
        results[1].append([c for _, c, _ in found] + [0] * blank)
        results[2].append([s for s, *_ in found] + [0] * blank)
        results[3].append(len(found))
    return tuple(map(np.array, results))


def multibox_prior(data, sizes, ratios, steps, offsets, clip):
    height, width = data.shape[2:]
    shapes = [(s, 1.0) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    boxes = []
    for i, j in itertools.product(range(height), range(width)):
        y = (i + offsets[0]) * (steps[0] if steps[0] > 0 else 1 / height)
        x = (j + offsets[1]) * (steps[1] if steps[1] > 0 else 1 / width)
        for size, ratio in shapes:
            # relative to the width of the map, as the height of the box is to its height
            w = size * math.sqrt(ratio) * height / width
            h = size / math.sqrt(ratio)
            box = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
            boxes.append([min(max(v, 0), 1) for v in box] if clip else box)
    return np.array(boxes).reshape(1, -1, 4)


def multibox_transform_loc(cls_prob, loc_pred, anchor, clip, threshold, variances, keep_background):
    all_rows, counts = [], []
    for image, moves in zip(cls_prob.astype(float), loc_pred.astype(float), strict=True):
        rows = []
        for a in range(image.shape[1]):
            classes = list(range(0 if keep_background else 1, len(image)))
            if not classes:
                continue
            best = max(classes, key=lambda c: image[c, a])
            number = best if image[best, a] >= threshold else 0
            if number == 0 and not keep_background:
                continue
            left, top, right, bottom = anchor[0, a].astype(float)
            dx, dy, dw, dh = moves[4 * a : 4 * a + 4] * variances
            x = (left + right) / 2 + dx * (right - left)
            y = (top + bottom) / 2 + dy * (bottom - top)
            w, h = math.exp(dw) * (right - left), math.exp(dh) * (bottom - top)
            box = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
            if clip:
                box = [min(max(v, 0), 1) for v in box]
            rows.append([number - (not keep_background), image[best, a], *box])
        counts.append(len(rows))
        all_rows.append(rows + [[-1] * 6] * (image.shape[1] - len(rows)))
    return np.array(all_rows, float), np.array(counts)


def bilinear(plane, y, x):
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    i, j = min(int(y), height - 1), min(int(x), width - 1)
    below, beside = min(i + 1, height - 1), min(j + 1, width - 1)
    upper = plane[i, j] * (1 - (x - j)) + plane[i, beside] * (x - j)
    lower = plane[below, j] * (1 - (x - j)) + plane[below, beside] * (x - j)
    return upper * (1 - (y - i)) + lower * (y - i)


def largest_term(plane, y, x):
    """The largest of what the neighbors of a place contribute: one plane for each of them."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    shares = [
        (plane[a, b], (1 - abs(y - a)) * (1 - abs(x - b)))
        for a in (math.floor(y), math.floor(y) + 1)
        for b in (math.floor(x), math.floor(x) + 1)
        if a < height and b < width
    ]
    # a neighbor that does not exist weighs nothing
    return max([value * share for value, share in shares] + [0.0] * (4 - len(shares)))


def regions(data, rois, layout, spatial_scale):
    images = data.astype(float).transpose([layout.index(letter) for letter in "NCHW"])
    for number, *box in rois.astype(float):
        yield images[min(max(int(number), 0), len(images) - 1)], [v * spatial_scale for v in box]


def roi_align(data, rois, pooled_size, spatial_scale, sample_ratio, layout, mode, aligned):
    result = []
    for image, box in regions(data, rois, layout, spatial_scale):
        left, top, right, bottom = (v - 0.5 * aligned for v in box)
        height, width = bottom - top, right - left
        if not aligned:
            height, width = max(height, 1), max(width, 1)
        rows, columns = pooled_size
        down = sample_ratio if sample_ratio > 0 else max(math.ceil(height / rows), 0)
        across = sample_ratio if sample_ratio > 0 else max(math.ceil(width / columns), 0)
        pooled = np.zeros((len(image), rows, columns))
        for c, i, j in np.ndindex(pooled.shape):
            values = [
                (largest_term if mode == "max_term" else bilinear)(
                    image[c],
                    top + height / rows * (i + (a + 0.5) / down),
                    left + width / columns * (j + (b + 0.5) / across),
                )
                for a, b in np.ndindex(down, across)
            ]
            if values:
                pooled[c, i, j] = sum(values) / len(values) if mode == "avg" else max(values)
        result.append(pooled)
    return np.array(result).transpose(["NCHW".index(letter) for letter in layout])


def half_away(value):
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def roi_pool(data, rois, pooled_size, spatial_scale, layout):
    result = []
    for image, box in regions(data, rois, layout, spatial_scale):
        left, top, right, bottom = map(half_away, box)
        height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
        rows, columns = pooled_size
        pooled = np.zeros((len(image), rows, columns))
        for c, i, j in np.ndindex(pooled.shape):
            cell = [
                image[c, y, x]
                for y in range(
                    top + math.floor(i * height / rows), top + math.ceil((i + 1) * height / rows)
                )
                for x in range(
                    left + math.floor(j * width / columns),
                    left + math.ceil((j + 1) * width / columns),
                )
                if 0 <= y < image.shape[1] and 0 <= x < image.shape[2]
            ]
            pooled[c, i, j] = max(cell, default=0.0)
        result.append(pooled)
    return np.array(result).transpose(["NCHW".index(letter) for letter in layout])


def proposal(
    cls_prob,
    bbox_pred,
    im_info,
    scales,
    ratios,
    feature_stride,
    threshold,
    rpn_pre_nms_top_n,
    rpn_post_nms_top_n,
    rpn_min_size,
    iou_loss,
):
    count = len(scales) * len(ratios)
    batch, _, height, width = cls_prob.shape
    result = []
    for n in range(batch):
        tall, wide, scale = map(float, im_info[n])
        found = []
        for i, j, k in np.ndindex(height, width, count):
            ratio, size = ratios[k // len(scales)], scales[k % len(scales)]
            w = math.floor(math.sqrt(math.floor(feature_stride**2 / ratio)) + 0.5)
            h = math.floor(w * ratio + 0.5) * size
            w *= size
            x, y = (feature_stride * (2 * p + 1) / 2 - 0.5 for p in (j, i))
            deltas = [float(bbox_pred[n, 4 * k + d, i, j]) for d in range(4)]
            box = [x - (w - 1) / 2, y - (h - 1) / 2, x + (w - 1) / 2, y + (h - 1) / 2]
            if iou_loss:
                box = [v + d for v, d in zip(box, deltas, strict=True)]
            else:
                x, y = x + deltas[0] * w, y + deltas[1] * h
                w, h = w * math.exp(deltas[2]), h * math.exp(deltas[3])
                box = [x - (w - 1) / 2, y - (h - 1) / 2, x + (w - 1) / 2, y + (h - 1) / 2]
            box = [
                max(min(v, e - 1), 0.0) for v, e in zip(box, (wide, tall, wide, tall), strict=True)
            ]
            score = float(cls_prob[n, count + k, i, j])
            least = rpn_min_size * scale
            if box[2] - box[0] + 1 < least or box[3] - box[1] + 1 < least:
                box = [
                    box[0] - least / 2,
                    box[1] - least / 2,
                    box[2] + least / 2,
                    box[3] + least / 2,
                ]
                score = -1.0
            if i >= int(tall / feature_stride) or j >= int(wide / feature_stride):
                score = -1.0
            found.append((score, box))
        found.sort(key=lambda pair: -pair[0])
        if rpn_pre_nms_top_n > 0:
            found = found[:rpn_pre_nms_top_n]
        boxes = [box for _, box in found]
        candidates = [(score, i) for i, (score, _) in enumerate(found)]
        kept = greedy(
            candidates, -1, lambda i, j, boxes=boxes: iou(boxes[i], boxes[j], 1.0) > threshold
        )
        for i in range(rpn_post_nms_top_n):
            result.append([n, *boxes[kept[i % len(kept)]]])
    return np.array(result)


def yolo_reorg(data, stride):
    """Darknet's loop over flat memory."""
    batch, channels, height, width = data.shape
    flat = data.reshape(-1).astype(float)
    fewer = channels // stride**2
    found = []
    for b, k, j, i in np.ndindex(data.shape):
        c, offset = k % fewer, k // fewer
        x, y = i * stride + offset % stride, j * stride + offset // stride
        found.append(flat[x + width * stride * (y + height * stride * (c + fewer * b))])
    shape = (batch, channels * stride**2, height // stride, width // stride)
    return np.array(found).reshape(shape)


ORACLES = {
    "vision.get_valid_counts": get_valid_counts,
    "vision.non_max_suppression": non_max_suppression,
    "vision.all_class_non_max_suppression": all_class,
    "vision.regular_non_max_suppression": regular,
    "vision.multibox_prior": multibox_prior,
    "vision.multibox_transform_loc": multibox_transform_loc,
    "vision.roi_align": roi_align,
    "vision.roi_pool": roi_pool,
    "vision.proposal": proposal,
    "vision.yolo_reorg": yolo_reorg,
}
