// What pages do beside htmx: a part that a run under way fills, by server-sent events.
"use strict";
for (const part of document.querySelectorAll("[data-live]")) {
  const source = new EventSource(part.dataset.live);
  source.onmessage = event => { part.innerHTML = event.data; };
  source.addEventListener("end", () => { source.close(); location.reload(); });
}

// A slider moves the number of its field, from an eighth to eight times; the unit behind it stays.
const written = new Map();
document.addEventListener("input", event => {
  const slider = event.target, field = document.getElementById(slider.dataset.moves || "");
  if (!field) { written.delete(event.target.id); return; }
  if (!written.has(field.id)) written.set(field.id, field.value);
  const found = /^([0-9.]+(?:e[+-]?[0-9]+)?)(.*)$/is.exec(written.get(field.id));
  if (!found) return;
  const number = Number(found[1]), by = 8 ** (slider.value / 100), step = Number(slider.dataset.step);
  const moved = number ? number * by : Math.max(0, slider.value / 10);
  const shown = step ? Math.round(moved / step) * step : Number(moved.toPrecision(3));
  field.value = shown + found[2];
});
// A mistake's place leads to its line in the editor.
document.addEventListener("click", event => {
  const place = event.target.closest("[data-line]"), text = document.getElementById("text");
  if (!place || !text) return;
  event.preventDefault();
  const lines = text.value.split("\n"), line = place.dataset.line - 1;
  const at = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(at + Number(place.dataset.column) - 1, at + lines[line].length);
  text.scrollTop = text.scrollHeight * Math.max(0, line - 3) / lines.length;
});
