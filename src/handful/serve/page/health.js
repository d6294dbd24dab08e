// How the bot does: what `check` finds, which intents are taken for each other, how often it is right about an example
// that it was not shown.

import { botPath, call } from "./api.js";
import { bot, news } from "./bot.js";
import { closeDialogs, openDialog } from "./dialogs.js";
import { button, byId, counted, element, percent } from "./dom.js";
import { showExample, showIntent } from "./intents.js";
import { announce, tellError } from "./telling.js";

let checked = null; // {name, version}

export function setUpHealth() {
  byId("check-again").addEventListener("click", look);
  news.addEventListener("changed", () => {
    if (checked) byId("stale").hidden = checked.name === bot.name && checked.version === bot.version;
  });
  news.addEventListener("opened", () => {
    checked = null;
    byId("findings").replaceChildren();
  });
}

export function openHealth() {
  openDialog("health");
  if (!checked || checked.version !== bot.version) look();
}

async function look() {
  const name = bot.name;
  byId("stale").hidden = true;
  byId("findings").setAttribute("aria-busy", "true");
  byId("findings").replaceChildren(element("p", { class: "whisper" }, "Each example is told by the others …"));
  try {
    const found = await call("GET", botPath(name, "check"));
    if (bot.name !== name) return;
    checked = { name, version: found.version };
    show(found);
  } catch (error) {
    byId("findings").replaceChildren();
    tellError(error, { retry: look, key: "check" });
  } finally {
    byId("findings").removeAttribute("aria-busy");
  }
}

function show({ asked, right, findings, confused }) {
  const place = byId("findings");
  place.replaceChildren();
  if (asked) {
    const fill = element("span", { class: "fill" });
    fill.style.setProperty("--share", String(right / asked));
    place.append(
      element(
        "p",
        { class: "score", id: "accuracy" },
        element("b", {}, percent(right / asked)),
        ` ${right} right of ${asked} asked`,
      ),
      element("span", { class: "track", "aria-hidden": "true" }, fill),
      element("p", { class: "whisper" }, "Each example was left out and told by the others, where there are others."),
    );
  }
  const title = findings.length ? `${counted(findings.length, "thing")} to look at` : "Nothing odd was found.";
  place.append(element("h3", {}, title));
  place.append(element("ol", { class: "findings" }, ...findings.map(finding)));
  if (confused.length) {
    place.append(
      element("h3", {}, "Taken for another"),
      element("ul", { class: "findings" }, ...confused.map(confusion)),
    );
  }
  announce(`${asked ? `${right} right of ${asked}. ` : ""}${counted(findings.length, "thing")} to look at.`);
}

function finding({ message, hint, example }) {
  return element(
    "li",
    { "data-finding": example ?? "" },
    element("p", {}, message),
    hint && element("p", { class: "hint" }, hint),
    example !== null &&
      example !== undefined &&
      button("Show the example", () => {
        closeDialogs();
        showExample(example);
      }),
  );
}

function confusion({ intent, other, count, of }) {
  const show_ = (name) =>
    button(name, () => {
      closeDialogs();
      showIntent(name);
    }, { kind: "jump" });
  return element("li", {}, element("p", {}, show_(intent), ` came out as `, show_(other), ` ${count} of ${of} times`));
}
