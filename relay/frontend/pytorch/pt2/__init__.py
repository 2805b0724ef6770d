"""`.pt2` files: programs that `torch.export.save` wrote, read without running anything in them.

archive.py      the entries of the file, and its tensors
expressions.py  expressions for sizes, which torch evaluates
program.py      the program, checked before torch's own reader gets it
"""

from relay.frontend.pytorch.pt2.program import load

__all__ = ["load"]
