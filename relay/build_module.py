"""What people find under `relay.build_module`; the names live where they belong."""

from relay.driver import build as build
from relay.executors import create_executor as create_executor
from relay.ir.parameters import bind_params_by_name as bind_params_by_name
from relay.pipeline import optimize as optimize

__all__ = ["bind_params_by_name", "build", "create_executor", "optimize"]
