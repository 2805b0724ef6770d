"""Looking at programs, and at what the compiler makes of them.

    relay.viz.RelayVisualizer(mod, plotter=relay.viz.DotPlotter()).render("model.svg")

graph.py       a program as boxes in boxes, with edges
layout.py      where the boxes go
pictures.py    DOT, SVG, PNG, text
visualizer.py  parsers and plotters
notebook.py    what notebooks show
trace.py       a run as events in time
collect.py     all that a page about a model shows, as data
page           the page, with its scripts; vendor: the library that lays out its graph
serve.py       the page, served on the loopback address
"""

from relay.viz.visualizer import DefaultVizParser as DefaultVizParser
from relay.viz.visualizer import DotPlotter as DotPlotter
from relay.viz.visualizer import DotVizParser as DotVizParser
from relay.viz.visualizer import Plotter as Plotter
from relay.viz.visualizer import RelayVisualizer as RelayVisualizer
from relay.viz.visualizer import TermPlotter as TermPlotter
from relay.viz.visualizer import TermVizParser as TermVizParser
from relay.viz.visualizer import VizEdge as VizEdge
from relay.viz.visualizer import VizGraph as VizGraph
from relay.viz.visualizer import VizNode as VizNode
from relay.viz.visualizer import VizParser as VizParser
