"""Biases, normalization, dropout and losses, in float64 with PyTorch."""

import numpy as np
import torch
import torch.nn.functional as F


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def last(data, axis):
    return wide(data).movedim(axis, -1)


def second(data, axis):
    return wide(data).movedim(axis, 1)


def affine(gamma, beta, center, scale):
    """The parameters as far as they count."""
    return (
        wide(gamma) if scale else torch.ones(len(gamma), dtype=torch.float64),
        wide(beta) if center else torch.zeros(len(beta), dtype=torch.float64),
    )


def bias_add(data, bias, axis):
    if data.dtype.kind == "i":
        return (torch.from_numpy(data).movedim(axis, -1) + torch.from_numpy(bias)).movedim(-1, axis)
    return (last(data, axis) + wide(bias)).movedim(-1, axis)


def batch_norm(data, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale):
    weight, bias = affine(gamma, beta, center, scale)
    normal = F.batch_norm(
        second(data, axis), wide(moving_mean), wide(moving_var), weight, bias, eps=epsilon
    )
    return normal.movedim(1, axis), moving_mean, moving_var


def batch_norm_training(
    data, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale, momentum
):
    weight, bias = affine(gamma, beta, center, scale)
    mean, var = wide(moving_mean), wide(moving_var)  # torch writes them
    front = second(data, axis)
    normal = F.batch_norm(front, mean, var, weight, bias, True, momentum, epsilon)
    return normal.movedim(1, axis), mean, var


def layer_norm(data, gamma, beta, axis, epsilon, center, scale):
    weight, bias = affine(gamma, beta, center, scale)
    return F.layer_norm(last(data, axis), gamma.shape, weight, bias, epsilon).movedim(-1, axis)


def instance_norm(data, gamma, beta, axis, epsilon, center, scale):
    weight, bias = affine(gamma, beta, center, scale)
    normal = F.instance_norm(second(data, axis), weight=weight, bias=bias, eps=epsilon)
    return normal.movedim(1, axis)


def group_norm(data, gamma, beta, num_groups, axis, epsilon, center, scale):
    weight, bias = affine(gamma, beta, center, scale)
    return F.group_norm(second(data, axis), num_groups, weight, bias, epsilon).movedim(1, axis)


def l2_normalize(data, eps, axis):
    axes = tuple(range(data.ndim)) if axis is None else axis
    length = torch.linalg.vector_norm(wide(data), dim=axes, keepdim=True)
    return wide(data) / length.clamp(min=eps**0.5)


def lrn(data, size, axis, bias, alpha, beta):
    return F.local_response_norm(second(data, axis), size, alpha, beta, bias).movedim(1, axis)


def nll_loss(predictions, targets, weights, reduction, ignore_index):
    return F.nll_loss(
        wide(predictions),
        torch.from_numpy(targets.astype(np.int64)),
        wide(weights),
        ignore_index=ignore_index,
        reduction=reduction,
    )


def cross_entropy_with_logits(x, y):
    return -(wide(x) * wide(y)).sum(1).mean()


ORACLES = {
    "nn.bias_add": bias_add,
    "nn.batch_norm": batch_norm,
    "nn.batch_norm_training": batch_norm_training,
    "nn.layer_norm": layer_norm,
    "nn.instance_norm": instance_norm,
    "nn.group_norm": group_norm,
    "nn.l2_normalize": l2_normalize,
    "nn.lrn": lrn,
    "nn.dropout": lambda data, rate: (data, np.ones(data.shape)),
    "nn.nll_loss": nll_loss,
    "nn.cross_entropy": lambda x, y: cross_entropy_with_logits(np.log(x.astype(np.float64)), y),
    "nn.cross_entropy_with_logits": cross_entropy_with_logits,
}
