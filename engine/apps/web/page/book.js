// The opening book: its moves at the position shown, and what it says of the position.

import {
  at, element, estimateText, page, pointText, seenLead, seenWinrate, setText, signed, visitsText,
} from "/shared.js";
import {t} from "/texts.js";

// Squares at the book's moves, the best one darker; points that symmetry makes equal all have one.
export function drawBook(placeOf, unit, isNarrow) {
  const {book, candidates, to_play: color} = page.state;
  const taken = new Set(candidates.map(({move}) => move));
  const drawn = (book?.moves ?? []).flatMap(({points, winrate, lead, visits}, index) => {
    const lines = [String(Math.round(100 * seenWinrate(winrate, color))), signed(seenLead(lead, color)), visits ? visitsText(visits) : "="];
    return points.filter((point) => point !== "pass" && !taken.has(point)).flatMap((point) => {
      const [x, y] = placeOf(point);
      const side = 0.86 * unit;
      const texts = (isNarrow ? lines.slice(0, 1) : lines).map((text, line, shown) => {
        const size = (isNarrow ? 0.52 : line ? 0.24 : 0.32) * unit;
        return element("text", {x, y: y + (line - (shown.length - 1) / 2) * 0.3 * unit + 0.36 * size, "font-size": size, fill: "#000"}, text);
      });
      const square = {x: x - side / 2, y: y - side / 2, width: side, height: side, rx: 0.1 * unit};
      return [element("rect", {...square, fill: index ? "#d3b4ee" : "#b98ae6", opacity: 0.9}), ...texts];
    });
  });
  at("book-marks").replaceChildren(...drawn);
}

// What the book says of the position, and of a pass, which has no point on the board.
function noteText() {
  const {book, to_play: color} = page.state;
  if (book.misfit !== null) return t("book_misfit", {reason: book.misfit});
  if (book.winrate === null) return t("book_none");
  // Estimates are Black's, the book's values those of the side to move.
  const wins = (winrate, lead) => estimateText(color === "black" ? [winrate, lead] : [1 - winrate, lead && -lead]);
  const values = {wins: wins(book.winrate, null), visits: book.visits.toLocaleString("en")};
  const value = t(book.visits ? "book_value" : "book_exact", values);
  const pass = book.moves.find(({points}) => points.includes("pass"));
  return pass ? `${value} \u00b7 ${pointText("pass")}: ${wins(pass.winrate, pass.lead)}` : value;
}

export function showBook() {
  const {book, switches} = page.state;
  at("book-switch").hidden = book === null;
  at("book-note").hidden = book === null || !switches.book;
  if (!at("book-note").hidden) setText(at("book-note"), noteText());
}
