"use strict";
// Steps through the cycles of a watched core.
(function () {
  const data = JSON.parse(document.getElementById("watch-data").textContent);
  const slider = document.getElementById("cycle");
  const place = (id) => document.getElementById(id);

  function make(name, text, kind) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function fill(id, children, empty) {
    place(id).replaceChildren(...(children.length ? children : [make("li", empty, "note")]));
  }

  function instruction(kernel, pc) {
    const line = data.lines[kernel][pc];
    return `${pc}  ${data.texts[kernel][pc]}` + (line ? `  (line ${line})` : "");
  }

  function lanes(mask) {
    const bits = parseInt(mask, 16), box = make("span", undefined, "lanes");
    box.title = mask;
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `lanes ${mask}`);
    for (let lane = 0; lane < 32; lane++) box.append(make("i", undefined, (bits >>> lane) & 1 ? "on" : ""));
    return box;
  }

  function warpRow(warp, issued) {
    const [slot, cta, kernel, pc, mask, stack, buffered, waits, pending] = warp;
    const row = make("tr", undefined, issued.has(slot) ? "issued" : "");
    const next = make("td"), shown = make("td"), entries = make("td");
    next.append(make("code", instruction(kernel, pc)));
    shown.append(lanes(mask));
    for (const [at, meet, some] of stack) entries.append(make("code", `${at} → ${meet}: ${some}`, "entry"));
    row.append(make("td", slot), make("td", cta), next, shown, entries, make("td", buffered), make("td", waits || "nothing: ready"),
      make("td", pending.join(" ")));
    return row;
  }

  function item(slot, kernel, pc, more) {
    const made = make("li", `warp ${slot}: `);
    made.append(make("code", instruction(kernel, pc)), more || "");
    return made;
  }

  function show(number) {
    const now = data.cycles[number];
    if (!now) return;
    slider.value = number;
    place("cycle-shown").textContent = `cycle ${now.cycle} (${number + 1} of ${data.cycles.length})`;
    const kernels = new Map(now.warps.map((warp) => [warp[0], warp[2]]));
    const kernel = (slot) => kernels.get(slot) || 0;
    fill("schedulers", now.causes.map((why, k) => make("li", `scheduler ${k}: ${why}`)).concat(
      now.issued.map(([slot, pc]) => item(slot, kernel(slot), pc, " issued"))), "none");
    const issued = new Set(now.issued.map((one) => one[0]));
    place("warps").replaceChildren(...now.warps.map((warp) => warpRow(warp, issued)));
    fill("collectors", now.collectors.map(([slot, pc, banks, read]) => {
      const made = item(slot, kernel(slot), pc);
      banks.forEach((bank, k) => made.append(make("span", `bank ${bank}${read[k] ? " read" : ""}`, read[k] ? "bank read" : "bank")));
      return made;
    }), "none in use");
    place("banks").textContent = `register banks (sub-core.bank) read: ${now.read.join(", ") || "none"}; written: ${now.written.join(", ") || "none"}`;
    const units = now.flights.filter((flight) => flight[2] === "execute");
    fill("units", units.map(([slot, pc, , unit, , , , at]) => item(slot, kernel(slot), pc, ` in ${unit}, issued in ${at}`)), "idle");
    const memory = now.flights.filter((flight) => flight[2] === "ldst" || flight[2] === "memory");
    fill("memory", memory.map(([slot, pc, stage, , accesses, served, left]) => item(slot, kernel(slot), pc,
      stage === "ldst" ? `: ${served} of ${accesses} accesses made` : `: waits for ${left} of ${accesses} accesses`)), "nothing");
    fill("mshrs", now.mshrs.map((line) => make("li", line)), "all free");
  }

  function step(by) {
    show(Math.min(data.cycles.length - 1, Math.max(0, Number(slider.value) + by)));
  }

  const far = data.cycles.length;
  const moves = { first: -far, back10: -10, back: -1, next: 1, next10: 10, last: far };
  for (const [name, by] of Object.entries(moves)) place(`go-${name}`).addEventListener("click", () => step(by));
  slider.addEventListener("input", () => show(Number(slider.value)));
  const keys = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -far, End: far };
  document.addEventListener("keydown", (event) => {
    if (event.key in keys && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      step(keys[event.key]);
    }
  });
  const theme = place("theme"), root = document.documentElement;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  function label() {
    theme.textContent = isDark() ? "Light theme" : "Dark theme";
    theme.setAttribute("aria-pressed", String(isDark()));
  }
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  label();
  show(0);
})();
