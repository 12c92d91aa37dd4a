// Requests to the server. The token stays in this tab; it is never part of an address.

let token = "";

export class Problem extends Error {
  /** `request` is what failed: its method and its path. */
  constructor(status, text, request) {
    super(text);
    this.status = status;
    this.request = request;
  }
}

/** What is called with each request that succeeds. */
let succeeded = () => {};
export const onSuccess = (call) => { succeeded = call; };

const IN_LINK = /#token=([^&]+)/;

/** Takes the token out of the address (`/#token=…`), which no longer has it then; whether it had one. */
export function takeToken() {
  const isThere = IN_LINK.test(location.hash);
  if (isThere) {
    const { hash } = location;
    history.replaceState(null, "", location.pathname);
    setToken(hash);
  }
  return isThere;
}

/** Takes the token of the address or of this tab; whether there is one. */
export function findToken() {
  if (!takeToken()) token = sessionStorage.getItem("tau-token") || "";
  return token !== "";
}

/** Keeps the token in this tab. The link that has it will do, too. */
export function setToken(text) {
  const given = IN_LINK.exec(text);
  token = (given ? decoded(given[1]) : text).trim();
  sessionStorage.setItem("tau-token", token);
}

/** Without its percent signs, unless they are its own. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function send(method, path, { body, headers = {}, signal } = {}) {
  const request = `${method} ${path}`;
  const all = { authorization: `Bearer ${token}`, ...headers };
  if (body !== undefined) all["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers: all, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "the server cannot be reached", request);
  }
  if (response.ok) {
    succeeded(request);
    return response;
  }
  const problem = await response.json().catch(() => ({}));
  // What is for programs means nothing to a user.
  const detail = problem.detail?.replace("GET /api/sessions lists them", "it may have been deleted");
  throw new Problem(response.status, detail || problem.title || `the server answered with status ${response.status}`, request);
}

async function json(method, path, body) {
  const response = await send(method, path, { body });
  return response.status === 204 || response.status === 202 ? null : response.json();
}

const of = (id) => `/api/sessions/${encodeURIComponent(id)}`;

/** The newest sessions, as many as that; `next` if there are more. */
export async function listSessions(count) {
  const found = { sessions: [] };
  do {
    const after = found.next ? `&after=${encodeURIComponent(found.next)}` : "";
    const page = await json("GET", `/api/sessions?limit=${Math.min(count - found.sessions.length, 1000)}${after}`);
    found.sessions.push(...page.sessions);
    found.next = page.next;
  } while (found.next && found.sessions.length < count);
  return found;
}
export const listOpen = () => json("GET", "/api/sessions?open=true&limit=1000");
export const listModels = () => json("GET", "/api/models");
export const createSession = (options) => json("POST", "/api/sessions", options);
export const showSession = (id) => json("GET", of(id));
export const changeSession = (id, change) => json("PATCH", of(id), change);
export const readHistory = (id, before) => json("GET", `${of(id)}/history${before === undefined ? "" : `?before=${before}`}`);
export const prompt = (id, text, images) => json("POST", `${of(id)}/prompt`, { prompt: text, images, detach: true, streaming: "steer" });
export const deleteSession = (id) => json("DELETE", of(id));
export const exportSession = async (id, format) => (await send("GET", `${of(id)}/export?format=${format}`)).blob();
export const archive = (id, archived) => json("POST", `${of(id)}/archive`, { archived });
export const abort = (id) => json("POST", `${of(id)}/abort`);
export const decide = (id, approval, decision) => json("POST", `${of(id)}/approvals/${encodeURIComponent(approval)}`, decision);
export const answer = (id, question, value) => json("POST", `${of(id)}/questions/${encodeURIComponent(question)}`, value);

export const listJobs = (id) => json("GET", `${of(id)}/jobs`);
export const readJob = (id, job) => json("GET", `${of(id)}/jobs/${job}`);
export const stopJob = (id, job) => json("POST", `${of(id)}/jobs/${job}/stop`);

export const listAttempts = (id) => json("GET", `${of(id)}/attempts`);
export const beginAttempts = (id, order) => json("POST", `${of(id)}/attempts`, order);
export const stopAttempts = (id) => json("POST", `${of(id)}/attempts/stop`);
export const attemptChanges = (id, attempts) => json("GET", `${of(id)}/attempts/${encodeURIComponent(attempts)}/changes`);
export const takeAttempt = (id, attempts, attempt) => json("POST", `${of(id)}/attempts/${encodeURIComponent(attempts)}/take`, { attempt });
export const dropAttempts = (id, attempts) => json("POST", `${of(id)}/attempts/${encodeURIComponent(attempts)}/drop`);
export const enterWorktree = (id, name) => json("POST", `${of(id)}/worktree`, { name });

/** Reads the events of a session; ends with the stream. `take` gets each record and its id. */
export async function events(id, after, signal, opened, take) {
  const headers = after ? { "last-event-id": after } : {};
  const response = await send("GET", `${of(id)}/events`, { headers, signal });
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      const frames = rest.split(/\r?\n\r?\n/);
      rest = frames.pop();
      for (const frame of frames) {
        let id, data = "";
        for (const line of frame.split(/\r?\n/)) {
          if (line.startsWith("id:")) id = line.slice(3).trim();
          if (line.startsWith("data:")) data += line.slice(5);
        }
        if (data) take(JSON.parse(data), id);
      }
    }
  } finally {
    // A browser has few connections to a server.
    reader.cancel().catch(() => {});
  }
}
