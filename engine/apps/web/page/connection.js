// The connection to the server: events, and what happens while it is gone and when it comes back.

import {announce, at, page, post, send} from "/shared.js";
import {t} from "/texts.js";

const RETRY_MILLISECONDS = 1000;
const SAVE_MILLISECONDS = 300;
let events = null;
let retry = 0;
let saving = 0;
// The game as this page saw it last: a server that was started again does not know it.
let kept = null;

export function listen(show) {
  const connect = () => {
    clearTimeout(retry);
    events?.close();
    events = null;
    // Browsers open at most six connections to one server, so tabs in the background hold none; without a connection
    // they request no analysis either.
    if (document.hidden) return;
    events = new EventSource("/events");
    events.onmessage = (event) => receive(JSON.parse(event.data), show);
    events.onerror = lose;
  };
  const lose = () => {
    events?.close();
    setOffline(true);
    clearTimeout(retry);
    retry = setTimeout(connect, RETRY_MILLISECONDS);
  };
  addEventListener("visibilitychange", connect);
  document.addEventListener("connection-lost", lose);
  connect();
}

function setOffline(isOffline) {
  if (page.isOffline === isOffline) return;
  page.isOffline = isOffline;
  at("offline").hidden = !isOffline;
  at("page").inert = isOffline;
  if (!isOffline) announce(t("connected"));
}

function receive(state, show) {
  const before = page.state;
  setOffline(false);
  show(state);
  if (before && before.session !== state.session && state.moves === 0 && kept) restore(kept);
  else if (state.moves && !(before && isSameGame(before, state))) {
    clearTimeout(saving);
    saving = setTimeout(keep, SAVE_MILLISECONDS);
  }
  if (kept && state.session === kept.session) {
    kept.shown = state.shown;
    kept.clock = clockOf(state);
  }
}

const KEPT = ["session", "moves", "last", "variation", "variations", "result", "note", "symbols", "labels", "info"];
const isSameGame = (one, two) =>
  KEPT.every((name) => JSON.stringify(one[name]) === JSON.stringify(two[name])) &&
  Object.keys(one.estimates).length === Object.keys(two.estimates).length;

const clockOf = (state) => (state.clock ? {clock: state.clock_settings, left: state.clock.left} : null);

async function keep() {
  const {session, shown, players, variation} = page.state;
  const clock = clockOf(page.state);
  try {
    const answer = await fetch("/game.sgf");
    if (answer.ok) kept = {session, shown, players, variation, clock, record: await answer.text()};
  } catch { /* the events notice the lost connection */ }
}

async function restore({record, shown, players, variation, clock}) {
  if (!(await post("/game.sgf", record))) return;
  if (variation) await send("variation", {to: variation});
  await send("go", {to: shown});
  await send("configure", players);
  if (clock) await send("clock", clock);
  announce(t("restored"));
}
