"""`from relay.compat.tvm.contrib import relay_viz`: pictures of programs."""

from relay.viz import DotPlotter as DotPlotter
from relay.viz import DotVizParser as DotVizParser
from relay.viz import RelayVisualizer as RelayVisualizer
from relay.viz import TermPlotter as TermPlotter
from relay.viz import TermVizParser as TermVizParser
