// Versions: who changed what and when; what each changed; and any of them again.

import { botPath, call } from "./api.js";
import { bot, mayWrite, news, restoreVersion, whyNot } from "./bot.js";
import { openDialog } from "./dialogs.js";
import { button, byId, counted, element } from "./dom.js";
import { shownSentence } from "./sentence.js";
import { tellError } from "./telling.js";

const PAGE = 50;
const STEPS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const MOST_SHOWN = 100;

let reading = 0; // an answer to a list that was begun anew since is dropped

export function setUpVersions() {
  byId("older-versions").addEventListener("click", () => more());
  news.addEventListener("changed", () => byId("versions").open && anew());
}

export async function openVersions() {
  openDialog("versions");
  await anew();
  byId("version-list").querySelector("button")?.focus();
}

/** The newest, also after a change while the list is looked at. */
async function anew() {
  reading += 1;
  byId("version-list").replaceChildren();
  await more();
}

async function more() {
  const list = byId("version-list");
  const before = list.lastElementChild?.dataset.version;
  const own = reading;
  try {
    const found = await call("GET", botPath(bot.name, "versions"), { query: { before, limit: PAGE } });
    if (own !== reading) return;
    list.append(...found.versions.map((row) => versionRow(row, found.version)));
    const oldest = found.versions.at(-1)?.version ?? 1;
    byId("older-versions").hidden = found.versions.length < PAGE || oldest <= 1;
  } catch (error) {
    tellError(error, { retry: more, key: "versions" });
  }
}

function versionRow({ version, made, by, what }, now) {
  const changes = element("div", { class: "difference", hidden: true, "aria-live": "polite" });
  const isNow = version === now;
  const compare = (name, older, newer) =>
    button(name, (event) => toggle(event.currentTarget, changes, older, newer), {
      kind: "quiet",
      label: `${name}, version ${version}`,
      "aria-expanded": "false",
    });
  return element(
    "li",
    { "data-version": version },
    element(
      "div",
      { class: "about" },
      element("span", { class: "number" }, String(version)),
      element("span", { class: "what" }, what),
      element("span", { class: "hint" }, when(made), by ? ` · ${by}` : "", isNow ? " · now" : ""),
    ),
    element(
      "div",
      { class: "row" },
      version > 1 && compare("What it changed", version - 1, version),
      !isNow && compare("Compare with now", version, now),
      !isNow &&
        button("Restore", () => restore(version), {
          kind: "quiet",
          label: `Restore version ${version}`,
          hint: whyNot(),
          disabled: !mayWrite(),
          "data-restore": version,
        }),
    ),
    changes,
  );
}

function when(made) {
  const date = new Date(made);
  if (Number.isNaN(date.getTime())) return made;
  const gone = Date.now() - date.getTime();
  const step = STEPS.find(([, length]) => gone >= length);
  const words = step
    ? new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.floor(gone / step[1]), step[0])
    : "just now";
  return element("time", { datetime: made, title: date.toLocaleString() }, words);
}

async function restore(version) {
  if (await restoreVersion(version)) byId("versions-title").focus();
}

async function toggle(pressed, place, older, newer) {
  const isOpen = pressed.getAttribute("aria-expanded") === "true";
  for (const other of pressed.parentElement.querySelectorAll("[aria-expanded]")) {
    other.setAttribute("aria-expanded", "false");
  }
  place.hidden = isOpen;
  if (isOpen) return;
  pressed.setAttribute("aria-expanded", "true");
  try {
    const found = await call("GET", botPath(bot.name, "compare"), { query: { older, newer } });
    place.replaceChildren(...difference(found));
  } catch (error) {
    place.hidden = true;
    pressed.setAttribute("aria-expanded", "false");
    tellError(error, { retry: () => toggle(pressed, place, older, newer), key: "compare" });
  }
}

function difference({ added, removed, added_intents: newIntents, removed_intents: goneIntents, changed }) {
  const lines = [
    ...newIntents.map((name) => line("added", "+", `intent ${name}`)),
    ...goneIntents.map((name) => line("removed", "−", `intent ${name}`)),
    ...removed.map((example) => line("removed", "−", shownSentence(example.text, example.slots), example.intent)),
    ...added.map((example) => line("added", "+", shownSentence(example.text, example.slots), example.intent)),
    ...changed.map((field) => line("", "~", field.replaceAll("_", " "))),
  ];
  if (!lines.length) return [element("p", { class: "whisper" }, "Nothing: they are the same.")];
  const rest = lines.length - MOST_SHOWN;
  return [
    element("ul", {}, ...lines.slice(0, MOST_SHOWN)),
    ...(rest > 0 ? [element("p", { class: "whisper" }, `and ${counted(rest, "more line")}`)] : []),
  ];
}

function line(kind, sign, what, where = null) {
  const said = { "+": "added", "−": "removed", "~": "changed" }[sign];
  return element(
    "li",
    { class: kind },
    element("span", { class: "sign", "aria-label": said }, sign),
    element("span", {}, what),
    where && element("span", { class: "hint" }, where),
  );
}
