// Sorts the profile by the column whose head is pressed; pressed again, the other way round.
"use strict";
const table = document.getElementById("profile");
if (table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const key = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.by === undefined ? cell.textContent : Number(cell.dataset.by);
  };
  heads.forEach((head, i) => head.firstElementChild.addEventListener("click", () => {
    const first = head.dataset.first || "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const way = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach(one => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", way);
    const sign = way === "ascending" ? 1 : -1;
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a, i), y = key(b, i);
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    });
    body.append(...rows);
  }));
}
