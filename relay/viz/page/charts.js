// Kernels as a table, the roofline plot, the memory plan, flame charts.
"use strict";
const operatorsOf = (kernel) => kernel.operators.map((name) => name.replace(/^nn\.(contrib_)?/, "")).join(" ");

function startKernels() {
  const columns = [["kernel", (k, name) => name], ["operators", (k) => operatorsOf(k)], ["time", (k) => k.seconds ?? -1], ["share", (k) => (k.seconds ?? 0) / (state.data.seconds || 1)], ["calls", (k) => k.calls], ["operations", (k) => k.flops ?? -1], ["traffic", (k) => k.bytes ?? -1]];
  const shown = [(v) => v, (v) => v, (v) => (v < 0 ? "" : timeText(v)), (v) => `${(100 * v).toFixed(1)} %`, String, (v) => (v < 0 ? "" : countText(v)), (v) => (v < 0 ? "" : sizeText(v))];
  const draw = (column) => {
    const rows = Object.entries(state.data.kernels).map(([name, kernel]) => columns.map(([, value]) => value(kernel, name)));
    rows.sort((a, b) => (typeof a[column] === "number" ? b[column] - a[column] : a[column] < b[column] ? -1 : 1));
    const table = element("table", { class: "plain" }, element("tr", {}, ...columns.map(([title], at) => element("th", { class: at > 1 ? "n" : "", onclick: () => draw(at) }, title))));
    for (const row of rows) table.append(element("tr", { "data-kernel": row[0], onclick: () => showKernel(row[0]) }, ...row.map((value, at) => element("td", { class: ["name", "", "n", "n", "n", "n", "n"][at] }, shown[at](value)))));
    byId("kernels").replaceChildren(table);
  };
  draw(2);
}

function rooflineOf(names, width, height, chosen = null) {
  const { roof, kernels } = state.data;
  const points = names.map((name) => [name, kernels[name]]).filter(([, k]) => k && k.seconds && k.flops && k.bytes)
    .map(([name, k]) => [name, k.flops / k.bytes, (k.flops * k.calls) / k.seconds]);
  if (!points.length) return null;
  const low = Math.min(0.05, ...points.map((p) => p[1])), high = Math.max(200, ...points.map((p) => p[1]));
  const top = Math.max(roof?.flops ?? 0, ...points.map((p) => p[2])) * 1.5, bottom = Math.min(...points.map((p) => p[2]), roof ? roof.bandwidth * low : top / 1e3) / 2;
  const x = (v) => 46 + ((width - 60) * Math.log(v / low)) / Math.log(high / low), y = (v) => height - 26 - ((height - 40) * Math.log(v / bottom)) / Math.log(top / bottom);
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, style: `max-width:${width}px` });
  for (let p = Math.ceil(Math.log10(low)); p <= Math.log10(high); p++) svg.append(drawn("line", { x1: x(10 ** p), x2: x(10 ** p), y1: 8, y2: height - 24 }), drawn("text", { x: x(10 ** p) - 6, y: height - 12 }, 10 ** p));
  for (let p = Math.ceil(Math.log10(bottom)); p <= Math.log10(top); p++) svg.append(drawn("line", { x1: 44, x2: width - 8, y1: y(10 ** p), y2: y(10 ** p) }), drawn("text", { x: 2, y: y(10 ** p) + 3 }, `${countText(10 ** p)}/s`));
  svg.append(drawn("text", { x: width - 120, y: height - 2 }, "operations per byte"));
  if (roof) {
    const knee = roof.flops / roof.bandwidth;
    svg.append(drawn("path", { class: "roof", d: `M${x(low)},${y(roof.bandwidth * low)}L${x(Math.min(knee, high))},${y(Math.min(roof.flops, roof.bandwidth * high))}L${x(high)},${y(Math.min(roof.flops, roof.bandwidth * high))}` }));
  }
  points.sort(([a], [b]) => kernels[b].seconds - kernels[a].seconds); // small ones over large ones
  for (const [name, intensity, rate] of points) {
    const dot = drawn("circle", { cx: x(intensity), cy: y(rate), r: chosen ? 6 : 4 + 14 * Math.sqrt((kernels[name].seconds ?? 0) / (state.data.seconds || Infinity)), class: name === chosen ? "chosen" : "", "data-kernel": name });
    dot.append(drawn("title", {}, `${operatorsOf(kernels[name])}\n${name}\n${timeText(kernels[name].seconds)}, ${countText(rate)}FLOP/s, ${intensity.toPrecision(3)} operations per byte`));
    dot.addEventListener("click", () => showKernel(name));
    svg.append(dot);
  }
  return svg;
}

