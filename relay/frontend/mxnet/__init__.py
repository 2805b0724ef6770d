"""Models of MXNet as modules of Relay.

mod, params = relay.frontend.from_mxnet("net-symbol.json", {"data": (1, 3, 224, 224)})
"""

from relay.frontend.mxnet.importer import from_mxnet

__all__ = ["from_mxnet"]
