"""Models of TFLite (LiteRT) as modules of Relay.

mod, params = relay.frontend.from_tflite("model.tflite")
"""

from relay.frontend.tflite.importer import from_tflite

__all__ = ["from_tflite"]
