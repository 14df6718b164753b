"use strict";
/* Steps through backward passes: after how many events, what each tensor has received, and which line is used now. */
(() => {
  const passes = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const players = [...document.querySelectorAll(".player")].map((place, number) => player(place, passes[number]));

  function player(place, pass) {
    const one = (what) => place.querySelector(what);
    const lines = [...place.querySelectorAll(".events li")], nodes = [...place.querySelectorAll(".node")];
    if (!lines.length) return { move() {} };
    const wires = new Map();
    for (const wire of place.querySelectorAll("[data-edge]")) wires.set(pass.edges[wire.dataset.edge].join(), wire);
    const counters = nodes.map(counter);
    let at = 0, playing = 0;

    function counter(node) {
      const made = document.createElementNS("http://www.w3.org/2000/svg", "text");
      const box = node.querySelector(".box");
      made.setAttribute("class", "counter");
      made.setAttribute("x", Number(box.getAttribute("x")) + Number(box.getAttribute("width")) + 3);
      made.setAttribute("y", Number(box.getAttribute("y")) + Number(box.getAttribute("height")) / 2 + 4);
      node.append(made);
      return made;
    }

    /* Everything is worked out from the first event on, so that going back is no other thing than going on. */
    function show(target) {
      at = Math.max(0, Math.min(lines.length, target));
      const states = nodes.map(() => ""), told = nodes.map(() => "");
      for (const wire of wires.values()) wire.classList.remove("sent", "current");
      pass.events.slice(0, at).forEach((event, number) => {
        const last = number === at - 1;
        if (event.expected) {
          states[event.at] = event.received === event.expected ? "ready" : "waiting";
          told[event.at] = event.received + "/" + event.expected;
          const wire = wires.get(event.at + "," + event.from);
          if (wire) wire.classList.add(last ? "current" : "sent");
        } else states[event.at] = "passed-on";
      });
      nodes.forEach((node, index) => {
        node.classList.remove("waiting", "ready", "passed-on", "current");
        if (states[index]) node.classList.add(states[index]);
        if (at && pass.events[at - 1].at === index) node.classList.add("current");
        counters[index].textContent = told[index];
      });
      lines.forEach((line, number) => {
        line.classList.toggle("done", number < at);
        line.classList.toggle("current", number === at - 1);
      });
      const current = lines[at - 1];
      one(".said").textContent = current ? current.textContent : "Nothing has been sent yet.";
      if (current) current.parentElement.scrollTop = current.offsetTop - current.parentElement.offsetTop - 60;
      if (at) inSight(nodes[pass.events[at - 1].at]);
      one(".place").value = at;
      one(".now").textContent = at + " of " + lines.length;
    }

    /* Of a large picture the part where something happens. */
    function inSight(node) {
      const box = one(".picture");
      if (!node || !box) return;
      const inner = node.getBoundingClientRect(), outer = box.getBoundingClientRect();
      if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
      if (inner.left < outer.left || inner.right > outer.right) box.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
    }

    function play(on) {
      clearInterval(playing);
      playing = 0;
      if (on) {
        if (at === lines.length) show(0);
        playing = setInterval(() => { show(at + 1); if (at === lines.length) play(false); }, 900);
      }
      one(".play").textContent = on ? "pause" : "play";
      one(".play").setAttribute("aria-pressed", String(on));
    }

    function move(target) { play(false); show(target); }

    one(".first").addEventListener("click", () => move(0));
    one(".back").addEventListener("click", () => move(at - 1));
    one(".on").addEventListener("click", () => move(at + 1));
    one(".play").addEventListener("click", () => play(!playing));
    one(".place").addEventListener("input", (event) => move(Number(event.target.value)));
    lines.forEach((line, number) => line.addEventListener("click", () => move(number + 1)));
    return { move: (by) => move(by === Infinity ? lines.length : by === -Infinity ? 0 : at + by), place };
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    const own = players.find((one) => one.place && one.place.contains(document.activeElement)) || players.find((one) => one.place);
    if (own) { event.preventDefault(); own.move(by); }
  });

  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, (event) => {
    const node = event.target.closest(".graph .node");
    tip.hidden = !node;
    if (!node) return;
    tip.textContent = node.getAttribute("aria-label");
    const at = node.getBoundingClientRect(), own = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(at.left + at.width / 2 - own.width / 2, innerWidth - own.width - 8)) + "px";
    tip.style.top = (at.bottom + 8 + own.height < innerHeight ? at.bottom + 8 : Math.max(8, at.top - own.height - 8)) + "px";
  });
  document.addEventListener("scroll", () => { tip.hidden = true; }, true);
  document.documentElement.dataset.ready = "yes";
})();
