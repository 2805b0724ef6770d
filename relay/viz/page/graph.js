// The graph: which boxes are open, its layout by the worker, drawing, moving around.
"use strict";
const graphView = { open: new Set(), inside: new Map(), above: [], matrix: [1, 0, 0], request: 0, shown: new Map(), hits: new Set(), fit: 0, worker: null };
const ROW = 26, LETTER = 7, EASY = 60;
const SMALLEST = 0.1, READABLE = 0.7; // scales of a whole graph, and of its beginning

function startWorker() {
  const url = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));
  graphView.worker = new Worker(url);
  graphView.worker.onmessage = (event) => { if (event.data.request === graphView.request) drawGraph(event.data); };
}

function chooseGraph(number) {
  state.graph = number;
  state.chosen = -1;
  graphView.hits = new Set();
  graphView.shown = new Map();
  const { nodes } = graphOf();
  graphView.above = nodes.map((node) => node[PARENT]);
  graphView.inside = new Map([[-1, []]]);
  nodes.forEach((node, id) => {
    if (!graphView.inside.has(node[PARENT])) graphView.inside.set(node[PARENT], []);
    graphView.inside.get(node[PARENT]).push(id);
  });
  graphView.open = openAtFirst();
  graphView.fit = READABLE;
  for (const button of byId("graphs").children) button.classList.toggle("on", +button.dataset.graph === number);
  layOutGraph();
}

// The main function, and as many others as stay easy to look at.
function openAtFirst() {
  const { nodes } = graphOf(), tops = graphView.inside.get(-1).filter(isBox), open = new Set();
  let shown = graphView.inside.get(-1).length;
  for (const id of [...tops].sort((a, b) => (nodes[b][LABEL] === "@main") - (nodes[a][LABEL] === "@main"))) {
    shown += graphView.inside.get(id).length;
    if (open.size && shown > EASY) break;
    open.add(id);
  }
  return open;
}

const isBox = (id) => graphView.inside.has(id);

function visible(id) { // the innermost shown node around a node
  let shown = id;
  for (let at = graphView.above[id]; at !== -1; at = graphView.above[at]) if (!graphView.open.has(at)) shown = at;
  return shown;
}

function chain(id) {
  const found = [];
  for (; id !== -1; id = graphView.above[id]) found.push(id);
  return found.reverse();
}

function shownEdges() { // by the box that an edge is drawn in
  const found = new Map(), { edges, types } = graphOf(), chains = new Map();
  const chainOf = (id) => { if (!chains.has(id)) chains.set(id, chain(visible(id))); return chains.get(id); };
  for (const [source, target, type] of edges) {
    const from = chainOf(source), to = chainOf(target);
    let depth = 0;
    while (depth < Math.min(from.length, to.length) - 1 && from[depth] === to[depth]) depth++;
    const a = from[depth], b = to[depth];
    if (a === b) continue;
    const box = graphView.above[a], key = `${a} ${b}`;
    if (!found.has(box)) found.set(box, new Map());
    if (!found.get(box).has(key)) found.get(box).set(key, [a, b, types[type]]);
  }
  return found;
}

function layOutGraph() {
  const { nodes } = graphOf(), edges = shownEdges(), scopes = [], sizes = {};
  const visit = [[-1, false]];
  while (visit.length) {
    const [box, ready] = visit.pop();
    if (ready) {
      scopes.push({ id: box, members: graphView.inside.get(box), edges: [...(edges.get(box)?.values() ?? [])] });
      continue;
    }
    visit.push([box, true]);
    for (const id of graphView.inside.get(box) ?? []) {
      sizes[id] = [Math.max(50, shortened(nodes[id][LABEL]).length * LETTER + 18), ROW];
      if (isBox(id) && graphView.open.has(id)) visit.push([id, false]);
    }
  }
  graphView.labels = edges;
  graphView.request++;
  byId("status").textContent = "laying out…";
  graphView.worker.postMessage({ request: graphView.request, scopes, sizes });
}

