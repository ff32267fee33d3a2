// The review: mistakes by color and size, walking from one to the next, and what was better.

import {announce, at, fillRows, page, percent, prefer, preference, send, setText} from "/shared.js";

const AIM_MILLISECONDS = 500;
const SIZES = ["", "inaccuracy", "mistake", "blunder"];

export function filteredMistakes() {
  if (!page.state.switches.review) return [];
  const [color, size] = [preference("color"), Number(preference("size"))];
  return page.state.mistakes.filter((each) => each.size >= size && (color === "both" || each.color === color));
}

// The mistake that follows the position shown, if any.
export function lesson() {
  return filteredMistakes().find(({number}) => number === page.state.shown + 1) ?? null;
}

const lossText = ({points, winrate}) => (points === null ? percent(winrate) : `${points.toFixed(1)} points, ${percent(winrate)}`);

function lessonText(taught) {
  if (!taught) return "";
  const better = taught.better.length ? ` Better: ${taught.better.join(" ")}` : "";
  return `Move ${taught.number}, ${taught.move}: ${SIZES[taught.size]}, lost ${lossText(taught)}.${better}`;
}

function timeText(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function reviewText() {
  const {reviewed, moves, review_seconds: seconds} = page.state;
  const left = moves + 1 - reviewed;
  return `Reviewing: ${reviewed} of ${moves + 1} positions, ${timeText(left * seconds)} left`;
}

export function showReview() {
  const {state} = page;
  if (state.shown === aimed) aimed = null;
  at("review-panel").hidden = !state.switches.review;
  for (const id of ["previous-mistake", "next-mistake"]) at(id).hidden = !state.switches.review;
  if (document.activeElement !== at("review-seconds")) at("review-seconds").value = state.review_seconds;
  at("mistake-color").value = preference("color");
  at("mistake-size").value = preference("size");
  const list = filteredMistakes();
  const cells = ({number, move, size, winrate, points}) => [
    String(number), move, SIZES[size], points === null ? "" : points.toFixed(1), percent(winrate),
  ];
  fillRows("mistakes", list, cells, ({number}) => ({number}));
  for (const row of at("mistakes").tBodies[0].rows) row.ariaCurrent = String(Number(row.dataset.number) === state.shown + 1);
  setText(at("mistake-count"), list.length ? `${list.length} of ${state.mistakes.length} mistakes` : "no mistakes found yet");
  setText(at("taught"), lessonText(lesson()));
}

// Where the last key goes while its position has not come back: two quick presses are two mistakes.
let aimed = null;

// direction: 1 for the next mistake, -1 for the previous one.
export async function goToMistake(direction) {
  const from = aimed ?? page.state.shown;
  const numbers = filteredMistakes().map(({number}) => number - 1).sort((a, b) => direction * (a - b));
  const to = numbers.find((number) => direction * (number - from) > 0);
  if (to === undefined) return announce(direction > 0 ? "no later mistake" : "no earlier mistake");
  aimed = to;
  if (!(await send("go", {to}))) aimed = null;
  return setTimeout(() => { if (aimed === to) aimed = null; }, AIM_MILLISECONDS);
}

export function listenToReview(redraw) {
  for (const [id, name] of [["mistake-color", "color"], ["mistake-size", "size"]]) {
    at(id).addEventListener("change", () => {
      prefer(name, at(id).value);
      at(id).blur();
      redraw();
    });
  }
  at("review-seconds").addEventListener("change", () => send("configure", {review_seconds: at("review-seconds").value}));
  at("previous-mistake").addEventListener("click", () => goToMistake(-1));
  at("next-mistake").addEventListener("click", () => goToMistake(1));
  const choose = (event) => {
    const row = event.target.closest("tr");
    if (row) send("go", {to: Number(row.dataset.number) - 1});
  };
  at("mistakes").tBodies[0].addEventListener("click", choose);
  at("mistakes").tBodies[0].addEventListener("keydown", (event) => event.key === "Enter" && choose(event));
}
