// The form of a new game, and the engine: what it plays, its rank and its limits.

import {writeDrafts} from "/drafts.js";
import {COLORS, at, page, send, setText, setValue} from "/shared.js";
import {showTab} from "/tabs.js";
import {hasText, t} from "/texts.js";

export function rulesText(name) {
  if (name.startsWith("{")) return t("rules_own");
  return hasText(`rules_${name}`) ? t(`rules_${name}`) : name;
}

// A new game is filled in as the one in play, once: later the person may be choosing.
let isFilled = false;
// Main time as it was filled in: the field shows minutes, rounded.
let filled = {minutes: "", seconds: 0};

export function fillNewGame() {
  const {state} = page;
  const chosen = isFilled ? at("rules").value : state.rules;
  at("rules").replaceChildren(...state.known_rules.map((name) => new Option(rulesText(name), name)));
  if (state.known_rules.includes(chosen)) at("rules").value = chosen;
  if (isFilled) return;
  isFilled = true;
  at("size").value = state.width === state.height ? state.width : `${state.width}x${state.height}`;
  at("komi").value = state.komi;
  at("handicap").value = state.handicap;
  const {black, white} = state.players;
  at("you").value = black === "person" ? (white === "person" ? "both" : "black") : white === "person" ? "white" : "none";
  fillClock(state.clock_settings);
}

function fillClock(text) {
  const [kind, numbers] = (text ?? ":").split(":");
  const [main, count, period] = numbers.split(/[+x]/);
  at("clock-kind").value = kind;
  if (kind) {
    at("main-minutes").value = Number((main / 60).toFixed(2));
    filled = {minutes: at("main-minutes").value, seconds: main};
  }
  if (kind === "fischer") at("increment").value = count;
  if (kind === "byoyomi") [at("periods").value, at("period-seconds").value] = [count, period];
  showClockFields();
}

function showClockFields() {
  const kind = at("clock-kind").value;
  for (const place of document.querySelectorAll(".timed")) {
    place.hidden = !kind || (place.classList.length > 1 && !place.classList.contains(kind));
    // A field that is not seen must not keep the form from being sent.
    place.querySelector("input").disabled = place.hidden;
  }
}

function clockText() {
  const kind = at("clock-kind").value;
  const minutes = at("main-minutes");
  const main = minutes.value === filled.minutes ? filled.seconds : 60 * minutes.valueAsNumber;
  if (kind === "byoyomi") return `byoyomi:${main}+${at("periods").value}x${at("period-seconds").value}`;
  return kind === "fischer" ? `fischer:${main}+${at("increment").value}` : kind && `${kind}:${main}`;
}

// The ranks at which a word on the strength changes: 8k is that of GNU Go by definition.
function rankWord(rank) {
  if (rank === "full") return t("rank_full");
  const kyu = rank.endsWith("k") ? Number(rank.slice(0, -1)) : 0;
  return t(kyu > 12 ? "rank_weakest" : kyu > 8 ? "rank_weak" : kyu === 8 ? "rank_gnugo" : kyu > 1 ? "rank_strong" : "rank_strongest");
}

function showRanks() {
  const {rank, ranks} = page.state;
  for (const place of document.querySelectorAll(".rank-label")) place.hidden = rank === null;
  const nameOf = (each) => (each === "full" ? t("full") : each);
  for (const id of ["rank", "new-rank"]) {
    const select = at(id);
    // Until the engine has started, nobody knows whether it has ranks: what is shown then nobody chose.
    const names = [rank !== null, ...ranks.map(nameOf)].join();
    if (select.dataset.names === names) continue;
    const chosen = select.dataset.names?.startsWith("true") ? select.value : rank;
    select.dataset.names = names;
    select.replaceChildren(...ranks.map((each) => new Option(nameOf(each), each)));
    select.value = ranks.includes(chosen) ? chosen : rank ?? "full";
  }
  if (rank !== null) setValue(at("rank"), rank);
  for (const [id, word] of [["rank", "rank-word"], ["new-rank", "new-rank-word"]]) {
    setText(at(word), rank === null ? "" : rankWord(at(id).value));
  }
}

// What limits a move of the engine: its rank, the clock, or seconds and visits, of the page or its own.
export function limitsText() {
  const {rank, clock, limits} = page.state;
  if (rank !== null && rank !== "full") return t("limit_rank");
  const parts = [];
  const [seconds, visits] = [page.state.seconds ?? limits.seconds, page.state.visits ?? limits.visits];
  if (clock) parts.push(t("limit_clock"));
  else if (seconds !== null) parts.push(t("limit_seconds", {count: seconds}));
  if (visits !== null) parts.push(t("limit_visits", {count: visits.toLocaleString("en")}));
  return parts.length ? parts.join(", ") : t("limit_none");
}

export function showGame() {
  const {state} = page;
  for (const color of COLORS) at(`engine-${color}`).checked = state.players[color] === "engine";
  setValue(at("seconds"), state.seconds ?? "");
  setValue(at("visits"), state.visits ?? "");
  at("seconds").disabled = state.clock !== null;
  at("visits-label").hidden = !state.limits.can_set_visits;
  showRanks();
  setText(at("limits"), t("limits", {text: limitsText()}));
  if (!at("rules").options.length) fillNewGame();
}

export function listenToGame() {
  for (const color of COLORS) {
    at(`engine-${color}`).addEventListener("change", (event) => send("configure", {[color]: event.target.checked ? "engine" : "person"}));
  }
  at("rank").addEventListener("change", () => { send("configure", {rank: at("rank").value}); at("rank").blur(); });
  for (const name of ["seconds", "visits"]) at(name).addEventListener("change", () => send("configure", {[name]: at(name).value}));
  at("new-rank").addEventListener("change", showRanks);
  at("clock-kind").addEventListener("change", showClockFields);
  at("panel-game").addEventListener("submit", async (event) => {
    event.preventDefault();
    const mine = {black: ["black"], white: ["white"], both: COLORS, none: []}[at("you").value];
    const kindOf = (color) => (mine.includes(color) ? "person" : "engine");
    const rank = page.state.rank === null ? {} : {rank: at("new-rank").value};
    writeDrafts();
    const isBegun = await send("new", {
      size: at("size").value, komi: at("komi").valueAsNumber, handicap: at("handicap").valueAsNumber, rules: at("rules").value,
      clock: clockText(), black: kindOf("black"), white: kindOf("white"), ...rank,
    });
    if (!isBegun) return;
    showTab("analysis");
    // On a phone the form is far below the names and clocks of the game.
    scrollTo(0, 0);
  });
}