const shortened = (label, most = 42) => (label.length > most ? `${label.slice(0, most - 2)}…` : label);

function drawGraph({ places, paths, size }) {
  const { nodes } = graphOf(), world = byId("world"), fragment = document.createDocumentFragment(), corner = new Map([[-1, [0, 0]]]);
  graphView.shown = new Map();
  const order = [...graphView.inside.get(-1)], lines = [];
  const path = (box, [ox, oy]) => {
    const types = graphView.labels.get(box);
    for (const [a, b, points] of paths[box] ?? []) lines.push([a, b, points.map(([x, y]) => [x + ox, y + oy]), types?.get(`${a} ${b}`)?.[2] ?? ""]);
  };
  path(-1, [0, 0]);
  for (let at = 0; at < order.length; at++) {
    const id = order[at], [x, y, width, height] = places[id], [ox, oy] = corner.get(graphView.above[id]);
    const place = [x + ox, y + oy, width, height], open = isBox(id) && graphView.open.has(id);
    corner.set(id, [place[0], place[1]]);
    const group = drawn("g", { class: `node ${nodes[id][KIND]}${isBox(id) ? (open ? " opened" : " closed") : ""}${graphView.hits.has(id) ? " hit" : ""}`, "data-id": id });
    group.append(drawn("title", {}, [nodes[id][LABEL], nodes[id][TYPE]].filter(Boolean).join("\n")));
    group.append(drawn("rect", { x: place[0], y: place[1], width, height }));
    const mark = isBox(id) ? (open ? "− " : "+ ") : "";
    group.append(drawn("text", { x: place[0] + width / 2, y: place[1] + (open ? 15 : height / 2 + 4) }, mark + shortened(nodes[id][LABEL])));
    fragment.append(group);
    graphView.shown.set(id, { group, place });
    if (open) { order.push(...graphView.inside.get(id)); path(id, corner.get(id)); }
  }
  graphView.lines = [];
  const closed = [...graphView.shown].filter(([id]) => !(isBox(id) && graphView.open.has(id)));
  const taken = closed.map(([, { place: [x, y, w, h] }]) => [x, y, x + w, y + h]), texts = document.createDocumentFragment();
  for (const [a, b, points, type] of lines) {
    const curve = drawn("path", { class: "edge", d: curveOf(points) });
    curve.append(drawn("title", {}, type));
    fragment.append(curve);
    graphView.lines.push([a, b, curve]);
    if (lines.length >= 400 || !type) continue;
    const text = shortened(shortType(type), 28), place = freePlace(points, text.length * 5.6, taken);
    if (place) texts.append(drawn("text", { class: "type", x: place[0], y: place[1] + 3 }, text));
  }
  fragment.append(texts); // over all lines
  world.replaceChildren(fragment);
  graphView.size = size;
  if (graphView.fit) fitGraph(graphView.fit);
  byId("status").textContent = `${graphView.shown.size} of ${nodes.length} nodes`;
  document.body.dataset.ready = String(graphView.request);
  markChosen();
}

// Where on a line a text covers no other and no node; a line without such a place shows its type when pointed at.
function freePlace(points, width, taken) {
  const middle = Math.floor(points.length / 2);
  const places = points.slice(1).map(([x, y], at) => [(x + points[at][0]) / 2, (y + points[at][1]) / 2]);
  for (const [x, y] of [points[middle], ...places]) {
    const box = [x - width / 2, y - 6, x + width / 2, y + 6];
    if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
    taken.push(box);
    return [x, y];
  }
  return null;
}

function curveOf(points) {
  let text = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [x, y] = points[i], [nx, ny] = points[i + 1];
    text += i === points.length - 2 ? `Q${x},${y} ${nx},${ny}` : `Q${x},${y} ${(x + nx) / 2},${(y + ny) / 2}`;
  }
  return points.length === 2 ? `${text}L${points[1]}` : text;
}

