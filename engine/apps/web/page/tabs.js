// The tabs beside the board.

import {prefer, preference} from "/preferences.js";
import {at} from "/shared.js";

const NAMES = ["analysis", "record", "game", "settings"];

export function showTab(name) {
  prefer("tab", name);
  for (const each of NAMES) {
    at(`panel-${each}`).hidden = each !== name;
    at(`tab-${each}`).ariaSelected = String(each === name);
    at(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
}

export function listenToTabs() {
  showTab(NAMES.includes(preference("tab")) ? preference("tab") : NAMES[0]);
  for (const name of NAMES) {
    at(`tab-${name}`).addEventListener("click", (event) => {
      showTab(name);
      // After a click of a pointer, the arrow keys walk through the game again; from the keyboard they change tabs.
      if (event.detail) at(`tab-${name}`).blur();
    });
  }
  at("tabs").addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    const next = NAMES[(NAMES.indexOf(preference("tab")) + step + NAMES.length) % NAMES.length];
    showTab(next);
    at(`tab-${next}`).focus();
    event.preventDefault();
    event.stopPropagation();
  });
}
