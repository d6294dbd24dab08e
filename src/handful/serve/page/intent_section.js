// An intent: folded to its name and count; open, its examples, a field for one more, and what can be done to the whole.

import { bot, examplesOf, intentNamed, knownExamples, mayWrite, whyNot } from "./bot.js";
import { addExamples, deleteIntent, describeIntent, renameIntent } from "./changes.js";
import { Composer } from "./composer.js";
import { button, counted, element, freshId } from "./dom.js";
import { ExampleRow } from "./example_row.js";
import { tellError } from "./telling.js";

const AT_ONCE = 100; // examples shown before "more" is asked for

export class IntentSection {
  /** `onpaste(name)` opens bulk paste; `onrenamed(old, now)` and `ondeleted(name)` let the list move the focus. */
  constructor(intent, { onpaste, onrenamed, ondeleted }) {
    this.name = intent.name;
    this.on = { onpaste, onrenamed, ondeleted };
    this.rows = new Map(); // example id -> row
    this.most = AT_ONCE;
    this.only = null; // with a filter: does this example show?
    const bodyId = freshId("intent");
    this.count = element("span", { class: "count" });
    this.shownName = element("span", { class: "name" }, this.name);
    this.fold = element(
      "button",
      {
        type: "button",
        class: "fold",
        "aria-expanded": "false",
        "aria-controls": bodyId,
        onclick: () => this.toggle(),
      },
      this.shownName,
      this.count,
    );
    this.heading = element("h3", {}, this.fold);
    this.body = element("div", { id: bodyId, class: "body", hidden: true });
    this.element = element("section", { class: "intent", "data-intent": this.name }, this.heading, this.body);
    this.update(intent);
  }

  get isOpen() {
    return !this.body.hidden;
  }

  update(intent) {
    this.intent = intent;
    this.count.textContent = String(intent.examples);
    this.count.title = counted(intent.examples, "example");
    this.fold.setAttribute("aria-label", `${this.name}, ${counted(intent.examples, "example")}`);
    if (this.description) this.showDescription();
    if (this.isOpen) this.fill();
  }

  toggle(open = !this.isOpen) {
    if (open) return this.open();
    this.body.hidden = true;
    this.fold.setAttribute("aria-expanded", "false");
    return Promise.resolve();
  }

  async open() {
    if (!this.composer) this.furnish();
    this.body.hidden = false;
    this.fold.setAttribute("aria-expanded", "true");
    await this.fill();
  }

  furnish() {
    const reason = whyNot();
    const act = (name, label, onclick) =>
      button(name, onclick, { kind: "quiet", label: `${label} ${this.name}`, hint: reason, disabled: !mayWrite() });
    this.description = element("p", { class: "description", dir: "auto" });
    this.list = element("ol", { class: "examples" });
    this.more = button("", () => this.showMore(), { kind: "quiet more-examples" });
    this.composer = new Composer({
      name: `New example of ${this.name}`,
      placeholder: "what would somebody say?",
      done: "Add",
      onsubmit: async ({ text, slots }) => {
        const answer = await addExamples([{ intent: this.name, text, slots }]);
        if (answer) this.composer.focus();
        return answer;
      },
    });
    if (!mayWrite()) this.composer.element.hidden = true;
    this.actions = element(
      "div",
      { class: "intent-actions" },
      act("Paste many", "Paste many examples into", () => this.on.onpaste(this.name)),
      act("Rename", "Rename", () => this.rename()),
      act("Describe", "Describe", () => this.describe()),
      act("Delete", "Delete the intent", () => this.remove()),
    );
    this.body.append(this.description, this.list, this.more, this.composer.element, this.actions);
    this.showDescription();
  }

  showDescription() {
    this.description.textContent = this.intent.description ?? "";
    this.description.hidden = !this.intent.description;
  }

