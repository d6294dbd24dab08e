// The server's HTTP interface. Every failure is an ApiError whose message is for a person; a 401 asks for a token
// and tries again, so callers never see it.

import { tab } from "./storage.js";

const TOKEN = "token";

export class ApiError extends Error {
  constructor(message, { code = 0, reason = null, details = {}, retryAfter = null } = {}) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.retryAfter = retryAfter;
  }

  /** Would the same request have a chance later, or after a look at what is there now? */
  get again() {
    return this.isConflict || [0, 429, 500, 502, 503, 504, 507].includes(this.code);
  }

  /** Somebody else has changed the bot since it was read. */
  get isConflict() {
    return this.code === 409 && this.reason === "VersionConflict";
  }
}

let askForToken = async () => null;
let asking = null; // one prompt, however many requests wait for it

/** `ask(message)` gives a token, or null if the person will not give one. */
export function tokensFrom(ask) {
  askForToken = ask;
}

export function forgetToken() {
  tab.forget(TOKEN);
}

export function hasToken() {
  return tab.get(TOKEN) !== null;
}

export function botPath(bot, ...parts) {
  return ["/v1/bots", bot, ...parts].map((part, index) => (index ? encodeURIComponent(part) : part)).join("/");
}

/** The answer's JSON, null where there is none. */
export async function call(method, path, { query = {}, body, signal } = {}) {
  const response = await send(method, path, { query, body, signal });
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server's answer broke off.");
  }
}

export async function send(method, path, { query = {}, body, signal } = {}) {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  for (;;) {
    const token = tab.get(TOKEN);
    const response = await fetched(url, method, body, token, signal);
    if (response.ok) return response;
    const error = await failure(response);
    if (error.code !== 401) throw error;
    // Another request may have been given a good token while this one was away.
    if (tab.get(TOKEN) === token && !(await tokenGiven(error.message, token))) throw error;
  }
}

async function fetched(url, method, body, token, signal) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const isFile = body instanceof Blob;
  if (body !== undefined && !isFile) headers["Content-Type"] = "application/json";
  if (isFile) headers["Content-Type"] = "application/octet-stream";
  const sent = body === undefined || isFile ? body : JSON.stringify(body);
  try {
    return await fetch(url, { method, headers, body: sent, signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server cannot be reached.");
  }
}

async function failure(response) {
  let told = {};
  try {
    told = await response.json();
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const wait = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  return new ApiError(told.message || `The server answered ${response.status} ${response.statusText}`.trim(), {
    code: response.status,
    reason: told.reason ?? null,
    details: told.details ?? {},
    retryAfter: Number.isFinite(wait) ? wait : null,
  });
}

async function tokenGiven(message, refused) {
  asking ??= askForToken(message, refused !== null).finally(() => {
    asking = null;
  });
  const token = await asking;
  if (token) tab.set(TOKEN, token);
  return Boolean(token);
}