function moved([scale, x, y]) {
  graphView.matrix = [scale, x, y];
  byId("world").setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
}

// The whole graph, or where it is too large for that at the least scale, where it begins.
function fitGraph(least = SMALLEST) {
  const canvas = byId("canvas").getBoundingClientRect(), [width, height] = graphView.size ?? [1, 1];
  const scale = Math.max(least, Math.min(1.1, canvas.width / width, canvas.height / height));
  const first = [...graphView.shown].find(([id, { place }]) => graphOf().nodes[id][KIND] === "parameter" && place);
  const x = first ? first[1].place[0] + first[1].place[2] / 2 : width / 2, room = canvas.width - width * scale;
  moved([scale, room >= 0 ? room / 2 : Math.min(0, Math.max(room, canvas.width / 2 - x * scale)), 4]);
  graphView.fit = 0;
}

function toggleBox(id) {
  if (!isBox(id)) return;
  if (graphView.open.has(id)) graphView.open.delete(id); else graphView.open.add(id);
  layOutGraph();
}

function reveal(id) {
  for (let at = graphView.above[id]; at !== -1; at = graphView.above[at]) graphView.open.add(at);
  graphView.center = id;
  layOutGraph();
}

function choose(id, center = false) {
  state.chosen = id;
  if (id !== -1 && !graphView.shown.has(id)) { reveal(id); showDetails(); return; }
  if (center) graphView.center = id;
  markChosen();
  showDetails();
}

function markChosen() {
  for (const old of document.querySelectorAll("#world .chosen")) old.classList.remove("chosen");
  const found = graphView.shown.get(state.chosen);
  for (const [a, b, curve] of graphView.lines ?? []) curve.classList.toggle("near", a === state.chosen || b === state.chosen);
  if (!found) return;
  found.group.classList.add("chosen");
  if (graphView.center === state.chosen) {
    const canvas = byId("canvas").getBoundingClientRect(), scale = Math.max(graphView.matrix[0], 0.7), [x, y, width, height] = found.place;
    moved([scale, canvas.width / 2 - (x + width / 2) * scale, canvas.height / 2 - (y + Math.min(height, 200) / 2) * scale]);
    graphView.center = -1;
  }
}

function startGraph() {
  startWorker();
  const canvas = byId("canvas");
  state.data.graphs.forEach((graph, number) => byId("graphs").append(element("button", { "data-graph": number, onclick: () => chooseGraph(number) }, graph.name)));
  const boxOf = (event) => event.target.closest?.(".node");
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = [event.clientX, event.clientY, ...graphView.matrix, false]; });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const dx = event.clientX - drag[0], dy = event.clientY - drag[1];
    if (Math.abs(dx) + Math.abs(dy) > 3) drag[5] = true;
    if (drag[5]) moved([drag[2], drag[3] + dx, drag[4] + dy]);
  });
  canvas.addEventListener("click", (event) => {
    const box = boxOf(event);
    if (box && !drag?.[5]) choose(+box.dataset.id);
  });
  canvas.addEventListener("dblclick", (event) => { const box = boxOf(event); if (box) toggleBox(+box.dataset.id); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [scale, x, y] = graphView.matrix, place = canvas.getBoundingClientRect();
    const next = Math.max(0.02, Math.min(4, scale * Math.exp(-event.deltaY / 400)));
    const px = event.clientX - place.left, py = event.clientY - place.top;
    moved([next, px - ((px - x) * next) / scale, py - ((py - y) * next) / scale]);
  }, { passive: false });
  byId("open-all").onclick = () => {
    let shown = 0;
    for (const [box, members] of graphView.inside) if (box !== -1 && (shown += members.length) < 3000) graphView.open.add(box);
    graphView.fit = READABLE;
    layOutGraph();
  };
  byId("close-all").onclick = () => { graphView.open = openAtFirst(); graphView.fit = READABLE; layOutGraph(); };
  byId("fit").onclick = () => fitGraph();
  chooseGraph(state.data.graphs.length - 1);
}
