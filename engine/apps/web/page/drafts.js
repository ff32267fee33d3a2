// What a person writes into the record: saved when the field is left, a moment after the last key, and when the page is
// closed. A text belongs to the game and the position where the writing began.

import {at, page, send, sendAtOnce, setText} from "/shared.js";
import {t} from "/texts.js";

const WAIT_MILLISECONDS = 1000;
// By field: the name of its text in `edit`, the text that the server knows, the one that is on its way there, and the
// game and the position where the writing began.
const drafts = new Map();
// What is said of the texts that were refused, by their field and game.
const refused = new Map();
let show = () => {};

const isPending = (field) => field.value !== drafts.get(field).known;
const isFocused = (field) => document.activeElement === field;

const gameOf = ({session, open_game: number}) => ({session, number});

// A server that was started again and got the game from this page has it under another number.
const isOpen = ({session, number}) =>
  session === page.state.session ? number === page.state.open_game : page.restored === page.state.session;

// The engine may move while a person writes: a comment belongs to the position where the writing began.
function begin(field) {
  const draft = drafts.get(field);
  draft.game = gameOf(page.state);
  if (draft.name === "note") draft.place = {variation: page.state.variation, to: page.state.shown};
}

function fieldsOf(field) {
  const {name, place, game} = drafts.get(field);
  // Another page may have opened another game meanwhile: the server refuses the text then.
  const number = game.session === page.state.session ? {game: game.number} : {};
  return {[name]: field.value, ...place, ...number};
}

// A refused text is nowhere else any more, so it stays until the person has read it.
function refuse(field, text) {
  refused.set(`${field.id} ${Object.values(drafts.get(field).game)}`, t("not_saved", {text}));
  const box = at("unsaved");
  setText(box.querySelector("p"), [...refused.values()].join("\n"));
  if (!box.hidden) return;
  box.hidden = false;
  box.scrollIntoView({block: "nearest"});
}

async function write(field) {
  const draft = drafts.get(field);
  clearTimeout(draft.timer);
  const text = field.value;
  if (!page.state || !isPending(field) || text === draft.sent) return;
  draft.sent = text;
  const isKept = isOpen(draft.game) && await send("edit", fieldsOf(field));
  draft.sent = null;
  if (!isKept) {
    // While the connection is lost, the text waits in its field.
    if (page.isOffline) return;
    refuse(field, text);
    // What is typed on must neither go into another game nor be taken for keys that play there.
    if (isFocused(field)) return;
  }
  draft.known = text;
  show();
}

// Shows what the record has, unless the person is writing there.
export function showText(field, text) {
  const draft = drafts.get(field);
  if (!draft.game) begin(field);
  if (isPending(field)) {
    // While a server is started again, its first states are not yet of the game that it gets back.
    if (draft.game.session === page.state.session && !isOpen(draft.game)) write(field);
    return;
  }
  if (isFocused(field)) {
    if (isOpen(draft.game)) return;
    begin(field);
  }
  field.value = text;
  draft.known = field.value;
}

// To be called before another game is opened or begun: commands are sent one after the other.
export function writeDrafts() {
  if (drafts.has(document.activeElement)) document.activeElement.blur();
  for (const field of drafts.keys()) write(field);
}

// names: of the texts by the ids of their fields. showRecord: shows them anew.
export function listenToDrafts(names, showRecord) {
  show = showRecord;
  for (const [id, name] of Object.entries(names)) {
    const field = at(id);
    const draft = {name, known: field.value, sent: null, place: {}, game: null, timer: 0};
    drafts.set(field, draft);
    field.addEventListener("focus", () => page.state && !isPending(field) && begin(field));
    field.addEventListener("input", () => {
      clearTimeout(draft.timer);
      draft.timer = setTimeout(write, WAIT_MILLISECONDS, field);
    });
    for (const event of ["change", "blur"]) field.addEventListener(event, () => write(field));
  }
  at("unsaved").querySelector("button").addEventListener("click", () => {
    // A tap does not leave the field by itself, and the text in it would be refused again.
    if (drafts.has(document.activeElement)) document.activeElement.blur();
    refused.clear();
    at("unsaved").hidden = true;
  });
  document.addEventListener("connected", writeDrafts);
  addEventListener("pagehide", () => {
    for (const [field, {game}] of drafts) {
      if (game && isPending(field) && isOpen(game)) sendAtOnce("edit", fieldsOf(field));
    }
  });
}
