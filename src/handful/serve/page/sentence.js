// A sentence as it is shown: its words, and its slots with their labels.

import { colour } from "./colours.js";
import { element, percent } from "./dom.js";
import { keyOf } from "./slots.js";
import { characters, splitWords } from "./words.js";

/** [{slot | null, words: [{text, start, end, place}]}]: the sentence cut where slots begin and end. */
export function pieces(text, slots) {
  const cut = [];
  splitWords(text).forEach((word, place) => {
    const slot = slots.find((each) => each.start <= word.start && word.end <= each.end) ?? null;
    const last = cut.at(-1);
    if (last && last.slot === slot) last.words.push({ ...word, place });
    else cut.push({ slot, words: [{ ...word, place }] });
  });
  return cut;
}

/** The nodes of a sentence; `wordElement(word, slot)` makes those of the words. What stands between words is kept. */
export function sentenceNodes(text, slots, { wordElement, slotElement }) {
  const all = characters(text);
  const nodes = [];
  let reached = 0;
  const gap = (until) => {
    const between = all.slice(reached, until).join("");
    reached = until;
    return between ? [document.createTextNode(between)] : [];
  };
  for (const { slot, words } of pieces(text, slots)) {
    const before = gap(words[0].start);
    const inside = [];
    for (const word of words) {
      inside.push(...gap(word.start), wordElement(word, slot));
      reached = word.end;
    }
    nodes.push(...before, ...(slot ? [slotElement(slot, inside)] : inside));
  }
  return [...nodes, ...gap(all.length)];
}

/** A slot's box: the words, and the label that says what colour alone would not. */
export function slotBox(slot, inside, attributes = {}) {
  const label = element("span", { class: "label" }, keyOf(slot));
  if (slot.value) label.append(element("span", { class: "value" }, ` = ${slot.value}`));
  if (slot.confidence !== undefined) label.append(element("span", { class: "sure" }, ` ${percent(slot.confidence)}`));
  const told = { class: "slot", "data-slot": slot.slot, "data-role": slot.role, ...attributes };
  const box = element("span", told, ...inside, label);
  colour(box, slot.slot);
  return box;
}

/** A sentence to look at. */
export function shownSentence(text, slots) {
  const nodes = sentenceNodes(text, slots, {
    wordElement: (word) => document.createTextNode(word.text),
    slotElement: (slot, inside) => slotBox(slot, inside),
  });
  return element("span", { class: "sentence", dir: "auto" }, ...nodes);
}
