// Preferences of this browser; a private window may have no storage.

const DEFAULTS = {
  view: "black", coordinates: "on", confirm: "off", sound: "off", theme: "auto", color: "both", size: "1", language: "", tab: "analysis",
};

export function preference(name) {
  try {
    return localStorage.getItem(`keima-${name}`) ?? DEFAULTS[name];
  } catch {
    return DEFAULTS[name];
  }
}

export function prefer(name, value) {
  DEFAULTS[name] = value;
  try {
    localStorage.setItem(`keima-${name}`, value);
  } catch { /* kept until the page is closed */ }
}
