// For accessible.py. What uPlot draws (.ts, .u-legend) has markup of its own.
() => {
  const found = [], shown = e => e.checkVisibility() && e.getClientRects().length;
  const all = what => [...document.querySelectorAll(what)].filter(shown);
  const says = e => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""} "${(e.innerText || e.name || "").slice(0, 40)}"`;
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title) found.push("no title");
  if (all("h1").length !== 1) found.push(`${all("h1").length} h1`);
  let level = 1;
  for (const e of all("h1,h2,h3,h4").filter(e => !e.closest(".ts"))) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) found.push(`a level is skipped before ${says(e)}`);
    level = own;
  }
  for (const e of all("input:not([type=hidden]),select,textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) found.push(`no label: ${says(e)}`);
  for (const e of all("button,a[href]"))
    if (!e.innerText.trim() && !e.getAttribute("aria-label")) found.push(`no name: ${says(e)}`);
  for (const e of all("img")) if (!e.alt) found.push(`no alternative: ${says(e)}`);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) found.push(`twice: #${id}`);
  for (const e of document.querySelectorAll("[aria-labelledby],[aria-describedby]"))
    for (const id of `${e.getAttribute("aria-labelledby") || ""} ${e.getAttribute("aria-describedby") || ""}`.split(" "))
      if (id && !ids.includes(id)) found.push(`refers to no element: #${id}`);
  for (const e of all("th").filter(e => !e.closest(".u-legend"))) if (!e.scope && e.innerText.trim()) found.push(`no scope: ${says(e)}`);

  const numbers = colour => (colour.match(/[\d.]+/g) || []).map(Number);
  const light = rgb => rgb.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const rgb = numbers(getComputedStyle(e).backgroundColor);
      if (rgb.length === 3 || rgb[3] === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e || seen.has(e) || e.closest("svg,.u-legend,:disabled") || !shown(e)) continue;
    seen.add(e);
    const style = getComputedStyle(e), a = light(numbers(style.color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.6 && style.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(1)}: ${says(e)}`);
  }
  return [...new Set(found)].slice(0, 20);
}
