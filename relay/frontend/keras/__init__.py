"""Models of Keras as modules of Relay.

mod, params = relay.frontend.from_keras("model.keras")
"""

from relay.frontend.keras.importer import from_keras

__all__ = ["from_keras"]
