// The page: which session is open, its events, and what the user does.

import { newDialog, Pictures, sessionDialog } from "/page/actions.js";
import * as api from "/page/api.js";
import { quietly, typed, waiting } from "/page/asks.js";
import { Board, listRow } from "/page/board.js";
import { Jobs } from "/page/jobs.js";
import { Attempts, workDialog } from "/page/attempts.js";
import { element, nameOf, noticeText, visible } from "/page/text.js";
import { Transcript } from "/page/transcript.js";

const at = (id) => document.getElementById(id);
const transcript = new Transcript(at("transcript"));

/** The open session; `null` before one is chosen. */
let open = null;
/** The sessions of the list, how many it shows, and whether there are more. */
let sessions = [];
let shown = 50;
let hasMore = false;
/** The sessions that are open, or have ended in the background. */
let live = [];
const known = (id) => [...live, ...sessions].find((session) => session.id === id);
/** What was typed in sessions that were left, by their ids: text and pictures. */
const drafts = new Map();
/** Cards by the id of what waits. */
const asks = new Map();

const say = (text) => { at("said").textContent = text; };

/** The error that is shown, wherever the user is, until an action or what has failed succeeds. */
let problem = null;

function complain(error) {
  if (error?.name === "AbortError") return;
  if (error?.status === 401) return login("The server does not accept this token.");
  problem = error;
  at("problem").textContent = error ? visible(error.message) : "";
}

api.onSuccess((request) => {
  if (problem && (!request.startsWith("GET ") || request === problem.request || problem.status === 0)) complain(null);
});

// --- Connecting

function login(text) {
  leave();
  at("app").hidden = true;
  at("login").hidden = false;
  at("login-error").textContent = text || "";
  at("token").focus();
}

async function enter() {
  try {
    await refresh();
  } catch (error) {
    return login(error.status === 401 ? "The server does not accept this token." : `${error.message}.`);
  }
  at("login").hidden = true;
  at("app").hidden = false;
  await route();
}

at("login-form").addEventListener("submit", (event) => {
  event.preventDefault();
  api.setToken(at("token").value);
  at("token").value = "";
  enter();
});

// --- Sessions

async function refresh() {
  const [page, { sessions: all }] = await Promise.all([api.listSessions(shown), api.listOpen()]);
  [sessions, hasMore, live] = [page.sessions, Boolean(page.next), all];
  drawList();
  drawBoard();
  const row = open && known(open.id);
  if (!row) return;
  const isSuspended = row.state === "suspended";
  if (isSuspended !== open.suspended) {
    open.suspended = isSuspended;
    state(open);
  }
  // What happened up to now was shown as it happened.
  if (open.follows || open.ended) open.modified = row.modified;
  open.ended = false;
  if (open.follows || open.loads || isSuspended) return;
  // Another client may have opened it, and its run may be over by now.
  if (row.live || row.modified !== open.modified) await load(open);
}

const board = new Board(at("board"), at("archived"), complain, () => look().catch(complain));
const jobs = new Jobs(at("jobs"), complain);
const attempts = new Attempts(at("attempts"), complain, remark);

/** Says something at the end of the conversation. */
function remark(text, failed) {
  const stick = atEnd();
  transcript.note(text, failed);
  if (stick) toEnd();
  say(text);
}

/** Draws the board as it is now. */
async function look() {
  live = (await api.listOpen()).sessions;
  drawBoard();
}

/** Draws the board, if no session is open. */
function drawBoard() {
  if (open) return;
  const count = board.draw(live);
  at("empty").hidden = live.length > 0;
  document.title = count ? `(${count}) waiting for you – tau` : "tau";
}

/** The sessions that were announced, because they wait while another one is open. */
let announced = new Set();

/** Says how many sessions wait, and which of the others has just begun to. */
function drawWaiting() {
  const others = live.filter((session) => session.waiting && !session.parent && session.id !== open?.id);
  at("menu").textContent = others.length ? `Sessions (${others.length})` : "Sessions";
  at("menu").setAttribute("aria-label", others.length ? `Sessions, ${others.length} waiting for you` : "Sessions");
  const count = others.length + (asks.size ? 1 : 0);
  if (open) document.title = `${count ? `(${count}) ` : ""}${at("title").textContent} – tau`;
  for (const session of others) {
    if (announced.has(session.id) || !open?.drawn) continue;
    remark(`another session waits for your answer: ${nameOf(session)}`);
  }
  announced = new Set(others.map((session) => session.id));
}

