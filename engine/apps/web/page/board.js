// The board: what is drawn over the server's picture, and playing by mouse, touch and keyboard.

import {drawBook} from "/book.js";
import {preference} from "/preferences.js";
import {drawMarkup, markAt, markTool} from "/record.js";
import {lesson} from "/review.js";
import {announce, at, element, go, other, page, seenLead, seenWinrate, send, signed, visitsText} from "/shared.js";
import {t} from "/texts.js";

const UNIT = 40;
const EDGE = 1.5;
const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
// Pixels between two lines below which a point has room for one figure only.
const NARROW = 30;
// Points of a setup that are marked; more are a diagram of its own, which marks would only cover.
const MOST_CHANGED = 20;
const NOTHING = () => [];
let cursor = null;
let pending = null;
// Returns what lies over the board for the pointer, the cursor or a row of a table.
let hover = NOTHING;

// Points

const margin = () => (preference("coordinates") === "on" ? EDGE : 0.7);
const extent = (count) => count - 1 + 2 * margin();
const nameOf = (column, row) => COLUMNS[column] + (page.state.height - row);

function pointUnder(event) {
  const {width, height} = page.state;
  const box = at("overlay").getBoundingClientRect();
  const pixels = box.width / extent(width);
  const column = Math.round((event.clientX - box.left) / pixels - margin());
  const row = Math.round((event.clientY - box.top) / pixels - margin());
  return column >= 0 && column < width && row >= 0 && row < height ? nameOf(column, row) : null;
}

function columnRow(move) {
  return [COLUMNS.indexOf(move[0].toUpperCase()), page.state.height - Number(move.slice(1))];
}

function placeOf(move) {
  if (move.toLowerCase() === "pass") return null;
  return columnRow(move).map((number) => (number + EDGE) * UNIT);
}

function stoneAt(move) {
  const [column, row] = columnRow(move);
  return {X: "black", O: "white"}[page.state.stones[row * page.state.width + column]] ?? null;
}

// Drawing

export function showBoard() {
  const {state} = page;
  at("picture").innerHTML = state.board;
  const edge = (EDGE - margin()) * UNIT;
  const box = `${edge} ${edge} ${extent(state.width) * UNIT} ${extent(state.height) * UNIT}`;
  const picture = at("picture").firstElementChild;
  picture.removeAttribute("width");
  picture.removeAttribute("height");
  picture.setAttribute("viewBox", box);
  at("overlay").setAttribute("viewBox", box);
  at("board").classList.toggle("may-play", state.may_play || state.is_proposed || markTool() !== "");
  at("board").classList.toggle("bare", preference("coordinates") !== "on");
  at("board").style.setProperty("--ratio", extent(state.width) / extent(state.height));
  drawMarks();
  drawFollowing();
  drawChanged();
  drawMarkup(placeOf, stoneAt, UNIT);
  drawLesson();
}

// Rings where the record goes on: a solid one for the line shown, dashed ones for other variations.
function drawFollowing() {
  const {following} = page.state;
  at("following").replaceChildren(...following.flatMap((move, index) => {
    const place = move && placeOf(move);
    if (!place || lesson()?.at === move) return [];
    const dashes = index ? {"stroke-dasharray": "5 4"} : {};
    return [element("circle", {cx: place[0], cy: place[1], r: 0.42 * UNIT, fill: "none", stroke: "#3d2e17", "stroke-width": 2, ...dashes})];
  }));
}

// Small squares at the points that the record set up: on added stones, and where stones were removed.
function drawChanged() {
  const side = 0.26 * UNIT;
  const changed = Object.entries(page.state.changed);
  at("changed").replaceChildren(...(changed.length > MOST_CHANGED ? [] : changed).map(([move, kind]) => {
    const [x, y] = placeOf(move);
    const fill = {X: "#fff", O: "#111", ".": "#8a5a1c"}[kind];
    return element("rect", {x: x - side / 2, y: y - side / 2, width: side, height: side, fill, "data-changed": kind});
  }));
}

// To be called with each new state: a candidate's variation may have changed.
export function redrawHover() {
  at("hover").replaceChildren(...hover());
}

function drawHover(elements) {
  hover = elements;
  redrawHover();
}

