// Choosing a bot, making one, and deleting one.

import { ApiError, botPath, call, forgetToken, hasToken } from "./api.js";
import { bot, closeBot, loadBots, mayAdminister, mayWrite, news, openBot, server, whyNot } from "./bot.js";
import { closeDialogs, openDialog } from "./dialogs.js";
import { button, byId, counted, element } from "./dom.js";
import { always } from "./storage.js";
import { announce, tellError, toast } from "./telling.js";

const NEEDS_ADMIN = "Making and deleting bots takes a token of the scope admin.";

export function setUpBots() {
  byId("choose-bot").addEventListener("click", openBots);
  for (const form of document.querySelectorAll("form.new-bot")) form.addEventListener("submit", create);
  byId("delete-bot").addEventListener("submit", remove);
  byId("delete-name").addEventListener("input", () => {
    byId("delete-now").disabled = byId("delete-name").value !== bot.name;
  });
  byId("other-token").addEventListener("click", () => {
    forgetToken();
    location.reload();
  });
  window.addEventListener("hashchange", () => {
    const name = fromHash();
    if (name && name !== bot.name) open(name);
  });
  news.addEventListener("opened", shown);
  news.addEventListener("changed", shown);
}

function fromHash() {
  try {
    const [, name] = /^#\/(.+)$/u.exec(location.hash) ?? [];
    return name ? decodeURIComponent(name) : null;
  } catch {
    return null;
  }
}

/** The bot in the address, else the one of last time, else the server's default. */
export async function openFirst() {
  await loadBots();
  const names = server.bots.map((each) => each.name);
  const wanted = [fromHash(), always.get("bot"), server.default, names[0]].find((name) => name && names.includes(name));
  const asked = fromHash();
  if (asked && !names.includes(asked)) toast(`There is no bot ${asked}.`, { kind: "problem" });
  if (wanted) await openBot(wanted);
  else closeBot();
}

async function open(name) {
  try {
    await openBot(name);
    closeDialogs();
    announce(`${name}: ${counted(bot.intents.length, "intent")}, ${counted(bot.examples, "example")}`);
    return true;
  } catch (error) {
    tellError(error, { retry: () => open(name), key: "open" });
    return false;
  }
}

function shown() {
  byId("bot-name").textContent = bot.name ?? "no bot";
  document.title = bot.name ? `${bot.name} · handful` : "handful";
  if (bot.name && fromHash() !== bot.name) history.replaceState(null, "", `#/${encodeURIComponent(bot.name)}`);
  if (bot.name) always.set("bot", bot.name);
  const empty = !bot.name;
  byId("welcome").hidden = !empty;
  document.body.classList.toggle("without-bot", empty);
  byId("welcome-new").hidden = !mayAdminister();
  byId("welcome-why").textContent = mayAdminister() ? "" : NEEDS_ADMIN;
  byId("why-not").textContent = whyNot() ?? "";
  byId("why-not").hidden = !whyNot();
  for (const control of document.querySelectorAll("[data-needs-bot]")) control.disabled = empty;
  for (const control of document.querySelectorAll("[data-writes]")) {
    control.disabled = !mayWrite() || (empty && control.hasAttribute("data-needs-bot"));
    control.title = whyNot() ?? "";
  }
}

export async function openBots() {
  openDialog("bots");
  try {
    await loadBots();
  } catch (error) {
    tellError(error, { retry: openBots, key: "bots" });
  }
  const items = server.bots.map((each) => {
    const about = `${counted(each.intents, "intent")}, ${counted(each.examples, "example")}`;
    const choose = button("", () => open(each.name), {
      kind: "bot",
      label: `${each.name}, ${about}`,
      "data-bot": each.name,
      "aria-current": each.name === bot.name ? "true" : null,
    });
    choose.append(element("b", {}, each.name), element("span", { class: "hint" }, about));
    return element("li", {}, choose);
  });
  byId("bot-list").replaceChildren(...items);
  byId("bot-list").querySelector("[aria-current]")?.focus();
  for (const control of byId("new-bot").elements) {
    control.disabled = !mayAdminister();
    control.title = mayAdminister() ? "" : (server.readOnly && whyNot()) || NEEDS_ADMIN;
  }
  byId("other-token").hidden = !hasToken();
  byId("delete-section").hidden = !bot.name;
  byId("delete-why").textContent = mayAdminister()
    ? "All of its versions go, too, and nothing brings them back. Write its name to delete it."
    : (server.readOnly && whyNot()) || NEEDS_ADMIN;
  byId("delete-name").disabled = !mayAdminister();
  byId("delete-name").placeholder = bot.name ?? "";
  byId("delete-now").disabled = true;
}

async function create(event) {
  event.preventDefault();
  const form = event.target;
  const input = form.querySelector("input[name=name]");
  const name = input.value.trim();
  if (!name) return input.focus();
  const starter = event.submitter?.value === "starter";
  try {
    await call("POST", "/v1/bots", { body: { name, starter } });
  } catch (error) {
    const again = error instanceof ApiError && error.again;
    tellError(error, { retry: again ? () => form.requestSubmit(event.submitter) : null });
    return input.focus();
  }
  input.value = "";
  await loadBots().catch((error) => tellError(error));
  if (await open(name)) {
    toast(`Made ${name}`, { key: "change" });
    byId(starter ? "sentence" : "new-intent-name").focus();
  }
}

async function remove(event) {
  event.preventDefault();
  const name = bot.name;
  if (byId("delete-name").value !== name) return;
  try {
    await call("DELETE", botPath(name));
  } catch (error) {
    return tellError(error);
  }
  byId("delete-name").value = "";
  closeDialogs();
  history.replaceState(null, "", location.pathname);
  await openFirst().catch((error) => tellError(error));
  toast(`Deleted ${name}`);
  byId("choose-bot").focus();
}
