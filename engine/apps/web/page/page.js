// The page: shows the state that the server sends and posts the person's commands. The server knows the rules and
// draws the board.

import {drawVariation, forgetPoint, listenToBoard, redrawHover, showBoard} from "/board.js";
import {showBook} from "/book.js";
import {runClocks, showClocks} from "/clocks.js";
import {listen} from "/connection.js";
import {fillNewGame, listenToGame, rulesText, showGame} from "/game.js";
import {listenToGraphs, showEstimates} from "/graphs.js";
import {prefer, preference} from "/preferences.js";
import {listenToRecord, showRecord} from "/record.js";
import {goToMistake, listenToReview, reviewText, showReview} from "/review.js";
import {listenToSharing, openLink, showShare} from "/share.js";
import {
  COLORS, announce, arrive, at, fillRows, go, moveNumber, moveText, other, page, percent, pointText, seenLead, seenWinrate, send, setText,
  showError, signed, stepText, takesText, viewColor,
} from "/shared.js";
import {soundOfMove} from "/sounds.js";
import {listenToTabs} from "/tabs.js";
import {language, loadTexts, t} from "/texts.js";
import {listenToTree, showTree} from "/tree.js";

const SWITCHES = ["analysis", "territory", "review", "book"];

// Drawing the state

function show(state, isNew = true) {
  const before = page.state;
  const isNewPosition = !before || before.shown !== state.shown || before.stones !== state.stones;
  page.state = state;
  arrive();
  if (isNewPosition) {
    forgetPoint();
    // The reason of an error has gone with the position.
    showError(null);
  }
  showBoard();
  for (const color of COLORS) showPlayer(color);
  showClocks(isNew);
  setText(at("status"), statusText());
  setText(at("notice"), noticeText());
  document.title = `${statusText()} · Keima`;
  if (state.error) showError(state.error);
  setText(at("number"), `${moveNumber(state.shown)} / ${moveNumber(state.moves)}`);
  at("pass").disabled = !state.may_play;
  at("undo").disabled = !state.may_undo;
  at("resign").disabled = state.result !== null;
  for (const name of SWITCHES) at(name).checked = state.switches[name];
  showRecord();
  showTree();
  showAgreement();
  showEstimates();
  showCandidates();
  showBook();
  showReview();
  showGame();
  showShare();
  if (before && isNewPosition) announce(positionText());
  else if (before && (before.result !== state.result || before.score !== state.score)) announce(statusText());
  if (before && before.session === state.session && state.shown === before.shown + 1 && state.last) soundOfMove(capturedSince(before));
  if (!before) openLink();
}

const redraw = () => page.state && show(page.state, false);
const capturedSince = (before) => COLORS.reduce((sum, color) => sum + page.state.captured[color] - before.captured[color], 0);

function showPlayer(color) {
  const {state} = page;
  const panel = at(`player-${color}`);
  const isEngine = state.players[color] === "engine";
  const strength = state.rank !== null && state.rank !== "full" ? `, ${state.rank}` : "";
  const rank = state.info[color === "black" ? "BR" : "WR"];
  const name = isEngine ? state.engine + strength : state.people[color] ?? t(state.is_record ? color : "you");
  setText(panel.querySelector("b"), rank && !isEngine ? `${name} ${rank}` : name);
  const notes = [t("captured", {count: state.captured[other[color]]})];
  if (color === "white") notes.push(t("komi_is", {komi: state.komi}), rulesText(state.rules));
  if (color === "black" && state.handicap) notes.push(t("stones", {count: state.handicap}));
  setText(panel.querySelector("small"), notes.join(" · "));
  panel.classList.toggle("to-play", state.to_play === color && !state.is_over && state.result === null);
}

function noticeText() {
  const {rules, komi, left_out: count, more_games: games} = page.state.notice;
  const parts = [];
  if (rules) parts.push(t("notice_rules", {rules: rulesText(rules)}));
  if (komi !== null) parts.push(t("notice_komi", {komi}));
  if (count) parts.push(t("notice_left_out", {count}));
  if (games) parts.push(t("notice_more_games", {count: games}));
  return parts.join(" ");
}

// What the score consists of, and the agreement on dead stones after two passes.
function showAgreement() {
  const {state} = page;
  at("agreement").hidden = state.score === null;
  if (state.score === null) return;
  setText(at("agreed"), state.is_proposed ? t("if_accepted", {score: state.score}) : state.score);
  at("accept").hidden = !state.is_proposed;
  at("dead-hint").hidden = !(state.is_proposed && state.may_agree);
  const {sums} = state;
  const rows = [];
  if (sums) {
    const pair = (name, key) => [t(name), String(sums.black[key]), String(sums.white[key])];
    rows.push(pair(sums.is_area ? "area" : "territory_points", "area"));
    if (!sums.is_area) rows.push(pair("prisoners", "prisoners"));
    if (sums.black.tax || sums.white.tax) rows.push([t("tax"), `\u2212${sums.black.tax}`, `\u2212${sums.white.tax}`]);
    rows.push([t("komi"), "", String(sums.komi)]);
    if (sums.bonus) rows.push([t("bonus"), "", String(sums.bonus)]);
    rows.push(pair("total", "total"));
  }
  fillRows("sums", rows, (row) => row, () => ({}));
  for (const row of at("sums").tBodies[0].rows) row.removeAttribute("tabindex");
}