function drawList() {
  const rows = sessions.map((session) => listRow(session, session.id === open?.id));
  // The focus stays where it is.
  const focused = document.activeElement?.closest?.("#session-list a")?.getAttribute("href");
  at("session-list").replaceChildren(...rows);
  if (focused) at("session-list").querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  at("more-sessions").hidden = !hasMore;
  drawWaiting();
}

at("more-sessions").addEventListener("click", () => {
  shown += 50;
  refresh().catch(complain);
});

let looks = 0;
setInterval(() => {
  if (at("app").hidden) return;
  looks += 1;
  // The title of a hidden page says how many wait, a little later.
  if (document.visibilityState !== "visible" && looks % 8) return;
  if (looks % 2 === 0) refresh().catch(complain);
  else if (!open) look().catch(complain);
}, 2500);

function menu(isOpen) {
  at("app").classList.toggle("open", isOpen);
  at("menu").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) (at("session-list").querySelector("a[aria-current], a") || at("new")).focus();
}
at("menu").addEventListener("click", () => menu(!at("app").classList.contains("open")));
at("shade").addEventListener("click", () => menu(false));

// --- A session

function leave() {
  if (open) drafts.set(open.id, { text: at("prompt").value, pictures: pictures.take() });
  at("prompt").value = "";
  open?.leaving.abort();
  open = null;
  asks.clear();
  at("asks").replaceChildren();
  transcript.clear();
  jobs.show(null, []);
  attempts.clear();
  queue([], []);
  model();
  at("mode").value = "";
  at("earlier").hidden = true;
  at("place").textContent = "";
  at("state").textContent = "";
}

async function route() {
  const found = /^#\/s\/(.+)$/.exec(location.hash);
  menu(false);
  complain(null);
  if (!found) {
    leave();
    at("composer").hidden = true;
    at("actions").hidden = true;
    at("board").hidden = false;
    at("title").textContent = "All sessions";
    at("scroller").scrollTop = 0;
    at("all").setAttribute("aria-current", "page");
    drawList();
    drawBoard();
    return look().catch(complain);
  }
  await enterSession(decodeURIComponent(found[1]));
}
// A link with a token may be opened where the page is already.
window.addEventListener("hashchange", () => (api.takeToken() ? enter() : route()));

async function enterSession(id) {
  leave();
  const row = known(id);
  const session = { id, leaving: new AbortController(), follows: false, running: false, start: undefined, last: null, sent: new Set() };
  session.suspended = row?.state === "suspended";
  open = session;
  at("title").textContent = nameOf(row || {});
  at("empty").hidden = true;
  at("board").hidden = true;
  at("archived").hidden = true;
  at("all").removeAttribute("aria-current");
  at("composer").hidden = false;
  at("actions").hidden = false;
  const draft = drafts.get(id);
  at("prompt").value = draft?.text || "";
  pictures.put(draft?.pictures || []);
  grow();
  working(session, false);
  drawList();
  await load(session);
  if (matchMedia("(min-width: 721px)").matches && open === session) at("prompt").focus();
}

/** Shows the session and its last messages, and follows its events if it is open on the server. */
async function load(session) {
  session.loads = true;
  session.modified = known(session.id)?.modified;
  const begin = (isLive) => { if (isLive && !session.follows) follow(session); };
  await draw(session).then(begin).catch(complain);
  session.loads = false;
}

