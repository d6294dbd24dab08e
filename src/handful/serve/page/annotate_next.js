// What to annotate next: of sentences that people said, those that would teach the bot most, each with the bot's own
// guess, to be accepted, corrected or skipped with one key.

import { Annotator } from "./annotator.js";
import { botPath, call } from "./api.js";
import { bot, mayWrite, whyNot } from "./bot.js";
import { addExamples } from "./changes.js";
import { Choices } from "./choices.js";
import { button, byId, counted, element, quoted } from "./dom.js";
import { withCount } from "./example_row.js";
import { announce, tellError } from "./telling.js";

export function setUpAnnotateNext() {
  byId("suggest-form").addEventListener("submit", suggest);
}

async function suggest(event) {
  event.preventDefault();
  const texts = byId("suggest-text")
    .value.split(/\r?\n|\r/u)
    .map((line) => line.trim())
    .filter(Boolean);
  if (!texts.length) return byId("suggest-text").focus();
  byId("suggest-now").disabled = true;
  try {
    const found = await call("POST", botPath(bot.name, "suggest"), { body: { texts, count: 10 } });
    show(found);
  } catch (error) {
    tellError(error, { retry: () => byId("suggest-form").requestSubmit(), key: "suggest" });
  } finally {
    byId("suggest-now").disabled = false;
  }
}

function show({ suggestions, known, repeated, wordless }) {
  const left = [
    known && `${known} known already`,
    repeated && `${repeated} said twice`,
    wordless && `${wordless} without words`,
  ].filter(Boolean);
  const leftOut = left.length ? `; left out: ${left.join(", ")}` : "";
  const sum = `${counted(suggestions.length, "sentence")}, the most telling first${leftOut}.`;
  byId("suggest-sum").textContent = sum;
  byId("suggestions").replaceChildren(...suggestions.map((each) => new Suggestion(each).element));
  announce(sum);
  byId("suggestions").querySelector("li")?.focus();
}

class Suggestion {
  constructor({ text, intent, slots, doubt }) {
    this.text = text;
    this.intent = intent;
    this.slots = slots;
    this.annotator = new Annotator({
      onchange: (now) => {
        this.slots = now;
      },
      whyNot,
    });
    this.annotator.show(text, slots);
    this.choices = new Choices({
      label: `The intent of ${quoted(text, 60)}`,
      placeholder: "choose or name an intent",
      newWord: "New intent",
      offered: () => bot.intents.map(withCount),
      onchoose: ({ name }) => {
        this.intent = name;
        this.accept();
      },
    });
    this.choices.element.hidden = true;
    const act = (key, name, onclick, writes = true) => {
      const label = `${name} ${quoted(text, 60)}`;
      const hint = writes ? whyNot() : null;
      const made = button("", onclick, { label, hint, disabled: writes && !mayWrite(), "data-key": key });
      made.append(element("kbd", { "aria-hidden": "true" }, key.toUpperCase()), ` ${name}`);
      return made;
    };
    this.element = element(
      "li",
      {
        tabindex: "0",
        "data-suggestion": "",
        "aria-label": `${text}: ${intent}?`,
        onkeydown: (event) => this.pressed(event),
      },
      this.annotator.element,
      element(
        "p",
        { class: "hint" },
        intent ? "Perhaps " : "No guess",
        element("b", {}, intent ?? ""),
        ` · doubt ${doubt.toFixed(2)}`,
      ),
      this.choices.element,
      element(
        "div",
        { class: "row" },
        act("a", "Accept", () => this.accept()),
        act("c", "Correct", () => this.correct()),
        act("s", "Skip", () => this.leave(), false),
      ),
    );
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
    const own = event.target === this.element;
    const act = {
      a: () => this.accept(),
      c: () => this.correct(),
      s: () => this.leave(),
      Enter: own && (() => this.accept()),
      ArrowDown: () => this.element.nextElementSibling?.focus(),
      ArrowUp: () => this.element.previousElementSibling?.focus(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  async accept() {
    if (this.busy || !mayWrite()) return;
    if (!this.intent) return this.correct();
    this.busy = true;
    const answer = await addExamples([{ intent: this.intent, text: this.text, slots: this.slots }]);
    this.busy = false;
    if (answer) this.leave();
  }

  correct() {
    if (!mayWrite()) return;
    this.choices.element.hidden = false;
    this.choices.input.focus();
  }

  leave() {
    const next = this.element.nextElementSibling ?? this.element.previousElementSibling;
    this.element.remove();
    if (next) next.focus();
    else byId("suggest-text").focus();
  }
}
