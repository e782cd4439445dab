// Sorts the profile by the column whose head is pressed; pressed again, the other way round.
"use strict";
document.addEventListener("click", event => {
  const pressed = event.target.closest("#profile th button");
  if (!pressed) return;
  const table = pressed.closest("table"), head = pressed.parentElement;
  const heads = [...head.parentElement.cells], body = table.tBodies[0], i = heads.indexOf(head);
  const key = row => {
    const cell = row.cells[i];
    return cell.dataset.by === undefined ? cell.textContent : Number(cell.dataset.by);
  };
  const first = head.dataset.first || "descending";
  const other = first === "ascending" ? "descending" : "ascending";
  const way = head.getAttribute("aria-sort") === first ? other : first;
  heads.forEach(one => one.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", way);
  const sign = way === "ascending" ? 1 : -1;
  const rows = [...body.rows].sort((a, b) => {
    const x = key(a), y = key(b);
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
  });
  body.append(...rows);
});