/** Draws the session as it is now; whether it is open on the server. Its events follow from now on, or `after` one. */
async function draw(session, after) {
  // In this order: what happens between the two comes with the events, too.
  let page = await api.readHistory(session.id);
  const detail = await api.showSession(session.id);
  // It was opened or has ended between the two.
  if (detail.live !== Boolean(page.lastEventId)) page = await api.readHistory(session.id);
  if (open !== session) return false;
  const [place, stick] = [at("scroller").scrollTop, !session.drawn || atEnd()];
  if (!session.drawn) at("problem").textContent = "";
  transcript.clear();
  page.messages.forEach((message) => transcript.add(message));
  transcript.title(page.titles);
  session.start = page.start;
  at("earlier").hidden = !page.left;
  session.last = after || page.replayFrom || page.lastEventId || null;
  show(session, detail);
  // What is typed at a question that still waits stays there.
  const ids = new Set([...(detail.approvals || []), ...(detail.questions || [])].map((record) => (record.request || record).id));
  [...asks.keys()].filter((id) => !ids.has(id)).forEach(withdraw);
  const last = page.messages.at(-1)?.role;
  if (page.stopped) remark(page.stopped);
  else if (!detail.running && (last === "user" || last === "toolResult")) remark("the run ended here without an answer; a message continues it");
  session.drawn = true;
  transcript.draw();
  if (stick) toEnd();
  else at("scroller").scrollTop = place;
  if (detail.live) jobs.load(session.id);
  if (detail.live) attempts.load(session.id);
  return detail.live;
}

function show(session, detail) {
  at("title").textContent = nameOf({ ...known(session.id), ...(detail.name ? { name: detail.name } : {}) });
  at("place").textContent = visible(detail.cwd);
  at("mode").value = detail.permissionMode || "auto";
  model(detail.model);
  (detail.approvals || []).forEach((request) => ask(session, request.request || request, "approval"));
  (detail.questions || []).forEach((record) => ask(session, record, "question"));
  queue(detail.queue?.steering || [], detail.queue?.followUp || []);
  working(session, detail.running);
  drawWaiting();
}

/** Follows the events until the session is left or closed; after a fault it tries again. */
async function follow(session) {
  const { signal } = session.leaving;
  session.follows = true;
  let pause = 500;
  let missed = false;
  let branch = null;
  while (!signal.aborted && session.follows) {
    try {
      const after = branch;
      branch = null;
      // What was missed is in the messages.
      if (missed && !(await draw(session, after))) break;
      missed = false;
      await api.events(session.id, session.last, signal, () => { pause = 500; state(session); }, (record, id) => {
        if (id) session.last = id;
        if (record.type === "gap") throw new Error("events were missed");
        // The messages of another branch are in the history, too.
        if (record.type === "session_opened") {
          branch = id;
          throw new Error("another branch was opened");
        }
        take(session, record);
      });
    } catch (error) {
      if (error.status === 401 || error.status === 404) complain(error);
      if (signal.aborted || error.status === 401 || error.status === 404) break;
    }
    if (signal.aborted || !session.follows) break;
    missed = true;
    if (branch) continue;
    at("state").textContent = "reconnecting…";
    await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(pause * 2, 10000);
  }
  session.follows = false;
}

