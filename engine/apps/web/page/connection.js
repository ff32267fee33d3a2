// The connection to the server: events, and what happens while it is gone and when it comes back.

import {announce, at, page, post, recordOf, send} from "/shared.js";
import {t} from "/texts.js";

const RETRY_MILLISECONDS = 1000;
const SAVE_MILLISECONDS = 300;
let events = null;
let retry = 0;
let saving = 0;
// The game as this page saw it last: a server that was started again does not know it.
let kept = null;
let isRestoring = false;

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
  const [before, wasOffline] = [page.state, page.isOffline];
  setOffline(false);
  show(state);
  if (isRestoring) return;
  if (kept && state.session !== kept.session && !hasPersonMoved(state)) return restore(kept);
  if (!state.moves) {
    // Another game has begun, or all its moves were taken back.
    clearTimeout(saving);
    kept = null;
  } else if (!(before && isSameGame(before, state))) {
    clearTimeout(saving);
    saving = setTimeout(keep, SAVE_MILLISECONDS);
  }
  if (kept && state.session === kept.session) Object.assign(kept, placeOf(state));
  if (wasOffline) document.dispatchEvent(new Event("connected"));
}

// The engine begins by itself where it has the first move.
const hasPersonMoved = ({moves, variations, players}) =>
  moves > 1 || (moves === 1 && players[{b: "black", w: "white"}[variations[0].colors[0]?.toLowerCase()]] !== "engine");

const isSameGame = (one, two) =>
  recordOf(one) === recordOf(two) && Object.keys(one.estimates).length === Object.keys(two.estimates).length;

// What a record lacks: the position shown, who plays and how, the switches and the clocks, which players have
// names, and whether they are other people.
function placeOf({shown, variation, players, rank, seconds, visits, review_seconds, switches, ...state}) {
  const settings = {...players, seconds, visits, review_seconds, ...(rank === null ? {} : {rank})};
  const names = {PB: state.info.PB ?? "", PW: state.info.PW ?? "", is_record: state.is_record};
  const clock = state.clock && {clock: state.clock_settings, left: state.clock.left};
  return {shown, variation, settings, switches, names, clock};
}

async function keep() {
  const {session} = page.state;
  const place = placeOf(page.state);
  try {
    const answer = await fetch("/game.sgf");
    const record = await answer.text();
    // Another game may have begun meanwhile.
    if (answer.ok && page.state.moves && page.state.session === session) kept = {session, ...place, record};
  } catch { /* the events notice the lost connection */ }
}

async function restore({record, shown, variation, settings, switches, names, clock}) {
  isRestoring = true;
  const isOpen = await post("/game.sgf", record);
  isRestoring = false;
  if (!isOpen) {
    // Where the connection was lost again, the next one tries again.
    if (!page.isOffline) kept = null;
    return;
  }
  kept = null;
  page.restored = page.state.session;
  if (variation) await send("variation", {to: variation});
  await send("go", {to: shown});
  await send("switch", switches);
  await send("configure", settings);
  await send("edit", names);
  if (clock) await send("clock", clock);
  await keep();
  document.dispatchEvent(new Event("connected"));
  announce(t("restored"));
}
