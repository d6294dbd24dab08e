// Elements from data. Text is always set as text, never read as markup.

/** element("button", {class: "quiet", disabled: true, onclick: f, "data-x": 1}, "Add", …) */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

let made = 0;
export function freshId(kind) {
  made += 1;
  return `${kind}-${made}`;
}

/** A plain button; its name is what it shows, unless `label` says more. */
export function button(text, onclick, { kind = "", label = null, hint = null, ...more } = {}) {
  return element("button", { type: "button", class: kind, "aria-label": label, title: hint, onclick, ...more }, text);
}

/** "1 example", "2 examples" */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

export function percent(share) {
  return `${Math.round(100 * share)}\u00a0%`;
}

export function typesText(target) {
  const fields = "input:not([type=checkbox], [type=radio], [type=file]), textarea, select";
  return target instanceof Element && target.matches(fields);
}

/** Words of ours with a name of the user's in it, quoted. */
export function quoted(text, most = 48) {
  const all = Array.from(text);
  return `“${all.length > most ? `${all.slice(0, most - 1).join("")}…` : text}”`;
}
