// What pages do beside htmx: a part that a run under way fills, by server-sent events.
"use strict";
for (const part of document.querySelectorAll("[data-live]")) {
  const source = new EventSource(part.dataset.live);
  source.onmessage = event => { part.innerHTML = event.data; };
  source.addEventListener("end", () => { source.close(); location.reload(); });
}
