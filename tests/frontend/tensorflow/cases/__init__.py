"""Operators of TensorFlow as test cases, with attributes other than defaults; a file per family."""

from tests.frontend.tensorflow.cases.convolutions import (
    convolutions,
    normalization,
    pools,
    transposed,
)
from tests.frontend.tensorflow.cases.elementwise import (
    activations,
    binary,
    quantized,
    special,
    unary,
)
from tests.frontend.tensorflow.cases.further import further
from tests.frontend.tensorflow.cases.images import regions, resizing
from tests.frontend.tensorflow.cases.matrices import matrices, products, spectral
from tests.frontend.tensorflow.cases.positions import segments, selection, writing
from tests.frontend.tensorflow.cases.shapes import parts, reductions, shapes
from tests.frontend.tensorflow.models import Case


def all_cases() -> list[Case]:
    families = (
        unary,
        binary,
        activations,
        convolutions,
        transposed,
        pools,
        normalization,
        products,
        shapes,
        parts,
        reductions,
        selection,
        writing,
        segments,
        resizing,
        regions,
        matrices,
        spectral,
        quantized,
        special,
        further,
    )
    return [one for family in families for one in family()]
