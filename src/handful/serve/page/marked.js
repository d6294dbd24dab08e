// Marked text, as it stands in bot files: `fly to [Oslo](city)` and `[Oslo]{"entity": "city", "role": "to"}`. Read here
// so that a line with an error can be told while it is still in its box; the server reads it again.

import { characters, splitWords } from "./words.js";

const KEYS = ["entity", "value", "role", "group"];

/** {text, slots}; an Error says what does not fit. */
export function readMarked(marked) {
  const all = characters(marked);
  const text = [];
  const slots = [];
  let opened = null;
  let position = 0;
  while (position < all.length) {
    const character = all[position];
    if (character === "\\" && ["[", "]", "\\"].includes(all[position + 1])) {
      text.push(all[position + 1]);
      position += 2;
    } else if (character === "[") {
      if (opened) throw new Error(`an annotation inside an annotation, at character ${position + 1}`);
      opened = { at: position, start: text.length };
      position += 1;
    } else if (character === "]") {
      if (!opened) throw new Error(`a ']' without its '[', at character ${position + 1}; as plain text write \\]`);
      const found = labelBehind(all, position + 1);
      slots.push({ ...found.slot, start: opened.start, end: text.length });
      position = found.after;
      opened = null;
    } else {
      text.push(character);
      position += 1;
    }
  }
  if (opened) throw new Error(`a '[' without its ']', at character ${opened.at + 1}; as plain text write \\[`);
  return onWords(text.join(""), slots);
}

function labelBehind(all, position) {
  const rest = all.slice(position).join("");
  if (rest.startsWith("(")) {
    const found = /^\(([^()[\]{}]*)\)/u.exec(rest);
    if (!found) throw new Error(`a '(' without its ')', at character ${position + 1}`);
    const colon = found[1].indexOf(":");
    const label = (colon < 0 ? found[1] : found[1].slice(0, colon)).trim();
    const value = colon < 0 ? null : found[1].slice(colon + 1).trim();
    if (!label || value === "") throw new Error(`found '(${found[1]})', expected '(slot)' or '(slot:value)'`);
    return { slot: slotNamed(label, value, null, null), after: position + characters(found[0]).length };
  }
  if (rest.startsWith("{")) return longForm(rest, position);
  if (rest.startsWith("[")) throw new Error("several slots on the same words; a word can be in one slot only");
  throw new Error("found '[…]' without a slot, expected '[words](slot)'; as plain text write \\[ and \\]");
}

function longForm(rest, position) {
  const written = /^\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}/u.exec(rest);
  if (!written) throw new Error(`a '{' without its '}', at character ${position + 1}`);
  let found;
  try {
    found = JSON.parse(written[0]);
  } catch {
    throw new Error(`the annotation ${written[0]} is not JSON`);
  }
  for (const [key, value] of Object.entries(found)) {
    if (!KEYS.includes(key)) throw new Error(`found the key '${key}', expected entity, value, role or group`);
    const isText = typeof value === "string" && value.trim();
    if (!isText) throw new Error(`the ${key} of an annotation must be text in quotes`);
  }
  if (!found.entity) throw new Error("an annotation without its 'entity'");
  const slot = slotNamed(found.entity, found.value ?? null, found.role ?? null, found.group ?? null);
  return { slot, after: position + characters(written[0]).length };
}

function slotNamed(slot, value, role, group) {
  return { slot, value, role, group };
}

/** White space at a slot's edges is let go, as the server does; a slot that cuts a word is an error. */
function onWords(text, slots) {
  const words = splitWords(text);
  if (!words.length) throw new Error("there is no word in this line");
  const all = characters(text);
  const placed = slots.map((slot) => {
    let { start, end } = slot;
    while (start < end && /\s/u.test(all[start])) start += 1;
    while (end > start && /\s/u.test(all[end - 1])) end -= 1;
    const covered = all.slice(start, end).join("");
    const inside = words.filter((word) => word.end > start && word.start < end);
    if (!inside.length) throw new Error(`the slot '${slot.slot}' covers no word`);
    for (const word of inside) {
      if (word.start < start || word.end > end) {
        throw new Error(`the slot '${slot.slot}' on '${covered}' cuts the word '${word.text}'; mark whole words`);
      }
    }
    return { ...slot, start, end, value: slot.value === covered ? null : slot.value };
  });
  return { text, slots: placed };
}

/** Does a text hold at least one complete mark? */
export function isMarked(text) {
  return /\[[^[\]]+\](\([^()[\]{}]+\)|\{[^{}]*"entity"[^{}]*\})/u.test(text);
}
