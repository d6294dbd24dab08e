// Was the parse right? One press adds the sentence to the intent that it was given, or to the one that it should
// have been given, with the slots as they stand above; what that changed is shown at once.

import { bot, mayWrite, whyNot } from "./bot.js";
import { addExamples } from "./changes.js";
import { Choices } from "./choices.js";
import { button, byId, element, percent } from "./dom.js";
import { withCount } from "./example_row.js";
import { shownSentence } from "./sentence.js";
import { fromParse, sameSlots } from "./slots.js";
import { announce } from "./telling.js";

export const FALLBACK = "nlu_fallback";
const MOST_CHIPS = 3;

export class Correction {
  /** `slots()` are those that the person sees; `parseAgain()` resolves to the parse after the change. */
  constructor({ slots, parseAgain }) {
    this.slots = slots;
    this.parseAgain = parseAgain;
    this.parse = null;
    this.busy = false;
    this.added = null; // the intent that this sentence was just added to
    this.right = button("", () => this.add(this.best), { kind: "right", id: "was-right" });
    this.chips = element("span", { class: "chips" });
    this.choices = new Choices({
      id: "right-intent",
      label: "The right intent",
      placeholder: "another, or a new one",
      newWord: "New intent",
      offered: () => this.offered(),
      onchoose: ({ name }) => this.add(name),
    });
    this.wrong = element(
      "div",
      { class: "wrong", id: "was-wrong", role: "group", "aria-label": "That was wrong: it is …" },
      element("span", { class: "lead" }, "That was wrong: it is"),
      this.chips,
      this.choices.element,
    );
    this.reason = element("p", { class: "whisper" });
    this.outcome = element("div", {
      id: "parse-change",
      class: "parse-change",
      hidden: true,
      role: "group",
      "aria-label": "What the change did",
    });
    this.element = element("div", { class: "correction" }, this.right, this.wrong, this.reason, this.outcome);
  }

  get best() {
    return this.parse?.intent_ranking[0]?.name ?? null;
  }

  offered() {
    const ranked = new Map((this.parse?.intent_ranking ?? []).map(({ name, confidence }) => [name, confidence]));
    const known = bot.intents.map((intent) => ({ ...withCount(intent), share: ranked.get(intent.name) ?? 0 }));
    return known.sort((a, b) => b.share - a.share);
  }

  show(parse, corrected) {
    if (this.parse && this.parse.text !== parse.text) this.forget();
    this.parse = parse;
    const allowed = mayWrite();
    this.right.hidden = !this.best;
    const isThere = this.added === this.best && !corrected;
    if (isThere) this.right.textContent = `Added to ${this.best}`;
    else if (corrected) this.right.textContent = `Add to ${this.best} with these slots`;
    else this.right.textContent = parse.rejected ? `It is ${this.best}: add it` : `That is right: add to ${this.best}`;
    this.right.disabled = !allowed || this.busy || isThere;
    this.wrong.querySelector(".lead").textContent = this.best ? "That was wrong: it is" : "It is";
    const others = this.offered().filter((intent) => intent.name !== this.best).slice(0, MOST_CHIPS);
    this.chips.replaceChildren(
      ...others.map(({ name }) =>
        button(name, () => this.add(name), {
          kind: "chip",
          label: `That was wrong: it is ${name}`,
          disabled: !allowed || this.busy,
          "data-it-is": name,
        }),
      ),
    );
    this.choices.input.disabled = !allowed;
    this.reason.textContent = whyNot() ?? "Wrong slots? Select words in the sentence above first.";
  }

  forget() {
    this.choices.value = "";
    this.parse = null;
    this.forgetOutcome();
  }

  forgetOutcome() {
    this.outcome.hidden = true;
    this.outcome.replaceChildren();
    this.added = null;
  }

  /** By somebody or something else, such as Undo: what was told of a change before is no longer so. */
  botChanged() {
    if (!this.busy) this.forgetOutcome();
  }

  async add(intent) {
    if (!intent || this.busy || !mayWrite()) return;
    this.busy = true;
    const before = this.parse;
    const slots = this.slots();
    const said = `Added to ${intent}: ${before.text}`;
    const answer = await addExamples([{ intent, text: before.text, slots }], { said });
    this.busy = false;
    if (!answer) return;
    this.added = intent;
    this.choices.value = "";
    this.choices.hide();
    const after = await this.parseAgain();
    if (after && after.text === before.text) this.tell(before, after);
    byId("sentence").focus({ preventScroll: true });
    byId("sentence").select();
  }

  tell(before, after) {
    this.show(after, false);
    const same = said(before) === said(after) && sameSlots(fromParse(before), fromParse(after));
    this.outcome.replaceChildren(
      element("h3", {}, same ? "Learnt; the parse stays" : "Learnt: the parse has changed"),
      line("Before", before),
      line("After", after),
    );
    this.outcome.hidden = false;
    announce(`Before: ${said(before)} ${percent(sureness(before))}. Now: ${said(after)} ${percent(sureness(after))}.`);
  }
}

function said(parse) {
  return parse.intent.name ?? "nothing";
}

function sureness(parse) {
  return parse.intent.confidence ?? 0;
}

function line(when, parse) {
  return element(
    "div",
    { class: "line", "data-when": when.toLowerCase() },
    element("span", { class: "when" }, when),
    element("span", { class: "intent-name" }, said(parse)),
    element("span", { class: "percent" }, parse.intent.name ? percent(sureness(parse)) : ""),
    shownSentence(parse.text, fromParse(parse).map((slot) => ({ ...slot, confidence: undefined }))),
  );
}
