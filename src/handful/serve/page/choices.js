// A text field with a list of what is there already: type to narrow it, arrows to move, Enter to take. Used to
// choose or name an intent or a slot.

import { element, freshId } from "./dom.js";

const MOST = 60; // a longer list is narrowed by typing

export class Choices {
  /** `offered()`: [{name, hint, …}] from the likeliest down; `onchoose(choice)`: one of them, or {name, isNew: true}.
   * `describe(choice, item)` may add to how a choice looks. */
  constructor({ id, label, placeholder, newWord, offered, onchoose, describe = () => {}, hidesWhenLeft = true }) {
    this.offered = offered;
    this.onchoose = onchoose;
    this.describe = describe;
    this.newWord = newWord;
    this.active = 0;
    this.shown = [];
    const listId = freshId("choices");
    this.list = element("ul", { id: listId, class: "choices", role: "listbox", "aria-label": label });
    this.input = element("input", {
      id,
      type: "text",
      role: "combobox",
      "aria-label": label,
      "aria-controls": listId,
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      placeholder,
      oninput: () => this.show(0),
      onfocus: () => this.show(0),
      onkeydown: (event) => this.pressed(event),
    });
    this.element = element("div", { class: "chooses" }, this.input, this.list);
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[role=option]");
      if (item) this.take(this.shown[Number(item.dataset.place)]);
    });
    if (hidesWhenLeft) this.element.addEventListener("focusout", () => this.hide());
  }

  get value() {
    return this.input.value.trim();
  }

  set value(text) {
    this.input.value = text;
  }

  show(active = this.active) {
    const typed = this.value.toLowerCase();
    const all = this.offered();
    const fits = all.filter((choice) => choice.name.toLowerCase().includes(typed));
    // What begins with the words that were typed comes before what merely holds them.
    if (typed) fits.sort((a, b) => begins(b, typed) - begins(a, typed));
    this.shown = fits.slice(0, MOST);
    if (typed && !all.some((choice) => choice.name === this.value)) {
      // What begins as it was typed is likelier meant than a new name, what merely holds it is not.
      const place = this.shown.filter((choice) => begins(choice, typed)).length ? this.shown.length : 0;
      this.shown.splice(place, 0, { name: this.value, isNew: true });
    }
    this.active = Math.min(active, this.shown.length - 1);
    this.list.replaceChildren(...this.shown.map((choice, place) => this.item(choice, place)));
    this.list.hidden = !this.shown.length;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.mark();
  }

  item(choice, place) {
    const id = `${this.list.id}-${place}`;
    const item = element("li", { id, role: "option", "data-place": place, "data-name": choice.name });
    if (choice.isNew) item.append(element("span", { class: "new" }, `${this.newWord} `));
    item.append(element("span", { class: "name" }, choice.name));
    if (choice.hint) item.append(element("span", { class: "hint" }, choice.hint));
    this.describe(choice, item);
    return item;
  }

  mark() {
    [...this.list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === this.active)));
    const active = this.list.children[this.active];
    if (active) {
      this.input.setAttribute("aria-activedescendant", active.id);
      active.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  hide() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  /** What Enter would take now. */
  get current() {
    return this.shown[this.active] ?? (this.value ? { name: this.value, isNew: true } : null);
  }

  pressed(event) {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.list.hidden) return this.show(0);
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.active = (this.active + step + this.shown.length) % Math.max(1, this.shown.length);
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      if (this.current) this.take(this.current);
    } else if (event.key === "Escape" && !this.list.hidden && this.element.dataset.closes !== "no") {
      event.preventDefault();
      event.stopPropagation();
      this.hide();
    }
  }

  take(choice) {
    this.onchoose(choice);
  }
}

/** Does the name begin so, or a word of it? */
function begins(choice, typed) {
  const name = choice.name.toLowerCase();
  return name.startsWith(typed) || ["_", "-", " "].some((border) => name.includes(border + typed)) ? 1 : 0;
}
