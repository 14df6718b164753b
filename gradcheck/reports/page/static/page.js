"use strict";
/* The page's own script: the list of cases, filters and order, links to cases, keys, copying, what nodes tell.
   All text is put in with textContent. A case is HTML that was written with every text in it escaped; it waits as text
   in a script element of a type that nobody runs, for 5,000 parsed trees would be a slow start. */
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const [ID, NAME, WHERE, STATUS, TIME, ERROR, TAGS, ENGINES, REMARK] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const AT_ONCE = 100;
  const overview = byId("overview"), casePlace = byId("case"), rows = byId("rows"), tip = byId("tip");
  const controls = { q: byId("find"), tag: byId("tag"), engine: byId("engine"), sort: byId("sort") };
  const written = "trustedTypes" in window ? trustedTypes.createPolicy("gradcheck", { createHTML: (html) => html }) : null;
  const numbers = new Map(data.rows.map((row, number) => [row[ID], number]));
  const texts = data.rows.map((row) => [row[ID], row[REMARK], ...row[TAGS].map((t) => data.tags[t])].join("\n").toLowerCase());
  const error = (row) => (typeof row[ERROR] === "string" ? Infinity : row[ERROR] === null ? -1 : row[ERROR]);
  let state = { status: "", q: "", tag: "", engine: "", sort: "" };
  let found = [], drawn = 0, back = "#";

  function make(kind, classes, text) {
    const made = document.createElement(kind);
    if (classes) made.className = classes;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /* The list ------------------------------------------------------------------------------------- */

  function matching() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const status = state.status ? data.statuses.indexOf(state.status) : -1;
    const tag = state.tag ? data.tags.indexOf(state.tag) : -1;
    const engine = state.engine ? data.engines.indexOf(state.engine) : -1;
    const kept = [];
    data.rows.forEach((row, number) => {
      if (state.status && row[STATUS] !== status) return;
      if (state.tag && !row[TAGS].includes(tag)) return;
      if (state.engine && !row[ENGINES].includes(engine)) return;
      if (words.every((word) => texts[number].includes(word))) kept.push(number);
    });
    const of = (number) => data.rows[number];
    const orders = {
      "": (a, b) => data.order[of(a)[STATUS]] - data.order[of(b)[STATUS]],
      error: (a, b) => error(of(b)) - error(of(a)) || 0,
      time: (a, b) => of(b)[TIME] - of(a)[TIME],
    };
    return state.sort in orders ? kept.sort((a, b) => orders[state.sort](a, b) || a - b) : kept;
  }

  function line(number) {
    const row = data.rows[number], status = data.statuses[row[STATUS]];
    const item = make("li"), link = make("a");
    link.href = "#case=" + encodeURIComponent(row[ID]);
    const badge = make("span");
    badge.append(make("span", "badge s-" + status, data.marks[row[STATUS]] + " " + status));
    const worst = error(row);
    const size = worst < 0 || row[ERROR] === "none" ? "" : worst === Infinity ? "∞" : worst === 0 ? "0" : worst.toExponential(1);
    link.append(badge, make("span", "name", row[NAME]), make("span", "remark", row[REMARK]),
      make("span", "number error", size),
      make("span", "number time", row[TIME] ? (row[TIME] < 1 ? Math.round(row[TIME] * 1000) + " ms" : row[TIME].toFixed(1) + " s") : ""));
    item.append(link);
    return item;
  }

  function extend(most) {
    const piece = document.createDocumentFragment();
    for (const end = Math.min(found.length, drawn + most); drawn < end; drawn++) piece.append(line(found[drawn]));
    rows.append(piece);
    const rest = found.length - drawn;
    byId("more").hidden = !rest;
    byId("more").textContent = "show " + Math.min(rest, AT_ONCE * 4) + " of " + rest + " more";
  }

  function list() {
    found = matching();
    drawn = 0;
    rows.replaceChildren();
    extend(AT_ONCE);
    byId("shown").textContent = found.length + " of " + data.rows.length;
    for (const chip of document.querySelectorAll(".chip")) chip.setAttribute("aria-pressed", String(chip.dataset.status === state.status));
  }

  /* Where we are: all of it stands behind the # ---------------------------------------------------- */

  function address() {
    const parts = Object.entries(state).filter(([, value]) => value).map(([key, value]) => key + "=" + encodeURIComponent(value));
    return "#" + parts.join("&");
  }

  function read() {
    const known = {};
    for (const part of location.hash.slice(1).split("&")) {
      const [key, value] = part.split(/=(.*)/s);
      if (value === undefined) continue;
      try { known[key] = decodeURIComponent(value); } catch { known[key] = value; }
    }
    return known;
  }

  function go() {
    hideTip();
    const asked = read();
    let number = "case" in asked ? numbers.get(asked.case) : "n" in asked ? Number(asked.n) : undefined;
    byId("lost").hidden = !("case" in asked || "n" in asked) || Boolean(data.rows[number]);
    if (number !== undefined && data.rows[number]) return open(number);
    casePlace.hidden = true;
    casePlace.replaceChildren();
    overview.hidden = false;
    state = { status: asked.status || "", q: asked.q || "", tag: asked.tag || "", engine: asked.engine || "", sort: asked.sort || "" };
    for (const [key, control] of Object.entries(controls)) if (control.value !== state[key]) control.value = state[key];
    back = address();
    list();
  }

  function change(part) {
    state = { ...state, ...part };
    back = address();
    history.replaceState(null, "", back);
    list();
  }

  /* A case ----------------------------------------------------------------------------------------- */

  function open(number) {
    const row = data.rows[number], known = byId("n" + number);
    if (!found.length) found = matching();
    const nav = make("nav", "case-nav");
    nav.setAttribute("aria-label", "cases");
    const at = found.indexOf(number);
    nav.append(button("← all cases", () => { location.hash = back; }));
    if (at > 0) nav.append(button("previous", () => step(-1)));
    if (at >= 0 && at < found.length - 1) nav.append(button("next", () => step(1)));
    casePlace.replaceChildren(nav);
    if (known) casePlace.append(...parsed(known.textContent));
    else casePlace.append(make("h2", "", row[NAME]), make("p", "about", row[REMARK]),
      make("p", "fact", "There are too many cases for this page to hold more of this one: run it alone to see its picture."));
    overview.hidden = true;
    casePlace.hidden = false;
    casePlace.dataset.number = number;
    const graph = casePlace.querySelector(".graph .faulty, .graph .failed");
    window.scrollTo(0, 0);
    casePlace.focus({ preventScroll: true });
    if (graph) center(graph);
  }

  function parsed(html) {
    const made = new DOMParser().parseFromString(written ? written.createHTML(html) : html, "text/html");
    return document.adoptNode(made.body).childNodes;
  }

  function center(node) {
    const box = node.closest(".picture");
    if (!box) return;
    const inner = node.getBoundingClientRect(), outer = box.getBoundingClientRect();
    box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
    box.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
  }

  function button(text, act) {
    const made = make("button", "", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  function step(by) {
    const at = found.indexOf(Number(casePlace.dataset.number)) + by;
    if (at >= 0 && at < found.length) location.hash = "#case=" + encodeURIComponent(data.rows[found[at]][ID]);
  }

  /* Copying ---------------------------------------------------------------------------------------- */

  async function copy(button) {
    const text = button.dataset.copy ?? button.parentElement.querySelector("pre").textContent;
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch { done = copyByHand(text); }
    button.textContent = done ? "copied" : "not copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  }

  function copyByHand(text) {
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    try { return document.execCommand("copy"); } catch { return false; } finally { area.remove(); }
  }

  /* What nodes tell -------------------------------------------------------------------------------- */

  function showTip(node) {
    tip.textContent = node.getAttribute("aria-label");
    tip.hidden = false;
    const at = node.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left + at.width / 2 - own.width / 2, innerWidth - own.width - 8));
    const below = at.bottom + 8 + own.height < innerHeight;
    tip.style.left = left + "px";
    tip.style.top = (below ? at.bottom + 8 : Math.max(8, at.top - own.height - 8)) + "px";
  }

  function hideTip() { tip.hidden = true; }

  /* Listening -------------------------------------------------------------------------------------- */

  const near = (event, what) => (event.target instanceof Element ? event.target.closest(what) : null);
  document.addEventListener("click", (event) => {
    const copying = near(event, ".copy"), chip = near(event, ".chip"), label = near(event, ".skip");
    if (copying) copy(copying);
    if (chip) change({ status: chip.dataset.status });
    if (label) { event.preventDefault(); byId("main").focus(); }
  });
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, (event) => {
    const node = near(event, ".graph .node");
    if (node) showTip(node); else if (kind === "mouseover" || !near(event, ".tip")) hideTip();
  });
  document.addEventListener("scroll", hideTip, true);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  controls.q.addEventListener("input", () => change({ q: controls.q.value }));
  for (const key of ["tag", "engine", "sort"]) controls[key].addEventListener("change", () => change({ [key]: controls[key].value }));
  byId("more").addEventListener("click", () => extend(AT_ONCE * 4));
  window.addEventListener("hashchange", go);

  function move(by) {
    if (!casePlace.hidden) return step(by);
    const links = [...rows.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))];
    if (next) next.focus();
  }

  document.addEventListener("keydown", (event) => {
    const typing = near(event, "input, select, textarea");
    if (event.key === "Escape") {
      if (!tip.hidden) return hideTip();
      if (typing) return typing.blur();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { "/": () => { if (casePlace.hidden) controls.q.focus(); }, j: () => move(1), k: () => move(-1),
      u: () => { location.hash = back; }, Escape: () => { if (!casePlace.hidden) location.hash = back; } }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  window.addEventListener("beforeprint", () => {
    if (!overview.hidden) extend(2000);
    for (const closed of document.querySelectorAll("#case details")) closed.open = true;
  });
  go();
  document.documentElement.dataset.ready = "yes";
})();
