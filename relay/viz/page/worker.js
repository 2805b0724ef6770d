// Lays out the open boxes of a graph, inner ones first; runs in a worker, after dagre's own text.
"use strict";
const MARGIN = 12, TITLE = 22, GAP = 24;

function components({ members, edges }) { // nodes that edges connect, in order
  const near = new Map(members.map((id) => [id, []])), seen = new Set(), found = [];
  for (const [source, target] of edges) { near.get(source).push(target); near.get(target).push(source); }
  for (const id of members) {
    if (seen.has(id)) continue;
    const part = [id];
    seen.add(id);
    for (let at = 0; at < part.length; at++) for (const other of near.get(part[at])) if (!seen.has(other)) { seen.add(other); part.push(other); }
    found.push(part.sort((a, b) => a - b));
  }
  return found;
}

function layers(members, edges, sizes) { // one component, by dagre
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ nodesep: 16, ranksep: 34, edgesep: 8, ranker: members.length > 150 ? "longest-path" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of members) graph.setNode(id, { width: sizes[id][0], height: sizes[id][1] });
  for (const [source, target] of edges) graph.setEdge(source, target, {});
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width, height,
    places: members.map((id) => [id, graph.node(id).x - sizes[id][0] / 2, graph.node(id).y - sizes[id][1] / 2]),
    paths: graph.edges().map(({ v, w }) => [+v, +w, graph.edge(v, w).points.map((point) => [point.x, point.y])]),
  };
}

function layOut({ request, scopes, sizes }) {
  const places = {}, paths = {};
  for (const scope of scopes) {
    const parts = components(scope), of = new Map();
    parts.forEach((part, at) => part.forEach((id) => of.set(id, at)));
    const edges = parts.map(() => []);
    for (const edge of scope.edges) edges[of.get(edge[0])].push(edge);
    const done = parts.map((part, at) => layers(part, edges[at], sizes));
    const area = done.reduce((sum, { width, height }) => sum + (width + GAP) * (height + GAP), 0);
    const most = Math.max(Math.sqrt(area) * 1.5, ...done.map((one) => one.width));
    let x = 0, y = 0, row = 0, width = 0;
    paths[scope.id] = [];
    for (const one of done) { // side by side, in rows
      if (x > 0 && x + one.width > most) { x = 0; y += row + GAP; row = 0; }
      const dx = x + MARGIN, dy = y + MARGIN + TITLE;
      for (const [id, px, py] of one.places) places[id] = [px + dx, py + dy, ...sizes[id]];
      for (const [a, b, points] of one.paths) paths[scope.id].push([a, b, points.map(([px, py]) => [px + dx, py + dy])]);
      width = Math.max(width, x + one.width);
      x += one.width + GAP;
      row = Math.max(row, one.height);
    }
    sizes[scope.id] = [Math.max(width + 2 * MARGIN, sizes[scope.id]?.[0] ?? 0), y + row + 2 * MARGIN + TITLE];
  }
  return { request, places, paths, size: sizes[-1] };
}

self.onmessage = (event) => self.postMessage(layOut(event.data));
