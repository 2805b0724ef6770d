"""Where the boxes of a graph go: layers by longest path, one box after the other.

A box is laid out before the box around it, which takes it as one large node. An edge between two
boxes is drawn between their ancestors in the innermost box around both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.viz.graph import OUTSIDE, Graph

ROW, GAP, MARGIN, TITLE = 22.0, 28.0, 10.0, 18.0
LETTER = 6.6  # the width of a letter
SWEEPS = 4


@dataclass
class Rectangle:
    """A rectangle; the corner is relative to the picture."""

    x: float
    y: float
    width: float
    height: float


@dataclass
class Layout:
    """Places of nodes, and the edges to draw: (source, target, type)."""

    places: dict[int, Rectangle] = field(default_factory=dict)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def lay_out(graph: Graph) -> Layout:
    """Places for all nodes; all boxes are open."""
    made = Layout()
    inside = graph.children()
    made.edges = lifted(graph)
    within: dict[int, list[tuple[int, int]]] = {}
    above = [node.parent for node in graph.nodes]
    for source, target, _ in made.edges:
        within.setdefault(above[source], []).append((source, target))
    sizes: dict[int, tuple[float, float]] = {}
    corners: dict[int, tuple[float, float]] = {}  # relative to the box around
    for box in [*reversed([n.number for n in graph.nodes]), OUTSIDE]:
        title = "" if box == OUTSIDE else graph.nodes[box].label
        least = len(title) * LETTER + 2 * MARGIN
        members = inside.get(box, [])
        if not members:
            sizes[box] = least, ROW
            continue
        width, height = _in_layers(members, within.get(box, []), sizes, corners)
        sizes[box] = max(width + 2 * MARGIN, least), height + TITLE + 2 * MARGIN
    for node in graph.nodes:  # boxes come before what is in them
        x, y = corners[node.number]
        if node.parent != OUTSIDE:
            outer = made.places[node.parent]
            x, y = x + outer.x + MARGIN, y + outer.y + TITLE + MARGIN
        else:
            x, y = x + MARGIN, y + MARGIN
        made.places[node.number] = Rectangle(x, y, *sizes[node.number])
    made.width, made.height = sizes[OUTSIDE]
    return made


def lifted(graph: Graph) -> list[tuple[int, int, str]]:
    """Edges between nodes of the same box; what an edge inside of a box comes from or goes to
    stands for it outside."""
    above = [node.parent for node in graph.nodes]
    depth = [0] * len(above)
    for number, parent in enumerate(above):
        depth[number] = 0 if parent == OUTSIDE else depth[parent] + 1
    found: dict[tuple[int, int], str] = {}
    for edge in graph.edges:
        source, target = edge.source, edge.target
        while depth[source] > depth[target]:
            source = above[source]
        while depth[target] > depth[source]:
            target = above[target]
        while above[source] != above[target]:
            source, target = above[source], above[target]
        if source != target:
            found.setdefault((source, target), edge.type)
    return [(source, target, text) for (source, target), text in found.items()]


def _in_layers(
    members: list[int],
    edges: list[tuple[int, int]],
    sizes: dict[int, tuple[float, float]],
    corners: dict[int, tuple[float, float]],
) -> tuple[float, float]:
    """Corners of the members of one box, and the size of all."""
    layer = dict.fromkeys(members, 0)
    for source, target in sorted(edges):
        if source < target:
            layer[target] = max(layer[target], layer[source] + 1)
    rows: dict[int, list[int]] = {}
    for member in members:
        rows.setdefault(layer[member], []).append(member)
    near: dict[int, list[int]] = {member: [] for member in members}
    for source, target in edges:
        near[target].append(source)
        near[source].append(target)
    order = {member: float(i) for row in rows.values() for i, member in enumerate(row)}
    for _ in range(SWEEPS):
        for row in rows.values():
            centers = {m: sum(order[n] for n in near[m]) / len(near[m]) for m in row if near[m]}
            row.sort(key=lambda m, centers=centers: centers.get(m, order[m]))  # type: ignore[misc]
            order |= {member: float(i) for i, member in enumerate(row)}
    widths = {n: sum(sizes[m][0] for m in row) + GAP * (len(row) - 1) for n, row in rows.items()}
    widest, y = max(widths.values()), 0.0
    for number in sorted(rows):
        x = (widest - widths[number]) / 2
        for member in rows[number]:
            corners[member] = x, y
            x += sizes[member][0] + GAP
        y += max(sizes[member][1] for member in rows[number]) + GAP
    return widest, y - GAP
