// The texts of the page in the language of the browser, or in the one that was chosen: a JSON file for each.

import {preference} from "/preferences.js";

const LANGUAGES = ["en", "zh", "ja", "ko"];
let texts = {};

export function language() {
  const wanted = [preference("language"), ...navigator.languages].map((each) => each.slice(0, 2).toLowerCase());
  return wanted.find((each) => LANGUAGES.includes(each)) ?? "en";
}

// The text of a key, with {name} replaced by values.
export function t(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export const hasText = (key) => Object.hasOwn(texts, key);

// Loads the language and writes the texts of all elements that name one.
export async function loadTexts() {
  const name = language();
  texts = await (await fetch(`/${name}.json`)).json();
  document.documentElement.lang = {zh: "zh-Hans"}[name] ?? name;
  for (const place of document.querySelectorAll("[data-t]")) place.textContent = t(place.dataset.t);
  for (const attribute of ["title", "placeholder", "aria-label", "aria-roledescription"]) {
    const named = `data-t-${attribute.replace("aria-", "")}`;
    for (const place of document.querySelectorAll(`[${named}]`)) place.setAttribute(attribute, t(place.getAttribute(named)));
  }
}
