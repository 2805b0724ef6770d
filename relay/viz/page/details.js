// What is known of a node or of a kernel.
"use strict";

function facts(pairs) {
  const list = element("dl");
  for (const [name, value] of pairs) if (value) list.append(element("dt", {}, name), element("dd", {}, value));
  return list;
}

function section(title, text, open = false) {
  if (!text) return "";
  const made = element("details", open ? { open: true } : {}, element("summary", {}, title));
  const fill = () => { if (made.open && made.children.length === 1) made.append(element("pre", { "data-section": title }, text)); };
  made.addEventListener("toggle", fill);
  if (open) made.append(element("pre", { "data-section": title }, text));
  return made;
}

// Buttons for the nodes of the compiled program that come from the same source.
function compiledFrom(node) {
  const last = state.data.graphs.length - 1, { nodes } = state.data.graphs[last], span = element("span");
  if (state.graph === last || !node[SOURCE]) return "";
  nodes.forEach((other, id) => {
    if (other[SOURCE] !== node[SOURCE] || other[KIND] === "fused") return;
    span.append(element("button", { "data-compiled": id, onclick: () => { chooseGraph(last); choose(id, true); } }, shortened(other[LABEL])), " ");
  });
  return span.children.length ? span : "";
}

function showDetails() {
  const id = state.chosen, panel = byId("details");
  if (id === -1) { panel.replaceChildren(...overview()); return; }
  const node = graphOf().nodes[id], made = [element("h2", {}, node[LABEL])];
  const { edges, nodes, types } = graphOf(), links = (pairs) => {
    const span = element("span");
    for (const [other, type] of pairs.slice(0, 40)) span.append(element("button", { onclick: () => choose(other, true), title: types[type] }, shortened(nodes[other][LABEL])), " ");
    if (pairs.length > 40) span.append(`… ${pairs.length} in all`);
    return pairs.length ? span : "";
  };
  const within = (other) => { for (let at = other; at !== -1; at = graphView.above[at]) if (at === id) return true; return false; };
  made.push(facts([
    ["kind", node[KIND]], ["number", `%n${id}`], ["type", node[TYPE]],
    ["reads", links(edges.filter((e) => within(e[1]) && !within(e[0])).map((e) => [e[0], e[2]]))],
    ["read by", links(edges.filter((e) => within(e[0]) && !within(e[1])).map((e) => [e[1], e[2]]))],
    ["weights", node[READS].join("; ")], ["becomes", compiledFrom(node)],
  ]));
  if (isBox(id)) made.push(element("button", { onclick: () => toggleBox(id) }, graphView.open.has(id) ? "Close the box" : "Open the box"));
  made.push(section("Relay", node[TEXT], true), section("source", node[SOURCE], true));
  let kernels = node[KERNELS], around = id;
  while (!kernels.length && graphView.above[around] !== -1) { around = graphView.above[around]; kernels = nodes[around][KERNELS]; }
  for (const name of [...kernels].reverse()) made.push(...kernelDetails(name, kernels[kernels.length - 1] === name));
  panel.replaceChildren(...made.filter((one) => one !== ""));
}

function kernelDetails(name, open = true) {
  const kernel = state.data.kernels[name];
  if (!kernel) return [];
  const each = kernel.seconds === null ? null : kernel.seconds / Math.max(1, kernel.calls), rate = (amount) => (each && amount ? `${+(amount / each / 1e9).toPrecision(3)}` : "");
  return [
    element("h2", { "data-kernel": name }, name),
    facts([
      ["operators", kernel.operators.join(" ")], ["time of a call", timeText(each)], ["calls", kernel.calls ? String(kernel.calls) : "before the first run"],
      ["operations", countText(kernel.flops)], ["traffic", sizeText(kernel.bytes)], ["GFLOP/s", rate(kernel.flops)], ["GB/s", rate(kernel.bytes)], ["algorithm", kernel.algorithm],
    ]),
    rooflineOf([name], 300, 170, name) ?? "",
    section("tensor expressions", kernel.expressions, open), section("loops", kernel.loops), section("LLVM IR", kernel.llvm), section("assembly", kernel.asm),
  ];
}

function showKernel(name) {
  byId("details").replaceChildren(...kernelDetails(name).filter((one) => one !== ""));
}

function overview() {
  const { data } = state, made = [element("h2", {}, data.title)];
  made.push(facts([
    ["kernels", String(Object.keys(data.kernels).length)], ["time of a call", timeText(data.seconds)], ["arena", data.memory ? sizeText(data.memory.arena) : ""],
    ["passes", `${data.steps.filter((step) => !step.same).length - 1} of ${data.steps.length - 1} change the program`], ["made by", `relay ${data.version}`],
  ]));
  for (const note of data.notes) made.push(element("p", { class: "faint" }, note));
  made.push(element("p", { class: "faint" }, "Click a node for what becomes of it; double-click a box to open it."));
  return made;
}
