// The page: shows what the table says, and tells it what the person does. Rules and drawing are the table's.
"use strict";

const UNIT = 40;
const EDGE = 1.5;
const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
const SVG = "http://www.w3.org/2000/svg";
const SWITCHES = ["analysis", "territory", "review"];
const at = (id) => document.getElementById(id);
let table = null;

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

// What is read aloud, or lies under a finger, is not to be replaced by itself.
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
  const scale = box.width / ((table.width - 1 + 2 * EDGE) * UNIT);
  const column = Math.round((event.clientX - box.left) / scale / UNIT - EDGE);
  const row = Math.round((event.clientY - box.top) / scale / UNIT - EDGE);
  const isOnBoard = column >= 0 && column < table.width && row >= 0 && row < table.height;
  return isOnBoard ? COLUMNS[column] + (table.height - row) : null;
}

function placeOf(move) {
  if (move.toLowerCase() === "pass") return null;
  const column = COLUMNS.indexOf(move[0].toUpperCase());
  const row = table.height - Number(move.slice(1));
  return [(column + EDGE) * UNIT, (row + EDGE) * UNIT];
}

function drawOver(stones) {
  const overlay = at("overlay");
  const size = (count) => (count - 1 + 2 * EDGE) * UNIT;
  overlay.setAttribute("viewBox", `0 0 ${size(table.width)} ${size(table.height)}`);
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
  let color = table.to_play;
  const stones = moves.map((move, index) => {
    const stone = {move, color, text: String(index + 1), opacity: 0.9};
    color = other[color];
    return stone;
  });
  drawOver(stones);
}

// What the table says

function show(facts) {
  const isNewPosition = !table || table.shown !== facts.shown || table.last !== facts.last;
  table = facts;
  at("picture").innerHTML = facts.board;
  if (isNewPosition) drawOver([]);
  at("board").classList.toggle("may-play", facts.may_play);
  for (const color of ["black", "white"]) showSeat(color);
  at("board").style.setProperty("--ratio", (facts.width - 1 + 2 * EDGE) / (facts.height - 1 + 2 * EDGE));
  setText(at("status"), statusText());
  setText(at("note"), facts.note);
  document.title = `${statusText()} · Keima`;
  if (facts.error) showError(facts.error);
  at("number").textContent = `${facts.shown} / ${facts.moves}`;
  at("pass").disabled = !facts.may_play;
  at("undo").disabled = facts.moves === 0;
  at("resign").disabled = facts.result !== null;
  for (const name of SWITCHES) at(name).checked = facts.switches[name];
  for (const color of ["black", "white"]) at(`engine-${color}`).checked = facts.sittings[color] === "engine";
  if (document.activeElement !== at("seconds")) at("seconds").value = facts.seconds ?? "";
  showWays();
  showLevel();
  showEstimates();
  showCandidates();
  showMistakes();
  if (!at("rules").options.length) fillNewGame();
}

function showSeat(color) {
  const seat = at(`seat-${color}`);
  const isEngine = table.sittings[color] === "engine";
  const level = table.level !== null && table.level < table.full_level ? `, level ${table.level}` : "";
  seat.querySelector("b").textContent = isEngine ? table.engine + level : table.people[color] ?? "You";
  const other = color === "black" ? "white" : "black";
  const notes = [`${table.captured[other]} captured`];
  if (color === "white") notes.push(`komi ${table.komi}`);
  if (color === "black" && table.handicap) notes.push(`${table.handicap} stones`);
  seat.querySelector("small").textContent = notes.join(", ");
  seat.classList.toggle("to-play", table.to_play === color && !table.is_over && table.result === null);
}

function showWays() {
  const select = at("way");
  select.hidden = table.ways.length === 1;
  if (document.activeElement === select) return;
  const name = ({number, move}, index) => (index === 0 ? "The game" : `Move ${number}: ${move ?? "taken back"}`);
  select.replaceChildren(...table.ways.map((way, index) => new Option(name(way, index), index)));
  select.value = table.way;
}

function showLevel() {
  const select = at("level");
  at("level-label").hidden = table.level === null;
  while (select.length < table.full_level) {
    const level = select.length + 1;
    select.add(new Option(level === table.full_level ? `${level}, full` : level, level));
  }
  if (table.level !== null && document.activeElement !== select) select.value = table.level;
}

function statusText() {
  if (table.busy === "score") return "Counting ...";
  if (table.busy === "move") return `${table.engine} thinks ...`;
  if (table.busy === "review") return `Reviewing: ${table.reviewed} of ${table.moves + 1} positions`;
  const parts = [];
  if (table.result !== null) parts.push(`Result: ${table.result}`);
  else if (table.score !== null) parts.push(`As it stands: ${table.score}`);
  if (table.last) parts.push(table.last);
  if (table.result === null && !table.is_over) parts.push(`${table.to_play === "black" ? "Black" : "White"} to play`);
  return parts.join(" · ");
}