function take(session, record) {
  if (open !== session) return;
  const stick = atEnd();
  switch (record.type) {
    case "agent_start": working(session, true); break;
    case "agent_settled":
      working(session, false);
      say(record.aborted ? "tau was stopped" : "tau is done");
      refresh().then(() => retitle(session)).catch(complain);
      break;
    case "message_start": transcript.begin(record.message); break;
    case "message_update": transcript.open?.update(record.assistantMessageEvent); break;
    case "message_end": transcript.add(record.message); break;
    case "tool_execution_start": {
      const panel = transcript.panel(record.toolCallId, record.toolName);
      panel.args(record.args);
      panel.ended = false;
      panel.state(waits(record.toolCallId) ? WAITS : "running…");
      break;
    }
    case "tool_execution_update": transcript.panel(record.toolCallId, record.toolName).result(record.partialResult, null, 0); break;
    case "tool_execution_end": transcript.panel(record.toolCallId, record.toolName).result(record.result, record.isError, record.durationMs || 0); break;
    case "bash_start": transcript.beginCommand(record.id, record.command); break;
    case "bash_execution_update": transcript.addOutput(record.id, record.delta); break;
    case "bash_end": transcript.endCommand(record.id, record.message); break;
    case "jobs_changed": jobs.show(session.id, record.jobs); break;
    case "queue_update": queue(record.steering, record.followUp); break;
    case "approval_requested": ask(session, record.request, "approval"); break;
    case "extension_ui_request": ask(session, record, "question"); break;
    case "approval_ended":
    case "extension_ui_withdrawn": withdraw(record.id); break;
    case "auto_retry_start": transcript.note(`${record.errorMessage}; trying again in ${Math.ceil(record.delayMs / 1000)} s (${record.attempt} of ${record.maxAttempts})`); break;
    case "auto_retry_end": if (!record.success && record.finalError) transcript.note(record.finalError, true); break;
    case "compaction_start": transcript.note("summarizing the earlier conversation…"); break;
    case "compaction_end": if (record.errorMessage) transcript.note(record.errorMessage, true); break;
    case "permission_mode_changed": at("mode").value = record.mode; break;
    case "session_info_changed": if (record.name) at("title").textContent = visible(record.name); break;
    case "notice": transcript.note(noticeText(session.id, record), record.level === "error"); break;
    case "run_stopped": transcript.note("a limit ended the run"); break;
    // A notice says why. What others have sent is theirs.
    case "prompt_refused":
      if (session.sent.delete(record.text) && at("prompt").value !== record.text) giveBack([record.text]);
      break;
    case "model_changed": model(record.model); break;
    case "tool_title": transcript.panel(record.toolCallId, "").title(record.title); break;
    case "session_closed":
      session.follows = false;
      working(session, false);
      session.ended = true;
      transcript.note("the session was closed; a prompt opens it again");
      setTimeout(() => refresh().catch(complain), 500);
      break;
    default:
  }
  if (stick) toEnd();
}

function model(named) {
  const text = typeof named === "string" ? named : named ? `${named.provider}/${named.id}` : "";
  at("model").textContent = visible(text);
  at("model").title = at("model").textContent;
}

function retitle(session) {
  const row = session && known(session.id);
  if (row && open === session) at("title").textContent = nameOf(row);
}

function state(session) {
  at("state").textContent = session.suspended ? "suspended" : asks.size ? "waits for you" : session.running ? "working…" : "";
  drawWaiting();
}

function working(session, running) {
  session.running = running;
  at("stop").hidden = !running;
  at("send").textContent = running ? "Steer" : "Send";
  state(session);
}

function queue(steering, followUp) {
  at("queue").replaceChildren(...[...steering, ...followUp].map((text) => element("li", {}, `queued: ${visible(text)}`)));
}

// --- What waits for the user

const hush = quietly(at("asks"));
const WAITS = "waits for you";
/** Whether a call waits for its approval. It may have been asked about before it begins. */
const waits = (call) => [...asks.values()].some((card) => card.dataset.call === call);

function ask(session, record, kind) {
  if (kind === "approval") transcript.panel(record.toolCallId, record.toolName).state(WAITS);
  if (asks.has(record.id)) return;
  const card = waiting(session.id, record, kind, () => withdraw(record.id), complain);
  asks.set(record.id, card);
  if (kind === "approval") card.dataset.call = record.toolCallId;
  at("asks").append(card);
  hush();
  state(session);
  say(`tau waits for you: ${card.querySelector("h2").textContent}`);
}

function withdraw(id) {
  const card = asks.get(id);
  if (!card) return;
  const hadFocus = card.contains(document.activeElement);
  const kept = typed(card);
  card.remove();
  asks.delete(id);
  if (kept) {
    giveBack([kept]);
    held = performance.now() + HELD;
    remark("the question was answered elsewhere or withdrawn; what you typed for it is in the message box");
  }
  if (card.dataset.call) transcript.panel(card.dataset.call, "").state("running…");
  hush();
  if (open) state(open);
  if (hadFocus) (at("asks").querySelector("button") || at("prompt")).focus();
}

// --- Scrolling

