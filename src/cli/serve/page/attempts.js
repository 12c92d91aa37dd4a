// The attempts in the directory of the open session, and the dialog that begins them and makes worktrees.

import * as api from "/page/api.js";
import { element, output, visible } from "/page/text.js";

const at = (id) => document.getElementById(id);
/** How often attempts at work are looked at, in milliseconds. */
const REFRESH = 2000;

export class Attempts {
  constructor(place, complain, say) {
    this.place = place;
    this.complain = complain;
    this.say = say;
    this.session = null;
    this.list = null;
    setInterval(() => document.hidden || !this.list?.running || this.load(this.session), REFRESH);
  }

  /** Forgets the session that was left. */
  clear() {
    this.session = null;
    this.list = null;
    this.place.hidden = true;
  }

  /** Shows the newest attempts of a session that is open on the server. */
  async load(session) {
    if (this.session !== session) this.clear();
    this.session = session;
    try {
      const list = await api.listAttempts(session);
      if (this.session !== session) return;
      if (this.list?.running && !list.running) this.say("the attempts have ended");
      if (JSON.stringify(list) === JSON.stringify(this.list)) return;
      this.list = list;
      this.draw();
    } catch (error) {
      this.complain(error);
    }
  }

  draw() {
    const { id, task, until, running, own, attempts } = this.list;
    this.place.hidden = !running && attempts.length === 0;
    const reached = attempts.filter((row) => row.reached).length;
    const state = running ? `at work, ${reached} succeeded` : `${reached} of ${attempts.length} succeeded`;
    this.place.querySelector("summary").textContent = `Attempts: ${state}`;
    this.place.querySelector("p").textContent = visible(`${task} · until ${until}`);
    this.place.querySelector("ul").replaceChildren(...attempts.map((row) => this.row(row)));
    const buttons = [
      attempts.length > 0 && this.button("Changes", "plain", () => this.changes(id)),
      running && own && this.button("Stop all", "danger", () => api.stopAttempts(this.session)),
      !running && attempts.length > 0 && this.twice("Remove all", () => api.dropAttempts(this.session, id)),
    ];
    this.place.querySelector(".row").replaceChildren(...buttons.filter(Boolean));
    if (running) this.place.querySelector("pre").hidden = true;
  }

  row(row) {
    const facts = [row.outcome, row.time, row.cost, row.changed, row.model].filter(Boolean).join(" · ");
    const take = !this.list.running && this.twice(`Take ${row.number}`, () => api.takeAttempt(this.session, this.list.id, row.number));
    return element("li", {}, element("b", {}, `${row.number} ${row.reached ? "✓" : row.is_running ? "●" : "×"} `), element("span", { class: "note" }, visible(facts)), element("span", { class: "row" }, take));
  }

  button(name, kind, act) {
    const work = async () => {
      try {
        const answer = await act();
        if (answer?.text) this.say(visible(answer.text));
        await this.load(this.session);
      } catch (error) {
        this.complain(error);
      }
    };
    return element("button", { type: "button", class: kind, onclick: work }, name);
  }

  /** A button that needs two presses, as files change. */
  twice(name, act) {
    let isAsked = false;
    const button = this.button(name, "plain", async () => {
      if (isAsked) return act();
      isAsked = true;
      button.textContent = `Yes, ${name.toLowerCase()}`;
      return null;
    });
    return button;
  }

  async changes(id) {
    const { files } = await api.attemptChanges(this.session, id);
    const hunk = (number, patch) => `${number}: ${patch.title}\n${patch.text}`;
    const text = files.map(({ path, patches }) => [path, ...patches.flatMap(({ attempt, hunks }) => hunks.map((patch) => hunk(attempt, patch)))].join("\n"));
    const shown = this.place.querySelector("pre");
    shown.hidden = false;
    shown.textContent = output(text.join("\n")) || "nothing was changed";
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
