// The background jobs of the open session.

import * as api from "/page/api.js";
import { element, output, visible } from "/page/text.js";

/** How often the output of a running job is read again, in milliseconds. */
const REFRESH = 1000;

/** How long a job runs, or ran. */
function lasted(job) {
  const seconds = Math.max(0, Math.round(((job.ended || Date.now()) - job.started) / 1000));
  return seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

export class Jobs {
  constructor(place, complain) {
    this.place = place;
    this.complain = complain;
    this.list = place.querySelector("ul");
    /** The output that is shown, by the number of its job. */
    this.outputs = new Map();
    /** How to read the shown outputs of running jobs again. */
    this.reads = new Map();
    this.session = null;
    setInterval(() => document.hidden || this.reads.forEach((read) => read()), REFRESH);
  }

  /** Shows the jobs of a session; `null` for none. */
  show(session, jobs) {
    if (this.session !== session) this.outputs.clear();
    this.session = session;
    this.reads.clear();
    const running = jobs.filter((job) => job.state === "running").length;
    this.place.hidden = jobs.length === 0;
    this.place.querySelector("summary").textContent = `Background jobs: ${running} running, ${jobs.length - running} ended`;
    this.list.replaceChildren(...[...jobs].reverse().map((job) => this.row(session, job)));
  }

  async load(session) {
    try {
      const { jobs } = await api.listJobs(session);
      this.show(session, jobs);
    } catch (error) {
      this.complain(error);
    }
  }

  row(session, job) {
    const runs = job.state === "running";
    const text = element("pre", { hidden: !this.outputs.has(job.id), tabindex: 0, "aria-label": `Output of job ${job.id}` }, this.outputs.get(job.id) || "");
    const read = async () => {
      try {
        const { text: all } = await api.readJob(session, job.id);
        if (this.session !== session) return;
        this.outputs.set(job.id, output(all) || "(no output yet)");
        text.textContent = this.outputs.get(job.id);
        text.hidden = false;
        if (runs) this.reads.set(job.id, read);
      } catch (error) {
        this.reads.delete(job.id);
        this.complain(error);
      }
    };
    const stop = async () => {
      try {
        await api.stopJob(session, job.id);
      } catch (error) {
        this.complain(error);
      }
    };
    // What came since it was read, also at the end.
    if (this.outputs.has(job.id)) read();
    const facts = `${runs ? "running" : visible(job.outcome || job.state)} · ${lasted(job)}${job.lastLine ? ` · ${visible(job.lastLine)}` : ""}`;
    return element("li", {}, element("code", {}, visible(job.command)), element("span", { class: "note" }, facts), element("span", { class: "row" }, element("button", { type: "button", class: "plain", onclick: read }, "Output"), runs && element("button", { type: "button", class: "danger", onclick: stop }, "Stop")), text);
  }
}
