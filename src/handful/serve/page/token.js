// The prompt for a token. Requests that were refused wait for it and go on with it.

import { tokensFrom } from "./api.js";
import { byId } from "./dom.js";
import { keepOnTop } from "./telling.js";

export function setUpToken() {
  tokensFrom(askForToken);
}

function askForToken(message, refused) {
  const dialog = byId("token");
  const input = byId("token-text");
  byId("token-why").textContent = refused ? `That token was not accepted. ${message}` : "This server wants a token.";
  input.value = "";
  return new Promise((resolve) => {
    const form = byId("token-form");
    let given = null;
    const submitted = (event) => {
      event.preventDefault();
      if (!input.value.trim()) return input.focus();
      given = input.value.trim();
      dialog.close();
    };
    form.addEventListener("submit", submitted);
    dialog.addEventListener(
      "close",
      () => {
        form.removeEventListener("submit", submitted);
        input.value = "";
        resolve(given);
      },
      { once: true },
    );
    dialog.showModal();
    keepOnTop();
    input.focus();
  });
}
