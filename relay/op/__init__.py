"""The operators, by family. Importing this package fills the operator table."""

from relay.op import elementwise as elementwise
from relay.op.opdef import get as get
