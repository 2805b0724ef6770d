"""Errors by the names that tvm has."""

from relay.errors import DiagnosticError as DiagnosticError
from relay.errors import OperatorError as OpError
from relay.errors import RelayError as TVMError

__all__ = ["DiagnosticError", "OpError", "TVMError"]
