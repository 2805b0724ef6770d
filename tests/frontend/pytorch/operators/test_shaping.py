"""Views, slices and joined tensors agree with torch, also where sizes are open."""

from __future__ import annotations

import torch

from tests.support.torch_agreement import Functions, agree

# of a tensor (n, 6, m)
OPEN: Functions = {
    "view": lambda x: x.view(x.shape[0], 2, 3, x.shape[2]),
    "merged": lambda x: x.reshape(-1, x.shape[2]),
    "swapped sizes": lambda x: x.reshape(x.shape[2], -1, x.shape[0]),
    "flatten": lambda x: x.flatten(1),
    "all": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (3, -1)),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(-1, 0),
    "movedim": lambda x: x.movedim(0, 2),
    "unsqueeze": lambda x: x.unsqueeze(-2),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "expand": lambda x: x[:, :1].expand(-1, 4, -1),
    "expand in front": lambda x: x.expand(2, *x.shape),
    "expand_as": lambda x: x[:, :1].expand_as(x),
    "slice": lambda x: x[1:, ::2, :-1],
    "from the back": lambda x: x[-2:, -1],
    "select": lambda x: x[:, -1] + x[:, 2],
    "narrow": lambda x: x.narrow(1, 2, 3),
    "split": lambda x: x.split([1, 2, 3], 1),
    "chunk": lambda x: x.chunk(3, 1),
    "unbind": lambda x: x.unbind(1),
    "cat": lambda x: torch.cat([x, x * 2], 0),
    "stack": lambda x: torch.stack([x, -x], 1),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "tile": lambda x: x.tile(2),
    "interleaved": lambda x: x.repeat_interleave(2, 0),
    "roll": lambda x: x.roll((1, -1), (0, 2)),
    "flip": lambda x: x.flip(0, 2),
    "diagonal": lambda x: torch.diagonal(x, 1, 1, 2),
    "diag_embed": lambda x: torch.diag_embed(x, -1),
    "unfold": lambda x: x.unfold(1, 3, 2),
    "select_scatter": lambda x: x.select_scatter(x[:, 0] * 2, 1, 3),
    "slice_scatter": lambda x: x.slice_scatter(x[:, :2] + 1, 1, 0, 4, 2),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x.diagonal(0, 0, 1) * 3, 0, 0, 1),
    "tril": lambda x: x.tril(1) + x.triu(-1),
    "zeros": lambda x: x.new_zeros(x.shape[0], 2) + torch.zeros(x.shape[0], 1),
    "arange": lambda x: torch.arange(x.shape[0]) + torch.full((1,), x.shape[2]),
    "ones": lambda x: torch.ones_like(x, dtype=torch.int32),
    "eye": lambda x: torch.eye(x.shape[0], 3),
    "size": lambda x: x.mean(0) * x.shape[0] + (x.shape[2] // 2),
}

# of a tensor (4, 5, 6)
STATIC: Functions = {
    "rot90": lambda x: torch.rot90(x[:, :, 0], 3) + torch.rot90(x[:, :, 1]),
    "meshgrid": lambda x: torch.meshgrid(x[:, 0, 0], x[0, :, 0], indexing="xy"),
    "hstack": lambda x: torch.hstack([x, x]),
    "dstack": lambda x: torch.dstack([x[:, :, 0], x[:, :, 1]]),
    "block_diag": lambda x: torch.block_diag(x[0], x[0, 0], x[0, 0, 0]),
    "cartesian_prod": lambda x: torch.cartesian_prod(x[0, 0], x[0, 1]),
    "as_strided": lambda x: x.as_strided((2, 3), (4, 5), 1),
    "as_strided_scatter": lambda x: x.as_strided_scatter(x[0, :2, :3], (2, 3), (4, 5), 1),
    "tensor_split": lambda x: torch.tensor_split(x, 4, 1) + torch.tensor_split(x, (1, 3), 2),
    "hsplit": lambda x: torch.hsplit(x, (2,)),
    "rolled": lambda x: x.roll(7),
    "empty": lambda x: torch.cat([x[:0], x[1:1]], 1).reshape(0, 3, 3),
    "linspace": lambda x: torch.linspace(1, 4, 7) + torch.logspace(0, 1, 7),
    "tril_indices": lambda x: torch.tril_indices(3, 4, 1) * torch.triu_indices(4, 4, 1)[:, :1],
    "vander": lambda x: torch.vander(x[0, 0], 3),
    "diag": lambda x: torch.diag(x[0, 0], 1)[:, :3] + torch.diag(x[0])[:, None].sum(),
    "bits": lambda x: x.view(torch.int32) + x.to(torch.float64).view(torch.int32)[..., ::2],
    "window": lambda x: torch.hann_window(5) + torch.kaiser_window(5),
    "arange": lambda x: torch.arange(1, 2.5, 0.3) + torch.arange(9, 4, -1),
    "broadcast": lambda x: torch.broadcast_tensors(x, x[:, :1], x[0, 0]),
    "trace": lambda x: x[0].trace(),
    "squeeze": lambda x: x[:1, :, :1].squeeze(),
}


def test_open_sizes_stay_open() -> None:
    others = [(torch.randn(7, 6, 8),)]
    agree(OPEN, torch.randn(4, 6, 5), others=others, open_axes=[{0: "n", 2: "m"}])


def test_shapes_of_numbers_agree() -> None:
    agree(STATIC, torch.randn(4, 5, 6))


def test_a_size_that_the_program_computes_is_unknown_before_it_runs() -> None:
    def found(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        number = count.item()
        torch._check(number >= 1)
        torch._check(number <= x.shape[0])
        return x[:number] * number + torch.arange(number)[:, None]

    data = torch.randn(6, 2)
    agree({"rows": found}, data, torch.tensor(3), others=[(data, torch.tensor(5))], native=True)
