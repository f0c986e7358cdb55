// The page shows the last state as it is written. This script shows any other moment of the session: it hides the steps
// that had not happened yet, and says in each head what the agent did then. It asks for nothing from anywhere.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const length = Math.max(data.length, 1);
  const byId = (id) => document.getElementById(id);
  const SILENCE = 5000; // Milliseconds without an event that are shortened.
  const SHORTENED = 1000; // What is left of them.
  const SPEEDS = [1, 10, 0]; // 0 goes to the end.

  // One pane for each agent: its steps by when they began, and its results by when they came.
  const panes = data.agents.map((agent) => {
    const pane = agent.id === 0 ? byId("conversation") : byId("agent-" + agent.id);
    const within = (selector) => (pane ? [...pane.querySelectorAll(":scope > .steps > " + selector)] : []);
    const time = (key) => (element) => Number(element.dataset[key]);
    const timed = (elements, key) =>
      elements.map((element) => ({ element, at: time(key)(element) })).sort((one, other) => one.at - other.at);
    const head = pane && pane.querySelector(":scope > summary");
    const part = (name) => head && head.querySelector("." + name);
    const scroller = agent.id === 0 ? pane : pane && pane.querySelector(":scope > .steps");
    const whole = head && ["state", "tools", "time", "tokens"].map((name) => part(name).textContent);
    const stateClass = head && part("state").className;
    return {
      agent, pane, head, part, scroller, whole, stateClass,
      steps: timed(within(".step"), "t"), shown: -1,
      results: timed(within(".step[data-d]"), "d"), answered: -1,
    };
  });
  const rows = new Map([...document.querySelectorAll("#rows .row")].map((row) => [Number(row.dataset.agent), row]));
  const events = [...new Set(panes.flatMap((pane) => [...pane.steps, ...pane.results].map((step) => step.at)))]
    .concat(data.agents.flatMap((agent) => agent.spans.map((span) => span[1])))
    .sort((one, other) => one - other);

  // How many of the sorted entries come at or before a time.
  const countUntil = (entries, now, at) => {
    let [low, high] = [0, entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(entries[middle]) <= now) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const clock = (ms) => {
    const seconds = Math.floor(ms / 1000);
    const two = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(seconds / 3600);
    return (hours ? hours + ":" : "") + two(Math.floor(seconds / 60) % 60) + ":" + two(seconds % 60);
  };
  const elapsed = (ms) => {
    const seconds = Math.floor(ms / 1000);
    const two = (number) => String(number).padStart(2, "0");
    if (seconds < 10) return (Math.floor(ms / 100) / 10).toFixed(1) + "s";
    if (seconds < 60) return seconds + "s";
    if (seconds < 3600) return Math.floor(seconds / 60) + "m" + two(seconds % 60) + "s";
    return Math.floor(seconds / 3600) + "h" + two(Math.floor(seconds / 60) % 60) + "m";
  };
  const tokens = (count) => (count < 1000 ? String(count) : count < 1e6 ? (count / 1000).toFixed(1) + "k" : (count / 1e6).toFixed(1) + "M");

  let now = length;
  let playing = false;
  let speed = 0;
  let last = 0;

  const follow = (scroller) =>
    scroller && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;

  function showPane(view) {
    const atEnd = now >= length;
    const tail = playing && follow(view.scroller);
    const shown = atEnd ? view.steps.length : countUntil(view.steps, now, (step) => step.at);
    const [from, to] = view.shown < 0 ? [0, view.steps.length] : [Math.min(shown, view.shown), Math.max(shown, view.shown)];
    for (let at = from; at < to; at += 1) view.steps[at].element.hidden = at >= shown;
    view.shown = shown;
    const answered = atEnd ? view.results.length : countUntil(view.results, now, (step) => step.at);
    const [begin, end] =
      view.answered < 0 ? [0, view.results.length] : [Math.min(answered, view.answered), Math.max(answered, view.answered)];
    for (let at = begin; at < end; at += 1) view.results[at].element.classList.toggle("pending", at >= answered);
    view.answered = answered;
    if (view.head) showHead(view, atEnd);
    if (tail) view.scroller.scrollTop = view.scroller.scrollHeight;
  }

  function showHead(view, atEnd) {
    const { agent, part } = view;
    const isBorn = atEnd || agent.born <= now;
    view.pane.classList.toggle("unborn", !isBorn);
    const row = rows.get(agent.id);
    if (row) row.style.opacity = isBorn ? "" : "0.35";
    if (!isBorn) return;
    const state = part("state");
    if (atEnd) {
      ["state", "tools", "time", "tokens"].forEach((name, at) => (part(name).textContent = view.whole[at]));
      state.className = view.stateClass;
      return;
    }
    const begun = countUntil(agent.spans, now, (span) => span[1]);
    const span = agent.spans[begun - 1];
    const doing = span && now < span[2] ? span : null;
    const ended = agent.ends[countUntil(agent.ends, now, (end) => end[0]) - 1];
    state.textContent = doing ? doing[3] : ended ? ended[1] : "starting";
    const word = ended && !doing ? ({ done: "good", "wrapped up": "good", failed: "bad", "timed out": "bad" })[ended[1]] : "";
    state.className = "state " + (doing ? doing[0] : word || "neutral");
    const counts = agent.counts[countUntil(agent.counts, now, (count) => count[0]) - 1] || [0, 0, 0];
    part("tools").textContent = counts[1] + (counts[1] === 1 ? " tool" : " tools");
    part("tokens").textContent = tokens(counts[2]);
    const worked = agent.spans.slice(0, begun).reduce((sum, one) => sum + Math.min(one[2], now) - one[1], 0);
    part("time").textContent = elapsed(worked);
  }

  const playhead = document.createElement("div");
  playhead.id = "playhead";
  const bars = byId("rows");
  function placePlayhead() {
    const bar = bars.querySelector("svg");
    if (!bar) return;
    const [outer, inner] = [bars.getBoundingClientRect(), bar.getBoundingClientRect()];
    playhead.style.left = inner.left - outer.left + (inner.width * now) / length - 1 + "px";
  }

  function show(time) {
    now = Math.max(0, Math.min(length, time));
    panes.forEach(showPane);
    placePlayhead();
    byId("clock").textContent = clock(now) + " / " + clock(length);
    bars.setAttribute("aria-valuenow", String(Math.round(now)));
    bars.setAttribute("aria-valuetext", clock(now) + " of " + clock(length));
    document.body.dataset.now = String(Math.round(now));
  }

  function setPlaying(on) {
    playing = on;
    byId("play").textContent = on ? "❙❙" : "▶";
    byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
    if (on) {
      last = performance.now();
      requestAnimationFrame(tick);
    }
  }
  function play() {
    if (playing) return setPlaying(false);
    if (SPEEDS[speed] === 0) return show(length);
    if (now >= length) show(0);
    setPlaying(true);
  }
  function tick(time) {
    if (!playing) return;
    const passed = Math.max(0, time - last) * SPEEDS[speed];
    last = time;
    let next = now + passed;
    // A long silence passes in a moment, at any speed.
    const upcoming = events[countUntil(events, now, (at) => at)] ?? length;
    if (upcoming - now > SILENCE) next = Math.max(next, upcoming - SHORTENED * SPEEDS[speed]);
    show(Math.min(next, length));
    if (now >= length) setPlaying(false);
    else requestAnimationFrame(tick);
  }
  function setSpeed() {
    speed = (speed + 1) % SPEEDS.length;
    byId("speed").textContent = SPEEDS[speed] === 0 ? "to end" : "×" + SPEEDS[speed];
    if (SPEEDS[speed] === 0 && playing) {
      setPlaying(false);
      show(length);
    }
  }

  // The timeline is the scrubber.
  function scrub(event) {
    const bar = bars.querySelector("svg");
    if (!bar) return;
    const box = bar.getBoundingClientRect();
    setPlaying(false);
    show(((event.clientX - box.left) / box.width) * length);
  }
  bars.append(playhead);
  bars.tabIndex = 0;
  bars.setAttribute("role", "slider");
  bars.setAttribute("aria-label", "Moment of the session");
  bars.setAttribute("aria-valuemin", "0");
  bars.setAttribute("aria-valuemax", String(length));
  bars.addEventListener("pointerdown", (event) => {
    bars.setPointerCapture(event.pointerId);
    scrub(event);
  });
  bars.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) scrub(event);
  });
  window.addEventListener("resize", placePlayhead);

  // The search looks at everything, also at what had not happened yet at the moment that is shown.
  let hits = [];
  let hit = -1;
  function search() {
    hits.forEach((element) => element.classList.remove("hit", "now"));
    const wanted = byId("search").value.trim().toLowerCase();
    const all = wanted ? [...document.querySelectorAll(".step, .task, .agent > summary")] : [];
    hits = all.filter((element) => element.textContent.toLowerCase().includes(wanted));
    hits.forEach((element) => element.classList.add("hit"));
    hit = -1;
    byId("found").textContent = wanted ? (hits.length === 0 ? "no match" : hits.length + (hits.length === 1 ? " match" : " matches")) : "";
  }
  function go(step) {
    if (hits.length === 0) return;
    if (hit >= 0) hits[hit].classList.remove("now");
    hit = (hit + step + hits.length) % hits.length;
    const element = hits[hit];
    const holder = element.closest("[data-agent]");
    const agent = data.agents.find((one) => one.id === Number(holder?.dataset.agent));
    const at = Number(element.dataset.d ?? element.dataset.t ?? agent?.born ?? 0);
    if (at > now) {
      setPlaying(false);
      show(at);
    }
    for (let outer = element; outer; outer = outer.parentElement) if (outer.tagName === "DETAILS") outer.open = true;
    element.classList.add("now");
    element.scrollIntoView({ block: "center" });
    byId("found").textContent = hit + 1 + " of " + hits.length;
  }
  let typed = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(search, 150);
  });
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      clearTimeout(typed);
      if (hit < 0) search();
      go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      byId("search").value = "";
      search();
      byId("search").blur();
    } else {
      return;
    }
    event.preventDefault();
  });

  byId("play").addEventListener("click", play);
  byId("speed").addEventListener("click", setSpeed);
  byId("begin").addEventListener("click", () => show(0));
  byId("finish").addEventListener("click", () => (setPlaying(false), show(length)));
  byId("next").addEventListener("click", () => go(1));
  byId("previous").addEventListener("click", () => go(-1));

  const step = Math.max(1, length / 100);
  const keys = {
    " ": play,
    ArrowLeft: (event) => (setPlaying(false), show(now - (event.shiftKey ? step * 10 : step))),
    ArrowRight: (event) => (setPlaying(false), show(now + (event.shiftKey ? step * 10 : step))),
    Home: () => show(0),
    End: () => (setPlaying(false), show(length)),
    s: setSpeed,
    "/": () => byId("search").focus(),
    n: () => go(1),
    N: () => go(-1),
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input")) return;
    // A button and a fold are pressed with the space bar.
    if (event.key === " " && target.matches("button, summary, a")) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });

  document.documentElement.classList.add("scrubs");
  byId("controls").hidden = false;
  show(length);
})();
