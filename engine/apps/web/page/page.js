// The page: shows the state that the server sends and posts the person's commands. The server knows the rules and
// draws the board.
"use strict";

const UNIT = 40;
const EDGE = 1.5;
const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
const SVG = "http://www.w3.org/2000/svg";
const SWITCHES = ["analysis", "territory", "review"];
const at = (id) => document.getElementById(id);
let state = null;

function send(name, fields = {}) {
  return post(`/do/${name}`, JSON.stringify(fields));
}

async function post(path, body) {
  showError(null);
  try {
    const answer = await fetch(path, {method: "POST", body});
    if (!answer.ok) showError((await answer.json()).error);
  } catch {
    showError("The engine's program has ended: start keima web again.");
  }
}

// Writes only changed text: screen readers read a replaced text again, and a pressed element would lose its click.
function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

function showError(text) {
  at("error").textContent = text ?? "";
  at("error").hidden = !text;
}

// Points

function pointUnder(event) {
  const box = at("picture").getBoundingClientRect();
  const scale = box.width / ((state.width - 1 + 2 * EDGE) * UNIT);
  const column = Math.round((event.clientX - box.left) / scale / UNIT - EDGE);
  const row = Math.round((event.clientY - box.top) / scale / UNIT - EDGE);
  const isOnBoard = column >= 0 && column < state.width && row >= 0 && row < state.height;
  return isOnBoard ? COLUMNS[column] + (state.height - row) : null;
}

function placeOf(move) {
  if (move.toLowerCase() === "pass") return null;
  const column = COLUMNS.indexOf(move[0].toUpperCase());
  const row = state.height - Number(move.slice(1));
  return [(column + EDGE) * UNIT, (row + EDGE) * UNIT];
}

