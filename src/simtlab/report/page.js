"use strict";
(() => {
  const data = JSON.parse(document.getElementById("profile-data").textContent);
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const root = document.documentElement;
  const drawn = new Map(); // chart id -> its root model

  // Theme: the system's until the button is used; remembered where the browser allows it.
  const remembered = () => { try { return localStorage.getItem("simtlab-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("simtlab-theme", theme); } catch { /* from a file there may be no storage */ } };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const themeButton = document.getElementById("theme");

  function paint() {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    themeButton.textContent = theme() === "dark" ? "Light theme" : "Dark theme";
    themeButton.setAttribute("aria-pressed", String(theme() === "dark"));
    for (const model of drawn.values()) paintChart(model, colour("--text"), colour("--soft"));
  }

  function paintChart(model, text, soft) {
    for (const child of model.children || []) paintChart([child].flat()[0], text, soft);
    for (const side of ["left", "right", "above", "below", "center"]) {
      for (const part of model[side] || []) {
        if ("major_label_text_color" in part) {
          part.setv({ major_label_text_color: soft, axis_label_text_color: text, axis_line_color: soft,
            major_tick_line_color: soft, minor_tick_line_color: soft });
        } else if ("label_text_color" in part) part.label_text_color = text;
        else if ("text_color" in part) part.text_color = text;
      }
    }
  }

  // Launches: one is shown; its charts are drawn the first time.
  const articles = [...document.querySelectorAll("article.launch")];
  async function draw(article) {
    for (const place of article.querySelectorAll("[data-chart]")) {
      if (drawn.has(place.id) || !charts[place.id]) continue;
      drawn.set(place.id, { children: [] });
      const views = await Bokeh.embed.embed_item(charts[place.id], place);
      const found = [...(views.roots ?? views)];
      drawn.set(place.id, found[0].model);
      if (matchMedia("(pointer: coarse)").matches) leaveToScrolling(found[0].model);
      place.dataset.drawn = "true";
    }
    paint();
  }
  // On a touch screen a finger scrolls the page: the buttons move the chart.
  function leaveToScrolling(model) {
    for (const child of model.children || []) leaveToScrolling([child].flat()[0]);
    if (!model.toolbar) return;
    model.toolbar.visible = false;
    for (const tool of model.toolbar.tools) if ("active" in tool) tool.active = false;
  }
  function show(number) {
    articles.forEach((article, k) => { article.hidden = k !== number; });
    draw(articles[number]);
  }
  const chooser = document.getElementById("launch-select");
  if (chooser) chooser.addEventListener("change", () => show(Number(chooser.value)));

  // Tables: a heading sorts, a second time the other way round; rows with nothing to sort by come last.
  function sort(heading) {
    const table = heading.closest("table");
    const column = heading.cellIndex;
    const body = table.tBodies[0];
    const numeric = [...body.rows].every((row) => !keyOf(row, column) || !Number.isNaN(Number(keyOf(row, column))));
    const before = heading.getAttribute("aria-sort");
    const first = numeric && column > 0 ? "descending" : "ascending";
    const order = before === "none" ? first : before === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const inSource = [...body.rows].sort((a, b) => Number(a.dataset.place) - Number(b.dataset.place));
    if (column === 0) body.append(...(sign > 0 ? inSource : inSource.reverse()));
    else {
      const has = inSource.filter((row) => keyOf(row, column));
      const rest = inSource.filter((row) => !keyOf(row, column));
      has.sort((a, b) => sign * compare(keyOf(a, column), keyOf(b, column), numeric));
      body.append(...has, ...rest);
    }
    body.classList.toggle("sorted", column !== 0);
  }
  function keyOf(row, column) {
    if (row.classList.contains("context")) return "";
    const cell = row.cells[column];
    return cell.dataset.key ?? cell.textContent.replace(/[\u202f%<]/g, "");
  }
  for (const table of document.querySelectorAll(".sortable")) [...table.tBodies[0].rows].forEach((row, k) => { row.dataset.place = k; });
  const compare = (a, b, numeric) => (numeric ? Number(a) - Number(b) : a.localeCompare(b));

  // Lines and instructions lead to each other.
  function link(row) {
    const section = row.closest("section");
    for (const old of section.querySelectorAll("tr.linked")) old.classList.remove("linked");
    for (const other of section.querySelectorAll("tr[data-line]")) {
      if (other.dataset.line === row.dataset.line) other.classList.add("linked");
    }
  }

  document.addEventListener("click", (event) => {
    const heading = event.target.closest(".sortable thead button");
    if (heading) return sort(heading.closest("th"));
    const zoom = event.target.closest("[data-zoom]");
    if (zoom) return move(zoom.closest("article"), zoom.dataset.zoom);
    const anchor = event.target.closest(".source th a, .waits a, a.line-link");
    if (anchor) {
      const target = document.getElementById(anchor.hash.slice(1));
      if (!target) return;
      link(target);
      requestAnimationFrame(() => target.scrollIntoView({ block: "center" })); // not under the heading of its table
    }
  });

  // The timeline, without a mouse. A child of the grid is its chart, row and column.
  const timeRange = (id) => [drawn.get(id)?.children[0]].flat()[0]?.x_range;
  function move(article, how) {
    const place = article.querySelector('[data-chart="timeline"]');
    const range = timeRange(place.id);
    if (!range) return;
    const whole = data.launches[articles.indexOf(article)].cycles;
    let { start, end } = range;
    const width = end - start;
    if (how === "in") { start += width / 4; end -= width / 4; }
    if (how === "out") { start -= width / 2; end += width / 2; }
    if (how === "left") { start -= width / 2; end -= width / 2; }
    if (how === "right") { start += width / 2; end += width / 2; }
    if (how === "reset") { start = 0; end = whole; }
    const span = Math.min(end - start, whole);
    start = Math.max(0, Math.min(start, whole - span));
    range.setv({ start, end: start + span });
  }

  // A frame that scrolls can be reached with the keyboard.
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const frame of document.querySelectorAll(".scroll")) watcher.observe(frame);

  // The intervals as a table, made when it is opened.
  for (const details of document.querySelectorAll(".interval-table")) {
    details.addEventListener("toggle", () => {
      const place = details.querySelector(".intervals");
      if (!details.open || place.childElementCount) return;
      const columns = data.launches[articles.indexOf(details.closest("article"))].intervals;
      const table = document.createElement("table");
      table.createCaption().textContent = "Intervals";
      const head = table.createTHead().insertRow();
      for (const name of Object.keys(columns)) {
        const cell = document.createElement("th");
        cell.scope = "col";
        cell.className = "n";
        cell.textContent = data.interval_labels[name];
        head.append(cell);
      }
      const body = table.createTBody();
      columns.cycle.forEach((_, k) => {
        const row = body.insertRow();
        for (const values of Object.values(columns)) {
          const cell = row.insertCell();
          cell.className = "n";
          cell.textContent = values[k] === null ? "–" : values[k].toLocaleString("en", { maximumFractionDigits: 2 });
        }
      });
      const frame = document.createElement("div");
      frame.className = "scroll tall";
      watcher.observe(frame);
      frame.append(table);
      place.append(frame);
    });
  }

  themeButton.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    remember(root.dataset.theme);
    paint();
  });
  system.addEventListener("change", paint);
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  window.simtlab = { timeRange };
  paint();
  if (articles.length) show(0);
})();
