// Why the sentence was parsed so: the examples that it is like, what each slot is like, and the words that speak
// for it.

import { colour } from "./colours.js";
import { button, byId, element } from "./dom.js";
import { showExample } from "./intents.js";

const MOST_WORDS = 6;

export function showWhy(found) {
  const place = byId("reasons");
  if (!found) return place.replaceChildren();
  place.replaceChildren(
    ...nearest("Nearest examples", found.nearest),
    ...found.slots.flatMap(slot),
    ...(found.runner_up ? against(found.parse, found.runner_up) : []),
  );
}

function nearest(title, neighbours) {
  if (!neighbours.length) return [];
  const items = neighbours.map(({ text, intent, similarity }) =>
    element(
      "li",
      {},
      likeness(similarity),
      button(text, () => showExample(null, text, intent), { kind: "jump", label: `Show the example ${text}` }),
      element("span", { class: "hint" }, intent),
    ),
  );
  return [element("h4", {}, title), element("ul", { class: "nearest" }, ...items)];
}

function slot({ label, value, nearest: like }) {
  if (!like.length) return [];
  const items = like.map((near) =>
    element(
      "li",
      {},
      likeness(near.similarity),
      element("span", { class: "words" }, near.words),
      element("span", { class: "hint" }, `${near.slot} in “${near.text}”`),
    ),
  );
  const name = element("span", { class: "slot-name" }, label);
  colour(name, label);
  const title = element("h4", {}, name, " ", element("b", {}, value), " is like");
  return [title, element("ul", { class: "nearest" }, ...items)];
}

function likeness(similarity) {
  return element("span", { class: "likeness", title: "how alike, 1 being the same" }, similarity.toFixed(2));
}

function against(parse, second) {
  const best = parse.intent_ranking[0]?.name;
  const shown = second.words.slice(0, MOST_WORDS);
  const loudest = Math.max(0.01, ...shown.map(({ weight }) => Math.abs(weight)));
  const items = shown.map(({ word, weight }) => {
    const fill = element("span", { class: weight < 0 ? "fill against" : "fill" });
    fill.style.setProperty("--share", String(Math.abs(weight) / loudest));
    return element(
      "li",
      { "data-weight": weight },
      element("span", { class: "words" }, word),
      element("span", { class: "track", "aria-hidden": "true" }, fill),
      element("span", { class: "hint" }, weight < 0 ? `speaks for ${second.name}` : `speaks for ${best}`),
    );
  });
  const words = items.length
    ? [element("h4", {}, `Words: ${best} rather than ${second.name}`), element("ul", { class: "weights" }, ...items)]
    : [];
  return [...words, ...nearest(`Nearest of ${second.name}, the runner-up`, second.nearest.slice(0, 2))];
}
