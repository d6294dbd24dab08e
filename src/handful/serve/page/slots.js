// What a slot is on this page, and what becomes of slots when words or text change. A slot is
// {slot, start, end, value, role, group}; start and end are code points and borders of words.

import { characters, cut, splitWords } from "./words.js";

/** The slot's name with its role: what the bot tells apart. */
export function keyOf(slot) {
  return slot.role ? `${slot.slot}:${slot.role}` : slot.slot;
}

/** Slots of a parse, in the shape that examples have. */
export function fromParse(parse) {
  return parse.slots.map((found) => ({
    slot: found.label,
    start: found.start,
    end: found.end,
    value: found.value === cut(parse.text, found.start, found.end) ? null : (found.value ?? null),
    role: found.role ?? null,
    group: null,
    confidence: found.confidence,
  }));
}

/** What the server is sent: no more than the contract names. */
export function toSend(slots) {
  return slots.map(({ slot, start, end, value, role, group }) => ({
    slot,
    start,
    end,
    value: value ?? null,
    role: role ?? null,
    group: group ?? null,
  }));
}

/** With one more slot; those that it overlaps go, because a word can be in one slot only. */
export function withSlot(slots, added) {
  return [...without(slots, added.start, added.end), added].sort((a, b) => a.start - b.start);
}

export function without(slots, start, end) {
  return slots.filter((slot) => slot.end <= start || slot.start >= end);
}

export function sameSlots(left, right) {
  return JSON.stringify(toSend(left)) === JSON.stringify(toSend(right));
}

/** Slots of a text after the text was edited: those that the edit did not touch stay on their words, one that the edit
 * is inside of grows or shrinks with it, and one that lost a border goes. */
export function carried(before, after, slots) {
  const old = characters(before);
  const now = characters(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const changedEnd = old.length - tail;
  const shift = now.length - old.length;
  const words = splitWords(after);
  const kept = [];
  for (const slot of slots) {
    let moved = null;
    if (slot.end <= head) moved = { ...slot };
    else if (slot.start >= changedEnd) moved = { ...slot, start: slot.start + shift, end: slot.end + shift };
    else if (slot.start <= head && slot.end >= changedEnd) moved = { ...slot, end: slot.end + shift };
    const fitted = moved && fitToWords(words, moved);
    if (fitted && !kept.some((other) => other.start < fitted.end && fitted.start < other.end)) kept.push(fitted);
  }
  return kept;
}

/** The slot on whole words, or null if it covers none. */
function fitToWords(words, slot) {
  const inside = words.filter((word) => word.end > slot.start && word.start < slot.end);
  if (!inside.length) return null;
  return { ...slot, start: inside[0].start, end: inside.at(-1).end };
}
