// A field for a sentence, and below it the same sentence with its words ready to be annotated: for new examples and for
// those that are being edited. Slots stay on their words while the text changes; marked text that is typed or pasted
// becomes slots at once.

import { Annotator } from "./annotator.js";
import { whyNot } from "./bot.js";
import { button, counted, element } from "./dom.js";
import { isMarked, readMarked } from "./marked.js";
import { carried, withSlot } from "./slots.js";
import { announce } from "./telling.js";
import { splitWords } from "./words.js";

const WHISPER = "Select words to make them a slot. Enter adds the sentence.";

export class Composer {
  /** `onsubmit({text, slots})` resolves to whether it was taken; if not, all stays as it is. */
  constructor({ name, placeholder, done, whisper = WHISPER, onsubmit, oncancel = null, attributes = {} }) {
    this.onsubmit = onsubmit;
    this.slots = [];
    this.before = "";
    this.busy = false;
    this.input = element("textarea", {
      rows: "1",
      "aria-label": name,
      placeholder,
      dir: "auto",
      autocapitalize: "off",
      spellcheck: "false",
      oninput: () => this.typed(),
      onkeydown: (event) => this.pressed(event),
    });
    this.oncancel = oncancel;
    this.annotator = new Annotator({ onchange: (slots, said) => this.annotated(slots, said), whyNot });
    this.preview = element(
      "div",
      { class: "preview", hidden: true },
      this.annotator.element,
      element("p", { class: "whisper" }, whisper),
    );
    this.button = element("button", { type: "submit", class: "primary" }, done);
    this.element = element(
      "form",
      { class: "composer", ...attributes, onsubmit: (event) => this.submitted(event) },
      element(
        "div",
        { class: "line" },
        this.input,
        this.button,
        oncancel && button("Cancel", oncancel, { kind: "quiet" }),
      ),
      this.preview,
    );
  }

  set(text, slots) {
    this.input.value = text;
    this.before = text;
    this.slots = slots;
    this.show();
  }

  get value() {
    return { text: this.input.value, slots: this.slots };
  }

  focus() {
    this.input.focus();
  }

  typed() {
    // One line is one sentence, however it was pasted.
    let text = this.input.value.replace(/\r?\n|\r/gu, " ");
    if (isMarked(text)) {
      try {
        const read = readMarked(text);
        const earlier = carried(this.before, read.text, this.slots);
        this.input.value = text = read.text;
        this.slots = read.slots.reduce(withSlot, earlier);
        this.before = text;
        announce(`${counted(read.slots.length, "slot")} marked`);
      } catch {
        // Not yet whole, or no mark at all: it stays text.
      }
    } else if (text !== this.input.value) this.input.value = text;
    this.slots = carried(this.before, text, this.slots);
    this.before = text;
    this.show();
  }

  show() {
    const text = this.input.value;
    this.preview.hidden = !splitWords(text).length;
    this.annotator.show(text, this.slots);
    this.grow();
  }

  grow() {
    this.input.style.setProperty("height", "auto");
    if (this.input.scrollHeight) this.input.style.setProperty("height", `${this.input.scrollHeight + 2}px`);
  }

  annotated(slots, said) {
    this.slots = slots;
    announce(said);
  }

  pressed(event) {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      this.element.requestSubmit();
    } else if (event.key === "Escape" && this.oncancel) {
      event.preventDefault();
      event.stopPropagation();
      this.oncancel();
    }
  }

  async submitted(event) {
    event.preventDefault();
    if (this.busy) return;
    const { text, slots } = this.value;
    if (!splitWords(text).length) {
      announce("Type a sentence first.");
      return this.input.focus();
    }
    const head = text.length - text.trimStart().length; // white space, so one code point a unit
    const moved = slots.map((slot) => ({ ...slot, start: slot.start - head, end: slot.end - head }));
    this.busy = true;
    this.button.disabled = true;
    const taken = await this.onsubmit({ text: text.trim(), slots: moved });
    this.busy = false;
    this.button.disabled = false;
    // What was typed while the server worked is the next sentence's.
    if (taken && this.input.value === text) this.set("", []);
  }
}