function drawOver(stones) {
  const overlay = at("overlay");
  const size = (count) => (count - 1 + 2 * EDGE) * UNIT;
  overlay.setAttribute("viewBox", `0 0 ${size(state.width)} ${size(state.height)}`);
  overlay.replaceChildren();
  for (const {move, color, text, opacity} of stones) {
    const place = placeOf(move);
    if (!place) continue;
    const [x, y] = place;
    const stone = element("circle", {cx: x, cy: y, r: 0.47 * UNIT, fill: color === "black" ? "#111" : "#fff", opacity, stroke: "#777"});
    overlay.append(stone);
    if (text) {
      const number = element("text", {x, y: y + 0.17 * UNIT, "font-size": 0.48 * UNIT, fill: color === "black" ? "#fff" : "#111"});
      number.textContent = text;
      overlay.append(number);
    }
  }
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function drawVariation(moves) {
  const other = {black: "white", white: "black"};
  let color = state.to_play;
  const stones = moves.map((move, index) => {
    const stone = {move, color, text: String(index + 1), opacity: 0.9};
    color = other[color];
    return stone;
  });
  drawOver(stones);
}

// Drawing the state

function show(snapshot) {
  const isNewPosition = !state || state.shown !== snapshot.shown || state.last !== snapshot.last;
  state = snapshot;
  at("picture").innerHTML = snapshot.board;
  if (isNewPosition) drawOver([]);
  at("board").classList.toggle("may-play", snapshot.may_play);
  for (const color of ["black", "white"]) showPlayer(color);
  at("board").style.setProperty("--ratio", (snapshot.width - 1 + 2 * EDGE) / (snapshot.height - 1 + 2 * EDGE));
  setText(at("status"), statusText());
  setText(at("note"), snapshot.note);
  document.title = `${statusText()} · Keima`;
  if (snapshot.error) showError(snapshot.error);
  at("number").textContent = `${snapshot.shown} / ${snapshot.moves}`;
  at("pass").disabled = !snapshot.may_play;
  at("undo").disabled = snapshot.moves === 0;
  at("resign").disabled = snapshot.result !== null;
  for (const name of SWITCHES) at(name).checked = snapshot.switches[name];
  for (const color of ["black", "white"]) at(`engine-${color}`).checked = snapshot.players[color] === "engine";
  if (document.activeElement !== at("seconds")) at("seconds").value = snapshot.seconds ?? "";
  showVariations();
  showLevel();
  showEstimates();
  showCandidates();
  showMistakes();
  if (!at("rules").options.length) fillNewGame();
}

function showPlayer(color) {
  const panel = at(`player-${color}`);
  const isEngine = state.players[color] === "engine";
  const level = state.level !== null && state.level < state.full_level ? `, level ${state.level}` : "";
  panel.querySelector("b").textContent = isEngine ? state.engine + level : state.people[color] ?? "You";
  const other = color === "black" ? "white" : "black";
  const notes = [`${state.captured[other]} captured`];
  if (color === "white") notes.push(`komi ${state.komi}`);
  if (color === "black" && state.handicap) notes.push(`${state.handicap} stones`);
  panel.querySelector("small").textContent = notes.join(", ");
  panel.classList.toggle("to-play", state.to_play === color && !state.is_over && state.result === null);
}

function showVariations() {
  const select = at("variation");
  select.hidden = state.variations.length === 1;
  if (document.activeElement === select) return;
  const name = ({number, move}, index) => (index === 0 ? "The game" : `Move ${number}: ${move ?? "taken back"}`);
  select.replaceChildren(...state.variations.map((variation, index) => new Option(name(variation, index), index)));
  select.value = state.variation;
}

function showLevel() {
  const select = at("level");
  at("level-label").hidden = state.level === null;
  while (select.length < state.full_level) {
    const level = select.length + 1;
    select.add(new Option(level === state.full_level ? `${level}, full` : level, level));
  }
  if (state.level !== null && document.activeElement !== select) select.value = state.level;
}

function statusText() {
  if (state.busy === "score") return "Counting ...";
  if (state.busy === "move") return `${state.engine} thinks ...`;
  if (state.busy === "review") return `Reviewing: ${state.reviewed} of ${state.moves + 1} positions`;
  const parts = [];
  if (state.result !== null) parts.push(`Result: ${state.result}`);
  else if (state.score !== null) parts.push(`As it stands: ${state.score}`);
  if (state.last) parts.push(state.last);
  if (state.result === null && !state.is_over) parts.push(`${state.to_play === "black" ? "Black" : "White"} to play`);
  return parts.join(" · ");
}

function showEstimates() {
  const graph = at("graph");
  const last = Math.max(state.moves, 20);
  const x = (number) => (400 * number) / last;
  const known = Object.entries(state.estimates).map(([number, [winrate]]) => [x(Number(number)), 100 * (1 - winrate)]);
  const drawn = [element("line", {x1: 0, x2: 400, y1: 50, y2: 50, stroke: "#888", "stroke-dasharray": "4 4"})];
  if (known.length) {
    const line = known.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
    const [first] = known[0];
    const [end] = known[known.length - 1];
    drawn.push(element("path", {d: `M${first} 100L${line}L${end} 100Z`, fill: "#0008"}));
    drawn.push(element("path", {d: `M${line}`, fill: "none", stroke: "#2f8fd8", "stroke-width": 2, "vector-effect": "non-scaling-stroke"}));
  }
  drawn.push(element("line", {x1: x(state.shown), x2: x(state.shown), y1: 0, y2: 100, stroke: "#c0392b", "vector-effect": "non-scaling-stroke"}));
  graph.replaceChildren(...drawn);
  const now = state.estimates[state.shown] ?? state.estimates[state.shown - 1];
  at("estimate").textContent = now ? `Black wins ${(100 * now[0]).toFixed(1)} %${now[1] === null ? "" : `, ${leadText(now[1])}`}` : "";
}

function leadText(lead) {
  const points = Math.abs(lead).toFixed(1);
  return points === "0.0" ? "even" : `${lead > 0 ? "Black" : "White"} ahead by ${points}`;
}

function fillRows(name, list, cellsOf, dataOf) {
  at(name).hidden = !list.length;
  const body = at(name).tBodies[0];
  while (body.rows.length > list.length) body.deleteRow(-1);
  list.forEach((each, index) => {
    const row = body.rows[index] ?? body.insertRow();
    cellsOf(each).forEach((text, column) => setText(row.cells[column] ?? row.insertCell(), text));
    Object.assign(row.dataset, dataOf(each));
  });
}

function showCandidates() {
  const cells = ({move, winrate, lead, visits, pv}) => [
    move,
    winrate === null ? "" : `${(100 * winrate).toFixed(1)} %`,
    lead === null ? "" : `${lead > 0 ? "+" : ""}${lead.toFixed(1)}`,
    visits.toLocaleString("en"),
    pv.join(" "),
  ];
  fillRows("candidates", state.candidates, cells, ({move, pv}) => ({move, pv: pv.join(" ")}));
}

function showMistakes() {
  const cells = ({number, move, winrate, points}) => [
    String(number), move, `${(100 * winrate).toFixed(1)} %`, points === null ? "" : points.toFixed(1),
  ];
  fillRows("mistakes", state.switches.review ? state.mistakes : [], cells, ({number}) => ({number}));
}

function fillNewGame() {
  at("rules").replaceChildren(...state.known_rules.map((name) => new Option(name, name)));
  if (state.known_rules.includes(state.rules)) at("rules").value = state.rules;
  at("size").value = state.width === state.height ? state.width : `${state.width}x${state.height}`;
  at("komi").value = state.komi;
  at("handicap").value = state.handicap;
  const {black, white} = state.players;
  at("you").value = black === "person" ? (white === "person" ? "both" : "black") : white === "person" ? "white" : "none";
}

// Sending commands

at("board").addEventListener("click", (event) => {
  const move = state && pointUnder(event);
  if (move && state.may_play) send("play", {move});
});
at("board").addEventListener("pointermove", (event) => {
  const move = state && state.may_play && event.pointerType === "mouse" ? pointUnder(event) : null;
  if (state) drawOver(move ? [{move, color: state.to_play, opacity: 0.4}] : []);
});
at("board").addEventListener("pointerleave", () => state && drawOver([]));

const steps = {
  start: () => 0, back: () => Math.max(0, state.shown - 1), on: () => state.shown + 1, end: () => state.moves,
};
for (const button of document.querySelectorAll("[data-to]")) {
  button.addEventListener("click", () => send("go", {to: steps[button.dataset.to]()}));
}
at("pass").addEventListener("click", () => send("play", {move: "pass"}));
at("undo").addEventListener("click", () => send("undo"));
at("resign").addEventListener("click", () => confirm("Resign this game?") && send("resign"));
at("variation").addEventListener("change", () => { send("variation", {to: Number(at("variation").value)}); at("variation").blur(); });
at("count").addEventListener("click", () => send("count"));
for (const name of SWITCHES) {
  at(name).addEventListener("change", () => send("switch", {[name]: at(name).checked}));
}
for (const color of ["black", "white"]) {
  at(`engine-${color}`).addEventListener("change", (event) => send("configure", {[color]: event.target.checked ? "engine" : "person"}));
}
at("level").addEventListener("change", () => { send("configure", {level: at("level").value}); at("level").blur(); });
at("seconds").addEventListener("change", () => send("configure", {seconds: at("seconds").value}));
at("graph").addEventListener("click", (event) => {
  const box = at("graph").getBoundingClientRect();
  send("go", {to: Math.round((Math.max(state.moves, 20) * (event.clientX - box.left)) / box.width)});
});
at("mistakes").tBodies[0].addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row) send("go", {to: Number(row.dataset.number) - 1});
});
const body = at("candidates").tBodies[0];
body.addEventListener("mouseover", (event) => {
  const row = event.target.closest("tr");
  if (row) drawVariation(row.dataset.pv.split(" "));
});
body.addEventListener("mouseleave", () => drawOver([]));
// An analysis may change the row between press and release, so the move is the one at the press.
let pressed = null;
body.addEventListener("pointerdown", (event) => { pressed = event.target.closest("tr")?.dataset.move; });
body.addEventListener("click", () => pressed && state.may_play && send("play", {move: pressed}));
at("new").addEventListener("submit", (event) => {
  event.preventDefault();
  const mine = {black: ["black"], white: ["white"], both: ["black", "white"], none: []}[at("you").value];
  const kindOf = (color) => (mine.includes(color) ? "person" : "engine");
  send("new", {
    size: at("size").value, komi: at("komi").valueAsNumber, handicap: at("handicap").valueAsNumber,
    rules: at("rules").value, black: kindOf("black"), white: kindOf("white"),
  });
});
at("open").addEventListener("change", () => {
  const [file] = at("open").files;
  if (file) post("/game.sgf", file);
  at("open").value = "";
});
addEventListener("keydown", (event) => {
  if (!state || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("select, input:not([type=checkbox])")) return;
  const keys = {
    ArrowLeft: () => send("go", {to: steps.back()}), ArrowRight: () => send("go", {to: steps.on()}),
    Home: () => send("go", {to: 0}), End: () => send("go", {to: state.moves}),
    a: () => send("switch", {analysis: !state.switches.analysis}), t: () => send("switch", {territory: !state.switches.territory}),
    r: () => send("switch", {review: !state.switches.review}),
    b: () => state.variation !== 0 && send("variation", {to: 0}),
    u: () => send("undo"), p: () => state.may_play && send("play", {move: "pass"}),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

// Browsers open at most six connections to one server, so tabs in the background hold none; without a connection they
// request no analysis either.
let events = null;
function listen() {
  events?.close();
  events = null;
  if (document.hidden) return;
  events = new EventSource("/events");
  events.onmessage = (event) => show(JSON.parse(event.data));
  events.onerror = () => { at("status").textContent = "The engine's program does not answer; trying again ..."; };
}
addEventListener("visibilitychange", listen);
listen();