const atEnd = () => at("scroller").scrollHeight - at("scroller").scrollTop - at("scroller").clientHeight < 80;
let stuck = true;
/** Shows the end of the conversation. The board is read from its top. */
function toEnd() {
  if (!open) return;
  stuck = true;
  at("scroller").scrollTop = at("scroller").scrollHeight;
}
at("scroller").addEventListener("scroll", () => {
  stuck = !open || atEnd();
  at("down").hidden = stuck;
});
at("transcript").addEventListener("drawn", () => { if (stuck) toEnd(); });
at("down").addEventListener("click", toEnd);
new ResizeObserver(() => {
  if (stuck) toEnd();
}).observe(at("scroller"));

at("earlier").addEventListener("click", async () => {
  const session = open;
  try {
    const page = await api.readHistory(session.id, session.start);
    if (open !== session) return;
    const below = at("scroller").scrollHeight - at("scroller").scrollTop;
    transcript.prepend(page.messages);
    transcript.title(page.titles);
    transcript.draw();
    session.start = page.start;
    at("earlier").hidden = !page.left;
    at("scroller").scrollTop = at("scroller").scrollHeight - below;
  } catch (error) {
    complain(error);
  }
});

// --- The prompt

function grow() {
  at("prompt").style.height = "auto";
  at("prompt").style.height = `${at("prompt").scrollHeight + 2}px`;
}
at("prompt").addEventListener("input", grow);

/** Puts texts behind what is typed. */
function giveBack(texts) {
  at("prompt").value = [at("prompt").value, ...texts].filter(Boolean).join("\n");
  grow();
}
/** How long an Enter that was meant for a question sends nothing, and until when. */
const HELD = 1000;
let held = 0;

const pictures = new Pictures(complain);

at("composer").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = at("prompt").value;
  const session = open;
  if (!(text.trim() || pictures.blocks.length) || !session || at("send").disabled) return;
  at("send").disabled = true;
  const taken = pictures.take();
  try {
    if (!session.follows) {
      // This opens it on the server.
      await api.changeSession(session.id, {});
      await load(session);
    }
    session.sent.add(text);
    await api.prompt(session.id, text, taken.map((entry) => entry.block));
    // What was refused or typed meanwhile stays.
    const draft = drafts.get(session.id);
    if (open?.id !== session.id) draft.text = draft.text === text ? "" : draft.text;
    else if (session.sent.has(text) && at("prompt").value === text) at("prompt").value = "";
    grow();
    toEnd();
    refresh().then(() => retitle(session)).catch(complain);
  } catch (error) {
    if (open?.id === session.id) pictures.put(taken);
    else drafts.get(session.id).pictures.unshift(...taken);
    complain(error);
  }
  at("send").disabled = false;
});

async function stop() {
  if (!open?.running) return;
  at("state").textContent = "stopping…";
  await api.abort(open.id).catch(complain);
}
at("stop").addEventListener("click", stop);

document.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.target === at("prompt") && event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    if (performance.now() > held) at("composer").requestSubmit();
  } else if (event.key === "Escape" && at("app").classList.contains("open")) {
    menu(false);
    at("menu").focus();
  } else if (event.key === "Escape" && event.target.matches?.(".ask :is(input, select, textarea)")) {
    event.target.blur();
  } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    stop();
  }
});

at("mode").addEventListener("change", async () => {
  const session = open;
  try {
    await api.changeSession(session.id, { permissionMode: at("mode").value });
    if (!session.follows) await load(session);
  } catch (error) {
    complain(error);
    // The mode is what it was.
    const detail = await api.showSession(session.id).catch(() => ({}));
    if (open === session && detail.permissionMode) at("mode").value = detail.permissionMode;
  }
});

newDialog(async (id) => {
  await refresh().catch(complain);
  location.hash = `#/s/${encodeURIComponent(id)}`;
});

sessionDialog(
  () => ({ id: open.id, name: known(open.id)?.name || "" }),
  (id, name) => {
    if (open?.id === id) at("title").textContent = visible(name);
    say("The session was renamed");
    refresh().catch(complain);
  },
  () => {
    location.hash = "";
    say("The session was deleted");
    refresh().catch(complain);
  },
);

if (api.findToken()) enter();
else login();

workDialog(
  () => open.id,
  (id) => {
    say("Attempts started");
    attempts.begin(id);
  },
  (id) => {
    location.hash = `#/s/${encodeURIComponent(id)}`;
    refresh().catch(complain);
  },
);
