// What the page tells: toasts at the lower edge, and words for those who listen to the page instead of looking at it.

import { ApiError } from "./api.js";
import { button, byId, element } from "./dom.js";

const SHORT = 8_000; // milliseconds; a toast with something to press stays while it is looked at
let clearing = null;
const dismissals = new WeakMap(); // of each toast: whoever waits for its answer must hear that it is gone
let lastHeld = null; // what had the focus before a toast did

document.addEventListener("focusin", (event) => {
  if (!event.target.closest(".toast")) lastHeld = event.target;
});

/** Says it to screen readers alone. */
export function announce(words) {
  const region = byId("announcements");
  region.textContent = "";
  clearTimeout(clearing);
  clearing = setTimeout(() => {
    region.textContent = words;
  }, 30); // an unchanged text would not be read again
}

/** `actions`: [[name, function]]; a toast of the same `key` takes the place of the one before. */
export function toast(words, { kind = "info", key = words, actions = [], stays = false, onclose = () => {} } = {}) {
  const region = byId("toasts");
  for (const old of [...region.children]) if (old.dataset.key === key) dismissals.get(old)();
  let timer = null;
  const close = () => {
    clearTimeout(timer);
    const held = made.contains(document.activeElement);
    made.remove();
    keepOnTop(region);
    if (held) giveBack();
  };
  const dismiss = () => {
    close();
    onclose();
  };
  const made = element(
    "div",
    { class: `toast ${kind}`, role: kind === "problem" ? "alert" : "status", "data-key": key },
    element("p", {}, words),
    ...actions.map(([name, act]) =>
      button(name, () => {
        close();
        act();
      }),
    ),
    button("×", dismiss, { kind: "close", label: "Dismiss" }),
  );
  const wait = () => {
    if (!stays) timer = setTimeout(dismiss, SHORT);
  };
  made.addEventListener("pointerenter", () => clearTimeout(timer));
  made.addEventListener("pointerleave", wait);
  made.addEventListener("focusin", () => clearTimeout(timer));
  made.addEventListener("focusout", wait);
  dismissals.set(made, dismiss);
  region.append(made);
  while (region.children.length > 4) dismissals.get(region.firstElementChild)();
  keepOnTop(region);
  wait();
  return close;
}

/** A dialog makes all that is outside of it inert, so toasts move into the one that is on top. */
export function keepOnTop(region = byId("toasts")) {
  const dialogs = document.querySelectorAll("dialog[open]");
  const home = dialogs.length ? dialogs[dialogs.length - 1] : document.body;
  if (region.parentElement !== home) home.append(region);
}

function giveBack() {
  for (const place of [lastHeld, byId("undo")]) {
    place?.focus({ preventScroll: true });
    if (place && document.activeElement === place) return; // not so, where a drawer was closed meanwhile
  }
}

export function tellError(error, { retry = null, key } = {}) {
  if (error.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.error(error);
  const words = error instanceof ApiError ? error.message : `Something on this page went wrong: ${error.message}`;
  const actions = retry ? [["Retry", retry]] : [];
  toast(words, { kind: "problem", key: key ?? words, actions, stays: true });
}

/** A toast with Retry; resolves to whether it was pressed. */
export function asksToRetry(error) {
  return new Promise((resolve) => {
    toast(error.message, {
      kind: "problem",
      key: error.message,
      stays: true,
      actions: [["Retry", () => resolve(true)]],
      onclose: () => resolve(false),
    });
  });
}
