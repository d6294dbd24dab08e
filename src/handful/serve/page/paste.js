// Many lines at once, each an example of one intent. Lines are read while they are typed; what is wrong with one is
// told beside it, and lines that were not taken stay in the box.

import { bot, intentNamed, mayWrite } from "./bot.js";
import { addExamples, addIntent } from "./changes.js";
import { Choices } from "./choices.js";
import { openDialog } from "./dialogs.js";
import { byId, counted, element } from "./dom.js";
import { withCount } from "./example_row.js";
import { currentIntent, showIntent } from "./intents.js";
import { readMarked } from "./marked.js";
import { shownSentence } from "./sentence.js";
import { announce, tellError } from "./telling.js";

const MOST_SHOWN = 200;

let choices = null;
let refused = new Map(); // line -> what the server said of it, until it is edited

export function setUpPaste() {
  choices = new Choices({
    id: "paste-intent",
    label: "Intent of the pasted lines",
    placeholder: "choose or name an intent",
    newWord: "New intent",
    offered: () => bot.intents.map(withCount),
    onchoose: ({ name }) => {
      choices.value = name;
      choices.hide();
      byId("paste-text").focus();
      preview();
    },
  });
  choices.input.addEventListener("input", () => {
    refused = new Map();
    preview();
  });
  byId("paste-intent-place").append(choices.element);
  byId("paste-text").addEventListener("input", () => preview());
  byId("paste-text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      byId("paste-form").requestSubmit();
    }
  });
  byId("paste-form").addEventListener("submit", add);
}

export function openPaste(intent = null) {
  const name = typeof intent === "string" ? intent : currentIntent();
  if (name) choices.value = name;
  openDialog("paste", choices.value ? "paste-text" : "paste-intent");
  preview();
}

/** [{number, line, example | null, error | null}]; dashes of a bot file's list are let go. */
function read() {
  const intent = choices.value;
  return byId("paste-text")
    .value.split(/\r?\n|\r/u)
    .map((line, place) => ({ number: place + 1, line, example: null, error: null }))
    .filter(({ line }) => line.trim())
    .map((entry) => {
      const told = refused.get(entry.line);
      if (told) return { ...entry, error: told };
      try {
        const { text, slots } = readMarked(entry.line.trim().replace(/^[-•*]\s+/u, ""));
        return { ...entry, example: { intent, text, slots } };
      } catch (error) {
        return { ...entry, error: error.message };
      }
    });
}

function preview() {
  const lines = read();
  const good = lines.filter((entry) => entry.example);
  const bad = lines.length - good.length;
  const shown = [...lines.filter((entry) => entry.error), ...good].slice(0, MOST_SHOWN);
  byId("paste-preview").replaceChildren(
    ...shown.map((entry) =>
      element(
        "li",
        { class: entry.error ? "wrong" : "", "data-line": entry.number },
        element("span", { class: "hint" }, `line ${entry.number}`),
        entry.error ? element("span", {}, entry.line.trim()) : shownSentence(entry.example.text, entry.example.slots),
        entry.error && element("span", { class: "error" }, entry.error),
      ),
    ),
  );
  const toMend = `, ${counted(bad, "line")} to mend: ${bad === 1 ? "it stays" : "they stay"} in the box`;
  byId("paste-sum").textContent = lines.length ? `${counted(good.length, "example")} to add${bad ? toMend : ""}` : "";
  byId("paste-add").disabled = !mayWrite() || !good.length;
  byId("paste-add").textContent = good.length ? `Add ${counted(good.length, "example")}` : "Add";
}

async function add(event) {
  event.preventDefault();
  const intent = choices.value;
  if (!intent) {
    announce("Choose an intent first.");
    return choices.input.focus();
  }
  const box = byId("paste-text");
  const sent = box.value;
  const lines = read();
  const good = lines.filter((entry) => entry.example);
  if (!good.length) return box.focus();
  byId("paste-add").disabled = true;
  const examples = good.map((entry) => entry.example);
  const answer = intentNamed(intent)
    ? await addExamples(examples, { refused: (error) => tellLine(error, good) })
    : await addIntent(intent, { examples, refused: (error) => tellLine(error, good) });
  if (!answer) {
    preview();
    return box.focus();
  }
  const bad = lines.filter((entry) => entry.error);
  // Lines that were typed while the server worked are not in what it was sent: they stay, too.
  box.value = box.value === sent ? bad.map((entry) => entry.line).join("\n") : box.value.replace(sent, "");
  preview();
  if (bad.length) return box.focus();
  byId("paste").close();
  await showIntent(intent);
}

/** The server names the example that it refuses by its place; the others are sent without it the next time. */
function tellLine(error, sent) {
  const place = /\bexamples\.(\d+)/u.exec(error.message)?.[1];
  const entry = place === undefined ? null : sent[Number(place)];
  if (!entry) return tellError(error);
  refused.set(entry.line, error.message);
  announce(`Line ${entry.number}: ${error.message}`);
}