export function forgetPoint() {
  pending = null;
  drawHover(NOTHING);
  if (document.activeElement === at("board")) drawCursor();
}

function stone(move, color, {text = "", opacity = 0.9, ring = "#777"} = {}) {
  const place = placeOf(move);
  if (!place) return [];
  const [x, y] = place;
  const drawn = [element("circle", {
    cx: x, cy: y, r: 0.46 * UNIT, fill: color === "black" ? "#111" : "#fff", opacity, stroke: ring, "stroke-width": ring === "#777" ? 1 : 4,
  })];
  if (text) {
    drawn.push(element("text", {x, y: y + 0.17 * UNIT, "font-size": 0.48 * UNIT, fill: color === "black" ? "#fff" : "#111"}, text));
  }
  return drawn;
}

function variation(moves, firstRing) {
  const seen = new Set();
  return moves.flatMap((move, index) => {
    const color = index % 2 ? other[page.state.to_play] : page.state.to_play;
    const isCovered = seen.has(move);
    seen.add(move);
    return isCovered ? [] : stone(move, color, {text: String(index + 1), ring: index ? "#777" : firstRing});
  });
}

// movesOf: returns the moves as the state has them now.
export function drawVariation(movesOf) {
  drawHover(() => variation(movesOf(), "#777"));
}

export function drawMarks() {
  const {state} = page;
  const isNarrow = at("overlay").clientWidth / extent(state.width) < NARROW;
  const taught = lesson();
  const most = Math.max(1, ...state.candidates.map(({visits}) => visits));
  const drawn = state.candidates.flatMap(({move, winrate, lead, visits}, index) => {
    const place = placeOf(move);
    if (!place || taught?.better.includes(move)) return [];
    const [x, y] = place;
    const lines = [];
    if (winrate !== null) lines.push(String(Math.round(100 * seenWinrate(winrate, state.to_play))));
    if (lead !== null) lines.push(signed(seenLead(lead, state.to_play)));
    lines.push(visitsText(visits));
    const shown = isNarrow ? lines.slice(0, 1) : lines;
    const texts = shown.map((text, line) => {
      const size = (isNarrow ? 0.52 : line ? 0.24 : 0.32) * UNIT;
      const down = (line - (shown.length - 1) / 2) * 0.3 * UNIT;
      return element("text", {x, y: y + down + 0.36 * size, "font-size": size, fill: "#000"}, text);
    });
    const opacity = 0.35 + (0.6 * visits) / most;
    const disc = {cx: x, cy: y, r: 0.47 * UNIT};
    // Figures on a pale disc would stand on star points and on squares of territory.
    const wood = element("circle", {...disc, fill: "var(--wood)"});
    return [wood, element("circle", {...disc, fill: index ? "#4faa58" : "#2f8fd8", opacity}), ...texts];
  });
  at("marks").replaceChildren(...drawn);
  drawBook(placeOf, UNIT, isNarrow);
}

