// The left side: all intents, a filter, a field for a new one, and what to do first where there is nothing yet.

import { allExamples, bot, intentNamed, knownExamples, mayWrite, news, whyNot } from "./bot.js";
import { addIntent } from "./changes.js";
import { openPaste } from "./paste.js";
import { byId, counted, element } from "./dom.js";
import { IntentSection } from "./intent_section.js";
import { announce, tellError } from "./telling.js";

const OPENED_BY_FILTER = 8; // intents that a filter unfolds at once

let sections = new Map();
let renamed = null; // {old, now}: the section that is to stay open under its new name
let gone = new Set(); // intents that were open when they went: Undo brings them back as they were
let filter = "";

export function setUpIntents() {
  byId("new-intent").addEventListener("submit", added);
  byId("filter").addEventListener("input", () => filtered());
  byId("filter").addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.target.value = "";
      filtered();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      visible()[0]?.fold.focus();
    }
  });
  byId("intents").addEventListener("keydown", walk);
  news.addEventListener("opened", () => start());
  news.addEventListener("changed", () => render());
}

function start() {
  sections = new Map();
  gone = new Set();
  filter = "";
  byId("filter").value = "";
  byId("intents").replaceChildren();
  for (const control of byId("new-intent").elements) {
    control.disabled = !mayWrite();
    control.title = whyNot() ?? "";
  }
  byId("new-intent").hidden = !bot.name;
  render();
  // A small bot shows itself; a large one is a list to choose from.
  if (bot.intents.length && bot.examples <= 25) for (const section of sections.values()) section.open();
}

function render() {
  const list = byId("intents");
  const names = bot.intents.map((intent) => intent.name);
  if (renamed && !intentNamed(renamed.old) && intentNamed(renamed.now)) takeOver();
  for (const [name, section] of sections) {
    if (!names.includes(name)) {
      if (section.isOpen) gone.add(name);
      section.element.remove();
      sections.delete(name);
    }
  }
  bot.intents.forEach((intent, place) => {
    let section = sections.get(intent.name);
    if (section) section.update(intent);
    else {
      section = new IntentSection(intent, { onpaste: openPaste, onrenamed, ondeleted });
      sections.set(intent.name, section);
      if (gone.delete(intent.name)) section.open();
    }
    if (list.children[place] !== section.element) list.insertBefore(section.element, list.children[place] ?? null);
  });
  const sum = `${counted(bot.intents.length, "intent")}, ${counted(bot.examples, "example")}`;
  byId("sum").textContent = bot.name ? sum : "";
  byId("filter-row").hidden = bot.intents.length < 2;
  byId("first-steps").hidden = !bot.name || bot.intents.length > 0;
  if (filter) apply();
}

function onrenamed(old, now) {
  renamed = { old, now };
}

function takeOver() {
  const { now, old } = renamed;
  const wasOpen = sections.get(old)?.isOpen;
  renamed = null;
  const section = new IntentSection(intentNamed(now), { onpaste: openPaste, onrenamed, ondeleted });
  sections.get(old)?.element.replaceWith(section.element);
  sections.delete(old);
  sections.set(now, section);
  if (wasOpen) section.open();
  section.fold.focus();
}

function ondeleted() {
  (visible()[0]?.fold ?? byId("new-intent-name")).focus();
}

async function added(event) {
  event.preventDefault();
  const input = byId("new-intent-name");
  const name = input.value.trim();
  if (!name) return input.focus();
  if (intentNamed(name)) {
    announce(`${name} is there already.`);
    return showIntent(name);
  }
  if (!(await addIntent(name))) return;
  if (input.value.trim() === name) input.value = "";
  await showIntent(name);
}

/** Opens an intent, with the field for a new example ready. */
export async function showIntent(name) {
  clearFilter();
  const section = sections.get(name);
  if (!section) return;
  await section.open();
  section.element.scrollIntoView({ block: "nearest" });
  if (mayWrite()) section.composer.focus();
  else section.fold.focus();
}

/** By its id or, where an answer of the server does not tell that, by what it says. */
export async function showExample(id, text = null, intent = null) {
  const isIt = (example) => (id === null ? example.text === text && example.intent === intent : example.id === id);
  let found;
  try {
    found = (await allExamples()).find(isIt);
  } catch (error) {
    return tellError(error, { retry: () => showExample(id, text, intent), key: "examples" });
  }
  if (!found) return announce("That example is no longer there.");
  clearFilter();
  byId("tab-examples").click();
  await sections.get(found.intent)?.focusExample(found.id);
}

/** The intent that the focus is in, or the first that is open. */
export function currentIntent() {
  const name = document.activeElement?.closest?.("[data-intent]")?.dataset.intent;
  return name ?? visible().find((section) => section.isOpen)?.name ?? null;
}

export async function composeInCurrent() {
  const name = currentIntent() ?? visible()[0]?.name;
  byId("tab-examples").click();
  if (name) await sections.get(name).focusComposer();
  else byId("new-intent-name").focus();
}

function visible() {
  return bot.intents.map((intent) => sections.get(intent.name)).filter((section) => section && !section.element.hidden);
}

/** Up and down from intent to intent. */
function walk(event) {
  if (!event.target.matches(".fold") || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  const all = visible();
  const at = all.findIndex((section) => section.fold === event.target);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to < 0) byId("filter").focus();
  else all[to]?.fold.focus();
}

function clearFilter() {
  if (!filter) return;
  byId("filter").value = "";
  filtered();
}

async function filtered() {
  const was = filter;
  filter = byId("filter").value.trim().toLowerCase();
  if (filter && !was) {
    for (const section of sections.values()) section.wasOpen = section.isOpen;
    try {
      await allExamples();
    } catch (error) {
      return tellError(error, { retry: filtered, key: "examples" });
    }
  }
  apply();
  if (filter) announce(`${counted(visible().length, "intent")} found`);
}

function holds(example) {
  const texts = [example.text, ...example.slots.map((slot) => slot.slot)];
  return texts.some((text) => text.toLowerCase().includes(filter));
}

function apply() {
  const hits = [];
  for (const [name, section] of sections) {
    const named = name.toLowerCase().includes(filter);
    const found = filter && !named ? (knownExamples(name) ?? []).filter(holds).length : 0;
    section.only = filter && !named ? holds : null;
    section.element.hidden = Boolean(filter) && !named && !found;
    if (filter && (named || found)) hits.push(section);
  }
  const unfold = hits.length <= OPENED_BY_FILTER;
  for (const section of sections.values()) {
    if (filter) section.toggle(unfold && hits.includes(section));
    else if (section.wasOpen !== undefined) {
      section.toggle(section.wasOpen);
      delete section.wasOpen;
    }
  }
  const none = Boolean(filter) && !hits.length;
  byId("nothing-found").hidden = !none;
  byId("nothing-found").replaceChildren(none ? element("span", {}, `Nothing has “${filter}” in it.`) : "");
}
