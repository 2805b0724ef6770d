"""The interpreter: what Relay programs mean. `evaluate.py` is the definition, in one sitting."""

from relay.interpreter.values import ConstructorValue as ConstructorValue
from relay.interpreter.values import RefValue as RefValue
from relay.interpreter.values import TupleValue as TupleValue