function positionText() {
  const {state} = page;
  const step = state.last ? t("at_move", {number: moveNumber(state.shown), move: moveText(state.last)}) : stepText();
  const place = state.shown ? step : t("at_start");
  const {black, white} = state.captured;
  const parts = [`${place}.`, t("captured_both", {black, white}), statusText()];
  if (state.following.length > 1) parts.push(t("goes_on", {moves: state.following.map((move) => (move ? pointText(move) : t("setup"))).join(", ")}));
  return parts.join(" ");
}

function statusText() {
  const {state} = page;
  if (state.busy === "score") return t("counting");
  if (state.busy === "move") return t("thinks", {name: state.engine});
  if (state.busy === "review") return reviewText();
  const parts = [];
  if (state.result !== null) parts.push(t("result", {result: state.result}));
  else if (state.score !== null) parts.push(t("as_it_stands", {score: state.score}));
  if (state.shown) parts.push(stepText());
  if (state.result === null && !state.is_over) parts.push(t(`${state.to_play}_to_play`));
  return parts.join(" · ");
}

function showCandidates() {
  const {state} = page;
  setText(at("wins-head"), t("color_wins", {color: t(viewColor())}));
  const cells = ({move, winrate, lead, visits, pv}) => [
    pointText(move),
    winrate === null ? "" : percent(seenWinrate(winrate, state.to_play)),
    lead === null ? "" : signed(seenLead(lead, state.to_play)),
    visits.toLocaleString("en"),
    pv.map(pointText).join(" "),
  ];
  fillRows("candidates", state.candidates, cells, ({move, pv}) => ({move, pv: pv.join(" ")}));
  redrawHover();
}

// Preferences

function showPreferences() {
  for (const name of ["view", "theme"]) at(name).value = preference(name);
  for (const name of ["coordinates", "confirm", "sound"]) at(name).checked = preference(name) === "on";
  at("language").value = language();
  const scheme = {auto: "light dark", light: "light", dark: "dark"}[preference("theme")];
  document.documentElement.style.colorScheme = scheme;
}

function setPreference(name, value) {
  prefer(name, value);
  showPreferences();
  redraw();
}

const flip = (name) => setPreference(name, preference(name) === "on" ? "off" : "on");

function nextTheme() {
  const isDark = preference("theme") === "dark" || (preference("theme") === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  setPreference("theme", isDark ? "light" : "dark");
}

function listenToPreferences() {
  for (const name of ["view", "theme"]) {
    at(name).addEventListener("change", () => { setPreference(name, at(name).value); at(name).blur(); });
  }
  for (const name of ["coordinates", "confirm", "sound"]) at(name).addEventListener("change", () => flip(name));
  at("language").addEventListener("change", async () => {
    prefer("language", at("language").value);
    at("language").blur();
    await loadTexts();
    if (page.state) fillNewGame();
    redraw();
  });
}

// Sending commands

// Relative steps: two quick presses are two steps, although the state has not come back between them.
const steps = {start: {to: 0}, back: {by: -1}, on: {by: 1}, end: {by: Number.MAX_SAFE_INTEGER}};

function listenToButtons() {
  for (const button of document.querySelectorAll("[data-to]")) {
    button.addEventListener("click", () => go(steps[button.dataset.to]));
  }
  at("pass").addEventListener("click", () => send("play", {move: "pass"}));
  at("undo").addEventListener("click", () => send("undo"));
  at("resign").addEventListener("click", () => confirm(t("resign_question")) && send("resign"));
  at("accept").addEventListener("click", () => send("accept"));
  at("count").addEventListener("click", () => send("count"));
  at("help").addEventListener("click", () => at("keys").showModal());
  for (const name of SWITCHES) {
    at(name).addEventListener("change", () => send("switch", {[name]: at(name).checked}));
  }
}

function listenToCandidates() {
  const body = at("candidates").tBodies[0];
  const showRow = (event) => {
    const row = event.target.closest("tr");
    if (row) drawVariation(() => (row.isConnected ? row.dataset.pv.split(" ") : []));
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
}

const toggle = (name) => send("switch", {[name]: !page.state.switches[name]});
const KEYS = {
  ArrowLeft: () => go(steps.back), ArrowRight: () => go(steps.on),
  ArrowUp: () => send("variation", {by: -1}), ArrowDown: () => send("variation", {by: 1}),
  Home: () => go(steps.start), End: () => go(steps.end),
  a: () => toggle("analysis"), t: () => toggle("territory"), r: () => toggle("review"), o: () => page.state.book && toggle("book"),
  n: () => goToMistake(1), N: () => goToMistake(-1),
  b: () => page.state.variation !== 0 && send("variation", {to: 0}),
  u: () => send("undo"), p: () => page.state.may_play && send("play", {move: "pass"}),
  c: () => flip("coordinates"), s: () => flip("sound"), d: nextTheme,
  v: () => setPreference("view", preference("view") === "black" ? "mover" : "black"),
  "?": () => at("keys").showModal(),
};

function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (!page.state || page.isOffline || at("keys").open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (takesText(event.target) || event.target.matches("select")) return;
    // A link that is shown to be copied is selected by these, and takes no other keys.
    if (event.target.matches("[readonly]") && (event.shiftKey || event.key === "Home" || event.key === "End")) return;
    if (Object.hasOwn(KEYS, event.key)) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });
}

await loadTexts();
showPreferences();
for (const begin of [
  listenToTabs, listenToPreferences, listenToButtons, listenToCandidates, listenToKeys, listenToBoard, listenToGraphs, listenToTree,
  listenToRecord, listenToGame, listenToSharing, runClocks,
]) begin();
listenToReview(redraw);
listen(show);
