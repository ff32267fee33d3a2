// Optional sounds, made by the browser: a stone on wood, captured stones, the last seconds.

import {preference} from "/preferences.js";

const CLICK_SECONDS = 0.08;
const MOST_CAPTURED = 6;
let audio = null;

// Browsers start audio only after a click or a key, so it is made late.
function context() {
  audio ??= new AudioContext();
  if (audio.state === "suspended") audio.resume();
  return audio;
}

function knock(delay, pitch, volume) {
  const {sampleRate, currentTime, destination} = context();
  const length = Math.round(CLICK_SECONDS * sampleRate);
  const buffer = audio.createBuffer(1, length, sampleRate);
  const samples = buffer.getChannelData(0);
  for (let i = 0; i < length; i += 1) samples[i] = (2 * Math.random() - 1) * Math.exp((-9 * i) / length);
  const [source, filter, gain] = [audio.createBufferSource(), audio.createBiquadFilter(), audio.createGain()];
  source.buffer = buffer;
  filter.type = "bandpass";
  filter.frequency.value = pitch;
  gain.gain.value = volume;
  source.connect(filter).connect(gain).connect(destination);
  source.start(currentTime + delay);
}

const isOn = () => preference("sound") === "on" && typeof AudioContext !== "undefined";

export function soundOfMove(captured) {
  if (!isOn()) return;
  knock(0, 1500, 1.5);
  for (let stone = 0; stone < Math.min(captured, MOST_CAPTURED); stone += 1) knock(0.12 + 0.05 * stone, 2400, 0.7);
}

export function soundOfSecond() {
  if (isOn()) knock(0, 900, 0.8);
}
