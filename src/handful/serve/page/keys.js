// Shortcuts. A single letter works only where no text is typed, and can be switched off.

import { openBots } from "./bots.js";
import { bot, mayWrite, redo, undo } from "./bot.js";
import { openDialog } from "./dialogs.js";
import { byId, element, typesText } from "./dom.js";
import { openFiles } from "./files.js";
import { openHealth } from "./health.js";
import { composeInCurrent } from "./intents.js";
import { openPaste } from "./paste.js";
import { openSettings } from "./settings.js";
import { always } from "./storage.js";
import { openVersions } from "./versions.js";

const OFF = "letters";

const LETTERS = [
  ["t", "try a sentence", () => go("try", "sentence")],
  ["n", "new intent", () => go("examples", "new-intent-name")],
  ["a", "add an example to the intent at hand", composeInCurrent],
  ["/", "search intents and examples", () => go("examples", "filter")],
  ["p", "paste many examples", () => mayWrite() && openPaste()],
  ["h", "health, and what to annotate next", openHealth],
  ["v", "versions", openVersions],
  ["f", "files: import and export", openFiles],
  ["s", "slots and threshold", openSettings],
  ["b", "bots", openBots],
  ["?", "these shortcuts", () => openDialog("help")],
];
const OTHERS = [
  ["Ctrl Z, ⌘ Z", "undo the last change; with Shift, do it again"],
  ["↑ ↓", "from intent to intent, from example to example"],
  ["← →", "in a sentence, from word to word; with Shift, select"],
  ["Enter", "in a sentence, choose the slot of the selected words"],
  ["1 … 9", "in a sentence, one of the first nine slots at once"],
  ["Delete", "in a sentence, take the slot away"],
  ["E or F2", "on an example, edit its text"],
  ["M", "on an example, move it to another intent"],
  ["Ctrl Delete", "on an example, delete it"],
  ["Ctrl Enter", "in bulk paste, add the lines"],
  ["A, C, S", "on a suggestion: accept, correct, skip"],
  ["Esc", "close, or give up an edit"],
];

export function setUpKeys() {
  document.addEventListener("keydown", pressed);
  const box = byId("letters-on");
  box.checked = always.get(OFF) !== "off";
  box.addEventListener("change", () => {
    always.set(OFF, box.checked ? "on" : "off");
  });
  const rows = [...LETTERS.map(([key, what]) => [key.toUpperCase(), what]), ...OTHERS];
  byId("shortcuts").replaceChildren(
    ...rows.flatMap(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)]),
  );
}

function go(tab, id) {
  byId(`tab-${tab}`).click();
  byId(id).focus();
}

function pressed(event) {
  if (event.defaultPrevented || event.isComposing || typesText(event.target) || event.altKey) return;
  const command = event.ctrlKey || event.metaKey;
  if (command && event.key.toLowerCase() === "z") {
    event.preventDefault();
    if (mayWrite() && bot.name) (event.shiftKey ? redo : undo)();
    return;
  }
  if (command || document.querySelector("dialog[open]") || !byId("letters-on").checked) return;
  const found = LETTERS.find(([key]) => key === event.key.toLowerCase());
  if (!found || (!bot.name && !["b", "?"].includes(found[0]))) return;
  event.preventDefault();
  found[2]();
}
