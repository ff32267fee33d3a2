// What all parts of the page share: the server's last state, elements, commands, and numbers as they are shown.

import {preference} from "/preferences.js";
import {t} from "/texts.js";

// restored: the session of the server that got the game back from this page.
export const page = {state: null, isOffline: false, restored: null};
export const at = (id) => document.getElementById(id);
export const other = {black: "white", white: "black"};
export const COLORS = ["black", "white"];

const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// Writes only changed text: screen readers read a replaced text again, and a pressed element would lose its click.
export function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

// Whether keys and text belong to an element: not to one that only shows its text, nor to the button of a file.
const TEXT = "textarea, input:not([type=checkbox], [type=file], [readonly])";
export const takesText = (place) => Boolean(place?.matches?.(TEXT));

// Writes a value unless the person is changing it.
export function setValue(place, value) {
  if (document.activeElement !== place) place.value = value;
}

export function announce(text) {
  setText(at("announcement"), text);
  at("announcement").classList.add("unseen");
}

// Announces a text and shows it for a while to those who see the page.
const SEEN_MILLISECONDS = 4000;
let seen = 0;

export function say(text) {
  announce(text);
  at("announcement").classList.remove("unseen");
  clearTimeout(seen);
  seen = setTimeout(() => at("announcement").classList.add("unseen"), SEEN_MILLISECONDS);
}

// Commands

export function send(name, fields = {}) {
  return post(`/do/${name}`, JSON.stringify(fields));
}

// For the moment when the page is closed: nobody is left to wait for the answer.
export function sendAtOnce(name, fields) {
  fetch(`/do/${name}`, {method: "POST", body: JSON.stringify(fields), keepalive: true}).catch(() => {});
}

// Where the steps on their way lead, until their position comes back: the next key counts from there.
const AIM_MILLISECONDS = 500;
let aimed = null;

export const aim = () => aimed ?? page.state.shown;

// fields: the number of a move in `to`, or of moves in `by`: two quick presses are then two steps.
export async function go(fields) {
  const to = Math.min(Math.max(fields.to ?? aim() + fields.by, 0), page.state.moves);
  aimed = to;
  const went = await send("go", fields);
  const forget = () => { if (aimed === to) aimed = null; };
  if (went) setTimeout(forget, AIM_MILLISECONDS);
  else forget();
}

// To be called with each new state.
export function arrive() {
  if (page.state.shown === aimed) aimed = null;
}

// One after the other, so that a comment is written before the step that follows it.
let last = Promise.resolve();

export function post(path, body) {
  last = last.then(() => postNow(path, body));
  return last;
}

export const allSent = () => last;

async function postNow(path, body) {
  if (page.isOffline) return false;
  showError(null);
  try {
    const answer = await fetch(path, {method: "POST", body});
    if (!answer.ok) showError((await answer.json()).error);
    return answer.ok;
  } catch {
    document.dispatchEvent(new Event("connection-lost"));
    return false;
  }
}

export function showError(text) {
  at("error").textContent = text ?? "";
  at("error").hidden = !text;
}

// What a state says of the record, to see that it has changed.
const OF_RECORD = [
  "session", "open_game", "moves", "last", "variation", "variations", "result", "note", "symbols", "labels", "info",
];
export const recordOf = (state) => JSON.stringify(OF_RECORD.map((name) => state[name]));

// Numbers: all of one moment are those of one color, Black or the side to move.

export const viewColor = () => (preference("view") === "black" ? "black" : page.state.to_play);
export const seenWinrate = (winrate, color) => (color === viewColor() ? winrate : 1 - winrate);
export const seenLead = (lead, color) => (color === viewColor() ? lead : -lead);
export const percent = (share) => `${Math.abs(100 * share) < 0.05 ? "0.0" : (100 * share).toFixed(1)} %`;

export function signed(number) {
  const text = Math.abs(number).toFixed(1);
  return text === "0.0" ? text : (number > 0 ? "+" : "\u2212") + text;
}

// "White wins 96.7 %, +3.5 points" of an estimate, which is Black's.
export function estimateText([winrate, lead]) {
  const values = {color: t(viewColor()), chance: percent(seenWinrate(winrate, "black"))};
  return lead === null ? t("wins", values) : t("wins_by", {...values, lead: signed(seenLead(lead, "black"))});
}

export const pointText = (point) => (point === "pass" ? t("pass_move") : point);
export const moveText = ({color, at: point}) => `${t(color)} ${pointText(point)}`;

// The number of moves up to a step of a line: stones that are set up between moves are a step, but no move.
export function moveNumber(step, line = page.state.variation) {
  const {from, parent, colors} = page.state.variations[line];
  if (line && step <= from) return moveNumber(step, parent);
  const own = colors.slice(0, step - from).toLowerCase().replaceAll("s", "");
  return (line ? moveNumber(from, parent) : from) + own.length;
}

// The move or the setup that leads to the position shown.
export function stepText() {
  const {last, changed} = page.state;
  if (last) return moveText(last);
  const points = Object.values(changed);
  const count = (kind) => points.filter((each) => each === kind).length;
  return points.length ? t("set_up", {black: count("X"), white: count("O"), removed: count(".")}) : t("setup");
}

// Table rows that can be reached and chosen by the keyboard.
export function fillRows(name, list, cellsOf, dataOf) {
  at(name).hidden = !list.length;
  const body = at(name).tBodies[0];
  while (body.rows.length > list.length) body.deleteRow(-1);
  list.forEach((each, index) => {
    const row = body.rows[index] ?? body.insertRow();
    row.tabIndex = 0;
    cellsOf(each).forEach((text, column) => setText(row.cells[column] ?? row.insertCell(), text));
    Object.assign(row.dataset, dataOf(each));
  });
}

export function visitsText(visits) {
  if (visits < 1000) return String(visits);
  const [unit, letter] = visits < 1e6 ? [1e3, "k"] : [1e6, "M"];
  return `${visits < 10 * unit ? (visits / unit).toFixed(1) : Math.floor(visits / unit)}${letter}`;
}
