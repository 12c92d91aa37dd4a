// The board: all sessions that are open, or have ended in the background, and what waits in them.

import * as api from "/page/api.js";
import { quietly, typed, waiting } from "/page/asks.js";
import { ago, element, nameOf, visible } from "/page/text.js";

const ORDER = ["waiting", "running", "suspended", "failed", "done", "idle"];
const NAMES = { waiting: "waits for you", running: "running", suspended: "suspended", failed: "failed", done: "done", idle: "idle" };

/** By state; helpers are below their parents. */
function sorted(sessions) {
  const rank = (session) => ORDER.indexOf(session.state);
  const ids = new Set(sessions.map((session) => session.id));
  const inner = (session) => ids.has(session.parent) && session.parent !== session.id;
  const below = (id) => sessions.filter((session) => inner(session) && session.parent === id).flatMap((session) => [session, ...below(session.id)]);
  const tops = sessions.filter((session) => !inner(session)).sort((one, other) => rank(one) - rank(other));
  return tops.flatMap((session) => [session, ...below(session.id)]);
}

/** A session in the list beside the conversation. */
export function listRow(session, isOpen) {
  const state = session.waiting ? element("b", { class: "waits" }, "waits for you · ") : session.running || session.state === "suspended" ? element("b", {}, `${session.state} · `) : null;
  const when = session.modified || session.created;
  const facts = element("span", { class: "facts" }, state, when ? `${ago(when)} · ` : "", visible(session.cwd));
  const current = isOpen ? "page" : null;
  return element("li", {}, element("a", { href: `#/s/${encodeURIComponent(session.id)}`, "aria-current": current }, element("span", { class: "name" }, nameOf(session)), facts));
}

/** A session: rows that are there stay, with the focus and with what is typed. */
class Row {
  constructor(id, board) {
    this.id = id;
    this.board = board;
    this.cards = new Map();
    this.name = element("a", { href: `#/s/${encodeURIComponent(id)}` });
    this.state = element("b");
    this.facts = element("span");
    this.last = element("p", { class: "last" });
    this.asks = element("div", { class: "waiting" });
    this.text = element("input", { autocomplete: "off", placeholder: "Message", "aria-label": "Message to this session" });
    this.stop = element("button", { type: "button", class: "danger", onclick: () => this.work(() => api.abort(id)) }, "Stop");
    this.away = element("button", { type: "button", class: "plain", onclick: () => this.work(() => api.archive(id, !this.archived)) });
    const send = (event) => {
      event.preventDefault();
      const text = this.text.value.trim();
      if (text) this.work(async () => {
        await api.prompt(id, text, []);
        this.text.value = "";
      });
    };
    const form = element("form", { class: "row", onsubmit: send }, this.text, element("button", {}, "Send"), this.stop, this.away);
    this.node = element("article", { class: "session" }, element("h2", {}, this.name), element("p", { class: "facts" }, this.state, this.facts), this.last, this.asks, form);
  }

  /** Does one thing at a time: a second press, before the first has an answer, does nothing. */
  async work(doIt) {
    if (this.works) return;
    this.works = true;
    try {
      await doIt();
      this.board.changed();
    } catch (error) {
      this.board.complain(error);
    }
    this.works = false;
  }

  update(session) {
    this.name.textContent = nameOf(session);
    this.state.textContent = NAMES[session.state] || session.state;
    this.state.className = session.state;
    const cost = session.cost > 0 ? `${session.estimated ? "~" : ""}$${session.cost.toFixed(2)}` : "";
    const when = session.modified || session.created;
    const facts = [session.model, cost, session.cwd, when && ago(when)].filter(Boolean);
    this.facts.textContent = visible(` · ${facts.join(" · ")}`);
    this.last.textContent = visible(session.lastLine);
    this.stop.hidden = !session.running;
    this.archived = session.archived;
    this.away.hidden = session.live;
    this.away.textContent = session.archived ? "Bring back" : "Archive";
    this.node.classList.toggle("helper", Boolean(session.parent));
    if (session.waiting > 0) this.load();
    else [...this.cards.keys()].forEach((id) => this.withdraw(id));
  }

  /** Shows what waits now. */
  async load() {
    let detail;
    try {
      detail = await api.showSession(this.id);
    } catch (error) {
      // It may have gone meanwhile.
      return error.status === 404 ? undefined : this.board.complain(error);
    }
    const asked = [...detail.approvals.map((request) => [request, "approval"]), ...detail.questions.map((record) => [record, "question"])];
    const ids = new Set(asked.map(([record]) => record.id));
    [...this.cards.keys()].filter((id) => !ids.has(id)).forEach((id) => this.withdraw(id));
    for (const [record, kind] of asked) {
      if (this.cards.has(record.id)) continue;
      const gone = () => {
        this.withdraw(record.id);
        this.board.changed();
      };
      const card = waiting(this.id, record, kind, gone, this.board.complain);
      this.cards.set(record.id, card);
      this.asks.append(card);
      this.board.hush();
    }
  }

  withdraw(id) {
    const card = this.cards.get(id);
    if (!card) return;
    const hadFocus = card.contains(document.activeElement);
    // Somebody else has answered: what was typed here may still be sent as a message.
    this.text.value = [this.text.value, typed(card)].filter(Boolean).join(" ");
    card.remove();
    this.cards.delete(id);
    this.board.hush();
    if (hadFocus) this.name.focus();
  }
}

export class Board {
  /** `changed` is called after an action; the board is to be drawn again soon then. */
  constructor(place, other, complain, changed) {
    Object.assign(this, { place, other, complain, changed, rows: new Map(), hush: quietly(place), showsArchive: false });
    other.addEventListener("click", () => {
      this.showsArchive = !this.showsArchive;
      changed();
    });
  }

  /** Draws the sessions, or those that were put away; the number of those that wait. */
  draw(sessions) {
    const count = sessions.filter((session) => session.archived).length;
    if (!count) this.showsArchive = false;
    this.other.hidden = !count;
    this.other.setAttribute("aria-pressed", String(this.showsArchive));
    this.other.textContent = this.showsArchive ? "Back to the sessions" : `${count} archived`;
    const shown = sorted(sessions.filter((session) => session.archived === this.showsArchive));
    const gone = new Set(this.rows.keys());
    const focused = document.activeElement;
    let moved = false;
    shown.forEach((session, at) => {
      gone.delete(session.id);
      if (!this.rows.has(session.id)) this.rows.set(session.id, new Row(session.id, this));
      const row = this.rows.get(session.id);
      row.update(session);
      if (this.place.children[at] !== row.node) {
        this.place.insertBefore(row.node, this.place.children[at] || null);
        moved = true;
      }
    });
    gone.forEach((id) => {
      this.rows.get(id).node.remove();
      this.rows.delete(id);
      moved = true;
    });
    // What was below the pointer is another one now.
    if (moved) this.hush();
    if (moved && focused !== document.activeElement && this.place.contains(focused)) focused.focus();
    return sessions.filter((session) => session.state === "waiting" && !session.parent).length;
  }
}
