// Opens records by file, drop, paste and link, and makes links that hold a whole record. A record only ever goes to the
// server as text, which reads it within the limits of a file.

import {writeDrafts} from "/drafts.js";
import {allSent, at, page, post, recordOf, say, send, setText, showError, takesText} from "/shared.js";
import {t} from "/texts.js";

const LARGEST_RECORD = 1 << 22;
const LONGEST_LINK = 100_000;
const MARK = "#sgf=";

async function open(record) {
  if (page.isOffline) return showError(t("not_opened"));
  if (record.size > LARGEST_RECORD) return showError(t("too_large"));
  writeDrafts();
  return post("/game.sgf", record);
}

const openText = (text) => open(new Blob([text]));

function openTransfer(transfer) {
  const [file] = transfer.files;
  if (file) return open(file);
  const text = transfer.getData("text/plain");
  return text.includes("(") ? openText(text) : showError(t("no_record"));
}

// Links

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// A small link may hold a record of any size, so unpacking stops at the limit.
async function unpacked(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return new Blob(parts);
    size += value.length;
    if (size > LARGEST_RECORD) throw new RangeError("too large");
    parts.push(value);
  }
}

// What the link holds; it is shown until the record or the position is another.
let linked = "";
const linkable = (state) => JSON.stringify([recordOf(state), state.shown, state.stones]);

async function share() {
  // A comment may still be on its way.
  await allSent();
  if (!page.state) return;
  let held, record;
  do {
    held = linkable(page.state);
    record = await (await fetch("/game.sgf")).text();
  } while (held !== linkable(page.state));
  const link = location.origin + location.pathname + MARK + (await packed(record));
  if (link.length > LONGEST_LINK) return showError(t("link_too_long"));
  linked = held;
  at("link-label").hidden = false;
  at("link").value = link;
  at("link").select();
  try {
    await navigator.clipboard.writeText(link);
    return say(t("link_copied"));
  } catch {
    return say(t("link_ready"));
  }
}

// Any site may link here, so a game in progress is left only if the person agrees.
export async function openLink() {
  const {hash} = location;
  if (!hash.startsWith(MARK) || !page.state) return;
  history.replaceState(null, "", location.pathname);
  if (page.state.moves && !confirm(t("open_link"))) return;
  try {
    if (hash.length > LONGEST_LINK) throw new RangeError("too long");
    await open(await unpacked(hash.slice(MARK.length)));
  } catch {
    showError(t("bad_link"));
  }
}

export function showShare() {
  at("previous").hidden = !page.state.has_previous;
  setText(at("previous"), t("previous_game"));
  if (linkable(page.state) !== linked) at("link-label").hidden = true;
}

// Text and links of this page are dragged into its fields and elsewhere; only a file is opened over a field.
let isOwnDrag = false;
const isForPage = (event) => event.dataTransfer.types.includes("Files") || !(isOwnDrag || takesText(event.target));

export function listenToSharing() {
  at("open").addEventListener("change", () => {
    const [file] = at("open").files;
    if (file) open(file);
    at("open").value = "";
    at("open").blur();
  });
  at("paste").addEventListener("click", async () => {
    try {
      openText(await navigator.clipboard.readText());
    } catch {
      showError(t("paste_key"));
    }
  });
  at("share").addEventListener("click", share);
  at("previous").addEventListener("click", () => { writeDrafts(); send("previous"); });
  addEventListener("paste", (event) => !takesText(event.target) && openTransfer(event.clipboardData));
  addEventListener("dragstart", () => { isOwnDrag = true; });
  // What is dragged may be gone before the drag ends.
  for (const end of ["dragend", "pointerdown"]) addEventListener(end, () => { isOwnDrag = false; });
  addEventListener("dragover", (event) => {
    at("drop").hidden = !isForPage(event);
    if (isForPage(event)) event.preventDefault();
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) at("drop").hidden = true; });
  addEventListener("drop", (event) => {
    at("drop").hidden = true;
    if (!isForPage(event)) return;
    event.preventDefault();
    openTransfer(event.dataTransfer);
  });
  addEventListener("hashchange", openLink);
}
