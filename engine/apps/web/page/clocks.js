// Both players' clocks, which count down between the server's messages.

import {COLORS, at, page, setText} from "/shared.js";
import {soundOfSecond} from "/sounds.js";
import {t} from "/texts.js";

const LAST_SECONDS = 10;
let received = 0;
let warned = null;

function timeText(seconds) {
  const whole = Math.ceil(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

// [seconds, periods left] of a color now; periods is 0 in main time.
function leftOf(color) {
  const {kind, period, periods, left, running, elapsed, is_paused: isPaused} = page.state.clock;
  const since = isPaused ? 0 : (performance.now() - received) / 1000;
  const spent = running === color ? elapsed + since : 0;
  let [seconds, count] = left[color];
  if (kind !== "byoyomi") return [Math.max(0, seconds - spent), 0];
  // Who lost on time has neither seconds nor periods; a running clock without both has just used up its main time.
  if (!count && !seconds && running !== color) return [0, 0];
  let rest = spent;
  if (!count) {
    if (rest < seconds) return [seconds - rest, 0];
    rest -= seconds;
    count = periods;
  }
  const lost = Math.min(Math.floor(rest / period), count);
  return lost === count ? [0, 0] : [period - (rest - lost * period), count - lost];
}

function tick() {
  const clock = page.state?.clock;
  for (const color of COLORS) {
    const place = at(`player-${color}`).querySelector("time");
    place.hidden = !clock;
    if (!clock) continue;
    const [seconds, count] = leftOf(color);
    setText(place, count ? t("byoyomi_left", {time: timeText(seconds), periods: count}) : timeText(seconds));
    const isUrgent = clock.running === color && seconds < LAST_SECONDS && (count > 0 || clock.kind !== "byoyomi");
    place.classList.toggle("urgent", isUrgent);
    const second = isUrgent ? `${color}${Math.ceil(seconds)}` : null;
    if (isUrgent && second !== warned && page.state.players[color] === "person") soundOfSecond();
    if (clock.running === color) warned = second;
  }
}

export function showClocks(isNew) {
  if (isNew) received = performance.now();
  tick();
}

export function runClocks() {
  setInterval(() => page.state?.clock?.running && !page.isOffline && tick(), 200);
}
