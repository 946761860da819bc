"use strict";
(function () {
  const record = JSON.parse(document.getElementById("record").textContent);
  const [r, b] = record.groups;
  const shares = record.settings.loss === "classification";
  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const label = (text) => escaped(short(String(text), 40));
  const percent = (x, digits = 1) => (x === null || x === undefined ? "n/a" : (100 * x).toFixed(digits) + "%");
  const risk = (x, digits = 2) => (x === null || x === undefined ? "n/a" : shares ? percent(x, digits) : x.toFixed(4));
  const plot = document.getElementById("plot");
  const weight = document.getElementById("weight");
  const chosen = document.getElementById("algorithm");
  const view = document.getElementById("view");
  const theme = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let dark = system.matches;

  const closed = (points) => (points.length ? points.concat([points[0]]) : points);
  const column = (points, k) => points.map((point) => point[k]);
  const at = (rule) => `(${risk(rule.risk[0])}, ${risk(rule.risk[1])})`;

  function colours() {
    return dark
      ? { ink: "#e8ecf4", grid: "#36415a", set: "rgba(222,150,130,.28)", edge: "#c58a79", region: "rgba(150,170,205,.30)",
          curve: "#9dc1f5", best: "#f2f5fa", algorithm: "#7fd3a5", better: "rgba(120,215,160,.30)", rule: "#ffcf66" }
      : { ink: "#1b2333", grid: "#dfe4ee", set: "rgba(230,160,140,.30)", edge: "#c98b79", region: "rgba(90,105,135,.30)",
          curve: "#1f2a44", best: "#1f2a44", algorithm: "#1b7f4d", better: "rgba(40,150,90,.28)", rule: "#c77700" };
  }

  function traces() {
    const c = colours(), picture = record.picture, list = [];
    const area = (points, name, fill, line, show) => ({
      type: "scatter", mode: "lines", x: column(closed(points), 0), y: column(closed(points), 1), fill: "toself",
      fillcolor: fill, line: { color: line, width: line ? 1 : 0 }, name, hoverinfo: "skip", showlegend: show });
    list.push(area(picture.set, "feasible set (estimate)", c.set, c.edge, true));
    picture.region.forEach((polygon, i) => list.push(
      area(polygon, `${percent(1 - record.alpha, 0)} confidence set, point by point`, c.region, "rgba(0,0,0,0)", i === 0)));
    const selected = chosen ? record.algorithms[Number(chosen.value)] : null;
    if (selected && selected.improving.length > 2) {
      list.push(area(selected.improving, `no worse than ${label(selected.name)} in any respect`, c.better, "rgba(0,0,0,0)", true));
    }
    const curve = picture.frontier;
    list.push({
      type: "scatter", mode: "lines", name: "frontier (estimate)", x: curve.map((p) => p.risk[0]), y: curve.map((p) => p.risk[1]),
      line: { color: c.curve, width: 3 },
      text: curve.map((p) => `direction (${p.direction[0].toFixed(2)}, ${p.direction[1].toFixed(2)})<br>` +
        `risk of ${label(r)} ${risk(p.risk[0])}, of ${label(b)} ${risk(p.risk[1])}<br>` +
        `treated: ${percent(p.treated[0])} of ${label(r)}, ${percent(p.treated[1])} of ${label(b)}`),
      hovertemplate: "%{text}<extra></extra>" });
    record.points.forEach((point, i) => list.push({
      type: "scatter", mode: "markers", name: label(point.name), x: [point.risk[0]], y: [point.risk[1]],
      marker: { color: c.best, size: 11, symbol: ["circle", "square", "diamond"][i % 3] },
      hovertemplate: `${label(point.name)}<br>risk of ${label(r)} ${risk(point.risk[0])}, of ${label(b)} ${risk(point.risk[1])}<extra></extra>` }));
    record.algorithms.forEach((a, i) => list.push({
      type: "scatter", mode: "markers", name: label(a.name), x: [a.risk[0]], y: [a.risk[1]],
      error_x: { type: "data", array: [a["risk interval"][0][1] - a.risk[0]], color: c.algorithm, thickness: 1.2 },
      error_y: { type: "data", array: [a["risk interval"][1][1] - a.risk[1]], color: c.algorithm, thickness: 1.2 },
      marker: { color: c.algorithm, size: 13, symbol: ["star", "triangle-up", "triangle-down", "cross", "x"][i % 5] },
      hovertemplate: `${label(a.name)}<br>risk of ${label(r)} ${risk(a.risk[0])}, of ${label(b)} ${risk(a.risk[1])}<br>` +
        `treated: ${percent(a.treated[0])} of ${label(r)}, ${percent(a.treated[1])} of ${label(b)}<extra></extra>` }));
    const rule = record.rules[Number(weight.value)];
    list.push({
      type: "scatter", mode: "markers", name: "rule of the slider", x: [rule.risk[0]], y: [rule.risk[1]],
      marker: { color: c.rule, size: 13, symbol: "circle-open-dot", line: { width: 3 } },
      hovertemplate: `rule of the slider ${at(rule)}<extra></extra>` });
    return list;
  }

  function range() {
    const all = view && view.value === "all";
    const points = all ? record.picture.set.slice() : record.picture.frontier.map((p) => p.risk);
    record.points.forEach((p) => points.push(p.risk));
    record.algorithms.forEach((a) => points.push(a.risk));
    const values = points.flat();
    const low = Math.min(...values), high = Math.max(...values), space = (all ? 0.05 : 0.2) * (high - low || 1);
    return [low - space, high + space];
  }

  function layout() {
    const c = colours(), ends = range(), narrow = window.innerWidth < 640;
    const axis = (title, more) => Object.assign({
      title: { text: title }, range: ends, gridcolor: c.grid, zeroline: false, color: c.ink, tickformat: shares ? ".1~%" : "" }, more);
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: c.ink, size: narrow ? 11 : 13 },
      margin: { l: 62, r: 10, t: 10, b: 50 }, hovermode: "closest", dragmode: "pan",
      xaxis: axis(`risk of ${label(r)}`), yaxis: axis(`risk of ${label(b)}`, narrow ? {} : { scaleanchor: "x" }),
      shapes: [{ type: "line", x0: -1e3, y0: -1e3, x1: 1e3, y1: 1e3, line: { dash: "dash", width: 1, color: c.ink }, layer: "below" }],
      legend: narrow ? { orientation: "h", y: -0.22 } : { x: 1.02, y: 1 }, showlegend: true };
  }

  function draw() {
    return Plotly.react(plot, traces(), layout(), {
      responsive: true, displaylogo: false, scrollZoom: true,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
  }

  function showRule() {
    const rule = record.rules[Number(weight.value)];
    const words = `${rule.weight.toFixed(2)} to ${(1 - rule.weight).toFixed(2)}`;
    document.getElementById("weight-shown").textContent = words;
    weight.setAttribute("aria-valuetext", `${r} ${rule.weight.toFixed(2)}, ${b} ${(1 - rule.weight).toFixed(2)}`);
    document.querySelectorAll("#rule [data-field]").forEach((cell) => {
      const value = rule[cell.dataset.field][Number(cell.dataset.group)];
      cell.textContent = cell.dataset.field === "risk" ? risk(value) : percent(value);
      cell.dataset.value = value === null ? "" : String(value);
    });
  }

  function setTheme(value) {
    dark = value;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(dark));
    return draw();
  }

  weight.addEventListener("input", () => { showRule(); draw(); });
  if (chosen) chosen.addEventListener("change", draw);
  view.addEventListener("change", draw);
  theme.addEventListener("click", () => setTheme(!dark));
  system.addEventListener("change", (event) => setTheme(event.matches));
  let resizing = null;
  window.addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(draw, 150); });
  window.addEventListener("beforeprint", () => setTheme(false));
  showRule();
  setTheme(dark).then(() => { plot.dataset.drawn = "yes"; });
})();
