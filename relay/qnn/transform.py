"""The passes of quantized networks, by the names they have among themselves.

relay.qnn.transform.Legalize()           relay.transform.QnnLegalize()
relay.qnn.transform.CanonicalizeOps()    relay.transform.QnnCanonicalize()
"""

from relay.transform.quantized.qnn_canonicalize import QnnCanonicalize as CanonicalizeOps
from relay.transform.quantized.qnn_legalize import QnnLegalize as Legalize

__all__ = ["CanonicalizeOps", "Legalize"]
