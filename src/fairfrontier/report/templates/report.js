"use strict";
(function () {
  const whole = JSON.parse(document.getElementById("record").textContent);
  const element = (id) => document.getElementById(id);
  const [plot, weight, picker, pairs, view, theme] = ["plot", "weight", "algorithm", "pair", "view", "theme"].map(element);
  let record = Object.assign({}, whole, whole.planes[0]);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const PRINTED = { width: 600, height: 520 };
  const hidden = new Set();
  let dark = system.matches, printing = false, ends = null, parts = [];

  // Names come from users' files. Plotly reads a little HTML in texts, so names are escaped there, set apart for the
  // direction of writing, and kept out of its templates.
  const short = (text, most) => {
    const letters = Array.from(String(text));
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : letters.join("");
  };
  const label = (text, most = 40) =>
    "\u2068" + short(text, most).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") + "\u2069";
  let r, b;
  function setPlane(k) {
    record = Object.assign({}, whole, whole.planes[k]);
    if (!record.groups) return;
    [r, b] = record.groups.map((text) => label(text));
    if (element("too-weak")) element("too-weak").hidden = !record.contradictory;
    document.querySelectorAll("[data-side]").forEach((one) => { one.textContent = record.groups[Number(one.dataset.side)]; });
  }
  setPlane(0);
  const minus = (text) => text.replace(/^-(?=.*[1-9])/, "−").replace(/^-/, "");
  const percent = (x, digits = 1) => (x === null || x === undefined ? "n/a" : minus((100 * x).toFixed(digits)) + "%");
  const number = (x, digits) => minus(x.toFixed(digits));
  const risk = (x) => (x === null || x === undefined ? "n/a" : record.shares ? percent(x, 2) : number(x, 4));
  const pair = (q) => `(${number(q[0], 2)}, ${number(q[1], 2)})`;

  const { light: LIGHT, dark: DARK, best: BEST, letters: LETTERS, places: PLACES, symbols: SYMBOLS } = whole.marks;
  const colours = () => (dark && !printing ? DARK : LIGHT);

  const about = (first, point, q, rates) => [
    first, q ? `direction ${pair(q)}` : "", `risk of ${r} ${risk(point[0])}, of ${b} ${risk(point[1])}`,
    rates ? `selection rate: ${percent(rates[0])} of ${r}, ${percent(rates[1])} of ${b}` : "",
  ].filter((line) => line).join("<br>");
  const rule = () => record.rules[Number(weight.value)];
  const aboutRule = () => about("rule of the slider", rule().risk, rule().direction, rule().selection_rate);

  // Parts of the picture: a key, words for the legend, how the legend shows it, and what plotly draws.
  function makeParts() {
    const c = colours(), list = [], curve = record.picture.frontier;
    const area = (rings, fill, line, dash) => {
      const x = [], y = [];
      rings.forEach((ring, i) => {
        if (i) { x.push(null); y.push(null); }
        ring.concat([ring[0]]).forEach((point) => { x.push(point[0]); y.push(point[1]); });
      });
      return { type: "scatter", mode: "lines", x, y, fill: "toself", fillcolor: fill, line: { color: line, width: 1, dash: dash || "solid" }, hoverinfo: "skip" };
    };
    const points = (x, y, texts, more) => Object.assign(
      { type: "scatter", mode: "markers", x, y, hovertext: texts, hovertemplate: "%{hovertext}<extra></extra>" }, more);
    const add = (key, words, sign, trace) => list.push({ key, words, sign, trace });
    add("set", "feasible set (estimate)", { fill: c.set, line: c.edge }, area([record.picture.set], c.set, c.edge));
    if (record.picture.region.length) {
      add("region", `frontier: ${percent(1 - record.alpha, 0)} confidence set, pointwise`, { fill: c.region, line: c.border },
        area(record.picture.region, c.region, c.border, "dot"));
    }
    const current = picker ? record.algorithms[Number(picker.value)] : null;
    if (current && current.improving.length > 2) {
      add("better", `no worse than ${short(current.name, 60)} in any respect (estimate)`, { fill: c.better, line: c.gain },
        area([current.improving], c.better, c.gain));
    }
    add("frontier", "frontier (estimate)", { stroke: c.curve }, points(
      curve.map((p) => p.risk[0]), curve.map((p) => p.risk[1]), curve.map((p) => about("frontier", p.risk, p.direction, p.selection_rate)),
      { mode: curve.length > 1 ? "lines" : "markers", marker: { color: c.curve, size: 7 }, line: { color: c.curve, width: 3.5 } }));
    record.points.forEach((p, i) => add(`best-${i}`, `${LETTERS[i]}: ${short(p.name, 60)}`, { symbol: BEST[i], fill: c.curve }, points(
      [p.risk[0]], [p.risk[1]], [about(label(p.name), p.risk, p.direction)],
      { mode: "markers+text", text: [LETTERS[i]], textposition: PLACES[i], textfont: { color: c.curve, size: 13, weight: 700 },
        marker: { color: c.curve, size: 10, symbol: BEST[i], line: { color: c.paper, width: 1 } } })));
    record.algorithms.forEach((a, i) => {
      const bar = (k) => ({
        type: "data", symmetric: false, array: [a.risk_interval[k].high - a.risk[k]],
        arrayminus: [a.risk[k] - a.risk_interval[k].low], color: c.algorithm, thickness: 1.4, width: 5 });
      const symbol = SYMBOLS[i % SYMBOLS.length];
      add(`algorithm-${i}`, short(a.name, 60), { symbol, fill: c.algorithm }, points(
        [a.risk[0]], [a.risk[1]], [about(label(a.name), a.risk, null, a.selection_rate)],
        { error_x: bar(0), error_y: bar(1), marker: { color: c.algorithm, size: a === current ? 16 : 12, symbol, line: { color: c.paper, width: 1 } } }));
    });
    add("rule", "rule of the slider", { symbol: "circle-open", line: c.rule }, points(
      [rule().risk[0]], [rule().risk[1]], [aboutRule()],
      { marker: { color: c.rule, size: 16, symbol: "circle-open", line: { width: 3 } } }));
    return list;
  }

  function wholeRange() {
    const what = view.value, points = record.points.map((p) => p.risk);
    points.push(...(what === "all" ? record.picture.set : record.picture.frontier.map((p) => p.risk)));
    if (what !== "frontier") record.algorithms.forEach((a) => points.push(
      a.risk, a.risk_interval.map((one) => one.low), a.risk_interval.map((one) => one.high)));
    const values = points.flat();
    let low = Math.min(...values), high = Math.max(...values);
    const space = (what === "all" ? 0.05 : 0.15) * (high - low || 0.1);
    if (record.shares && low >= 0) low = Math.max(low, space - 0.02 * (high - low));
    return { x: [low - space, high + space], y: [low - space, high + space] };
  }

  function layout() {
    const c = colours(), size = printing ? PRINTED : {};
    const axis = (title, range, more) => Object.assign({
      title: { text: title, standoff: 8 }, range: range.slice(), gridcolor: c.grid, zeroline: false, color: c.ink, linecolor: c.edge,
      showline: true, ticks: "outside", tickcolor: c.edge, nticks: plot.clientWidth < 480 ? 5 : 8, tickformat: record.shares ? ".3~%" : "", constrain: "domain" }, more);
    const room = { ...wholeRange() }, lowest = Math.min(room.x[0], ends.x[0], ends.y[0]), highest = Math.max(room.x[1], ends.x[1], ends.y[1]);
    const far = highest - lowest;
    return Object.assign({
      autosize: !printing, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { color: c.ink, size: plot.clientWidth < 480 && !printing ? 11 : 13, family: getComputedStyle(document.body).fontFamily },
      margin: { l: 66, r: 14, t: 12, b: 56 }, hovermode: "closest", hoverdistance: 24,
      dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "pan",
      hoverlabel: { align: "left", bgcolor: c.paper, bordercolor: c.edge, font: { color: c.ink, size: 13 } },
      xaxis: axis(`risk of ${r}`, ends.x), yaxis: axis(`risk of ${b}`, ends.y, { scaleanchor: "x", automargin: true }),
      shapes: [{
        type: "line", x0: lowest - far, y0: lowest - far, x1: highest + far, y1: highest + far,
        line: { dash: "dash", width: 1.3, color: c.ink }, layer: "above" }] }, size);
  }

  function draw() {
    if (!ends) ends = wholeRange();
    parts = makeParts();
    drawLegend();
    return Plotly.react(plot, parts.map((part) => Object.assign({ visible: !hidden.has(part.key) }, part.trace)), layout(),
      { responsive: true, displayModeBar: false, scrollZoom: false, doubleClick: false });
  }

  const SHAPES = {
    circle: "M9 2a5 5 0 1 0 .01 0Z", "circle-open": "M9 2a5 5 0 1 0 .01 0Z", square: "M4 2h10v10H4Z", diamond: "M9 1l6 6-6 6-6-6Z",
    star: "M9 0l1.9 4.4 4.8.4-3.6 3.1 1.1 4.7L9 10.1l-4.2 2.5 1.1-4.7L2.3 4.8l4.8-.4Z", "triangle-up": "M9 1l6 11H3Z",
    "triangle-down": "M9 13L3 2h12Z", cross: "M7 1h4v4h4v4h-4v4H7V9H3V5h4Z", x: "M5 1l4 4 4-4 2 2-4 4 4 4-2 2-4-4-4 4-2-2 4-4-4-4Z",
    pentagon: "M9 1l6 4.4-2.3 7.1H5.3L3 5.4Z", hexagram: "M9 0l2 3.5h4L13 7l2 3.5h-4L9 14l-2-3.5H3L5 7 3 3.5h4Z", bowtie: "M3 2l6 5 6-5v10L9 7l-6 5Z" };

  function swatch(sign) {
    const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
    const set = (node, values) => Object.entries(values).forEach(([key, value]) => node.setAttribute(key, value));
    set(svg, { width: 18, height: 14, viewBox: "0 0 18 14", "aria-hidden": "true" });
    set(path, sign.stroke ? { d: "M0 7h18", stroke: sign.stroke, "stroke-width": 3, fill: "none" }
      : sign.symbol ? { d: SHAPES[sign.symbol], fill: sign.fill || "none", stroke: sign.line || "none", "stroke-width": sign.line ? 2.4 : 0 }
        : { d: "M1 1h16v12H1Z", fill: sign.fill, stroke: sign.line });
    svg.append(path);
    return svg;
  }

  function drawLegend() {
    const list = element("legend"), focused = document.activeElement && document.activeElement.dataset.part;
    list.replaceChildren(...parts.map((part) => {
      const item = document.createElement("li"), button = document.createElement("button"), words = document.createElement("bdi");
      words.textContent = part.words;
      button.type = "button";
      button.dataset.part = part.key;
      button.setAttribute("aria-pressed", String(!hidden.has(part.key)));
      button.append(swatch(part.sign), words);
      button.addEventListener("click", () => {
        if (!hidden.delete(part.key)) hidden.add(part.key);
        draw();
      });
      item.append(button);
      return item;
    }));
    if (focused) list.querySelectorAll("button").forEach((button) => { if (button.dataset.part === focused) button.focus(); });
  }

  function showRule() {
    const found = rule(), [one, other] = record.groups, more = (1 - found.weight).toFixed(2);
    element("weight-shown").textContent = `${found.weight.toFixed(2)} to ${more}`;
    element("direction").textContent = pair(found.direction);
    weight.setAttribute("aria-valuetext", `${one} ${found.weight.toFixed(2)}, ${other} ${more}`);
    document.querySelectorAll("#rule [data-field]").forEach((cell) => {
      const value = found[cell.dataset.field][Number(cell.dataset.group)];
      cell.textContent = cell.dataset.field === "risk" ? risk(value) : percent(value);
      cell.dataset.value = value === null ? "" : String(value);
    });
    element("rule-words").textContent = `Risk of ${one} ${risk(found.risk[0])}, of ${other} ${risk(found.risk[1])}. ` +
      `Selection rate: ${percent(found.selection_rate[0])} and ${percent(found.selection_rate[1])}.`;
  }

  function moveRule() {
    showRule();
    const k = parts.findIndex((part) => part.key === "rule"), { risk: e } = rule();
    Plotly.restyle(plot, { x: [[e[0]]], y: [[e[1]]], hovertext: [[aboutRule()]] }, [k]);
  }

  const drawing = plot !== null;  // there is none if the predictions do not serve pairs of groups

  function setTheme(value) {
    dark = value;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(dark));
    return drawing ? draw() : Promise.resolve();
  }

  function zoom(factor) {
    const scaled = ([low, high]) => {
      const middle = (low + high) / 2, half = factor * (high - low) / 2;
      return [middle - half, middle + half];
    };
    ends = { x: scaled(ends.x), y: scaled(ends.y) };
    draw();
  }

  function reset() {
    ends = null;
    draw();
  }

  theme.addEventListener("click", () => setTheme(!dark));
  system.addEventListener("change", (event) => setTheme(event.matches));
  if (drawing) {
    weight.addEventListener("input", moveRule);
    if (picker) picker.addEventListener("change", draw);
    if (pairs) pairs.addEventListener("change", () => { setPlane(Number(pairs.value)); showRule(); reset(); });
    view.addEventListener("change", reset);
    element("closer").addEventListener("click", () => zoom(1 / 1.5));
    element("wider").addEventListener("click", () => zoom(1.5));
    element("reset").addEventListener("click", reset);
  }
  let closed = [];
  window.addEventListener("beforeprint", () => {
    printing = true;
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach((one) => { one.open = true; });
    if (drawing) draw();
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    closed.forEach((one) => { one.open = false; });
    if (drawing) draw();
  });
  if (drawing) showRule();
  setTheme(dark).then(() => {
    if (!drawing) return;
    plot.on("plotly_relayout", (change) => {
      if ("xaxis.range[0]" in change) ends.x = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if ("yaxis.range[0]" in change) ends.y = [change["yaxis.range[0]"], change["yaxis.range[1]"]];
    });
    plot.dataset.drawn = "yes";
  });
})();
