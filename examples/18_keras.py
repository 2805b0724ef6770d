"""Run a model of Keras: pass a .keras or .h5 file, or see what becomes of a small recurrent one.

The file is read without Keras, which only makes the small model here.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import relay

if len(sys.argv) > 1:
    print(relay.compile(sys.argv[1]))
    sys.exit()

os.environ.setdefault("KERAS_BACKEND", "torch")
try:
    import keras
except ImportError:
    sys.exit("needs Keras: pip install keras torch")

tokens = keras.Input((None,), dtype="int32", name="tokens")
x = keras.layers.Embedding(100, 16, mask_zero=True)(tokens)
x = keras.layers.Bidirectional(keras.layers.LSTM(8))(x)
model = keras.Model(tokens, keras.layers.Dense(3, activation="softmax")(x))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.keras"
    model.save(path)
    exe = relay.compile(path)

print(exe)
rng = np.random.default_rng(0)
for batch, steps in ((1, 4), (3, 12)):
    words = rng.integers(0, 100, (batch, steps)).astype("int32")
    scores = exe(words)
    wanted = model(keras.ops.convert_to_tensor(words), training=False)
    error = np.abs(scores - keras.ops.convert_to_numpy(wanted)).max()
    print(f"{batch} x {steps} words: largest difference from Keras {error:.1e}")
    assert error < 1e-5
print("a call with 3 x 12 words takes", exe.benchmark(words))
