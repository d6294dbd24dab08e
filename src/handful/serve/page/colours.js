// A slot's colour: chosen by its name, so that it is the same tomorrow, and kept apart from those of its neighbours. The
// colour is a hue alone; the style sheet gives each theme its lightness, so that text on it can be read. Twelve hues
// and three underlines tell 36 slots apart, and the label always stands beside.

const HUES = [250, 145, 55, 320, 195, 25, 290, 110, 225, 0, 80, 170];
const LINES = ["solid", "dashed", "dotted"];
const PLACES = HUES.length * LINES.length;

let places = new Map();
let where = "";

/** A bot's colours begin as they were when it was last looked at. */
export function openColours(bot) {
  where = `handful.colours.${bot}`;
  places = new Map();
  try {
    for (const [label, place] of JSON.parse(localStorage.getItem(where) ?? "[]")) places.set(label, place);
  } catch {
    // Stored by something else, or storage is closed: colours are chosen anew.
  }
}

export function colour(target, label) {
  const place = placeOf(label);
  target.style.setProperty("--hue", String(HUES[place % HUES.length]));
  target.style.setProperty("--line", LINES[Math.floor(place / HUES.length) % LINES.length]);
}

function placeOf(label) {
  if (!places.has(label)) {
    const taken = new Set(places.values());
    let place = hash(label) % HUES.length;
    for (let step = 0; taken.has(place) && step < PLACES; step += 1) place = (place + 1) % PLACES;
    places.set(label, place);
    try {
      localStorage.setItem(where, JSON.stringify([...places].slice(-200)));
    } catch {
      // Private windows may refuse; the colours then last as long as the page.
    }
  }
  return places.get(label);
}

function hash(text) {
  let sum = 7;
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)) % 1000003;
  return sum;
}
