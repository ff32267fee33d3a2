// Win rate and score lead over the moves.

import {filteredMistakes} from "/review.js";
import {at, element, estimateText, go, moveNumber, page, setText} from "/shared.js";
import {t} from "/texts.js";

const WIDTH = 400;
const LEAST_MOVES = 20;
let hovered = null;

const last = () => Math.max(page.state.moves, LEAST_MOVES);
const x = (number) => (WIDTH * number) / last();

function curve(values) {
  return values.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
}

function vertical(number, stroke, attributes = {}) {
  return element("line", {
    x1: x(number), x2: x(number), y1: 0, y2: 100, stroke, "vector-effect": "non-scaling-stroke", ...attributes,
  });
}

function drawGraph(graph, values, middle) {
  const drawn = [element("line", {x1: 0, x2: WIDTH, y1: 50, y2: 50, stroke: "#888", "stroke-dasharray": "4 4"})];
  if (values.length) {
    const line = curve(values);
    const [[first], [end]] = [values[0], values[values.length - 1]];
    drawn.push(element("path", {d: `M${first} ${middle}L${line}L${end} ${middle}Z`, fill: "#0006"}));
    drawn.push(element("path", {d: `M${line}`, fill: "none", stroke: "#2f8fd8", "stroke-width": 2, "vector-effect": "non-scaling-stroke"}));
  }
  for (const {number} of filteredMistakes()) drawn.push(vertical(number, "#d22", {y1: 90, "stroke-width": 2}));
  drawn.push(vertical(page.state.shown, "#c0392b"));
  if (hovered !== null) drawn.push(vertical(hovered, "#2f8fd8", {"stroke-dasharray": "3 3"}));
  graph.replaceChildren(...drawn);
}

export function showEstimates() {
  const {state} = page;
  const known = Object.entries(state.estimates).map(([number, [winrate, lead]]) => [x(Number(number)), winrate, lead]);
  drawGraph(at("graph"), known.map(([px, winrate]) => [px, 100 * (1 - winrate)]), 100);
  const leads = known.filter(([, , lead]) => lead !== null);
  const most = Math.max(10, 10 * Math.ceil(Math.max(0, ...leads.map(([, , lead]) => Math.abs(lead))) / 10));
  drawGraph(at("score-graph"), leads.map(([px, , lead]) => [px, 50 - (50 * lead) / most]), 50);
  setText(at("score-top"), t("leads", {color: t("black"), lead: most}));
  setText(at("score-bottom"), t("leads", {color: t("white"), lead: most}));
  // Without a hovered move that of the position shown; while it has none yet, that of the one before.
  const number = hovered ?? (state.shown in state.estimates ? state.shown : state.shown - 1);
  const now = state.estimates[number];
  const text = now ? estimateText(now) : hovered === null ? "" : t("not_analyzed");
  setText(at("estimate"), !text || number === state.shown ? text : t("after_move", {number: moveNumber(number), text}));
}

function numberUnder(event) {
  const box = event.currentTarget.getBoundingClientRect();
  return Math.min(page.state.moves, Math.max(0, Math.round((last() * (event.clientX - box.left)) / box.width)));
}

export function listenToGraphs() {
  for (const graph of [at("graph"), at("score-graph")]) {
    graph.addEventListener("click", (event) => go({to: numberUnder(event)}));
    graph.addEventListener("pointermove", (event) => {
      if (!page.state) return;
      hovered = numberUnder(event);
      showEstimates();
    });
    graph.addEventListener("pointerleave", () => {
      hovered = null;
      if (page.state) showEstimates();
    });
  }
}