// At a mistake: the better variation as numbered stones, and the move played in a red ring, with a cross if the variation
// has no number there.
export function drawLesson() {
  const taught = lesson();
  if (!taught) return at("lesson").replaceChildren();
  const drawn = variation(taught.better, "#2f8fd8");
  const place = placeOf(taught.at);
  if (place) {
    const [x, y] = place;
    const arm = 0.2 * UNIT;
    const red = {fill: "none", stroke: "#d22", "stroke-width": 4};
    if (!taught.better.includes(taught.at)) {
      const cross = `M${x - arm} ${y - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
      drawn.push(...stone(taught.at, taught.color, {opacity: 0.55}), element("path", {d: cross, ...red}));
    }
    drawn.push(element("circle", {cx: x, cy: y, r: 0.46 * UNIT, ...red}));
  }
  return at("lesson").replaceChildren(...drawn);
}

// Playing

function choose(move) {
  const {state} = page;
  if (markTool()) return markAt(move);
  if (state.is_proposed) return stoneAt(move) && send("dead", {at: move});
  if (!state.may_play) return announce(t("not_your_turn", {move}));
  return send("play", {move});
}

// Returns whether a tap only shows what a second tap at the same point plays.
function previews(move, isTouch) {
  if (!page.state.may_play || stoneAt(move) || markTool()) return false;
  const candidate = () => page.state.candidates.find((each) => each.move === move);
  const isSecond = pending === move;
  if (isSecond || !(preference("confirm") === "on" || (isTouch && candidate()))) return false;
  pending = move;
  const single = () => stone(move, page.state.to_play, {opacity: 0.75, ring: "#2f8fd8"});
  drawHover(() => (candidate() ? variation(candidate().pv, "#777") : single()));
  return true;
}

// The last board may have been larger.
function clampCursor() {
  const clamp = (number, count) => Math.min(Math.max(number, 0), count - 1);
  cursor = [clamp(cursor[0], page.state.width), clamp(cursor[1], page.state.height)];
}

function drawCursor() {
  clampCursor();
  const [x, y] = placeOf(nameOf(...cursor));
  const side = 0.96 * UNIT;
  const square = {x: x - side / 2, y: y - side / 2, width: side, height: side, fill: "none", stroke: "#d22", "stroke-width": 4};
  drawHover(() => [element("rect", square)]);
}

function moveCursor(columns, rows) {
  cursor = [cursor[0] + columns, cursor[1] + rows];
  drawCursor();
  const move = nameOf(...cursor);
  const candidate = page.state.candidates.findIndex((each) => each.move === move);
  const parts = [move, t({black: "black_stone", white: "white_stone"}[stoneAt(move)] ?? "empty")];
  if (candidate >= 0) parts.push(t("choice", {number: candidate + 1}));
  if (page.state.symbols[move]) parts.push(t(SYMBOLS[page.state.symbols[move]]));
  if (page.state.labels[move]) parts.push(page.state.labels[move]);
  announce(parts.join(", "));
}

const SYMBOLS = {TR: "triangle", SQ: "square", CR: "circle", MA: "cross"};
const CURSOR_KEYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

export function listenToBoard() {
  const board = at("board");
  // That of the last press: some browsers do not say it of a click.
  let pointer = "mouse";
  // What has the focus would go on to take the keys, and a text that is being written must be saved before the move.
  const leaveFocused = () => document.activeElement !== board && document.activeElement?.blur();
  board.addEventListener("pointerdown", (event) => {
    pointer = event.pointerType;
    leaveFocused();
    if (pointer === "mouse" && event.button === 0) board.blur();
  });
  // A click must not focus the board: the arrow keys would move its cursor instead of walking through the game.
  board.addEventListener("mousedown", (event) => event.preventDefault());
  board.addEventListener("click", (event) => {
    const move = page.state && pointUnder(event);
    if (move && !previews(move, pointer === "touch")) choose(move);
  });
  board.addEventListener("pointermove", (event) => {
    const {state} = page;
    if (!state || event.pointerType !== "mouse" || pending) return;
    const move = state.may_play && !markTool() ? pointUnder(event) : null;
    drawHover(move && !stoneAt(move) ? () => stone(move, page.state.to_play, {opacity: 0.4}) : NOTHING);
  });
  board.addEventListener("pointerleave", () => !pending && drawHover(NOTHING));
  board.addEventListener("focus", () => {
    const {width, height} = page.state;
    if (!cursor || cursor[0] >= width || cursor[1] >= height) cursor = [width >> 1, height >> 1];
    moveCursor(0, 0);
  });
  board.addEventListener("blur", () => drawHover(NOTHING));
  board.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (CURSOR_KEYS[event.key]) moveCursor(...CURSOR_KEYS[event.key]);
    else if (event.key === "Enter" || event.key === " ") choose(nameOf(...cursor));
    else if (event.key === "Escape") board.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  let turned = 0;
  board.addEventListener("wheel", (event) => {
    if (event.ctrlKey || !page.state) return;
    event.preventDefault();
    // A notch of a wheel is 100 pixels or 3 lines; touch pads send many small parts of it.
    turned += event.deltaY * (event.deltaMode ? 33 : 1);
    const notches = Math.trunc(turned / 60);
    if (!notches) return;
    turned = 0;
    leaveFocused();
    go({by: notches > 0 ? 1 : -1});
  }, {passive: false});
  new ResizeObserver(() => page.state && drawMarks()).observe(board);
}
