// Drawers and windows: <dialog> elements, which keep the focus inside, close with Escape, and give the focus back.

import { byId } from "./dom.js";
import { keepOnTop } from "./telling.js";

export function setUpDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("close", () => keepOnTop());
    dialog.addEventListener("click", (event) => {
      if (event.target.closest("[data-close]")) dialog.close();
    });
    // A press beside the drawer closes it; one that begins inside, as when text is selected, does not.
    dialog.addEventListener("pointerdown", (event) => {
      const box = dialog.getBoundingClientRect();
      const across = event.clientX < box.left || event.clientX > box.right;
      const beside = across || event.clientY < box.top || event.clientY > box.bottom;
      if (event.target === dialog && beside && dialog.id !== "token") dialog.close();
    });
  }
}

export function openDialog(id, focus = null) {
  closeDialogs(id);
  const dialog = byId(id);
  if (!dialog.open) dialog.showModal();
  keepOnTop();
  (focus ? byId(focus) : (dialog.querySelector("[autofocus]") ?? dialog.querySelector("h2")))?.focus();
}

export function closeDialogs(but = null) {
  for (const dialog of document.querySelectorAll("dialog[open]")) {
    if (dialog.id !== but && dialog.id !== "token") dialog.close();
  }
}
