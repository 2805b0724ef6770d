"""Models of TensorFlow as modules of Relay.

mod, params = relay.frontend.from_tensorflow("saved_model_folder")
"""

from relay.frontend.tensorflow.importer import from_tensorflow

__all__ = ["from_tensorflow"]
