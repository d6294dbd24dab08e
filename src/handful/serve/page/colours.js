// A slot's colour. It is a hue alone: the style sheet gives each theme its lightness, so that text on it can be
// read. A hue is far from those of the slots before, and stays what it was: places are kept by bot. Twelve hues and
// three underlines tell 36 slots apart, and the label always stands beside.

import { always } from "./storage.js";

const HUES = [250, 145, 55, 320, 195, 25, 285, 110, 225, 350, 80, 170]; // each far from those before it
const LINES = ["solid", "dashed", "dotted"];
const PLACES = HUES.length * LINES.length;

let places = new Map();
let where = "";

/** A bot's colours are as they were when it was last looked at; labels are new in the order in which they come. */
export function openColours(bot, labels) {
  where = `colours.${bot}`;
  places = new Map();
  try {
    for (const [label, place] of JSON.parse(always.get(where) ?? "[]")) {
      if (labels.includes(label)) places.set(label, place); // what is gone gives its colour back
    }
  } catch {
    // Stored by something else: colours are chosen anew.
  }
  labels.forEach(placeOf);
}

export function colour(target, label) {
  const place = placeOf(label) % PLACES;
  target.style.setProperty("--hue", String(HUES[place % HUES.length]));
  target.style.setProperty("--line", LINES[Math.floor(place / HUES.length)]);
}

function placeOf(label) {
  if (!places.has(label)) {
    const taken = new Set(places.values());
    let place = 0;
    while (taken.has(place)) place += 1;
    places.set(label, place);
    always.set(where, JSON.stringify([...places]));
  }
  return places.get(label);
}
