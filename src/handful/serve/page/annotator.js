// A sentence whose words can be selected, with the mouse, a finger or keys, and given a slot.
//
// Keys: arrows move from word to word, with Shift they select; Enter asks for the slot, 1 to 9 give one of the
// first nine at once, Delete takes it away. It is a list box of words, so that screen readers say each with its
// slot.

import { element, freshId, quoted } from "./dom.js";
import { sentenceNodes, slotBox } from "./sentence.js";
import { chooseSlot, chooserOpenFor, closeChooser, offeredSlots } from "./slot_chooser.js";
import { keyOf, without, withSlot } from "./slots.js";
import { announce } from "./telling.js";
import { cut, splitWords } from "./words.js";

export class Annotator {
  /** `onchange(slots, said)` hears of every annotation; `whyNot()` says why there can be none, or null. */
  constructor({ onchange, whyNot = () => null, name = "Words of" }) {
    this.onchange = onchange;
    this.whyNot = whyNot;
    this.name = name;
    this.text = "";
    this.slots = [];
    this.words = [];
    this.anchor = 0; // the selection runs from the anchor to the cursor, either way round
    this.cursor = 0;
    this.dragging = false;
    this.id = freshId("words");
    this.element = element("div", {
      class: "sentence annotator",
      role: "listbox",
      "aria-multiselectable": "true",
      "aria-orientation": "horizontal",
      tabindex: "0",
      dir: "auto",
      "data-annotator": "",
      onkeydown: (event) => this.pressed(event),
      onpointerdown: (event) => this.down(event),
      onpointermove: (event) => this.moved(event),
      onpointerup: (event) => this.up(event),
      onpointercancel: () => this.let(),
      onfocus: () => this.mark(),
      onblur: () => this.mark(),
    });
  }

  show(text, slots) {
    if (text !== this.text) this.anchor = this.cursor = 0;
    this.text = text;
    this.slots = slots;
    this.words = splitWords(text);
    this.cursor = Math.max(0, Math.min(this.cursor, this.words.length - 1));
    this.anchor = Math.max(0, Math.min(this.anchor, this.words.length - 1));
    this.element.setAttribute("aria-label", `${this.name} ${quoted(text, 80)}`);
    const nodes = sentenceNodes(text, slots, {
      wordElement: (word, slot) => this.wordElement(word, slot),
      slotElement: (slot, inside) => slotBox(slot, inside, { role: "group", "aria-label": `slot ${keyOf(slot)}` }),
    });
    for (const node of nodes) node.querySelector?.(".label")?.setAttribute("aria-hidden", "true");
    this.element.replaceChildren(...nodes);
    this.mark();
  }

  wordElement(word, slot) {
    return element(
      "span",
      {
        class: "word",
        role: "option",
        id: `${this.id}-${word.place}`,
        "data-word": word.place,
        "aria-label": slot ? `${word.text}, ${keyOf(slot)}` : word.text,
        "aria-selected": "false",
      },
      word.text,
    );
  }

