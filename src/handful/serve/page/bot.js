// The bot that is open: what is known of it, and the one way to change it. Changes go one after another, each with the
// version that it was made upon; what this page did can be undone step by step, by restoring the version before.

import { ApiError, botPath, call } from "./api.js";
import { openColours } from "./colours.js";
import { announce, asksToRetry, tellError, toast } from "./telling.js";

const PAGE = 500;

export const server = { bots: [], default: null, readOnly: false, scope: "read" };
export const bot = { name: null, version: 0, threshold: "auto", intents: [], slots: [], examples: 0 };

/** Tells "opened" (another bot), "changed" (intents, counts, examples) and "steps" (what can be undone). */
export const news = new EventTarget();

let known = new Map(); // intent -> its examples, of those that were looked at
let knowsAll = false;
let undone = []; // what Redo would bring back
let done = []; // {before, after, said}
let epoch = 0; // steps that were taken before all steps were forgotten do not come back
let line = Promise.resolve();

const tell = (what, detail = null) => news.dispatchEvent(new CustomEvent(what, { detail }));

export function mayWrite() {
  return !server.readOnly && server.scope !== "read";
}

/** Making and deleting whole bots. */
export function mayAdminister() {
  return !server.readOnly && server.scope === "admin";
}

export function whyNot() {
  if (server.readOnly) return "This server only reads: it serves a bot's file and has no store.";
  if (server.scope === "read") return "Your token may read, not change.";
  return null;
}

export async function loadBots() {
  const found = await call("GET", "/v1/bots");
  Object.assign(server, { bots: found.bots, default: found.default, readOnly: found.read_only, scope: found.scope });
}

export async function openBot(name) {
  await line.catch(() => {});
  const found = await call("GET", botPath(name));
  Object.assign(bot, found);
  openColours(name, found.slots.map((slot) => slot.label));
  forgetExamples();
  tell("opened");
  forgetSteps();
}

export function closeBot() {
  Object.assign(bot, { name: null, version: 0, intents: [], slots: [], examples: 0 });
  forgetExamples();
  tell("opened");
  forgetSteps();
}

/** Looks again, after the changes that are under way; someone else may have changed the bot. */
export function refresh() {
  line = line.catch(() => {}).then(look);
  return line;
}

async function look() {
  const before = bot.version;
  const found = await call("GET", botPath(bot.name));
  if (found.name !== bot.name) return;
  Object.assign(bot, found);
  if (found.version !== before) foreign();
  tell("changed");
}

/** Somebody else has changed the bot: what is known may be wrong, and Undo would take their work away, too. */
function foreign() {
  forgetExamples();
  forgetSteps();
}

function forgetSteps() {
  done = [];
  undone = [];
  epoch += 1;
  tell("steps");
}

/** An answer came from a newer version than this page has seen. */
export async function sawVersion(version) {
  await line.catch(() => {});
  if (version > bot.version) await refresh();
}

function forgetExamples() {
  known = new Map();
  knowsAll = false;
}

export function intentNamed(name) {
  return bot.intents.find((intent) => intent.name === name);
}

/** What has been read of an intent's examples, or null. */
export function knownExamples(intent) {
  return known.get(intent) ?? (knowsAll ? [] : null);
}

export async function examplesOf(intent) {
  if (!knownExamples(intent)) {
    const cache = known;
    const found = await read(bot.name, { intent });
    if (cache === known) known.set(intent, found);
    else return found;
  }
  return knownExamples(intent);
}

export async function allExamples() {
  if (!knowsAll) {
    const cache = known;
    const found = await read(bot.name, {});
    if (cache === known) {
      known = Map.groupBy ? Map.groupBy(found, (example) => example.intent) : grouped(found);
      knowsAll = true;
    }
    return found;
  }
  return [...known.values()].flat();
}

function grouped(examples) {
  const groups = new Map();
  for (const example of examples) {
    if (!groups.has(example.intent)) groups.set(example.intent, []);
    groups.get(example.intent).push(example);
  }
  return groups;
}

