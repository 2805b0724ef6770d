"""What people find under `relay.build_module`; the names live where they belong."""

from relay.ir.parameters import bind_params_by_name as bind_params_by_name
from relay.pipeline import optimize as optimize

__all__ = ["bind_params_by_name", "optimize"]