function showEstimates() {
  const graph = at("graph");
  const last = Math.max(table.moves, 20);
  const x = (number) => (400 * number) / last;
  const known = Object.entries(table.estimates).map(([number, [winrate]]) => [x(Number(number)), 100 * (1 - winrate)]);
  const drawn = [element("line", {x1: 0, x2: 400, y1: 50, y2: 50, stroke: "#888", "stroke-dasharray": "4 4"})];
  if (known.length) {
    const line = known.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
    const [first] = known[0];
    const [end] = known[known.length - 1];
    drawn.push(element("path", {d: `M${first} 100L${line}L${end} 100Z`, fill: "#0008"}));
    drawn.push(element("path", {d: `M${line}`, fill: "none", stroke: "#2f8fd8", "stroke-width": 2, "vector-effect": "non-scaling-stroke"}));
  }
  drawn.push(element("line", {x1: x(table.shown), x2: x(table.shown), y1: 0, y2: 100, stroke: "#c0392b", "vector-effect": "non-scaling-stroke"}));
  graph.replaceChildren(...drawn);
  const now = table.estimates[table.shown] ?? table.estimates[table.shown - 1];
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
  fillRows("candidates", table.candidates, cells, ({move, pv}) => ({move, pv: pv.join(" ")}));
}

function showMistakes() {
  const cells = ({number, move, winrate, points}) => [
    String(number), move, `${(100 * winrate).toFixed(1)} %`, points === null ? "" : points.toFixed(1),
  ];
  fillRows("mistakes", table.switches.review ? table.mistakes : [], cells, ({number}) => ({number}));
}

function fillNewGame() {
  at("rules").replaceChildren(...table.known_rules.map((name) => new Option(name, name)));
  if (table.known_rules.includes(table.rules)) at("rules").value = table.rules;
  at("size").value = table.width === table.height ? table.width : `${table.width}x${table.height}`;
  at("komi").value = table.komi;
  at("handicap").value = table.handicap;
  const {black, white} = table.sittings;
  at("you").value = black === "person" ? (white === "person" ? "both" : "black") : white === "person" ? "white" : "none";
}

// What the person does

at("board").addEventListener("click", (event) => {
  const move = table && pointUnder(event);
  if (move && table.may_play) send("play", {move});
});
at("board").addEventListener("pointermove", (event) => {
  const move = table && table.may_play && event.pointerType === "mouse" ? pointUnder(event) : null;
  if (table) drawOver(move ? [{move, color: table.to_play, opacity: 0.4}] : []);
});
at("board").addEventListener("pointerleave", () => table && drawOver([]));

const steps = {
  start: () => 0, back: () => Math.max(0, table.shown - 1), on: () => table.shown + 1, end: () => table.moves,
};
for (const button of document.querySelectorAll("[data-to]")) {
  button.addEventListener("click", () => send("go", {to: steps[button.dataset.to]()}));
}
at("pass").addEventListener("click", () => send("play", {move: "pass"}));
at("undo").addEventListener("click", () => send("undo"));
at("resign").addEventListener("click", () => confirm("Resign this game?") && send("resign"));
at("way").addEventListener("change", () => { send("way", {to: Number(at("way").value)}); at("way").blur(); });
at("count").addEventListener("click", () => send("count"));
for (const name of SWITCHES) {
  at(name).addEventListener("change", () => send("switch", {[name]: at(name).checked}));
}
for (const color of ["black", "white"]) {
  at(`engine-${color}`).addEventListener("change", (event) => send("sit", {[color]: event.target.checked ? "engine" : "person"}));
}
at("level").addEventListener("change", () => { send("sit", {level: at("level").value}); at("level").blur(); });
at("seconds").addEventListener("change", () => send("sit", {seconds: at("seconds").value}));
at("graph").addEventListener("click", (event) => {
  const box = at("graph").getBoundingClientRect();
  send("go", {to: Math.round((Math.max(table.moves, 20) * (event.clientX - box.left)) / box.width)});
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
// An analysis may change the row while it is pressed: the move that was there then is meant.
let pressed = null;
body.addEventListener("pointerdown", (event) => { pressed = event.target.closest("tr")?.dataset.move; });
body.addEventListener("click", () => pressed && table.may_play && send("play", {move: pressed}));
at("new").addEventListener("submit", (event) => {
  event.preventDefault();
  const mine = {black: ["black"], white: ["white"], both: ["black", "white"], none: []}[at("you").value];
  const sitting = (color) => (mine.includes(color) ? "person" : "engine");
  send("new", {
    size: at("size").value, komi: at("komi").valueAsNumber, handicap: at("handicap").valueAsNumber,
    rules: at("rules").value, black: sitting("black"), white: sitting("white"),
  });
});
at("open").addEventListener("change", () => {
  const [file] = at("open").files;
  if (file) post("/game.sgf", file);
  at("open").value = "";
});
addEventListener("keydown", (event) => {
  if (!table || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("select, input:not([type=checkbox])")) return;
  const keys = {
    ArrowLeft: () => send("go", {to: steps.back()}), ArrowRight: () => send("go", {to: steps.on()}),
    Home: () => send("go", {to: 0}), End: () => send("go", {to: table.moves}),
    a: () => send("switch", {analysis: !table.switches.analysis}), t: () => send("switch", {territory: !table.switches.territory}),
    r: () => send("switch", {review: !table.switches.review}),
    b: () => table.way !== 0 && send("way", {to: 0}),
    u: () => send("undo"), p: () => table.may_play && send("play", {move: "pass"}),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

// A browser keeps six connections to a program: tabs in the background hold none, and ask for no analysis.
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
