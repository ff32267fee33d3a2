// The record: markup on the board, the comment of the position, and names, ranks and so on.

import {listenToDrafts, showText} from "/drafts.js";
import {at, element, page, send, setText} from "/shared.js";

const INFO = ["PB", "BR", "PW", "WR", "EV", "RO", "PC", "DT"];
let tool = "";

// A tool is used only while its panel is open: elsewhere a click plays.
export const markTool = () => (at("panel-record").hidden ? "" : tool);

export const markAt = (move) => send("mark", {at: move, mark: tool});

const SHAPES = {
  TR: (r) => `M0 ${-r}L${0.87 * r} ${0.5 * r}H${-0.87 * r}Z`,
  SQ: (r) => `M${-0.72 * r} ${-0.72 * r}h${1.44 * r}v${1.44 * r}h${-1.44 * r}Z`,
  CR: (r) => `M${-0.8 * r} 0a${0.8 * r} ${0.8 * r} 0 1 0 ${1.6 * r} 0a${0.8 * r} ${0.8 * r} 0 1 0 ${-1.6 * r} 0`,
  MA: (r) => `M${-0.65 * r} ${-0.65 * r}L${0.65 * r} ${0.65 * r}M${-0.65 * r} ${0.65 * r}L${0.65 * r} ${-0.65 * r}`,
};

// placeOf: the coordinates of a point in the picture. stoneAt: the color of the stone there. unit: between two lines.
export function drawMarkup(placeOf, stoneAt, unit) {
  const {symbols, labels, lines} = page.state;
  const ink = (move) => (stoneAt(move) === "black" ? "#fff" : "#111");
  const drawn = [];
  const clear = (move, [x, y], r) => stoneAt(move) ?? drawn.push(element("circle", {cx: x, cy: y, r, fill: "var(--wood)"}));
  for (const [move, symbol] of Object.entries(symbols)) {
    const place = placeOf(move);
    clear(move, place, 0.3 * unit);
    drawn.push(element("path", {
      d: SHAPES[symbol](0.32 * unit), transform: `translate(${place})`, fill: "none", stroke: ink(move), "stroke-width": 3, "data-symbol": symbol,
    }));
  }
  for (const [move, text] of Object.entries(labels)) {
    const [x, y] = placeOf(move);
    const size = unit * (text.length > 2 ? 0.9 / text.length + 0.05 : 0.55);
    clear(move, [x, y], 0.38 * unit);
    drawn.push(element("text", {x, y: y + 0.36 * size, "font-size": size, "font-weight": 600, fill: ink(move)}, text));
  }
  for (const [kind, from, to] of lines) {
    const [[x1, y1], [x2, y2]] = [placeOf(from), placeOf(to)];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [x, y] = [((x2 - x1) / length) * 0.3 * unit, ((y2 - y1) / length) * 0.3 * unit];
    const head = `M${x2 - x - 0.6 * y} ${y2 - y + 0.6 * x}L${x2} ${y2}L${x2 - x + 0.6 * y} ${y2 - y - 0.6 * x}`;
    drawn.push(element("path", {d: `M${x1} ${y1}L${x2} ${y2}${kind === "AR" ? head : ""}`, fill: "none", stroke: "#1a4fa0", "stroke-width": 4, "stroke-linecap": "round", "data-line": kind}));
  }
  at("markup").replaceChildren(...drawn);
}

export function showRecord() {
  const {state} = page;
  setText(at("note"), state.note);
  showText(at("comment"), state.note);
  for (const name of INFO) showText(at(`info-${name}`), state.info[name] ?? "");
  for (const button of at("tools").children) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
}

export function listenToRecord() {
  at("tools").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    tool = button.dataset.tool;
    showRecord();
  });
  listenToDrafts({comment: "note", ...Object.fromEntries(INFO.map((name) => [`info-${name}`, name]))}, showRecord);
}
