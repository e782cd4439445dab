/* Time series of one trial at a time, and saving of charts. Needs uPlot; no other code. */
(function () {
"use strict";
var data = JSON.parse(document.getElementById("series").textContent);
var main = document.getElementById("ts-main"), small = document.getElementById("ts-samples");
var cellPick = document.getElementById("pick-cell"), trialPick = document.getElementById("pick-trial");
var plots = [], current = null;

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

/* Numbers as in the rest of the page: three significant digits, comma thousands. */
function sig3(v) {
  if (v === null || v === undefined || !isFinite(v)) return "none here";
  if (v === 0) return "0";
  var digits = 2 - Math.floor(Math.log10(Math.abs(v)));
  if (digits > 8) return v.toExponential(2);
  var rounded = digits >= 0 ? v : Math.round(v * Math.pow(10, digits)) / Math.pow(10, digits);
  var fixed = Math.min(8, Math.max(0, digits));
  return rounded.toLocaleString("en-US", {minimumFractionDigits: fixed, maximumFractionDigits: fixed});
}

function short(v) {
  var a = Math.abs(v);
  if (a >= 1e9) return +(v / 1e9).toPrecision(3) + "G";
  if (a >= 1e6) return +(v / 1e6).toPrecision(3) + "M";
  if (a >= 1e4) return +(v / 1e3).toPrecision(3) + "k";
  return a >= 1000 ? (+v.toPrecision(4)).toLocaleString("en-US") : String(+v.toPrecision(3));
}

/* Mean over the measured phase, shown while nothing is pointed at. */
function mean(t, values) {
  var sum = 0, n = 0;
  values.forEach(function (v, i) { if (v !== null && t[i] > 0) { sum += v; n += 1; } });
  return n ? sum / n : null;
}

/* Lines share a chart only where the smaller ones can still be read. */
function biggest(values) { return values.reduce(function (m, v) { return Math.max(m, Math.abs(v || 0)); }, 0); }

/* Bytes are shown in MiB, shares in percent, so that axes carry small numbers. */
function humanUnit(unit, values) {
  if (unit === "bytes" || unit === "bytes/s") {
    return {unit: unit === "bytes" ? "MiB" : "MiB/s", values: values.map(function (v) { return v === null ? null : v / 1048576; })};
  }
  if (unit === "share") return {unit: "%", values: values.map(function (v) { return v === null ? null : v * 100; })};
  return {unit: unit, values: values};
}

/* Shades the warm-up and the outages behind the lines. */
function shading(trial) {
  return function (u) {
    var ctx = u.ctx, b = u.bbox;
    function band(from, to, colour) {
      var x0 = Math.max(u.valToPos(from, "x", true), b.left);
      var x1 = Math.min(u.valToPos(to, "x", true), b.left + b.width);
      if (x1 > x0) { ctx.save(); ctx.fillStyle = colour; ctx.fillRect(x0, b.top, Math.max(1, x1 - x0), b.height); ctx.restore(); }
    }
    if (u.scales.x.min < 0) band(u.scales.x.min, 0, css("--nonebg"));
    trial.outages.forEach(function (o) { band(o[0], o[1] === null ? u.scales.x.max : Math.max(o[1], o[0]), css("--badbg")); });
  };
}

/* The seconds that all charts of a trial show: from the first point of load or samples, since an
   interval of the load stands at its end and samples begin earlier in the warm-up. */
function span(trial) {
  var low = Infinity, high = -Infinity;
  trial.t.forEach(function (t) { if (t !== null) { low = Math.min(low, t); high = Math.max(high, t); } });
  if (!isFinite(low)) return [0, 1];
  // A sample taken with the last interval lands just behind it, and a line to a point outside is cut.
  high += Math.min(0.5, 0.05 * (high - Math.max(0, low)));
  Object.keys(trial.sources).forEach(function (source) {
    trial.sources[source].t.forEach(function (t) { if (t !== null) low = Math.min(low, t); });
  });
  return [low, high];
}

/* What a chart shows where all of its own points are asked for: the span that all charts share. */
function shown(range, t, min, max) {
  var all = min === max || min <= t[0] && max >= t[t.length - 1];
  return all ? range : [Math.max(range[0], min), Math.min(range[1], max)];
}

function plot(parent, trial, title, unit, t, lines, height) {
  var box = document.createElement("div");
  var head = document.createElement("h4");
  head.textContent = title + " ";
  if (unit) { var note = document.createElement("small"); note.textContent = unit; head.appendChild(note); }
  box.appendChild(head);
  parent.appendChild(box);
  var soft = css("--soft"), grid = css("--grid");
  var axis = {stroke: soft, grid: {stroke: grid, width: 1}, ticks: {stroke: grid, width: 1, size: 4}, font: "12px system-ui, sans-serif"};
  var range = span(trial);
  var options = {
    width: Math.max(200, box.clientWidth), height: height,
    cursor: {sync: {key: "dyno"}, drag: {x: true, y: false}},
    legend: {live: true},
    scales: {
      x: {time: false, range: function (u, min, max) { return shown(range, t, min, max); }},
      y: {range: function (u, min, max) { return [Math.min(0, min || 0), max > 0 ? max * 1.08 : 1]; }}
    },
    axes: [
      Object.assign({}, axis, {size: 26, values: function (u, s) { return s.map(function (v) { return v + " s"; }); }}),
      Object.assign({}, axis, {size: 56, values: function (u, s) { return s.map(short); }})
    ],
    series: [{label: "time", value: function (u, v, i, idx) { return idx === null || idx === undefined ? "mean" : sig3(v) + " s"; }}].concat(lines.map(function (line, i) {
      return {label: line.label, stroke: css("--s" + (line.style === undefined ? i : line.style) % 8), width: 1.6, dash: line.dash, points: {show: false}, spanGaps: false, value: function (u, v, k, idx) { return sig3(idx === null || idx === undefined ? mean(t, line.values) : v); }};
    })),
    hooks: {drawClear: [shading(trial)]}
  };
  var u = new uPlot(options, [t].concat(lines.map(function (l) { return l.values; })), box);
  plots.push({u: u, box: box});
}

function clear() {
  plots.forEach(function (p) { p.u.destroy(); });
  plots = [];
  main.textContent = "";
  small.textContent = "";
}

function showLoad(trial) {
  var names = Object.keys(trial.groups), many = names.length > 1, tps = [], latency = [], errors = [], backlog = [];
  names.forEach(function (name, i) {
    var g = trial.groups[name], before = many ? name + " " : "";
    tps.push({label: before + "tps", values: g.tps, style: i});
    if (g.due) {
      tps.push({label: before + "due", values: g.due, style: i, dash: [4, 3]});
      latency.push({label: before + "response p95", values: g.response_p95, style: i + names.length});
      backlog.push({label: before + "backlog", values: g.backlog, style: i});
    }
    latency.push({label: before + (g.due ? "service p95" : "p95"), values: g.p95, style: i});
    latency.push({label: before + (g.due ? "service p50" : "p50"), values: g.p50, style: i, dash: [4, 3]});
    if (g.errors) errors.push({label: before + "errors", values: g.errors, style: i});
  });
  plot(main, trial, "Throughput", "transactions/s", trial.t, tps, 210);
  plot(main, trial, "Latency", "ms, each interval", trial.t, latency, 190);
  if (backlog.length) plot(main, trial, "Backlog", "arrivals due and not begun", trial.t, backlog, 130);
  if (errors.length) plot(main, trial, "Failed attempts", "per second", trial.t, errors, 120);
}

/* Samples of one source and unit share a chart; a server's counters get one each. */
function showSamples(trial) {
  var zero = [];
  Object.keys(trial.sources).forEach(function (source) {
    var s = trial.sources[source], counters = /(^|\.)status$/.test(source), charts = [];
    var lines = Object.keys(s.v).map(function (name) {
      var human = humanUnit(data.units[source + "." + name] || "", s.v[name]);
      return {name: data.names[source + "." + name] || name, unit: human.unit, values: human.values, top: biggest(human.values)};
    });
    lines = lines.filter(function (line) {
      if (line.top === 0) zero.push(data.sources[source] + ": " + line.name);
      return line.top !== 0;
    });
    if (!counters) lines.sort(function (a, b) { return b.top - a.top; });
    lines.forEach(function (line) {
      var home = counters ? null : charts.filter(function (c) { return c.unit === line.unit && c.lines.length < 6 && (line.unit === "%" || c.top < 25 * line.top); })[0];
      if (!home) {
        home = {title: counters ? line.name : data.sources[source], unit: line.unit, top: line.top, lines: []};
        charts.push(home);
      }
      home.lines.push({label: counters ? "value" : line.name, values: line.values});
    });
    charts.forEach(function (c) {
      if (c.lines.length === 1 && !counters) { c.title += ": " + c.lines[0].label; c.lines[0].label = "value"; }
      plot(small, trial, c.title, c.unit, s.t, c.lines, 130);
    });
  });
  document.getElementById("ts-zero").textContent = zero.length ? "Zero throughout this trial: " + zero.join(", ") + "." : "";
}

function show(id) {
  var trial = data.trials[id];
  if (!trial) return;
  current = id;
  clear();
  document.getElementById("trial-shown").textContent = cellPick.selectedOptions[0].text + ", " + trialPick.selectedOptions[0].text;
  var said = [];
  if (trial.void) said.push("This trial is void and counts nowhere.");
  trial.outages.forEach(function (o) {
    said.push("Outage from " + sig3(o[0]) + " s " + (o[1] === null ? "to the end" : "to " + sig3(o[1]) + " s") + (o[2] ? ": " + o[2] : "") + ".");
  });
  if (trial.t.length) showLoad(trial);
  else said.push(trial.absent || "Nothing was recorded.");
  var note = document.getElementById("trial-note");
  note.textContent = said.join(" ");
  trial.warnings.forEach(function (w) {
    var link = document.createElement("a");
    link.href = "#warnings"; link.className = "warnmark"; link.textContent = "⚠ " + w;
    note.appendChild(document.createTextNode(" "));
    note.appendChild(link);
  });
  showSamples(trial);
}

function option(select, value, text) {
  var o = document.createElement("option");
  o.value = value; o.textContent = text;
  select.appendChild(o);
}

function fillTrials(last) {
  trialPick.textContent = "";
  var cell = data.cells[+cellPick.value];
  cell.trials.forEach(function (id) {
    var t = data.trials[id];
    option(trialPick, id, "block " + t.block + " (" + id + ")" + (t.void ? ", void" : t.outages.length ? ", outage" : t.warnings.length ? ", warning" : ""));
  });
  if (last) trialPick.selectedIndex = cell.trials.length - 1;
  show(trialPick.value);
}

function step(by) {
  var at = trialPick.selectedIndex + by;
  if (at >= 0 && at < trialPick.options.length) { trialPick.selectedIndex = at; show(trialPick.value); return; }
  var n = data.cells.length;
  cellPick.selectedIndex = (cellPick.selectedIndex + by + n) % n;
  fillTrials(by < 0);
}

if (main && data.cells.length) {
  data.cells.forEach(function (cell, i) { option(cellPick, i, cell.label); });
  cellPick.addEventListener("change", function () { fillTrials(false); });
  trialPick.addEventListener("change", function () { show(trialPick.value); });
  document.getElementById("pick-prev").addEventListener("click", function () { step(-1); });
  document.getElementById("pick-next").addEventListener("click", function () { step(1); });
  fillTrials(false);
  var waiting = 0;
  window.addEventListener("resize", function () {
    clearTimeout(waiting);
    waiting = setTimeout(function () {
      plots.forEach(function (p) { if (p.box.clientWidth) p.u.setSize({width: Math.max(200, p.box.clientWidth), height: p.u.height}); });
    }, 120);
  });
  ["(prefers-color-scheme: dark)", "print"].forEach(function (media) {
    window.matchMedia(media).addEventListener("change", function () { show(current); });
  });
}

/* A phone has no room for the contents beside the text. */
var contents = document.querySelector(".contents");
if (contents && window.matchMedia("(max-width:760px)").matches) contents.open = false;

/* Saves a chart with the page's style and colours resolved in it. */
function rules() {
  var kept = [];
  Array.prototype.forEach.call(document.getElementById("style").sheet.cssRules, function (rule) {
    if (rule.selectorText && rule.selectorText.indexOf(".chart") === 0) kept.push(rule.cssText.replace(/\.chart /g, ""));
  });
  var text = kept.join("\n");
  for (var i = 0; i < 4; i++) text = text.replace(/var\((--[a-z0-9]+)\)/g, function (all, name) { return name === "--c" ? all : css(name); });
  return text.replace(/var\(--c, var\(--ink\)\)/g, "var(--c, " + css("--ink") + ")");
}

Array.prototype.forEach.call(document.querySelectorAll("button.save"), function (button) {
  button.addEventListener("click", function () {
    var figure = button.parentNode;
    var svg = Array.prototype.filter.call(figure.querySelectorAll("svg"), function (s) { return s.getBoundingClientRect().width > 0; })[0];
    if (!svg) return;
    var copy = svg.cloneNode(true), style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = "svg{background:" + css("--bg") + ";font-family:system-ui,sans-serif}\n" + rules();
    copy.insertBefore(style, copy.firstChild);
    var link = document.createElement("a");
    link.download = figure.getAttribute("data-name") + ".svg";
    link.href = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    document.body.appendChild(link);
    link.click();
    link.remove();
  });
});
window.addEventListener("beforeprint", function () {
  Array.prototype.forEach.call(document.querySelectorAll("details"), function (d) { d.open = true; });
});
})();
