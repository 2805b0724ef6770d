"""Sums of products: PyTorch's einsum in float64."""

import numpy as np
import torch


def einsum(data, equation):
    operands = [torch.from_numpy(np.array(d, np.float64)) for d in data]
    return torch.einsum(equation, *operands).numpy()


ORACLES = {"einsum": einsum}