  /** Rows for what is known now; those that are there already stay as they are, with the focus that they may have. */
  async fill() {
    let examples = knownExamples(this.name);
    if (!examples) {
      this.body.setAttribute("aria-busy", "true");
      try {
        examples = await examplesOf(this.name);
      } catch (error) {
        tellError(error, { retry: () => this.fill(), key: "examples" });
        return;
      } finally {
        this.body.removeAttribute("aria-busy");
      }
      if (!intentNamed(this.name)) return;
    }
    const wanted = this.only ? examples.filter(this.only) : examples;
    const shown = wanted.slice(0, this.most);
    this.reuse(shown);
    const rows = shown.map((example) => this.rowOf(example));
    const places = [...this.list.children];
    const moved = rows.length !== places.length || rows.some((row, place) => row.element !== places[place]);
    if (moved) this.place(rows);
    for (const id of [...this.rows.keys()]) if (!shown.some((example) => example.id === id)) this.rows.delete(id);
    this.more.hidden = wanted.length <= shown.length;
    this.more.textContent = `Show ${wanted.length - shown.length} more`;
  }

  /** A replaced example may come back under another id; its row is the one that holds it already. */
  reuse(examples) {
    for (const [id, row] of [...this.rows]) {
      if (row.example.id !== id) {
        this.rows.delete(id);
        if (examples.some((example) => example.id === row.example.id)) this.rows.set(row.example.id, row);
      }
    }
  }

  rowOf(example) {
    const row = this.rows.get(example.id);
    if (row) {
      row.update(example);
      return row;
    }
    const made = new ExampleRow(example, {
      onleave: (from, step) => this.leave(from, step),
      ongone: (from) => this.leave(from, this.rowAfter(from) ? 1 : -1),
    });
    this.rows.set(example.id, made);
    return made;
  }

  /** Without taking a row that stays out of the page, which would lose its focus. */
  place(rows) {
    const wanted = new Set(rows.map((row) => row.element));
    for (const old of [...this.list.children]) if (!wanted.has(old)) old.remove();
    rows.forEach((row, place) => {
      const there = this.list.children[place] ?? null;
      if (there !== row.element) this.list.insertBefore(row.element, there);
    });
  }

  showMore() {
    const first = this.list.children.length;
    this.most += 400;
    this.fill();
    this.list.children[first]?.querySelector("[data-annotator]")?.focus();
  }

  rowAfter(row, step = 1) {
    const all = [...this.list.children];
    return all[all.indexOf(row.element) + step] ?? null;
  }

  leave(row, step) {
    const next = this.rowAfter(row, step);
    if (next) next.querySelector("[data-annotator], textarea")?.focus();
    else if (step > 0 && !this.composer.element.hidden) this.composer.focus();
    else this.fold.focus();
  }

  async focusExample(id) {
    await this.open();
    while (!this.rows.has(id) && !this.more.hidden) {
      this.most += 400;
      await this.fill();
    }
    const row = this.rows.get(id);
    row?.element.scrollIntoView({ block: "center" });
    row?.focus();
  }

  async focusComposer() {
    await this.open();
    this.composer.focus();
  }

  // The whole intent.

  rename() {
    const input = element("input", { type: "text", "aria-label": `New name of ${this.name}`, autocomplete: "off" });
    input.value = this.name;
    this.edit(this.heading, input, async () => {
      const now = input.value.trim();
      if (!now) return false;
      if (now === this.name) return true;
      const old = this.name;
      this.on.onrenamed(old, now);
      return Boolean(await renameIntent(old, now));
    });
  }

  describe() {
    const input = element("textarea", {
      rows: "2",
      "aria-label": `What ${this.name} means`,
      placeholder: "what people who say this want",
    });
    input.value = this.intent.description ?? "";
    this.edit(this.actions, input, async () => Boolean(await describeIntent(this.name, input.value.trim())));
  }

  /** A field in the place of what it edits; what was typed stays until it is taken or given up. */
  edit(place, input, save) {
    const back = () => {
      form.replaceWith(place);
      (place.querySelector("button") ?? this.fold).focus();
    };
    const form = element(
      "form",
      {
        class: "inline",
        onsubmit: async (event) => {
          event.preventDefault();
          if ((await save()) && form.isConnected) back();
        },
        onkeydown: (event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            back();
          } else if (event.key === "Enter" && !event.isComposing) {
            event.preventDefault();
            form.requestSubmit();
          }
        },
      },
      input,
      element("button", { type: "submit", class: "primary" }, "Save"),
      button("Cancel", back, { kind: "quiet" }),
    );
    place.replaceWith(form);
    input.focus();
    input.select();
  }

  async remove() {
    const intent = bot.intents.find((each) => each.name === this.name);
    if (intent && (await deleteIntent(intent))) this.on.ondeleted(this.name);
  }
}
