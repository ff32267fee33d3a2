// The page: shows the state that the server sends and posts the person's commands. The server knows the rules and
// draws the board.

import {drawVariation, forgetPoint, listenToBoard, showBoard} from "/board.js";
import {listen} from "/connection.js";
import {listenToGraphs, showEstimates} from "/graphs.js";
import {goToMistake, listenToReview, reviewText, showReview} from "/review.js";
import {listenToTree, showTree} from "/tree.js";
import {
  announce, at, capital, fillRows, other, page, percent, post, prefer, preference, seenLead, seenWinrate, send, setText, showError,
  signed, viewColor,
} from "/shared.js";

const SWITCHES = ["analysis", "territory", "review"];
const COLORS = ["black", "white"];

// Drawing the state

function show(state) {
  const before = page.state;
  const isNewPosition = !before || before.shown !== state.shown || before.stones !== state.stones;
  page.state = state;
  if (isNewPosition) forgetPoint();
  showBoard();
  for (const color of COLORS) showPlayer(color);
  setText(at("status"), statusText());
  setText(at("note"), state.note);
  setText(at("notice"), state.notice);
  document.title = `${statusText()} · Keima`;
  if (state.error) showError(state.error);
  setText(at("number"), `${state.shown} / ${state.moves}`);
  at("pass").disabled = !state.may_play;
  at("undo").disabled = !state.may_undo;
  at("resign").disabled = state.result !== null;
  for (const name of SWITCHES) at(name).checked = state.switches[name];
  for (const color of COLORS) at(`engine-${color}`).checked = state.players[color] === "engine";
  if (document.activeElement !== at("seconds")) at("seconds").value = state.seconds ?? "";
  showTree();
  showRank();
  showAgreement();
  showEstimates();
  showCandidates();
  showReview();
  if (before && isNewPosition) announce(positionText());
  else if (before && (before.result !== state.result || before.score !== state.score)) announce(statusText());
  if (!at("rules").options.length) fillNewGame();
}

function redraw() {
  if (page.state) show(page.state);
}

function showPlayer(color) {
  const {state} = page;
  const panel = at(`player-${color}`);
  const isEngine = state.players[color] === "engine";
  const rank = state.rank !== null && state.rank !== "full" ? `, ${state.rank}` : "";
  setText(panel.querySelector("b"), isEngine ? state.engine + rank : state.people[color] ?? "You");
  const notes = [`${state.captured[other[color]]} captured`];
  if (color === "white") notes.push(`komi ${state.komi}`, rulesText());
  if (color === "black" && state.handicap) notes.push(`${state.handicap} stones`);
  setText(panel.querySelector("small"), notes.join(", "));
  panel.classList.toggle("to-play", state.to_play === color && !state.is_over && state.result === null);
}

function rulesText() {
  const {rules} = page.state;
  at("player-white").title = rules;
  return rules.startsWith("{") ? "rules of its own" : `${rules} rules`;
}

function showRank() {
  const {state} = page;
  const select = at("rank");
  at("rank-label").hidden = state.rank === null;
  if ([...select.options].map((each) => each.value).join() !== state.ranks.join()) {
    select.replaceChildren(...state.ranks.map((each) => new Option(each === "full" ? "full strength" : each, each)));
    select.value = state.rank;
  }
  if (state.rank !== null && document.activeElement !== select) select.value = state.rank;
}

// What the score consists of, and the agreement on dead stones after two passes.
function showAgreement() {
  const {state} = page;
  at("agreement").hidden = state.score === null;
  if (state.score === null) return;
  setText(at("agreed"), state.is_proposed ? `${state.score} if you accept` : state.score);
  at("accept").hidden = !state.is_proposed;
  at("dead-hint").hidden = !(state.is_proposed && state.may_agree);
  const {sums} = state;
  const rows = [];
  if (sums) {
    const pair = (name, field) => [name, String(sums.black[field]), String(sums.white[field])];
    rows.push(pair(sums.is_area ? "Area" : "Territory", "area"));
    if (!sums.is_area) rows.push(pair("Prisoners", "prisoners"));
    if (sums.black.tax || sums.white.tax) rows.push(["Group tax", `\u2212${sums.black.tax}`, `\u2212${sums.white.tax}`]);
    rows.push(["Komi", "", String(sums.komi)]);
    if (sums.bonus) rows.push(["Bonus", "", String(sums.bonus)]);
    rows.push(pair("Total", "total"));
  }
  fillRows("sums", rows, (row) => row, () => ({}));
  for (const row of at("sums").tBodies[0].rows) row.removeAttribute("tabindex");
}

function positionText() {
  const {state} = page;
  const taken = state.shown ? `move ${state.shown}: ${state.last}` : "the start";
  return `${taken}. ${state.captured.black} black and ${state.captured.white} white stones are captured. ${statusText()}`;
}

function statusText() {
  const {state} = page;
  if (state.busy === "score") return "Counting ...";
  if (state.busy === "move") return `${state.engine} thinks ...`;
  if (state.busy === "review") return reviewText();
  const parts = [];
  if (state.result !== null) parts.push(`Result: ${state.result}`);
  else if (state.score !== null) parts.push(`As it stands: ${state.score}`);
  if (state.last) parts.push(state.last);
  if (state.result === null && !state.is_over) parts.push(`${capital(state.to_play)} to play`);
  return parts.join(" · ");
}

