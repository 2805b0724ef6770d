"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model of ONNX (.onnx), TFLite (.tflite), TensorFlow (.pb or a folder), Keras "
        "(.keras, .h5) or PyTorch (.pt2, .pt), a program (.relay), or an executable (.relayx), "
        "which is code and runs as such.",
        show_default=False,
    ),
]
Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="NAME=N,N,…",
        help="The shape of an input, `x=1,3,224,224`; `n=8` is the size of the named dimension n. "
        "May be repeated.",
        show_default=False,
    ),
]
Machine = Annotated[
    str | None,
    typer.Option(
        "--target", help="What to compile for, `llvm -mcpu=…`.", show_default="this machine"
    ),
]
Level = Annotated[int, typer.Option(min=0, max=4, help="The optimization level.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="The most threads of a call.", show_default="one per core"),
]
Exact = Annotated[bool, typer.Option("--exact", help="Refuse approximations.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="[NAME=]SOURCE",
        help="A .npy file, an image or a .wav file for an input, an .npz file for several, or "
        "`random`, `zeros` or `ones`. May be repeated; without any, inputs are random.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Which random inputs.")]
Mean = Annotated[
    str | None,
    typer.Option(metavar="N,N,…", help="Taken off each channel of images (0 to 1)."),
]
Std = Annotated[
    str | None, typer.Option(metavar="N,N,…", help="What each channel of images is divided by.")
]


def shapes_of(given: Sequence[str] | None) -> dict[str, tuple[int, ...] | int]:
    """`x=1,3` -> {"x": (1, 3)}; `n=8`, one number without a comma, is that of a dimension."""
    found: dict[str, tuple[int, ...] | int] = {}
    for text in given or ():
        name, equals, sizes = text.rpartition("=")
        numbers = sizes.removesuffix(",").split(",") if sizes else []
        if not name or not equals or not all(n.strip().isdecimal() for n in numbers):
            raise typer.BadParameter(
                f"`{text}` is not a shape; write NAME=N,N,… as in x=1,3,224,224, `x=4,` for one "
                "axis and `x=` for none",
                param_hint="--shape",
            )
        if name in found:
            raise typer.BadParameter(f"`{name}` has two shapes", param_hint="--shape")
        is_dimension = len(numbers) == 1 and not sizes.endswith(",")
        found[name] = int(numbers[0]) if is_dimension else tuple(map(int, numbers))
    return found