  get selected() {
    return [Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor)];
  }

  mark() {
    const [first, last] = this.selected;
    const active = document.activeElement === this.element || chooserOpenFor(this.element) || this.dragging;
    for (const word of this.element.querySelectorAll(".word")) {
      const place = Number(word.dataset.word);
      const inside = active && first <= place && place <= last;
      word.setAttribute("aria-selected", String(inside));
      word.classList.toggle("chosen", inside);
      word.classList.toggle("chosen-first", inside && place === first);
      word.classList.toggle("chosen-last", inside && place === last);
    }
    if (this.words.length) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.cursor}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  // Pointers.

  wordUnder(event) {
    const word = document.elementFromPoint(event.clientX, event.clientY)?.closest(".word");
    return word && this.element.contains(word) ? Number(word.dataset.word) : null;
  }

  down(event) {
    if (event.button !== 0 || !this.words.length) return;
    const target = event.target.closest(".word, .slot");
    if (!target) return;
    const place = Number((target.matches(".word") ? target : target.querySelector(".word")).dataset.word);
    // A finger has no Shift: a second touch, while the first word's window is open, selects up to there.
    const extends_ = event.shiftKey || (event.pointerType === "touch" && chooserOpenFor(this.element));
    closeChooser();
    this.dragging = true;
    this.whole = extends_ ? null : this.slotAt(place); // a click anywhere on a slot means the slot
    this.cursor = place;
    if (!extends_) this.anchor = place;
    this.element.focus({ preventScroll: true });
    if (event.pointerType !== "touch") event.preventDefault();
    this.mark();
  }

  moved(event) {
    if (!this.dragging) return;
    const place = this.wordUnder(event);
    if (place === null || place === this.cursor) return;
    this.whole = null;
    this.cursor = place;
    this.mark();
  }

  up(event) {
    if (!this.dragging) return;
    this.dragging = false;
    if (this.whole) this.select(this.whole);
    this.ask({ keyboard: event.pointerType !== "touch" });
  }

  let() {
    this.dragging = false;
    this.mark();
  }

  // Keys.

  pressed(event) {
    if (!this.words.length || event.altKey) return;
    const rightToLeft = getComputedStyle(this.element).direction === "rtl";
    const steps = { ArrowLeft: rightToLeft ? 1 : -1, ArrowRight: rightToLeft ? -1 : 1 };
    const last = this.words.length - 1;
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key.toLowerCase() === "a") this.move(last, true, 0);
    else if (command) return;
    else if (event.key in steps) this.move(this.cursor + steps[event.key], event.shiftKey);
    else if (event.key === "Home") this.move(0, event.shiftKey);
    else if (event.key === "End") this.move(last, event.shiftKey);
    else if (event.key === "Enter" || event.key === " ") this.ask({ keyboard: true });
    else if (event.key === "Delete" || event.key === "Backspace") this.remove();
    else if (/^[1-9]$/u.test(event.key)) this.give(Number(event.key) - 1);
    else if (event.key === "Escape" && this.anchor !== this.cursor) this.move(this.cursor, false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  move(place, extend, anchor = null) {
    this.cursor = Math.max(0, Math.min(place, this.words.length - 1));
    if (anchor !== null) this.anchor = anchor;
    else if (!extend) this.anchor = this.cursor;
    this.mark();
  }

  select(slot) {
    const covered = (word) => word.start >= slot.start && word.end <= slot.end;
    const inside = this.words.flatMap((word, place) => (covered(word) ? [place] : []));
    if (inside.length) [this.anchor, this.cursor] = [inside[0], inside.at(-1)];
    this.mark();
  }

  slotAt(place) {
    const word = this.words[place];
    return this.slots.find((slot) => slot.start <= word.start && word.end <= slot.end) ?? null;
  }

  // What annotating is.

  /** The selection's characters, and the slot that it touches, if it touches one only. */
  span() {
    const [first, last] = this.selected;
    const start = this.words[first].start;
    const end = this.words[last].end;
    const touched = this.slots.filter((slot) => slot.start < end && slot.end > start);
    return { start, end, touched };
  }

  refused() {
    const reason = this.whyNot();
    if (reason) announce(reason);
    return Boolean(reason);
  }

  async ask({ keyboard }) {
    if (this.refused()) return;
    if (this.anchor === this.cursor && this.slotAt(this.cursor)) this.select(this.slotAt(this.cursor));
    const { start, end, touched } = this.span();
    const [first, last] = this.selected;
    const near = this.box(first, last);
    const present = touched.length === 1 ? touched[0] : null;
    const answer = await chooseSlot({
      owner: this.element,
      host: this.element.closest("dialog[open]") ?? document.body,
      near,
      words: cut(this.text, start, end),
      present,
      own: this.slots,
      keyboard,
    });
    if (answer && answer !== "remove") this.put({ ...answer, start, end, group: present?.group ?? null });
    else if (answer === "remove") this.remove();
    const left = document.activeElement === document.body || document.activeElement === null;
    if (left || this.element.contains(document.activeElement)) this.element.focus({ preventScroll: true });
    this.mark();
  }

  box(first, last) {
    const word = (place) => this.element.querySelector(`[data-word="${place}"]`);
    const boxes = [first, last].map((place) => word(place).getBoundingClientRect());
    return {
      left: Math.min(...boxes.map((box) => box.left)),
      top: Math.min(...boxes.map((box) => box.top)),
      bottom: Math.max(...boxes.map((box) => box.bottom)),
    };
  }

  give(number) {
    if (this.refused()) return;
    const offered = offeredSlots(this.slots)[number];
    if (!offered) return announce(`There is no slot ${number + 1}.`);
    const { start, end } = this.span();
    this.put({ slot: offered.slot, role: offered.role ?? null, value: null, start, end, group: null });
  }

  put(slot) {
    const words = cut(this.text, slot.start, slot.end);
    this.changed(withSlot(this.slots, slot), `${quoted(words)} is ${keyOf(slot)}`);
  }

  remove() {
    if (this.refused()) return;
    const { start, end, touched } = this.span();
    if (!touched.length) return announce("There is no slot here.");
    const names = touched.map(keyOf).join(", ");
    this.changed(without(this.slots, start, end), `Removed the slot ${names}`);
  }

  changed(slots, said) {
    this.show(this.text, slots);
    this.onchange(slots, said);
  }
}
