// What a person can do to a bot, each as one change that is told, can be undone, and leaves what is known up to date.

import { botPath, call } from "./api.js";
import { bot, change, keepAdded, keepRemoved, keepReplaced } from "./bot.js";
import { counted, quoted } from "./dom.js";
import { toSend } from "./slots.js";

const at = (...parts) => botPath(bot.name, ...parts);

function asSent({ intent, text, slots }) {
  return intent === undefined ? { text, slots: toSend(slots) } : { intent, text, slots: toSend(slots) };
}

export function addExamples(examples, { said = null, refused } = {}) {
  const intents = new Set(examples.map((example) => example.intent));
  const what = examples.length === 1 ? quoted(examples[0].text) : counted(examples.length, "example");
  const where = intents.size === 1 ? ` to ${[...intents][0]}` : "";
  const body = { examples: examples.map(asSent) };
  return change(said ?? `Added ${what}${where}`, (query) => call("POST", at("examples"), { query, body }), {
    kept: (answer) => keepAdded(answer.examples),
    refused,
  });
}

/** `current()` gives the example as it is when its turn comes: an edit before may have given it another id.
 * `kept(example)` hears of the new one before the lists do. */
export function replaceExample(current, now, said, kept = () => {}) {
  let old;
  const ask = (query) => {
    old = current();
    return call("PUT", at("examples", old.id), { query, body: asSent(now) });
  };
  const keep = ({ examples: [made] }) => {
    keepReplaced(old, made);
    kept(made);
  };
  return change(said, ask, { kept: keep });
}

export function deleteExample(example) {
  const ask = (query) => call("DELETE", at("examples", example.id), { query });
  return change(`Deleted ${quoted(example.text)}`, ask, { kept: () => keepRemoved(example) });
}

export function addIntent(name, { description = null, examples = [], refused } = {}) {
  const body = { name };
  if (description) body.description = description;
  if (examples.length) body.examples = examples.map(({ text, slots }) => asSent({ text, slots }));
  const more = examples.length ? ` with ${counted(examples.length, "example")}` : "";
  return change(`Added the intent ${name}${more}`, (query) => call("POST", at("intents"), { query, body }), {
    kept: (answer) => keepAdded(answer.examples),
    refused,
  });
}

export function renameIntent(name, now) {
  const ask = (query) => call("PATCH", at("intents", name), { query, body: { name: now } });
  return change(`Renamed ${name} to ${now}`, ask);
}

export function describeIntent(name, description) {
  const ask = (query) => call("PATCH", at("intents", name), { query, body: { description: description || null } });
  return change(description ? `Described ${name}` : `Removed the description of ${name}`, ask, { kept: () => {} });
}

export function deleteIntent(intent) {
  const ask = (query) => call("DELETE", at("intents", intent.name), { query });
  return change(`Deleted ${intent.name} and its ${counted(intent.examples, "example")}`, ask);
}

export function describeLabel(label, description) {
  const body = { descriptions: { [label]: description || null } };
  const ask = (query) => call("PATCH", at(), { query, body });
  return change(description ? `Described ${label}` : `Removed the description of ${label}`, ask, { kept: () => {} });
}

export function setThreshold(threshold) {
  const ask = (query) => call("PATCH", at(), { query, body: { threshold } });
  return change(`Threshold: ${threshold}`, ask, { kept: () => {} });
}

export function importFile(file, { mode, format, refused }) {
  const said = mode === "replace" ? `Replaced everything by ${file.name}` : `Added what ${file.name} holds`;
  const ask = (query) => call("POST", at("import"), { query: { ...query, mode, format, file: file.name }, body: file });
  return change(said, ask, { refused });
}
