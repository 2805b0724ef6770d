// Tabs, search, keys, and the start.
"use strict";
const STARTS = { passes: () => { startPasses(); showStep(state.step); }, kernels: startKernels, roofline: startRoofline, memory: startMemory, time: startTime };
const started = new Set(["graph"]);
const TABS = ["graph", "passes", "kernels", "roofline", "memory", "time"];
const KEYS = [["/", "search"], ["1 … 6", "views"], ["n, p", "next and previous pass that changes the program"], ["← →", "the node before, the node after"], ["Enter", "open or close the box"], ["Esc", "the box around"], ["f", "fit"], ["d", "light or dark"], ["?", "these keys"]];

function showTab(name) {
  state.tab = name;
  for (const tab of TABS) byId(tab).hidden = tab !== name;
  for (const button of document.querySelectorAll("nav button")) button.setAttribute("aria-selected", String(button.dataset.tab === name));
  if (!started.has(name)) { started.add(name); STARTS[name](); }
}

function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean), results = [];
  if (!words.length) return results;
  const fits = (text) => words.every((word) => text.includes(word));
  graphOf().nodes.forEach((node, id) => {
    if (fits(`${node[LABEL]} ${node[KIND]} ${node[TYPE]} ${node[SOURCE]} ${node[READS].join(" ")} ${node[KERNELS].join(" ")} n${id}`.toLowerCase())) results.push(id);
  });
  return results;
}

function search() {
  const results = found(byId("search").value), box = byId("results");
  graphView.hits = new Set(results);
  for (const [id, { group }] of graphView.shown) group.classList.toggle("hit", graphView.hits.has(id));
  box.hidden = !byId("search").value;
  box.replaceChildren(element("div", { class: "faint bar" }, `${results.length} nodes`));
  for (const id of results.slice(0, 60)) {
    const node = graphOf().nodes[id], open = () => { box.hidden = true; showTab("graph"); choose(id, true); };
    box.append(element("button", { "data-id": id, onclick: open }, element("span", {}, node[LABEL]), element("span", { class: "faint" }, shortType(node[TYPE]))));
  }
  if (results.length > 60) box.append(element("div", { class: "faint bar" }, `… and ${results.length - 60} more`));
}

function nextStep(direction) {
  const { steps } = state.data;
  let at = state.step + direction;
  while (at > 0 && at < steps.length && steps[at].same) at += direction;
  if (at >= 0 && at < steps.length) showStep(at);
}

function neighbour(direction) {
  const shown = [...graphView.shown.keys()].sort((a, b) => a - b);
  if (!shown.length) return;
  const at = shown.indexOf(state.chosen);
  choose(shown[at === -1 ? 0 : Math.max(0, Math.min(shown.length - 1, at + direction))], true);
}

function setTheme(theme) { document.documentElement.dataset.theme = theme; }

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input");
  if (typing) {
    if (event.key === "Escape") { byId("search").blur(); byId("results").hidden = true; }
    if (event.key === "Enter") byId("results").querySelector("button")?.click();
    return;
  }
  const inGraph = state.tab === "graph", actions = {
    "/": () => byId("search").focus(), "?": () => byId("help").click(), d: () => byId("theme").click(), f: () => inGraph && fitGraph(),
    n: () => { showTab("passes"); nextStep(1); }, p: () => { showTab("passes"); nextStep(-1); },
    ArrowRight: () => inGraph && neighbour(1), ArrowDown: () => inGraph && neighbour(1), ArrowLeft: () => inGraph && neighbour(-1), ArrowUp: () => inGraph && neighbour(-1),
    Enter: () => inGraph && state.chosen !== -1 && toggleBox(state.chosen), Escape: () => inGraph && state.chosen !== -1 && choose(graphView.above[state.chosen]),
  };
  if (/^[1-6]$/.test(event.key)) { showTab(TABS[event.key - 1]); return; }
  if (event.key === "Enter" && event.target.closest("button, summary")) return;
  const action = actions[event.key];
  if (action && action() !== false) event.preventDefault();
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)"), follow = () => setTheme(dark.matches ? "dark" : "light");
  follow();
  dark.addEventListener("change", follow);
  byId("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  byId("keys").append(element("h2", {}, "Keys"), facts(KEYS), element("button", { onclick: () => byId("keys").close() }, "Close"));
  byId("help").onclick = () => byId("keys").showModal();
  for (const button of document.querySelectorAll("nav button")) button.onclick = () => showTab(button.dataset.tab);
  byId("search").oninput = search;
  document.addEventListener("keydown", onKey);
  byId("status").textContent = "reading…";
  await new Promise((resolve) => setTimeout(resolve)); // the page is painted first
  await readData();
  startGraph();
  showDetails();
  showTab("graph");
  if (state.data.live) watch();
}

async function watch() { // the live mode: a new page where the model has changed
  const { version } = state.data.live;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    try {
      const answer = await fetch(`changed${location.search}`);
      if (answer.ok && (await answer.text()) !== version) { location.reload(); return; }
    } catch { /* the server has ended */ }
  }
}

start();
