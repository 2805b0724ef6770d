"""Models of PyTorch as modules of Relay.

mod, params = relay.frontend.from_pytorch(model, (example,))
"""

from relay.frontend.pytorch.autograd import differentiable
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.importer import from_pytorch

__all__ = ["Converters", "differentiable", "from_pytorch"]
