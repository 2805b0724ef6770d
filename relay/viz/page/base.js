// The data of the page, and small helpers that all views share.
"use strict";
const state = { data: null, graph: 0, chosen: -1, tab: "graph", step: 0 };
const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function drawn(tag, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

function timeText(seconds) {
  if (seconds === null || seconds === undefined) return "";
  for (const [unit, scale] of [["s", 1], ["ms", 1e3], ["µs", 1e6]])
    if (seconds * scale >= 1) return `${+(seconds * scale).toPrecision(3)} ${unit}`;
  return `${Math.round(seconds * 1e9)} ns`;
}

function sizeText(size) {
  if (size === null || size === undefined) return "";
  for (const unit of ["B", "KiB", "MiB"]) {
    if (size < 1024) return `${+size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} GiB`;
}

function countText(number) {
  if (number === null || number === undefined) return "";
  for (const unit of ["", " k", " M", " G"]) {
    if (number < 1000) return `${+number.toFixed(1)}${unit}`;
    number /= 1000;
  }
  return `${number.toFixed(1)} T`;
}

const shortType = (type) => type.replace(/Tensor\[\(([^()]*)\), (\w+)\]/g, "$2[$1]");

async function readData() {
  const bytes = Uint8Array.from(atob(byId("data").textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  state.data = await new Response(stream).json();
  let before = [];
  for (const step of state.data.steps) before = step.lines = step.lines ?? before;
}

// Nodes are arrays in the data: [label, kind, parent, type, text, source, reads, kernels].
const LABEL = 0, KIND = 1, PARENT = 2, TYPE = 3, TEXT = 4, SOURCE = 5, READS = 6, KERNELS = 7;
const graphOf = () => state.data.graphs[state.graph];
