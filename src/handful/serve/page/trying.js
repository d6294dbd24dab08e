// The right side: a sentence is typed, and what the bot makes of it is shown while it is typed. Only the answer to what
// stands in the field now is ever shown.

import { Annotator } from "./annotator.js";
import { botPath, call } from "./api.js";
import { bot, news, sawVersion, whyNot } from "./bot.js";
import { Correction, FALLBACK } from "./correction.js";
import { byId, element, percent } from "./dom.js";
import { fromParse, sameSlots } from "./slots.js";
import { tab } from "./storage.js";
import { announce, tellError } from "./telling.js";
import { showWhy } from "./why.js";
import { splitWords } from "./words.js";

const PAUSE = 140; // milliseconds after the last key, for the parse
const LONG_PAUSE = 420; // and for the reasons, which cost one parse a word
const MOST_BARS = 5;

let controller = null;
let timers = [];
let parse = null;
let allBars = false;
let annotator = null;
let correction = null;

export function setUpTrying() {
  annotator = new Annotator({ onchange: corrected, whyNot, name: "Words of" });
  annotator.element.id = "parsed";
  byId("parsed-place").append(annotator.element);
  correction = new Correction({ slots: () => annotator.slots, parseAgain: () => ask(true) });
  byId("correction-place").append(correction.element);
  const input = byId("sentence");
  input.addEventListener("input", () => typed());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      ask();
    } else if (event.key === "Escape" && input.value) {
      event.stopPropagation();
      input.value = "";
      typed();
    }
  });
  byId("why").addEventListener("toggle", () => byId("why").open && parse && explain());
  news.addEventListener("opened", () => {
    input.disabled = !bot.name;
    input.value = tab.get(`sentence.${bot.name}`) ?? "";
    correction.forget();
    parse = null;
    typed();
  });
  news.addEventListener("changed", () => {
    correction.botChanged();
    if (splitWords(input.value).length) ask();
    else clear();
  });
}

export function trySentence(text) {
  byId("sentence").value = text;
  typed();
}

function typed() {
  const input = byId("sentence");
  input.style.setProperty("height", "auto");
  if (input.scrollHeight) input.style.setProperty("height", `${input.scrollHeight + 2}px`);
  if (bot.name) tab.set(`sentence.${bot.name}`, input.value);
  stop();
  if (!splitWords(input.value).length || !bot.name) return clear();
  timers = [setTimeout(() => ask(), PAUSE)];
}

function stop() {
  timers.forEach(clearTimeout);
  timers = [];
  controller?.abort();
}

function clear() {
  parse = null;
  byId("result").hidden = true;
  byId("result").removeAttribute("aria-busy");
  byId("try-hint").hidden = false;
  byId("try-hint").textContent = bot.examples
    ? "What you type is parsed as you type."
    : "Once there are examples, a sentence that you type here is parsed as you type.";
}

/** Parses what stands in the field; resolves to the parse, or to null if there is none or another came between. */
async function ask(patient = false) {
  const text = byId("sentence").value.trim();
  if (!bot.name || !splitWords(text).length) return null;
  stop();
  const own = new AbortController();
  controller = own;
  byId("result").setAttribute("aria-busy", "true");
  try {
    const found = await call("POST", botPath(bot.name, "parse"), { body: { text }, signal: own.signal });
    if (controller !== own) return null;
    show(found);
    timers.push(setTimeout(explain, patient ? 0 : LONG_PAUSE));
    sawVersion(found.version).catch((error) => tellError(error, { key: "behind" }));
    return found;
  } catch (error) {
    if (controller === own) failed(error);
    return null;
  } finally {
    if (controller === own) byId("result").removeAttribute("aria-busy");
  }
}

function failed(error) {
  if (error.name === "AbortError") return;
  // A busy server is asked again by itself, a lost one by the person.
  if ([429, 503].includes(error.code)) timers = [setTimeout(() => ask(), 1000 * Math.min(10, error.retryAfter ?? 1))];
  tellError(error, { retry: () => ask(), key: "parse" });
}

async function explain() {
  if (!byId("why").open || !parse || !parse.intent.name) return;
  const own = controller;
  const of = parse;
  try {
    const body = { text: of.text, count: 3 };
    const found = await call("POST", botPath(bot.name, "explain"), { body, signal: own.signal });
    if (controller === own && parse === of) showWhy(found);
  } catch (error) {
    if (controller === own) failed(error);
  }
}

function show(found) {
  const stays = parse?.text === found.text && annotator.corrected;
  parse = found;
  byId("try-hint").hidden = true;
  byId("result").hidden = false;
  const slots = fromParse(found);
  // Slots that were corrected and not added yet are not lost to a new answer on the same sentence.
  if (!stays || sameSlots(annotator.slots, slots)) {
    annotator.corrected = false;
    annotator.show(found.text, slots);
  }
  byId("no-examples").hidden = found.intent.name !== null;
  byId("rejected").hidden = !found.rejected;
  byId("rejected").textContent = `Nothing fits well enough, so it is ${FALLBACK}. The best guesses:`;
  bars(found);
  correction.show(found, annotator.corrected);
  if (!found.intent.name) showWhy(null);
  announceParse(found);
}

function announceParse(found) {
  const slots = found.slots.map((slot) => `${slot.label} ${slot.value}`).join(", ");
  const said = `${found.intent.name ?? "No intent"}, ${percent(found.intent.confidence)}`;
  const best = found.rejected ? "Nothing fits" : said;
  announce(`${best}${slots ? `; ${slots}` : ""}`);
}

function bars(found) {
  const ranking = found.intent_ranking;
  const shown = allBars ? ranking : ranking.slice(0, MOST_BARS);
  const list = byId("bars");
  const kept = new Map([...list.children].map((bar) => [bar.dataset.intentBar, bar]));
  // The same elements, so that bars grow and shrink where they stand.
  list.replaceChildren(...shown.map((intent) => filled(kept.get(intent.name) ?? bar(intent.name), intent, found)));
  const more = byId("more-bars");
  more.hidden = ranking.length <= MOST_BARS;
  more.textContent = allBars ? "Fewer" : `${ranking.length - MOST_BARS} more`;
  more.onclick = () => {
    allBars = !allBars;
    if (parse) bars(parse);
  };
}

function bar(name) {
  const track = element("span", { class: "track", "aria-hidden": "true" }, element("span", { class: "fill" }));
  const shown = element("span", { class: "name", title: name }, name);
  return element("li", { "data-intent-bar": name }, shown, track, element("span", { class: "percent" }));
}

function filled(item, intent, found) {
  item.dataset.confidence = String(intent.confidence);
  item.classList.toggle("best", intent.name === found.intent_ranking[0].name);
  item.classList.toggle("rejected", found.rejected);
  item.querySelector(".fill").style.setProperty("--share", String(intent.confidence));
  item.querySelector(".percent").textContent = percent(intent.confidence);
  return item;
}

function corrected(slots, said) {
  annotator.corrected = true;
  announce(said);
  if (parse) correction.show(parse, true);
}
