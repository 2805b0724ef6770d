"""The interpreter, which defines the meaning of Relay programs (`evaluate.py`)."""

from relay.interpreter.values import ConstructorValue as ConstructorValue
from relay.interpreter.values import RefValue as RefValue
from relay.interpreter.values import TupleValue as TupleValue