async function read(name, query) {
  const found = [];
  for (;;) {
    const part = { ...query, limit: PAGE, offset: found.length };
    const page = await call("GET", botPath(name, "examples"), { query: part });
    found.push(...page.examples);
    if (found.length >= page.total || !page.examples.length) return found;
  }
}

/** Makes a change and gives what the server answered, or null if it was refused and told; what was typed then stays.
 *
 * `ask(expect)` sends it; `said` is told afterwards; `kept(answer)` brings what is known up to date; without it, all
 * is read again; `refused(error)` tells what trying again would not help, in place of a toast. */
export async function change(said, ask, options = {}) {
  const { kept = null, refused = tellError, step = true, actions = [["Undo", undo]] } = options;
  const name = bot.name;
  for (;;) {
    try {
      const turn = line.catch(() => {}).then(() => attempt(name, said, ask, { kept, step, actions }));
      line = turn;
      return await turn;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.again || bot.name !== name) {
        refused(error);
        return null;
      }
      if (error.isConflict) await refresh().catch(() => {});
      if (error.isConflict && !step) {
        tellError(new ApiError("Somebody else has changed the bot since. Versions shows what, and restores any."));
        return null;
      }
      if (!(await asksToRetry(error)) || bot.name !== name) return null;
    }
  }
}

async function attempt(name, said, ask, { kept, step, actions }) {
  if (bot.name !== name) throw new ApiError("Another bot was opened meanwhile; nothing was changed.", { code: 400 });
  const before = bot.version;
  const answer = await ask({ expect: before });
  bot.version = answer.version;
  if (kept) kept(answer);
  else forgetExamples();
  if (step && answer.version !== before) {
    done.push({ before, after: answer.version, said });
    undone = [];
  }
  await catchUp(name, answer.version);
  tell("steps");
  announce(said);
  toast(said, { key: "change", actions: answer.version === before ? [] : actions });
  return answer;
}

/** The change is made; that its counts could not be read is no reason to call it failed. */
async function catchUp(name, version) {
  try {
    const found = await call("GET", botPath(name));
    if (bot.name !== name) return;
    Object.assign(bot, found);
    if (found.version !== version) foreign();
  } catch (error) {
    tellError(error, { retry: refresh, key: "behind" });
  }
  tell("changed");
}

export const lastStep = () => done.at(-1) ?? null;
export const lastUndone = () => undone.at(-1) ?? null;

export async function undo() {
  const step = done.pop();
  if (!step) return announce("There is nothing to undo.");
  const own = epoch;
  const answer = await restore(step.before, `Undone: ${step.said}`, [["Redo", redo]]);
  if (own === epoch) (answer ? undone : done).push(step);
  tell("steps");
}

export async function redo() {
  const step = undone.pop();
  if (!step) return announce("There is nothing to do again.");
  const own = epoch;
  const answer = await restore(step.after, `Done again: ${step.said}`, [["Undo", undo]]);
  if (own === epoch) (answer ? done : undone).push(step);
  tell("steps");
}

function restore(version, said, actions) {
  const ask = (query) => call("POST", botPath(bot.name, "restore"), { query, body: { version } });
  return change(said, ask, { step: false, actions });
}

export function restoreVersion(version) {
  const ask = (query) => call("POST", botPath(bot.name, "restore"), { query, body: { version } });
  return change(`Version ${version} restored`, ask);
}

// What is known, after a change of examples.

export function keepAdded(examples) {
  for (const example of examples) {
    const list = known.get(example.intent);
    if (list) known.set(example.intent, [...list, example]);
    else if (knowsAll || !intentNamed(example.intent)) known.set(example.intent, [example]);
  }
}

export function keepReplaced(old, now) {
  const list = known.get(old.intent);
  if (list && old.intent === now.intent) {
    known.set(old.intent, list.map((example) => (example.id === old.id ? now : example)));
  } else {
    keepRemoved(old);
    keepAdded([now]);
  }
}

export function keepRemoved(old) {
  const list = known.get(old.intent);
  if (list) known.set(old.intent, list.filter((example) => example.id !== old.id));
}
