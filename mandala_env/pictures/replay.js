"use strict";
// What a policy would do: data has player, value and choices [text, chance, was it played].
function policyTable(data) {
  const block = document.createElement("div");
  const line = document.createElement("p");
  const expects = data.value === null ? "" : `, expects ${data.value >= 0 ? "+" : ""}${data.value.toFixed(2)}`;
  line.textContent = `For ${data.player}${expects}:`;
  const table = document.createElement("table");
  for (const [text, chance, isPlayed] of data.choices) {
    const row = table.insertRow();
    if (isPlayed) row.className = "played";
    row.insertCell().textContent = isPlayed ? `${text} (played)` : text;
    row.insertCell().textContent = `${(100 * chance).toFixed(1)}%`;
    const bar = row.insertCell().appendChild(document.createElement("div"));
    bar.className = "bar";
    bar.style.width = `${(100 * chance).toFixed(1)}%`;
  }
  block.className = "policy";
  block.append(line, table);
  return block;
}

// Shows a game that was played: data has title, definitions (shapes of all drawings) and frames, see arena/replay.py.
function showReplay(root, data) {
  const make = (name, attributes = {}, text = "") => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };
  const last = data.frames.length - 1;
  let place = 0;
  let timer = null;

  root.replaceChildren();
  root.classList.add("replay");
  const shapes = make("div");
  shapes.innerHTML =
    `<svg class="definitions" aria-hidden="true" focusable="false"><defs>${data.definitions}</defs></svg>`;
  const picture = make("div", { class: "picture" });
  const caption = make("p", { class: "caption", "aria-live": "polite" });
  const policy = make("div", { class: "policy-place" });
  const slider = make("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "move" });
  const controls = make("div", { class: "controls" });
  // Drawn, because not every font has such signs.
  const SIGNS = {
    start: "M4 4V16M16 4L7 10L16 16Z", back: "M14 4L5 10L14 16Z", on: "M6 4L15 10L6 16Z", end: "M16 4V16M4 4L13 10L4 16Z",
    play: "M3 3L10 10L3 17ZM11 3L18 10L11 17Z", pause: "M6 4V16M14 4V16",
  };
  const draw = (element, sign) => {
    element.innerHTML = `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${SIGNS[sign]}"/></svg>`;
  };
  const button = (sign, title, action) => {
    const element = make("button", { type: "button", title, "aria-label": title });
    draw(element, sign);
    element.addEventListener("click", action);
    return element;
  };
  const playButton = button("play", "play", () => (timer ? stop() : play()));
  controls.append(
    button("start", "to the start", () => show(0)),
    button("back", "one move back", () => show(place - 1)),
    playButton,
    button("on", "one move on", () => show(place + 1)),
    button("end", "to the end", () => show(last)),
    slider,
  );
  root.append(make("h1", {}, data.title), shapes, controls, caption, picture);
  if (data.frames.some((frame) => frame.choices)) root.append(policy);

  function show(wanted) {
    place = Math.max(0, Math.min(last, wanted));
    const frame = data.frames[place];
    picture.innerHTML = frame.svg;
    caption.textContent = `${place} of ${last}: ${frame.caption}`;
    slider.value = place;
    policy.replaceChildren();
    if (frame.choices) policy.append(policyTable(frame));
    if (place === last) stop();
  }

  function play() {
    if (place === last) show(0);
    timer = setInterval(() => show(place + 1), 900);
    draw(playButton, "pause");
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    draw(playButton, "play");
  }

  slider.addEventListener("input", () => show(Number(slider.value)));
  const keys = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  const onKey = (event) => {
    if (!picture.isConnected) return document.removeEventListener("keydown", onKey);
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    if (/^(TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    show(place + keys[event.key]);
  };
  document.addEventListener("keydown", onKey);
  show(0);
  return { show, stop };
}
