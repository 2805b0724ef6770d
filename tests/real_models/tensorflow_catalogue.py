"""Saved models and frozen graphs that others have trained (`catalogue.py`)."""

from tests.real_models.catalogue import Drawn, RealModel

_VARIABLES = "variables/variables"


def _saved(
    name: str,
    package: tuple[str, str],
    folder: str,
    digests: tuple[str, ...],
    inputs: dict[str, Drawn],
    *sizes: dict[str, int],
) -> RealModel:
    """A saved model: digests of its graph, of the table of its variables, and of their data."""
    graph, index, *data = digests
    count = len(data)
    beside = {f"{folder}/{_VARIABLES}.index": index}
    for place, digest in enumerate(data):
        beside[f"{folder}/{_VARIABLES}.data-{place:05d}-of-{count:05d}"] = digest
    file = f"{folder}/saved_model.pb"
    return RealModel(name, *package, file, graph, inputs, sizes, beside=beside)


TENSORFLOW_MODELS = (
    _saved(
        "basic pitch",
        ("basic-pitch", "0.4.0"),
        "basic_pitch/saved_models/icassp_2022/nmp",
        (
            "eaa25c91c431c91100c416a2c018663f4c635f28fa19529c4ff5e14c18aa29c9",
            "356aa1a00095cf2dba17386144e8b289cb04195ae090aa7f324312b08220115e",
            "f5d12cd7245fecea0c956c963751f3519c263615ea954b5948d5e8c9c3376f9b",
        ),
        {"input_2": Drawn(("n", 43844, 1))},
        {"n": 1},
        {"n": 2},
    ),
    _saved(
        "face detector",
        ("faceservice", "3.0"),
        "faceservice/model/detector",
        (
            "f3176fca4266f4a539f6c256d37363afc45918727be9d8295cdf264b08b2494a",
            "811422b690db4dd9ab5d58db338ccdb73a8ff22b921f521b4f9395e9d4fe5773",
            "a426a9e4f751242be511b1630656576e0a120b2375ca5d9f74191b9c1a7cb07d",
            "0ed91d8fe86ba759195b29f88bcfdc94cf19677bea63186edf9d7cf69ede94a3",
        ),
        {"images": Drawn(("n", "h", "w", 3))},
        {"n": 1, "h": 128, "w": 128},
        {"n": 2, "h": 224, "w": 160},
    ),
    _saved(
        "face keypoints",
        ("faceservice", "3.0"),
        "faceservice/model/keypoints",
        (
            "3b3c2952dd200321ae6dbfb1995d2a0a774dc2df82cb8907a0782fe251a5745a",
            "e04439fc92de779e98fe714203d54f6f85ed8694ae37ee7fb52086e298e2c687",
            "7b64b22077030ccdd8748c5d2b75d515ec7671490c3509159a8c3afe653a6584",
            "13f186f0f1f64372c629bc13991a932b858cafe2d71c197c8804a3145af4efb6",
        ),
        {"images": Drawn(("n", 160, 160, 3))},
        {"n": 1},
        {"n": 2},
    ),
    RealModel(
        "retinaface",
        "retinaface",
        "1.1.1",
        "retinaface/src/frozen_graph.pb",
        "cf242e8627d0650d02bddbc8a8526944bc4dc69269bd2c1d1e43fb0930f95993",
        {"x": Drawn(("n", "h", "w", 3))},
        ({"n": 1, "h": 128, "w": 160}, {"n": 1, "h": 96, "w": 96}),
    ),
)
