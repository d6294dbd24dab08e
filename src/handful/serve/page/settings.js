// What a bot knows beside its examples: what its slots mean, and how likely a sentence must be to get an intent at all.

import { bot, mayWrite, whyNot } from "./bot.js";
import { describeLabel, setThreshold } from "./changes.js";
import { colour } from "./colours.js";
import { openDialog } from "./dialogs.js";
import { byId, counted, element } from "./dom.js";
import { announce } from "./telling.js";

export function setUpSettings() {
  byId("threshold-form").addEventListener("submit", save);
  for (const choice of byId("threshold-form").elements.threshold) choice.addEventListener("change", () => numberToo());
  byId("threshold-number").addEventListener("focus", () => {
    byId("threshold-form").elements.threshold.value = "number";
  });
}

export function openSettings() {
  openDialog("settings");
  const form = byId("threshold-form");
  const number = typeof bot.threshold === "number";
  form.elements.threshold.value = number ? "number" : bot.threshold;
  if (number) byId("threshold-number").value = String(bot.threshold);
  for (const control of form.elements) {
    control.disabled = !mayWrite();
    control.title = whyNot() ?? "";
  }
  byId("slot-list").replaceChildren(...bot.slots.map(slotRow));
  byId("no-slots").hidden = bot.slots.length > 0;
}

function numberToo() {
  if (byId("threshold-form").elements.threshold.value === "number") byId("threshold-number").focus();
}

async function save(event) {
  event.preventDefault();
  const chosen = byId("threshold-form").elements.threshold.value;
  const number = Number.parseFloat(byId("threshold-number").value);
  if (chosen === "number" && !(number >= 0 && number <= 1)) {
    announce("A number from 0 to 1.");
    return byId("threshold-number").focus();
  }
  await setThreshold(chosen === "number" ? number : chosen);
}

function slotRow({ label, role, examples, description }) {
  const key = role ? `${label}:${role}` : label;
  const name = element("span", { class: "slot-name" }, key);
  colour(name, label);
  const input = element("input", {
    type: "text",
    "aria-label": `What ${key} means`,
    placeholder: "what it means",
    disabled: !mayWrite(),
    title: whyNot(),
    value: description ?? "",
    onkeydown: (event) => {
      if (event.key === "Enter") input.blur();
    },
    onchange: () => describeLabel(key, input.value.trim()),
  });
  const count = element("span", { class: "hint" }, counted(examples, "time"));
  return element("li", { "data-slot-row": key }, name, count, input);
}
