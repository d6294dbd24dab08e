// One example of an intent: its sentence, ready to be annotated, and what else can be done to it.

import { Annotator } from "./annotator.js";
import { bot, mayWrite, whyNot } from "./bot.js";
import { deleteExample, replaceExample } from "./changes.js";
import { Choices } from "./choices.js";
import { Composer } from "./composer.js";
import { button, counted, element, quoted } from "./dom.js";
import { sameSlots } from "./slots.js";

export class ExampleRow {
  /** `onleave(row, step)`: the focus goes to the row above or below; `ongone(row)`: the example is being deleted. */
  constructor(example, { onleave, ongone }) {
    this.example = example;
    this.waiting = 0; // edits under way; until the last is answered, what is shown is what the person did
    this.onleave = onleave;
    this.ongone = ongone;
    this.annotator = new Annotator({ onchange: (slots, said) => this.annotated(slots, said), whyNot, name: "Example" });
    this.annotator.element.addEventListener("keydown", (event) => this.pressed(event));
    this.element = element("li", { class: "example" });
    this.render();
  }

  render() {
    this.element.dataset.example = this.example.id;
    this.annotator.show(this.example.text, this.example.slots);
    const reason = whyNot();
    const about = quoted(this.example.text, 60);
    const disabled = !mayWrite();
    const act = (name, label, onclick) =>
      button(name, onclick, { kind: "quiet", label: `${label} ${about}`, hint: reason ?? label, disabled });
    this.actions = element(
      "div",
      { class: "actions" },
      act("Edit", "Edit", () => this.edit()),
      act("Move", "Move to another intent:", () => this.move()),
      act("Delete", "Delete", () => this.remove()),
    );
    this.element.replaceChildren(this.annotator.element, this.actions);
  }

  /** The example as the server has it now. */
  update(example) {
    const before = this.example;
    this.example = example;
    this.element.dataset.example = example.id;
    if (this.waiting || this.editing) return;
    if (before.text !== example.text) this.render();
    else if (!sameSlots(this.annotator.slots, example.slots)) this.annotator.show(example.text, example.slots);
  }

  focus() {
    this.annotator.element.focus();
  }

  async replace(now, said) {
    this.waiting += 1;
    const answer = await replaceExample(
      () => this.example,
      now,
      said,
      (made) => {
        this.example = made;
      },
    );
    this.waiting -= 1;
    return answer;
  }

  async annotated(slots, said) {
    const { intent, text } = this.example;
    const answer = await this.replace({ intent, text, slots }, said);
    // Refused: the sentence goes back to what the bot has.
    if (!answer && !this.waiting) this.annotator.show(this.example.text, this.example.slots);
  }

  pressed(event) {
    const command = event.ctrlKey || event.metaKey;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.onleave(this, event.key === "ArrowDown" ? 1 : -1);
    } else if (mayWrite() && (event.key === "F2" || (event.key === "e" && !command))) {
      event.preventDefault();
      event.stopPropagation();
      this.edit();
    } else if (mayWrite() && command && (event.key === "Delete" || event.key === "Backspace")) {
      event.preventDefault();
      event.stopPropagation();
      this.remove();
    } else if (mayWrite() && event.key === "m" && !command) {
      event.preventDefault();
      event.stopPropagation();
      this.move();
    }
  }

  edit() {
    this.editing = true;
    const back = () => {
      this.editing = false;
      this.render();
      this.focus();
    };
    const composer = new Composer({
      name: `Edit ${quoted(this.example.text, 60)}`,
      placeholder: "the sentence",
      done: "Save",
      whisper: "Slots stay on their words; select others to add one. Enter saves, Esc gives up.",
      oncancel: back,
      attributes: { "data-edits": this.example.id },
      onsubmit: async ({ text, slots }) => {
        const same = text === this.example.text && sameSlots(slots, this.example.slots);
        const now = { intent: this.example.intent, text, slots };
        const taken = same || (await this.replace(now, `Changed to ${quoted(text)}`));
        if (taken) back();
        return false; // the composer is gone with the row's old look
      },
    });
    this.element.replaceChildren(composer.element);
    composer.set(this.example.text, this.example.slots);
    composer.focus();
    composer.input.select();
  }

  move() {
    const back = () => {
      form.remove();
      this.focus();
    };
    const choices = new Choices({
      label: "Move to the intent",
      placeholder: "choose or name an intent",
      newWord: "New intent",
      offered: () => bot.intents.filter((intent) => intent.name !== this.example.intent).map(withCount),
      onchoose: async ({ name }) => {
        const { text, slots } = this.example;
        const answer = await this.replace({ intent: name, text, slots }, `Moved ${quoted(text)} to ${name}`);
        if (answer) this.onleave(this, 1);
      },
    });
    const form = element(
      "div",
      { class: "inline", onkeydown: (event) => event.key === "Escape" && (event.stopPropagation(), back()) },
      element("span", { class: "whisper" }, "Move to"),
      choices.element,
      button("Cancel", back, { kind: "quiet" }),
    );
    this.element.querySelector(".inline")?.remove();
    this.element.append(form);
    choices.input.focus();
  }

  async remove() {
    this.ongone(this);
    await deleteExample(this.example);
  }
}

export function withCount(intent) {
  return { name: intent.name, hint: counted(intent.examples, "example") };
}
