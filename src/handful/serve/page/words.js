// The tokeniser of handful/words.py once more, character by character, so that what is selected here is what the server
// calls words. All offsets are code points, as Python counts them; JavaScript's own strings count UTF-16 units, so no
// offset of theirs leaves this file.

const CJK = [
  [0x3040, 0x30ff], // hiragana, katakana
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0x20000, 0x323af],
];
const JOINER = "\u200d";
const LETTER_OR_DIGIT = /^[\p{L}\p{N}]$/u;
const GAP = /^[\p{Z}\p{Cc}\p{Cs}]$/u;
const COMBINING = /^\p{M}$/u;
const FORMAT = /^\p{Cf}$/u;

export function characters(text) {
  return Array.from(text);
}

/** The words of a text: [{text, start, end}], by code points. */
export function splitWords(text) {
  const all = characters(text);
  const spans = [];
  let inRun = false; // does the last word go on if a letter or digit follows?
  all.forEach((character, index) => {
    const kind = kindOf(character);
    const last = spans.at(-1);
    const touches = last !== undefined && last.end === index;
    const joined = touches && all[index - 1] === JOINER;
    if (kind === "gap") {
      inRun = false;
    } else if (touches && (joined || kind === "mark" || (kind === "run" && inRun))) {
      last.end = index + 1;
    } else if (kind === "mark" && !COMBINING.test(character)) {
      inRun = false; // a joiner or a direction mark after white space: nothing to see, no word
    } else {
      spans.push({ start: index, end: index + 1 });
      inRun = kind === "run";
    }
  });
  return spans.map(({ start, end }) => ({ text: all.slice(start, end).join(""), start, end }));
}

function kindOf(character) {
  const point = character.codePointAt(0);
  if (LETTER_OR_DIGIT.test(character)) return isCjk(point) ? "single" : "run";
  if (GAP.test(character)) return "gap";
  const modifies = point >= 0x1f3fb && point <= 0x1f3ff; // skin tones
  if (COMBINING.test(character) || FORMAT.test(character) || modifies) return "mark";
  return "single";
}

function isCjk(point) {
  return CJK.some(([first, last]) => first <= point && point <= last);
}

/** The characters [start, end) of a text, by code points. */
export function cut(text, start, end) {
  return characters(text).slice(start, end).join("");
}

export function length(text) {
  return characters(text).length;
}