function showCandidates() {
  const {state} = page;
  setText(at("wins-head"), `${capital(viewColor())} wins`);
  const cells = ({move, winrate, lead, visits, pv}) => [
    move,
    winrate === null ? "" : percent(seenWinrate(winrate, state.to_play)),
    lead === null ? "" : signed(seenLead(lead, state.to_play)),
    visits.toLocaleString("en"),
    pv.join(" "),
  ];
  fillRows("candidates", state.candidates, cells, ({move, pv}) => ({move, pv: pv.join(" ")}));
}

function fillNewGame() {
  const {state} = page;
  at("rules").replaceChildren(...state.known_rules.map((name) => new Option(name, name)));
  if (state.known_rules.includes(state.rules)) at("rules").value = state.rules;
  at("size").value = state.width === state.height ? state.width : `${state.width}x${state.height}`;
  at("komi").value = state.komi;
  at("handicap").value = state.handicap;
  const {black, white} = state.players;
  at("you").value = black === "person" ? (white === "person" ? "both" : "black") : white === "person" ? "white" : "none";
}

// Preferences

function showPreferences() {
  at("view").value = preference("view");
  at("coordinates").checked = preference("coordinates") === "on";
  at("confirm").checked = preference("confirm") === "on";
  at("theme").value = preference("theme");
  const scheme = {auto: "light dark", light: "light", dark: "dark"}[preference("theme")];
  document.documentElement.style.colorScheme = scheme;
}

function setPreference(name, value) {
  prefer(name, value);
  showPreferences();
  redraw();
}

function nextTheme() {
  const isDark = preference("theme") === "dark" || (preference("theme") === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  setPreference("theme", isDark ? "light" : "dark");
}

for (const name of ["view", "theme"]) {
  at(name).addEventListener("change", () => { setPreference(name, at(name).value); at(name).blur(); });
}
for (const name of ["coordinates", "confirm"]) {
  at(name).addEventListener("change", () => setPreference(name, at(name).checked ? "on" : "off"));
}

// Sending commands

// Relative steps: two quick presses are two steps, although the state has not come back between them.
const steps = {start: {to: 0}, back: {by: -1}, on: {by: 1}, end: {by: Number.MAX_SAFE_INTEGER}};
for (const button of document.querySelectorAll("[data-to]")) {
  button.addEventListener("click", () => send("go", steps[button.dataset.to]));
}
at("pass").addEventListener("click", () => send("play", {move: "pass"}));
at("undo").addEventListener("click", () => send("undo"));
at("resign").addEventListener("click", () => confirm("Resign this game?") && send("resign"));
at("accept").addEventListener("click", () => send("accept"));
at("count").addEventListener("click", () => send("count"));
at("help").addEventListener("click", () => at("keys").showModal());
for (const name of SWITCHES) {
  at(name).addEventListener("change", () => send("switch", {[name]: at(name).checked}));
}
for (const color of COLORS) {
  at(`engine-${color}`).addEventListener("change", (event) => send("configure", {[color]: event.target.checked ? "engine" : "person"}));
}
at("rank").addEventListener("change", () => { send("configure", {rank: at("rank").value}); at("rank").blur(); });
at("seconds").addEventListener("change", () => send("configure", {seconds: at("seconds").value}));

const body = at("candidates").tBodies[0];
const showRow = (event) => {
  const row = event.target.closest("tr");
  if (row) drawVariation(row.dataset.pv.split(" "));
};
body.addEventListener("mouseover", showRow);
body.addEventListener("focusin", showRow);
body.addEventListener("mouseleave", forgetPoint);
body.addEventListener("focusout", forgetPoint);
// An analysis may change the row between press and release, so the move is the one at the press.
let pressed = null;
const playPressed = () => pressed && page.state.may_play && send("play", {move: pressed});
body.addEventListener("pointerdown", (event) => { pressed = event.target.closest("tr")?.dataset.move; });
body.addEventListener("click", playPressed);
body.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  pressed = event.target.closest("tr")?.dataset.move;
  playPressed();
});
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

const toggle = (name) => send("switch", {[name]: !page.state.switches[name]});
const KEYS = {
  ArrowLeft: () => send("go", steps.back), ArrowRight: () => send("go", steps.on),
  ArrowUp: () => send("variation", {by: -1}), ArrowDown: () => send("variation", {by: 1}),
  Home: () => send("go", steps.start), End: () => send("go", steps.end),
  a: () => toggle("analysis"), t: () => toggle("territory"), r: () => toggle("review"),
  n: () => goToMistake(1), N: () => goToMistake(-1),
  b: () => page.state.variation !== 0 && send("variation", {to: 0}),
  u: () => send("undo"), p: () => page.state.may_play && send("play", {move: "pass"}),
  c: () => setPreference("coordinates", preference("coordinates") === "on" ? "off" : "on"),
  v: () => setPreference("view", preference("view") === "black" ? "mover" : "black"),
  d: nextTheme,
  "?": () => at("keys").showModal(),
};
addEventListener("keydown", (event) => {
  if (!page.state || page.isOffline || at("keys").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("select, input:not([type=checkbox])")) return;
  if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

showPreferences();
listenToBoard();
listenToGraphs();
listenToTree();
listenToReview(redraw);
listen(show);
