// The review: mistakes by color and size, walking from one to the next, and what was better.

import {prefer, preference} from "/preferences.js";
import {
  aim, at, fillRows, go, moveNumber, moveText, page, percent, pointText, say, send, setText, setValue,
} from "/shared.js";
import {t} from "/texts.js";

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

function lessonText(taught) {
  if (!taught) return "";
  const {number, size, points, winrate, better} = taught;
  const values = {number: moveNumber(number), move: moveText(taught), size: t(SIZES[size]), chance: percent(winrate), points: points?.toFixed(1)};
  const text = t(points === null ? "lesson" : "lesson_points", values);
  return better.length ? `${text} ${t("better", {moves: better.map(pointText).join(" ")})}` : text;
}

function timeText(seconds) {
  if (seconds < 90) return t("seconds", {count: Math.ceil(seconds)});
  return seconds < 5400 ? t("minutes", {count: Math.round(seconds / 60)}) : t("hours", {count: (seconds / 3600).toFixed(1)});
}

export function reviewText() {
  const {reviewed, moves, review_seconds: seconds} = page.state;
  const left = moves + 1 - reviewed;
  return t("reviewing", {done: reviewed, all: moves + 1, time: timeText(left * seconds)});
}

export function showReview() {
  const {state} = page;
  at("review-panel").hidden = !state.switches.review;
  for (const id of ["previous-mistake", "next-mistake"]) at(id).hidden = !state.switches.review;
  setValue(at("review-seconds"), state.review_seconds);
  at("mistake-color").value = preference("color");
  at("mistake-size").value = preference("size");
  const list = filteredMistakes();
  const cells = (mistake) => [
    String(moveNumber(mistake.number)), moveText(mistake), t(SIZES[mistake.size]), mistake.points?.toFixed(1) ?? "", percent(mistake.winrate),
  ];
  fillRows("mistakes", list, cells, ({number}) => ({number}));
  for (const row of at("mistakes").tBodies[0].rows) row.ariaCurrent = String(Number(row.dataset.number) === state.shown + 1);
  setText(at("mistake-count"), state.mistakes.length ? t("mistake_count", {shown: list.length, all: state.mistakes.length}) : t("no_mistakes"));
  setText(at("taught"), lessonText(lesson()));
}

// direction: 1 for the next mistake, -1 for the previous one.
export function goToMistake(direction) {
  const from = aim();
  const numbers = filteredMistakes().map(({number}) => number - 1).sort((a, b) => direction * (a - b));
  const to = numbers.find((number) => direction * (number - from) > 0);
  return to === undefined ? say(t(direction > 0 ? "no_later" : "no_earlier")) : go({to});
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
    if (row) go({to: Number(row.dataset.number) - 1});
  };
  at("mistakes").tBodies[0].addEventListener("click", choose);
  at("mistakes").tBodies[0].addEventListener("keydown", (event) => event.key === "Enter" && choose(event));
}
