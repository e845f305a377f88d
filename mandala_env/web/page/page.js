"use strict";
// The page asks the server for everything: it knows no rules, only parts of a drawing and the actions that they belong to.
(() => {
  const get = (id) => document.getElementById(id);
  const PHONE = matchMedia("(max-width: 640px)");
  const REST = 700; // milliseconds between the moves of opponents
  const LONG_REST = 4000; // after something went wrong
  const GAMES = { mandala_v0: "Mandala", flowers_v0: "Flowers" };
  let choices = []; // games, numbers of players and who may play
  let view = null; // what the server says of the game
  let chosen = []; // parts that were pointed at, towards an action
  let isBusy = false;
  let isPaused = false;
  let timer = null;
  let replay = null;

  // --- the server ---------------------------------------------------------------------------------------------

  async function ask(path, body) {
    const options = body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    };
    let answer;
    try {
      answer = await fetch(path, options);
    } catch {
      throw new Error("the server does not answer");
    }
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.error), { status: answer.status });
    return content;
  }

  const width = () => `width=${PHONE.matches ? 480 : 960}`;
  const here = (rest = "") => `/api/games/${view.id}${rest}`;

  function tell(error) {
    get("error").textContent = error ? error.message : "";
    get("error").hidden = !error;
  }

  // One request at a time; what it brings is shown, what it refuses is told.
  async function work(request) {
    if (isBusy) return;
    isBusy = true;
    let rest = REST;
    clearTimeout(timer);
    try {
      tell(null);
      await request();
    } catch (error) {
      tell(error);
      rest = LONG_REST;
      if (error.status === 404 && view) leave();
      if (error.status === 409 && view) await reload();
    } finally {
      isBusy = false;
      schedule(rest);
    }
  }

  async function reload() {
    try {
      show(await ask(here(`?${width()}`)));
    } catch (error) {
      tell(error);
    }
  }

  // --- which part of the page ---------------------------------------------------------------------------------

  function open(id) {
    for (const main of document.querySelectorAll("main")) main.hidden = main.id !== id;
    get("new").hidden = id === "setup";
    if (id !== "replay" && replay) {
      replay.stop();
      get("replay").replaceChildren();
      replay = null;
    }
  }

  function leave() {
    clearTimeout(timer);
    view = null;
    history.replaceState(null, "", location.pathname);
    document.title = "Mandala";
    open("setup");
  }

  // --- choosing a game ----------------------------------------------------------------------------------------

  const option = (value, text = value) => new Option(text, value);
  const playersHere = () =>
    choices.find((one) => one.game === get("game").value && one.num_players === Number(get("count").value));

  function showCounts() {
    const numbers = choices.filter((one) => one.game === get("game").value).map((one) => one.num_players);
    get("count").replaceChildren(...numbers.map((number) => option(number)));
    get("count").closest("label").hidden = numbers.length < 2;
    showSeats();
  }

  function showSeats() {
    const { num_players: count, players, adviser } = playersHere();
    const labels = Array.from({ length: count }, (_, seat) => {
      const label = document.createElement("label");
      const select = document.createElement("select");
      select.append(option("you"), ...players.map((name) => option(name)));
      select.value = seat === 0 ? "you" : adviser;
      label.append(`player ${seat} `, select);
      return label;
    });
    get("seats").replaceChildren(get("seats").firstElementChild, ...labels);
  }

  const seatsChosen = () => [...get("seats").querySelectorAll("select")].map((select) => select.value);

  function start(game, seats) {
    return work(async () => {
      const begun = await ask(`/api/games?${width()}`, { game, seats });
      isPaused = false;
      history.replaceState(null, "", `#${begun.id}`);
      show(begun);
      get("status").focus();
    });
  }

  // --- the game -----------------------------------------------------------------------------------------------

  function show(next) {
    const hadFocus = document.activeElement;
    const part = hadFocus?.closest?.("#board [data-part]")?.dataset.part;
    const wasInside = hadFocus && get("play").contains(hadFocus);
    if (!view || next.id !== view.id || next.number !== view.number) {
      get("advice").replaceChildren();
      chosen = [];
    }
    view = next;
    open("play");
    document.title = `${view.is_yours ? "Your turn - " : ""}${GAMES[view.game]}`;
    get("play").dataset.state = view.is_over ? "over" : view.is_yours ? "yours" : "theirs";
    get("play").dataset.number = view.number;
    get("board").innerHTML = view.svg;
    get("status").textContent = statusLine();
    get("watching").hidden = view.seat !== null || view.is_over;
    get("pause").textContent = isPaused ? "Go on" : "Pause";
    get("step").disabled = !isPaused;
    get("ending").hidden = !view.is_over;
    get("save").href = here("/transcript");
    const adviser = choices.find((one) => one.game === view.game && one.num_players === view.names.length);
    get("adviser").textContent = adviser ? adviser.adviser : "the adviser";
    get("ask").hidden = view.is_over || !(view.is_yours || view.seat === null);
    showLog();
    showMoves();
    if (wasInside && !document.contains(hadFocus)) {
      const again = part && get("board").querySelector(`[data-part="${part}"][tabindex]`);
      (again || get("status")).focus({ preventScroll: true });
    }
  }

  const nameOf = (seat) => view.names[seat];

  function statusLine() {
    if (view.is_over) {
      const { scores, winners } = view.result;
      const points = view.names.map((_, seat) => `${nameOf(seat)} ${scores[seat]}`).join(", ");
      if (winners.length === 1) {
        return `${winners[0] === view.seat ? "You win" : `${nameOf(winners[0])} wins`}. Points: ${points}`;
      }
      return `The win is shared by ${winners.map(nameOf).join(" and ")}. Points: ${points}`;
    }
    return view.is_yours ? "Your turn" : `${nameOf(view.player)} is thinking`;
  }

  function showLog() {
    get("log").replaceChildren(...[...view.log].reverse().map(({ turn, player, text }) => {
      const item = document.createElement("li");
      item.textContent = `${turn}. ${nameOf(player)}: ${text}`;
      return item;
    }));
  }

  // The actions that all chosen parts belong to.
  const possible = () => view.legal.filter(({ parts }) => chosen.every((part) => parts.includes(part)));

  function showMoves() {
    get("choosing").hidden = !view.is_yours;
    if (!view.is_yours) return;
    const left = possible();
    const next = new Set(left.flatMap(({ parts }) => parts).filter((part) => !chosen.includes(part)));
    for (const element of get("board").querySelectorAll("[data-part]")) {
      const { part } = element.dataset;
      const isChosen = chosen.includes(part);
      const can = next.has(part) && (chosen.length > 0 || isFirst(part));
      element.classList.toggle("can", can);
      element.classList.toggle("chosen", isChosen);
      if (can || isChosen) {
        element.setAttribute("tabindex", "0");
        element.setAttribute("role", "button");
        element.setAttribute("aria-pressed", String(isChosen));
        element.setAttribute("aria-label", part);
      } else {
        for (const name of ["tabindex", "role", "aria-pressed", "aria-label"]) element.removeAttribute(name);
      }
    }
    get("prompt").textContent = promptLine(left, next);
    get("clear").hidden = chosen.length === 0;
    get("moves").replaceChildren(...left.map(({ text }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => move(text));
      return button;
    }));
  }

  // Where an action begins: everything else is offered when something was chosen.
  const isFirst = (part) => view.legal.some(({ parts }) => parts[0] === part);

  function promptLine(left, next) {
    const words = [...new Set([...next].map((part) => part.split(" ")[0]))];
    if (chosen.length === 0) {
      if (words.includes("hand")) return "Point at a card in your hand, or take one of these:";
      return `Point at a ${words[0] === "claim" ? "colour of the mountain" : "tile"}, or take one of these:`;
    }
    const places = words.filter((word) => word !== "count" && word !== "hand");
    return places.length ? `${chosen.join(", ")}: where to?` : `${chosen.join(", ")}: how many?`;
  }

  function point(part) {
    if (chosen.includes(part)) {
      chosen = chosen.filter((other) => other !== part);
    } else {
      const kind = part.split(" ")[0];
      const others = chosen.filter((other) => other.split(" ")[0] !== kind);
      const fits = (parts) => view.legal.some((action) => parts.every((one) => action.parts.includes(one)));
      chosen = [[...chosen, part], [...others, part], [part]].find(fits) || [];
    }
    const left = possible();
    if (left.length === 1 && left[0].parts.every((one) => chosen.includes(one) || one.startsWith("count "))) {
      move(left[0].text);
    } else {
      showMoves();
    }
  }

  const move = (text) => work(async () => {
    show(await ask(here(`/moves?${width()}`), { number: view.number, action: text }));
  });
  const advance = () => work(async () => {
    show(await ask(here(`/advance?${width()}`), { number: view.number }));
  });

  // The opponents' moves come one by one, so that each can be seen.
  function schedule(rest = REST) {
    clearTimeout(timer);
    const isTheirs = view && !get("play").hidden && !view.is_over && !view.is_yours;
    if (isTheirs && !(view.seat === null && isPaused)) timer = setTimeout(advance, rest);
  }

  // --- the policy, and games that were played -----------------------------------------------------------------

  const showAdvice = () => work(async () => {
    get("advice").replaceChildren(policyTable(await ask(here("/advice"))));
  });

  // `read` gives the text of a transcript; `viewer` is the seat whose view is shown, or null for everything.
  const openTranscript = (read, viewer = null) => work(async () => {
    const data = await ask(`/api/replays?${width()}`, { transcript: await read(), viewer });
    open("replay");
    replay = showReplay(get("replay"), data);
  });

  const watchAgain = () => openTranscript(async () => (await fetch(here("/transcript"))).text());

  // --- what people do -----------------------------------------------------------------------------------------

  get("game").addEventListener("change", showCounts);
  get("count").addEventListener("change", showSeats);
  get("form").addEventListener("submit", (event) => {
    event.preventDefault();
    start(get("game").value, seatsChosen());
  });
  get("file").addEventListener("change", async () => {
    const [file] = get("file").files;
    const seat = get("viewer").value;
    if (file) await openTranscript(() => file.text(), seat === "" ? null : Number(seat));
    get("file").value = "";
  });
  get("new").addEventListener("click", () => { tell(null); leave(); });
  get("again").addEventListener("click", () => start(view.game, view.seats));
  get("watch").addEventListener("click", watchAgain);
  get("ask").addEventListener("click", showAdvice);
  get("clear").addEventListener("click", () => { chosen = []; showMoves(); });
  get("pause").addEventListener("click", () => { isPaused = !isPaused; show(view); schedule(); });
  get("step").addEventListener("click", advance);
  get("board").addEventListener("click", (event) => {
    const element = event.target.closest(".can, .chosen");
    if (element) point(element.dataset.part);
  });
  get("board").addEventListener("keydown", (event) => {
    const element = event.target.closest(".can, .chosen");
    if (!element || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    point(element.dataset.part);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && view?.is_yours && chosen.length) { chosen = []; showMoves(); }
  });
  PHONE.addEventListener("change", () => { if (view) work(reload); });

  async function begin() {
    choices = (await ask("/api/choices")).games;
    const games = [...new Set(choices.map((one) => one.game))];
    get("game").replaceChildren(...games.map((game) => option(game, GAMES[game] || game)));
    showCounts();
    const id = location.hash.slice(1);
    if (!/^[\w-]+$/.test(id)) return open("setup");
    view = { id };
    open("play");
    show(await ask(here(`?${width()}`)));
  }

  work(async () => {
    try {
      await begin();
    } catch (error) {
      leave();
      throw error;
    }
  });
})();
