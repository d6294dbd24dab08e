// The playground: puts its parts together and opens the first bot.

import { setUpAnnotateNext } from "./annotate_next.js";
import { openFirst, setUpBots } from "./bots.js";
import { bot, lastStep, mayWrite, news, refresh, undo } from "./bot.js";
import { openDialog, setUpDialogs } from "./dialogs.js";
import { byId } from "./dom.js";
import { openFiles, setUpFiles } from "./files.js";
import { openHealth, setUpHealth } from "./health.js";
import { setUpIntents } from "./intents.js";
import { setUpKeys } from "./keys.js";
import { openPaste, setUpPaste } from "./paste.js";
import { openSettings, setUpSettings } from "./settings.js";
import { tellError } from "./telling.js";
import { setUpToken } from "./token.js";
import { setUpTrying } from "./trying.js";
import { openVersions, setUpVersions } from "./versions.js";

const OPENS = {
  "open-paste": () => openPaste(),
  "open-health": openHealth,
  "open-versions": openVersions,
  "open-files": openFiles,
  "open-settings": openSettings,
  "open-help": () => openDialog("help"),
  undo,
};

setUpDialogs();
setUpToken();
setUpIntents();
setUpTrying();
setUpPaste();
setUpFiles();
setUpHealth();
setUpAnnotateNext();
setUpVersions();
setUpSettings();
setUpBots();
setUpKeys();
for (const [id, open] of Object.entries(OPENS)) byId(id).addEventListener("click", () => open());

// On a narrow screen one side is seen at a time.
for (const side of ["examples", "try"]) {
  byId(`tab-${side}`).addEventListener("click", () => {
    document.body.dataset.side = side;
    for (const other of ["examples", "try"]) byId(`tab-${other}`).setAttribute("aria-pressed", String(other === side));
  });
}

news.addEventListener("steps", () => {
  const step = lastStep();
  // Not disabled in the browser's sense, which would take the focus away from it after the last step.
  byId("undo").setAttribute("aria-disabled", String(!step || !mayWrite()));
  byId("undo").title = step ? `Undo: ${step.said}` : "Nothing to undo yet";
});

// Someone else may have worked on the bot while this page was not looked at.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible" || !bot.name) return;
  refresh().catch((error) => tellError(error, { key: "behind" }));
});

async function start() {
  try {
    await openFirst();
    document.body.dataset.ready = "yes";
  } catch (error) {
    tellError(error, { retry: start, key: "start" });
  }
}

start();
