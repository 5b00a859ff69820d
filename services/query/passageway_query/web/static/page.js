// Keeps the states of the sources fresh while the page is in sight. Without it they are as of loading the page.
"use strict";

const sources = document.getElementById("sources");
const busy = () => sources.querySelector(".indexing") !== null;

async function refresh() {
  if (!document.hidden) {
    const reply = await fetch("/sources", { headers: { Accept: "text/html" } }).catch(() => null);
    if (reply && reply.ok) sources.innerHTML = await reply.text();
    if (reply && reply.status === 401) return;
  }
  setTimeout(refresh, busy() ? 2000 : 15000);
}

setTimeout(refresh, busy() ? 2000 : 15000);
