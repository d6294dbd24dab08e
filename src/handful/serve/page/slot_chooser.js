// The small window beside selected words: which slot are they? One at a time; it stands above everything, dialogs too.

import { bot } from "./bot.js";
import { Choices } from "./choices.js";
import { colour } from "./colours.js";
import { button, element, quoted } from "./dom.js";
import { keyOf } from "./slots.js";

let open = null; // {made, owner, close}

export function chooserOpenFor(owner) {
  return open?.owner === owner;
}

export function closeChooser() {
  open?.close(null);
}

/** Slots that the bot has, roles apart, then those that only this page knows of yet. */
export function offeredSlots(own = []) {
  const all = new Map();
  for (const { label, role, examples } of bot.slots) {
    const slot = { slot: label, role: role ?? null };
    all.set(keyOf(slot), { ...slot, name: keyOf(slot), hint: String(examples) });
  }
  for (const slot of own) if (!all.has(keyOf(slot))) all.set(keyOf(slot), { ...slot, name: keyOf(slot), hint: "" });
  return [...all.values()];
}

/** Resolves to {slot, role, value}, to "remove", or to null. `present` is the slot that the words have now. */
export function chooseSlot({ owner, host, near, words, present, own, keyboard }) {
  closeChooser();
  return new Promise((resolve) => {
    const offered = offeredSlots(own);
    const role = field("slot-role", "Role", "such as from or to", present?.role);
    const value = field("slot-value", "Value", words, present?.value);
    const more = element("details", { class: "more" }, element("summary", {}, "Role and value"), role.row, value.row);
    more.open = Boolean(present?.role || present?.value);

    const take = (choice) => {
      // "city:from" is written as a slot with its role, unless a slot of that very name is there.
      const [, label, ofName] = choice.isNew ? (/^([^:]+):(.+)$/u.exec(choice.name) ?? [null, choice.name, null]) : [];
      const named = choice.isNew ? { slot: label.trim(), role: ofName?.trim() || null } : choice;
      const said = value.input.value.trim();
      const written = role.input.value.trim();
      const isWritten = more.open && written !== (present?.role ?? ""); // else the role is that of the choice
      const chosenRole = isWritten ? written || null : named.role;
      close({ slot: named.slot, role: chosenRole, value: said && said !== words ? said : null });
    };
    const names = new Choices({
      id: "slot-name",
      label: `Slot for ${quoted(words)}`,
      placeholder: "choose or name a slot",
      newWord: "New slot",
      offered: () => offered,
      onchoose: take,
      hidesWhenLeft: false,
      describe: (choice, item) => {
        colour(item, choice.slot ?? choice.name.split(":")[0]);
        item.dataset.slot = choice.slot ?? choice.name;
        item.classList.add("slot-choice");
        const place = offered.indexOf(choice);
        if (names.value || place < 0 || place > 8) return;
        item.prepend(element("kbd", { "aria-hidden": "true" }, String(place + 1)));
      },
    });
    names.element.dataset.closes = "no";
    const again = present && { ...present, name: keyOf(present) };
    const form = element(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          // With no new name, what is there keeps its name and gets the role and value that were written.
          const choice = !names.value && again ? again : names.current;
          if (choice) take(choice);
          else names.input.focus();
        },
      },
      element("p", { class: "asked" }, "What is ", element("b", {}, quoted(words, 40)), "?"),
      names.element,
      more,
      element(
        "div",
        { class: "row" },
        element("button", { type: "submit", class: "primary", id: "slot-done" }, present ? "Save" : "Annotate"),
        present && button("Remove", () => close("remove"), { id: "slot-remove" }),
        button("Cancel", () => close(null), { kind: "quiet" }),
      ),
    );
    const made = element(
      "div",
      {
        id: "slot-chooser",
        class: "chooser",
        role: "dialog",
        "aria-label": `Slot for ${quoted(words)}`,
        popover: "manual",
      },
      form,
    );

    const outside = (event) => {
      if (!made.contains(event.target) && !owner.contains(event.target)) close(null);
    };
    const close = (answer) => {
      document.removeEventListener("pointerdown", outside, true);
      made.remove();
      open = null;
      resolve(answer);
    };
    made.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        close(null);
      } else if (event.key === "Tab") stayInside(event, made);
    });
    document.addEventListener("pointerdown", outside, true);
    open = { made, owner, close };
    host.append(made);
    made.showPopover?.();
    names.show(present ? Math.max(0, offered.findIndex((choice) => choice.name === keyOf(present))) : 0);
    stand(made, near);
    if (keyboard) names.input.focus({ preventScroll: true });
  });
}

function field(id, name, placeholder, value) {
  const input = element("input", { id, type: "text", placeholder, autocomplete: "off", autocapitalize: "off" });
  input.value = value ?? "";
  return { input, row: element("label", { class: "field", for: id }, element("span", {}, name), input) };
}

/** Below the words, or above them where there is more room. */
function stand(made, near) {
  const { width, height } = made.getBoundingClientRect();
  const across = document.documentElement.clientWidth;
  const down = window.visualViewport?.height ?? window.innerHeight;
  const left = Math.max(8, Math.min(near.left, across - width - 8));
  const below = near.bottom + 8;
  const fits = below + height <= down - 8;
  const fitsAbove = near.top >= height + 16;
  const top = !fits && fitsAbove ? near.top - height - 8 : Math.min(below, Math.max(8, down - height - 8));
  made.style.setProperty("left", `${left}px`);
  made.style.setProperty("top", `${top}px`);
}

function stayInside(event, made) {
  const stops = [...made.querySelectorAll("input, button, summary")].filter((stop) => stop.checkVisibility?.() ?? true);
  const edge = event.shiftKey ? stops[0] : stops.at(-1);
  if (document.activeElement === edge) {
    event.preventDefault();
    (event.shiftKey ? stops.at(-1) : stops[0]).focus();
  }
}
