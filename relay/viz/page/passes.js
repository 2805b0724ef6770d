// The program before and after every pass, side by side.
"use strict";
const CONTEXT = 3, MOST_DIFFERENT = 1200;

// Lines that differ in numbers of intermediate values only are the same.
function keysOf(step) {
  const { lines, keys } = state.data;
  return step.lines.map((number) => (keys[number] ??= lines[number].replace(/%\d+/g, "%")));
}

// Pairs [i, j] of lines that stay, by Myers' greedy algorithm; none where too much differs.
function common(a, b) {
  const max = Math.min(a.length + b.length, MOST_DIFFERENT), trace = [];
  let ends = new Map([[1, 0]]);
  for (let d = 0; d <= max; d++) {
    trace.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
      let x = down ? ends.get(k + 1) : ends.get(k - 1) + 1, y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) { x++; y++; }
      ends.set(k, x);
      if (x >= a.length && y >= b.length) return walked(trace, a.length, b.length);
    }
  }
  return [];
}

function walked(trace, x, y) {
  const pairs = [];
  for (let d = trace.length - 1; d >= 0; d--) {
    const ends = trace[d], k = x - y;
    const from = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1)) ? k + 1 : k - 1;
    const px = ends.get(from), py = px - from;
    while (x > px && y > py && x > 0 && y > 0) pairs.push([--x, --y]);
    if (d > 0) [x, y] = [px, py];
  }
  return pairs.reverse();
}

function rowsOf(before, after) {
  const a = keysOf(before), b = keysOf(after);
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const inner = common(a.slice(head, a.length - tail), b.slice(head, b.length - tail)).map(([i, j]) => [i + head, j + head]);
  const pairs = [...Array.from({ length: head }, (_, i) => [i, i]), ...inner, ...Array.from({ length: tail }, (_, i) => [a.length - tail + i, b.length - tail + i]), [a.length, b.length]];
  const rows = [];
  let i = 0, j = 0;
  for (const [x, y] of pairs) {
    while (i < x || j < y) rows.push([i < x ? i++ : null, j < y ? j++ : null, true]);
    if (x < a.length && y < b.length) rows.push([i++, j++, false]);
  }
  return rows;
}

function showStep(number) {
  const { steps, lines } = state.data;
  state.step = Math.max(0, Math.min(steps.length - 1, number));
  const after = steps[state.step], before = steps[Math.max(0, state.step - 1)], table = element("table");
  table.append(element("tr", {}, element("th", {}, state.step ? `before ${after.name}` : ""), element("th", {}, `${state.step ? "after " : ""}${after.name}  ${after.seconds ? timeText(after.seconds) : ""}`)));
  const rows = rowsOf(before, after), text = (step, at) => (at === null ? "" : lines[step.lines[at]]);
  const near = new Uint8Array(rows.length);
  rows.forEach((row, at) => { if (row[2]) near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1); });
  const everything = !rows.some((row) => row[2]) && rows.length < 2000;
  const line = ([i, j, changed]) => element("tr", {}, element("td", { class: changed && i !== null ? "minus" : "" }, text(before, i)), element("td", { class: changed && j !== null ? "plus" : "" }, text(after, j)));
  for (let at = 0; at < rows.length; at++) {
    if (near[at] || everything) { table.append(line(rows[at])); continue; }
    let end = at;
    while (end < rows.length && !near[end]) end++;
    const hidden = rows.slice(at, end), gap = element("tr", { class: "gap" }, element("td", { colspan: 2 }, `… ${hidden.length} lines that stay`));
    gap.addEventListener("click", () => gap.replaceWith(...hidden.map(line)));
    table.append(gap);
    at = end - 1;
  }
  byId("passes").querySelector(".diff").replaceChildren(table);
  for (const button of byId("passes").querySelectorAll("li button")) {
    const on = +button.dataset.step === state.step;
    button.classList.toggle("on", on);
    if (on) button.scrollIntoView({ block: "nearest" });
  }
}

function startPasses() {
  const { data } = state, list = element("ol");
  data.keys = [];
  data.steps.forEach((step, number) => list.append(element("li", { class: step.same && number ? "same" : "" },
    element("button", { "data-step": number, onclick: () => showStep(number) }, `${number} ${step.name}`))));
  const all = element("button", { "aria-pressed": "false", onclick: () => {
    const on = list.classList.toggle("all");
    all.setAttribute("aria-pressed", String(on));
    all.classList.toggle("on", on);
  } }, "All passes");
  byId("passes").replaceChildren(element("div", { class: "steps" }, all, list), element("div", { class: "diff" }));
  state.step = Math.max(0, data.steps.findIndex((step, number) => number && !step.same));
}
