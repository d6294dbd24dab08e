// Import and export: a bot's examples from a file and into one, in every format that handful reads or writes.

import { botPath, call, send } from "./api.js";
import { bot, mayWrite } from "./bot.js";
import { importFile } from "./changes.js";
import { openDialog } from "./dialogs.js";
import { button, byId, counted, element } from "./dom.js";
import { announce, tellError, toast } from "./telling.js";

let file = null;
let formats = null;

export function setUpFiles() {
  byId("import-file").addEventListener("change", (event) => take(event.target.files[0]));
  byId("import-form").addEventListener("submit", load);
  const drop = byId("drop");
  // A file may be dropped anywhere on the page; elsewhere the browser would leave the page for it.
  document.addEventListener("dragover", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    drop.classList.remove("over");
    if (!bot.name) return;
    openFiles();
    take(event.dataTransfer.files[0]);
  });
}

function holdsFile(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

export async function openFiles() {
  openDialog("files");
  take(file);
  if (formats) return;
  try {
    formats = (await call("GET", "/v1/formats")).formats;
  } catch (error) {
    return tellError(error, { retry: openFiles, key: "formats" });
  }
  const options = formats.map(({ name, looks }) => element("option", { value: name, title: looks }, name));
  byId("import-format").append(...options);
  const writes = formats.filter((format) => format.writes);
  byId("exports").replaceChildren(
    ...writes.map(({ name, looks }) =>
      element(
        "li",
        {},
        button(name, () => save(name), { label: `Export as ${name}`, "data-export": name }),
        element("span", { class: "hint" }, looks),
      ),
    ),
  );
}

function take(chosen) {
  file = chosen ?? null;
  const size = file ? counted(Math.max(1, Math.round(file.size / 1024)), "kilobyte") : null;
  byId("import-name").textContent = file ? `${file.name}, ${size}` : "no file yet";
  byId("import-now").disabled = !file || !mayWrite();
  byId("import-told").replaceChildren();
}

async function load(event) {
  event.preventDefault();
  if (!file) return;
  const mode = byId("import-form").elements.mode.value;
  const format = byId("import-format").value;
  byId("import-now").disabled = true;
  const told = byId("import-told");
  told.replaceChildren(element("p", { class: "whisper" }, "Reading …"));
  const refused = (error) => told.append(element("p", { class: "error problems" }, error.message));
  const answer = await importFile(file, { mode, format, refused });
  byId("import-now").disabled = false;
  if (!answer) return told.firstElementChild.replaceWith(element("p", { class: "error" }, "Nothing was changed."));
  const warnings = answer.warnings ?? [];
  told.replaceChildren(
    element("p", {}, `${counted(answer.examples.length, "example")} read from ${file.name}.`),
    ...(warnings.length ? [element("h3", {}, counted(warnings.length, "warning"))] : []),
    element("ul", { class: "warnings" }, ...warnings.map((warning) => element("li", {}, warning))),
  );
  announce(`${counted(answer.examples.length, "example")} read, ${counted(warnings.length, "warning")}`);
}

async function save(format) {
  try {
    const response = await send("GET", botPath(bot.name, "export"), { query: { format } });
    const body = await response.blob();
    const named = /filename\*?="?(?:UTF-8'')?([^";]+)"?/u.exec(response.headers.get("Content-Disposition") ?? "");
    const download = named ? decodeURIComponent(named[1]) : `${bot.name}-${format}`;
    const link = element("a", { href: URL.createObjectURL(body), download });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    const lost = response.headers.get("X-Handful-Not-Written");
    const but = lost ? `; this format cannot hold: ${lost}` : "";
    toast(`Exported ${bot.name} as ${format}${but}`, { stays: Boolean(lost) });
  } catch (error) {
    tellError(error, { retry: () => save(format), key: "export" });
  }
}