function startRoofline() {
  const plot = rooflineOf(Object.keys(state.data.kernels), 900, 520);
  byId("roofline").replaceChildren(plot ?? element("p", { class: "faint" }, "There are no times of kernels with operations."));
  if (plot) byId("roofline").append(element("p", { class: "faint" }, `A point is a kernel, the larger the more time it takes.${state.data.roof ? " The slope is that of memory: kernels that read from caches lie above it." : ""}`), element("p", { class: "faint" }, state.data.roof ? `The roof was measured: ${countText(state.data.roof.flops)}FLOP/s in a product of matrices, ${countText(state.data.roof.bandwidth)}B/s in a sum that no cache holds.` : "The roof was not measured."));
}

function startMemory() {
  const { memory } = state.data;
  if (!memory || !memory.blocks.length) { byId("memory").replaceChildren(element("p", { class: "faint" }, "There is no memory plan: nothing is kept between kernels, or memory is allocated while the program runs.")); return; }
  const width = 1000, height = 480, steps = Math.max(1, memory.steps.length), x = (step) => 70 + ((width - 80) * step) / steps, y = (offset) => height - 30 - ((height - 40) * offset) / memory.arena;
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${width} ${height}` });
  for (let part = 0; part <= 4; part++) svg.append(drawn("line", { x1: 66, x2: width - 8, y1: y((memory.arena * part) / 4), y2: y((memory.arena * part) / 4) }), drawn("text", { x: 2, y: y((memory.arena * part) / 4) + 3 }, sizeText((memory.arena * part) / 4)));
  for (const [name, offset, size, first, last] of memory.blocks) {
    const block = drawn("rect", { class: "block", x: x(first), width: Math.max(1, x(last + 1) - x(first)), y: y(offset + size), height: Math.max(1, y(offset) - y(offset + size)) });
    block.append(drawn("title", {}, `${name}: ${sizeText(size)} at ${offset}\nfrom step ${first} (${memory.steps[first]})\nto step ${last} (${memory.steps[last] ?? "the end"})`));
    block.addEventListener("click", () => showKernel(memory.steps[first]));
    svg.append(block);
  }
  svg.append(drawn("text", { x: width - 130, y: height - 8 }, `${steps} kernel calls →`));
  byId("memory").replaceChildren(element("p", {}, `Arena: ${sizeText(memory.arena)} for ${memory.blocks.length} blocks.`), svg);
}

function flame(title, events) {
  const box = element("div", {}, element("h2", {}, title));
  if (!events.length) { box.append(element("p", { class: "faint" }, "Nothing was recorded.")); return box; }
  const width = 1000, row = 20, end = Math.max(...events.map((e) => e[1] + e[2])), deep = Math.max(...events.map((e) => e[3])) + 1;
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${width} ${row * deep + 16}` });
  let from = 0, to = end;
  const draw = () => {
    const x = (t) => ((t - from) / (to - from)) * width, fragment = document.createDocumentFragment();
    for (const [name, start, seconds, depth, kernel] of events) {
      const left = Math.max(0, x(start)), right = Math.min(width, x(start + seconds));
      if (right - left < 0.2) continue;
      const bar = drawn("rect", { class: `block${kernel ? " kernel" : ""}`, x: left, y: depth * row, width: right - left, height: row - 2, "data-name": name });
      const text = kernel && state.data.kernels[name] ? operatorsOf(state.data.kernels[name]) : name;
      bar.append(drawn("title", {}, `${text}\n${name}\n${timeText(seconds)}, ${((100 * seconds) / end).toFixed(1)} %`));
      bar.addEventListener("click", () => { if (kernel) showKernel(name); [from, to] = [start, start + Math.max(seconds, end * 1e-6)]; draw(); });
      fragment.append(bar);
      if (right - left > 40) fragment.append(drawn("text", { x: left + 3, y: depth * row + 13, "pointer-events": "none" }, text.length * 5.5 < right - left ? text : `${text.slice(0, Math.floor((right - left) / 5.5) - 1)}…`));
    }
    fragment.append(drawn("text", { x: 2, y: row * deep + 12 }, `${timeText(from)} to ${timeText(to)}; a click goes closer, a double-click back`));
    svg.replaceChildren(fragment);
  };
  svg.addEventListener("dblclick", () => { [from, to] = [0, end]; draw(); });
  draw();
  box.append(svg);
  return box;
}

function startTime() {
  byId("time").replaceChildren(flame(`A call${state.data.seconds ? ` takes ${timeText(state.data.seconds)} in native code` : ""}; below, one ${state.data.memory ? "kernel by kernel" : "in the virtual machine"}`, state.data.events), flame("Passes", state.data.passes));
}
