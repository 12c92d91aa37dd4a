// The attempts in the directory of the open session, and the dialog that begins them and makes worktrees.

import * as api from "/page/api.js";
import { element, output, visible } from "/page/text.js";

const at = (id) => document.getElementById(id);
/** How often attempts at work are looked at, in milliseconds. */
const REFRESH = 2000;

export class Attempts {
  /** `say` shows a line in the conversation; its second argument tells whether it is about a failure. */
  constructor(place, complain, say) {
    this.place = place;
    this.buttons = place.querySelector(":scope > .row");
    this.patches = place.querySelector(":scope > pre");
    this.complain = complain;
    this.say = say;
    this.session = null;
    this.list = null;
    this.begun = false;
    setInterval(() => document.hidden || !this.list?.running || this.load(this.session), REFRESH);
  }

  /** Forgets the session that was left. */
  clear() {
    this.session = null;
    this.list = null;
    this.begun = false;
    this.place.hidden = true;
    this.patches.hidden = true;
  }

  /** Shows attempts that were begun here, and their end. */
  begin(session) {
    if (this.session !== session) this.clear();
    this.begun = true;
    return this.load(session);
  }

  /** Shows the newest attempts of a session that is open on the server. */
  async load(session) {
    if (this.session !== session) this.clear();
    this.session = session;
    try {
      const list = await api.listAttempts(session);
      if (this.session !== session) return;
      const ended = (this.begun || this.list?.running) && !list.running;
      const changed = JSON.stringify(list) !== JSON.stringify(this.list);
      if (list.running || list.id !== this.list?.id) this.patches.hidden = true;
      this.list = list;
      if (changed) this.draw();
      if (!ended) return;
      this.begun = false;
      this.say(list.failed || `Attempts: ${list.ended || "they have ended"}`, Boolean(list.failed));
    } catch (error) {
      if (this.session !== session) return;
      // A session that was closed has none to follow.
      if (error.status === 409) this.clear();
      else this.complain(error);
    }
  }

  draw() {
    const { id, task, until, running, own, attempts } = this.list;
    const focused = this.place.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.place.hidden = !running && attempts.length === 0;
    const reached = attempts.filter((row) => row.reached).length;
    const state = running ? `at work, ${reached} succeeded` : `${reached} of ${attempts.length} succeeded`;
    this.place.querySelector("summary").textContent = `Attempts: ${state}`;
    this.place.querySelector(":scope > p").textContent = task ? visible(`${task} · until ${until}`) : "";
    this.place.querySelector("ul").replaceChildren(...attempts.map((row) => this.row(row)));
    const buttons = [
      attempts.length > 0 && this.button("Changes", "plain", () => this.changes(id)),
      running && own && this.button("Stop all", "danger", () => api.stopAttempts(this.session)),
      !running && attempts.length > 0 && this.twice("Remove all", () => api.dropAttempts(this.session, id)),
    ];
    this.buttons.replaceChildren(...buttons.filter(Boolean));
    // The focus stays where it is.
    if (focused) [...this.place.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
  }

  row(row) {
    const facts = [row.outcome, row.time, row.cost, row.changed, row.model].filter(Boolean).join(" · ");
    const take = !this.list.running && this.twice(`Take ${row.number}`, () => api.takeAttempt(this.session, this.list.id, row.number));
    const mark = row.reached ? "✓" : row.is_running ? "●" : "×";
    const name = element("span", {}, element("b", {}, `${row.number} ${mark} `), element("span", { class: "note" }, visible(facts)));
    return element("li", {}, name, take && element("span", { class: "row" }, take));
  }

  button(name, kind, act) {
    const button = element("button", { type: "button", class: kind }, name);
    button.addEventListener("click", async () => {
      if (button.disabled) return;
      button.disabled = true;
      try {
        const answer = await act(button);
        if (answer?.text) this.say(visible(answer.text), false);
        if (answer) await this.load(this.session);
      } catch (error) {
        this.complain(error);
      }
      button.disabled = false;
    });
    return button;
  }

  /** A button that needs two presses, as files change. */
  twice(name, act) {
    let isAsked = false;
    return this.button(name, "plain", (button) => {
      if (isAsked) return act();
      isAsked = true;
      button.textContent = `Yes, ${name.toLowerCase()}`;
      return null;
    });
  }

  async changes(id) {
    if (!this.patches.hidden) {
      this.patches.hidden = true;
      return null;
    }
    const { files } = await api.attemptChanges(this.session, id);
    const hunk = (number, patch) => `${number}: ${patch.title}\n${patch.text}`;
    const text = files.map(({ path, patches }) => [path, ...patches.flatMap(({ attempt, hunks }) => hunks.map((patch) => hunk(attempt, patch)))].join("\n"));
    this.patches.hidden = false;
    this.patches.textContent = output(text.join("\n")) || "nothing was changed";
    this.patches.scrollIntoView({ block: "nearest" });
    return null;
  }
}

/** The dialog that begins attempts, or a worktree. `current` gives the session's id; `moved` is called with the id of a copy. */
export function workDialog(current, begun, moved) {
  const dialog = at("work-dialog");
  const problem = at("work-error");
  const work = async (button, doIt) => {
    problem.textContent = "";
    button.disabled = true;
    try {
      await doIt();
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
    }
    button.disabled = false;
  };
  at("work").addEventListener("click", () => {
    at("actions-dialog").close();
    problem.textContent = "";
    dialog.showModal();
  });
  at("work-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const id = current();
    work(at("begin-attempts"), async () => {
      await api.beginAttempts(id, { count: Number(at("count").value), until: at("until").value, task: at("task").value });
      begun(id);
    });
  });
  at("enter-worktree").addEventListener("click", () => {
    const id = current();
    work(at("enter-worktree"), async () => {
      const name = at("worktree").value.trim();
      if (!name) throw new Error("Enter a name.");
      const { session } = await api.enterWorktree(id, name);
      moved(session.id);
    });
  });
  at("work-close").addEventListener("click", () => dialog.close());
}
