// The tree of variations: a row for each line, a column for each step, a square where stones are set up. Only what is in view is drawn.

import {at, element, moveNumber, moveText, page, send, setText} from "/shared.js";
import {t} from "/texts.js";

const STEP = 24;
const RADIUS = 9;
const FONT = 10;
// A number of more digits than fit into a stone at that size is written smaller.
const fontOf = (number) => Math.min(FONT, (3 * FONT) / number.length);
let laid = {key: "", rows: [], height: 1};

// Each line is drawn below everything that its columns hold so far, so that no two lines touch.
function layOut(variations) {
  const key = variations.map(({from, colors}) => `${from}${colors}`).join();
  if (key === laid.key) return;
  const bottom = [];
  const rows = variations.map(({from, colors}, index) => {
    const end = from + colors.length;
    let row = 0;
    for (let column = from; index && column <= end; column += 1) row = Math.max(row, (bottom[column] ?? -1) + 1);
    for (let column = from; column <= end; column += 1) bottom[column] = row;
    return row;
  });
  laid = {key, rows, height: Math.max(...rows) + 1, width: bottom.length};
}

const place = (step) => (step + 0.5) * STEP;

function lineOf(column, row) {
  const {variations} = page.state;
  if (column === 0) return 0;
  return variations.findIndex(({from, colors}, index) => laid.rows[index] === row && column > from && column <= from + colors.length);
}

// The lines that lead to the position shown, as [index, last column].
function shownPath() {
  const {variations, variation, shown} = page.state;
  const path = new Map();
  let [line, end] = [variation, shown];
  for (;;) {
    path.set(line, end);
    if (!line && !variations[line].from) return path;
    end = Math.min(end, variations[line].from);
    line = variations[line].parent;
    if (path.has(line)) return path;
  }
}

function isShown(line, column) {
  const {variations, variation, shown} = page.state;
  if (column !== shown) return false;
  let owner = variation;
  while (owner && column <= variations[owner].from) owner = variations[owner].parent;
  return owner === line;
}

function draw() {
  const box = at("tree");
  const {variations} = page.state;
  const [first, last] = [box.scrollLeft / STEP - 1, (box.scrollLeft + box.clientWidth) / STEP];
  const [top, bottom] = [box.scrollTop / STEP - 1, (box.scrollTop + box.clientHeight) / STEP];
  const path = shownPath();
  const drawn = [];
  const stones = [];
  variations.forEach(({from, parent, colors}, index) => {
    const [row, above] = [laid.rows[index], laid.rows[parent]];
    const end = from + colors.length;
    if (end < first || from > last || row < top || above > bottom) return;
    const isOn = path.has(index);
    const start = index ? `M${place(from)} ${place(above)}V${place(row - 0.5)}L${place(from + 0.5)} ${place(row)}` : `M${place(0)} ${place(0)}`;
    drawn.push(element("path", {d: `${start}H${place(end)}`, class: isOn ? "way on" : "way"}));
    if (row > bottom) return;
    for (let column = Math.max(from + 1, Math.ceil(first)); column <= Math.min(end, last); column += 1) {
      const letter = colors[column - from - 1];
      const color = letter.toLowerCase();
      const current = isShown(index, column);
      if (current) stones.push(element("circle", {cx: place(column), cy: place(row), r: RADIUS + 2, class: "current"}));
      const kind = `${color} ${letter === color ? "" : "noted"}`;
      if (color === "s") {
        stones.push(element("rect", {x: place(column) - 6, y: place(row) - 6, width: 12, height: 12, rx: 3, class: kind}));
        continue;
      }
      stones.push(element("circle", {cx: place(column), cy: place(row), r: RADIUS, class: kind}));
      const number = String(moveNumber(column, index));
      const size = fontOf(number);
      const middle = {x: place(column), y: place(row) + 0.35 * size};
      stones.push(element("text", {...middle, "font-size": size, class: color}, number));
    }
  });
  if (first < 0 && top < 0) {
    if (page.state.shown === 0) stones.push(element("circle", {cx: place(0), cy: place(0), r: RADIUS + 2, class: "current"}));
    stones.push(element("rect", {x: place(0) - 6, y: place(0) - 6, width: 12, height: 12, rx: 3, class: "root"}));
  }
  at("tree-picture").replaceChildren(...drawn, ...stones);
}

function lineText() {
  const {variations, variation} = page.state;
  if (variations.length === 1) return "";
  const {from, move, colors} = variations[variation];
  const values = {line: variation + 1, lines: variations.length, number: moveNumber(from) + 1};
  if (!variation) return t("line_game", values);
  const step = move ? moveText(move) : t(colors ? "setup" : "taken_back");
  return t("line", {...values, move: step});
}

function keepInView() {
  const {variation, shown} = page.state;
  const box = at("tree");
  const [x, y] = [shown * STEP, laid.rows[variation] * STEP];
  if (x < box.scrollLeft + STEP || x > box.scrollLeft + box.clientWidth - 2 * STEP) box.scrollLeft = x - box.clientWidth / 2;
  if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - STEP) box.scrollTop = y - box.clientHeight / 2;
}

let before = "";

export function showTree() {
  const {state} = page;
  at("tree-panel").hidden = state.moves === 0 && state.variations.length === 1;
  if (at("tree-panel").hidden) return;
  layOut(state.variations);
  at("tree-picture").setAttribute("width", laid.width * STEP);
  at("tree-picture").setAttribute("height", laid.height * STEP);
  const position = `${state.session} ${state.variation} ${state.shown} ${laid.key}`;
  if (position !== before) keepInView();
  before = position;
  setText(at("line"), lineText());
  draw();
}

export function listenToTree() {
  const box = at("tree");
  box.addEventListener("scroll", () => page.state && draw());
  new ResizeObserver(() => page.state && !at("tree-panel").hidden && draw()).observe(box);
  at("tree-picture").addEventListener("click", (event) => {
    const bounds = at("tree-picture").getBoundingClientRect();
    const [column, row] = [Math.floor((event.clientX - bounds.left) / STEP), Math.floor((event.clientY - bounds.top) / STEP)];
    const line = lineOf(column, row);
    if (line >= 0) send("go", {variation: line, to: column});
  });
}
