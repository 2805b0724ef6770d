"""A graph as a picture: DOT for Graphviz, SVG, PNG, or text for a terminal."""

from __future__ import annotations

import io
from html import escape

from relay.errors import RelayError
from relay.viz.graph import OUTSIDE, Graph, Node
from relay.viz.layout import Rectangle, lay_out

COLORS = {
    "op": "#dbeafe",
    "call": "#ede9fe",
    "parameter": "#dcfce7",
    "fused": "#fef9c3",
    "function": "#f8fafc",
    "if": "#ffe4e6",
    "match": "#ffe4e6",
    "branch": "#fff7ed",
}
OTHER = "#f1f5f9"


def dot(graph: Graph, name: str = "relay") -> str:
    """Boxes as clusters."""
    lines = [f"digraph {_quoted(name)} {{", "  compound=true; node [shape=box, style=filled];"]
    inside = graph.children()
    pending: list[tuple[int, str] | str] = [(n, "  ") for n in reversed(inside[OUTSIDE])]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            lines.append(one)
            continue
        number, indent = one
        node = graph.nodes[number]
        color = COLORS.get(node.kind, OTHER)
        own = f"n{number} [label={_quoted(_label(node))}, fillcolor={_quoted(color)}];"
        if not inside.get(number):
            lines.append(f"{indent}{own}")
            continue
        lines.append(f"{indent}subgraph cluster_{number} {{")
        lines.append(f"{indent}  label={_quoted(node.label)};")
        # an edge ends at a node: this one stands for the box
        lines.append(f"{indent}  n{number} [shape=point, style=invis];")
        pending.append(f"{indent}}}")
        pending += [(inner, indent + "  ") for inner in reversed(inside[number])]
    for edge in graph.edges:
        lines.append(f"  n{edge.source} -> n{edge.target} [tooltip={_quoted(edge.type)}];")
    return "\n".join([*lines, "}", ""])


def _label(node: Node) -> str:
    return f"{node.label}\n{node.type}" if node.type and len(node.type) < 60 else node.label


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def svg(graph: Graph) -> str:
    """All boxes open; types are tooltips."""
    layout = lay_out(graph)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{layout.width:.0f}" '
        f'height="{layout.height:.0f}" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" '
        'font-family="ui-monospace, monospace" font-size="11">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    boxes = {node.parent for node in graph.nodes}
    for node in graph.nodes:
        place = layout.places[node.number]
        is_box = node.number in boxes
        x, y = place.x + place.width / 2, place.y + (13 if is_box else place.height / 2 + 4)
        title = escape("\n".join(filter(None, (node.text, node.type, *node.reads))))
        parts.append(
            f'<g><title>{title}</title><rect x="{place.x:.1f}" y="{place.y:.1f}" '
            f'width="{place.width:.1f}" height="{place.height:.1f}" rx="4" '
            f'fill="{COLORS.get(node.kind, OTHER)}" stroke="#94a3b8"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="#0f172a">'
            f"{escape(node.label)}</text></g>"
        )
    for source, target, text in layout.edges:
        x1, y1, x2, y2 = _line(layout.places[source], layout.places[target])
        middle = (y1 + y2) / 2
        parts.append(
            f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{middle:.1f} {x2:.1f},{middle:.1f} '
            f'{x2:.1f},{y2:.1f}" fill="none" stroke="#64748b"><title>{escape(text)}</title></path>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _line(source: Rectangle, target: Rectangle) -> tuple[float, float, float, float]:
    """From the lower side of a place to the upper side of another."""
    return (
        source.x + source.width / 2,
        source.y + source.height,
        target.x + target.width / 2,
        target.y,
    )


def png(graph: Graph) -> bytes:
    """The picture of `svg` as pixels, drawn by Pillow."""
    try:
        from PIL import Image, ImageColor, ImageDraw
    except ModuleNotFoundError:
        raise RelayError("pictures in PNG need the package pillow: pip install pillow") from None
    layout = lay_out(graph)
    size = (int(layout.width) + 1, int(layout.height) + 1)
    if size[0] * size[1] > 2**28:
        raise RelayError(
            f"a picture of {size[0]} x {size[1]} pixels is too large; SVG has no limit"
        )
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    boxes = {node.parent for node in graph.nodes}
    for node in graph.nodes:
        place = layout.places[node.number]
        corners = (place.x, place.y, place.x + place.width, place.y + place.height)
        color = ImageColor.getrgb(COLORS.get(node.kind, OTHER))
        draw.rounded_rectangle(corners, 4, fill=color, outline=(148, 163, 184))
        below = 9 if node.number in boxes else place.height / 2
        middle = place.x + place.width / 2, place.y + below
        label = node.label.encode("latin-1", "replace").decode("latin-1")
        draw.text(middle, label, fill=(15, 23, 42), anchor="mm")
    for source, target, _ in layout.edges:
        draw.line(_line(layout.places[source], layout.places[target]), fill=(100, 116, 139))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def text(graph: Graph) -> str:
    """A line for each node, in an order of evaluation, boxes indented."""
    used: dict[int, list[int]] = {node.number: [] for node in graph.nodes}
    for edge in graph.edges:
        if edge.source not in used[edge.target]:
            used[edge.target].append(edge.source)
    inside = graph.children()
    lines = []
    pending = [(number, "") for number in reversed(inside[OUTSIDE])]
    while pending:
        number, indent = pending.pop()
        node = graph.nodes[number]
        reads = [*(f"%n{one}" for one in used[number]), *node.reads]
        own = f"{indent}%n{number} {node.label}"
        own += f" <- {', '.join(reads)}" if reads else ""
        lines.append(own + (f"  {node.type}" if node.type else ""))
        pending += [(inner, indent + "  ") for inner in reversed(inside.get(number, ()))]
    return "\n".join(lines)
