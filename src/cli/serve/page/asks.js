// What waits for the user: calls that need approval, and questions.

import * as api from "/page/api.js";
import { diff } from "/page/transcript.js";
import { asked, element } from "/page/text.js";

/** A card: the body scrolls, the foot with the buttons is always seen. With `onsubmit` it is a form. */
function card(title, body, foot, onsubmit) {
  const id = `ask-${Math.random().toString(36).slice(2)}`;
  const inner = [element("div", { class: "body", tabindex: 0 }, body), element("div", { class: "foot" }, foot)];
  const parts = onsubmit ? element("form", { class: "parts", onsubmit }, inner) : element("div", { class: "parts" }, inner);
  return element("section", { class: "ask", role: "group", "aria-labelledby": id }, element("h2", { id }, title), parts);
}

const row = (...children) => element("div", { class: "row" }, children);

/** A field whose Enter key does `send`. */
const line = (field, send) => element("form", { class: "line", onsubmit: (event) => {
  event.preventDefault();
  send();
} }, field);

const ends = new WeakSet();

/** Whether the end of a part of a card's body is on the screen, or was. */
function reachedEnd(part) {
  const body = part.closest(".body");
  const isWhole = part.scrollTop + part.clientHeight >= part.scrollHeight - 4;
  if (body && isWhole && part.getBoundingClientRect().bottom <= body.getBoundingClientRect().bottom + 4) ends.add(part);
  return ends.has(part);
}

/** How long nothing is decided after a question has appeared, or another one has moved below the pointer. */
const QUIET = 400;

/**
 * What was meant for another place must decide nothing: each press that comes too early puts off the next. Returns what
 * to call when a question comes or goes in `place`.
 */
export function quietly(place) {
  let quiet;
  const hush = () => {
    clearTimeout(quiet);
    place.classList.add("early");
    quiet = setTimeout(() => place.classList.remove("early"), QUIET);
  };
  for (const kind of ["click", "submit"]) {
    place.addEventListener(kind, (event) => {
      if (!place.classList.contains("early") || !event.target.closest(".ask")) return;
      if (kind === "click" && !event.target.closest("button, a, input[type=checkbox], label")) return;
      event.preventDefault();
      event.stopPropagation();
      hush();
    }, true);
  }
  return hush;
}

/** The card of what waits in a session. `gone` is called once it is answered, here or elsewhere. */
export function waiting(session, record, kind, gone, complain) {
  const send = async (value) => {
    card.querySelectorAll("button").forEach((button) => { button.disabled = true; });
    card.dataset.sent = "";
    try {
      await (kind === "approval" ? api.decide : api.answer)(session, record.id, value);
      gone();
    } catch (error) {
      delete card.dataset.sent;
      if (error.status === 404) return gone();
      card.querySelectorAll("button").forEach((button) => { button.disabled = false; });
      complain(error);
    }
  };
  const card = kind === "approval" ? approval(record, send) : question(record, send);
  return card;
}

/** What was typed into a card, and not sent. */
export function typed(card) {
  if ("sent" in card.dataset) return "";
  const fields = [...card.querySelectorAll("textarea, input:not([type]), input[type=text]")];
  return fields.filter((field) => field.value !== field.defaultValue).map((field) => field.value.trim()).filter(Boolean).join("\n");
}

/** The card of a call; `decide` sends a decision. */
function approval(request, decide) {
  const boxes = [];
  const chosen = () => {
    const hunks = boxes.flatMap((box, at) => (box.checked ? [at] : []));
    return hunks.length === boxes.length ? {} : { hunks };
  };
  const texts = request.reasons.map((reason) => {
    const from = reason.rule ? ` (rule ${reason.rule})` : reason.path ? ` (${reason.path})` : "";
    return reason.text + from;
  });
  // Several parts of a command may have one reason.
  const reasons = element("ul", {}, [...new Set(texts)].map((text) => element("li", {}, asked(text))));
  const preview = request.preview;
  let shown = null;
  let edit = null;
  let editor = null;
  if (preview.kind === "arguments") shown = element("pre", {}, asked(JSON.stringify(preview.arguments, null, 2)));
  if (preview.kind === "command") {
    // A carriage return at the end of a line is part of a shell's word, too.
    shown = element("pre", {}, asked(preview.command.replaceAll("\r", "␍")));
    // What hides in a command would hide in the field, too.
    if (asked(preview.command) === preview.command && !request.ran) {
      edit = element("button", { type: "button", class: "plain edit", onclick: () => {
        editor = element("textarea", { "aria-label": "The command", rows: Math.min(preview.command.split("\n").length + 1, 12), spellcheck: "false" });
        editor.defaultValue = editor.value = preview.command;
        const begin = (begins) => {
          edit.hidden = begins;
          if (always) always.hidden = begins;
        };
        editor.addEventListener("keydown", (event) => {
          if (event.key !== "Escape" || event.isComposing) return;
          event.stopPropagation();
          editor.replaceWith(shown);
          editor = null;
          begin(false);
          edit.focus();
        });
        shown.replaceWith(editor);
        begin(true);
        editor.focus();
      } }, "Edit the command");
    }
  }
  const edited = () => (editor && editor.value !== preview.command ? { edited: editor.value } : {});
  if (preview.kind === "change") shown = diff(preview.change, !preview.change.cut && preview.change.hunks.length > 1 && ((_, box) => boxes.push(box)), asked);
  const note = element("p", { class: "note unseen", role: "status" });
  let insists = false;
  const subject = () => (editor ? null : shown?.querySelector?.("pre") || shown);
  /** Allows what was seen to its end; anything else at the second press. */
  const allow = (decision) => {
    const part = subject();
    const unseen = (part && !reachedEnd(part)) || preview.change?.cut;
    if (!unseen || insists) return decide(decision());
    insists = true;
    note.textContent = preview.change?.cut ? "Not all of the change is shown. Press again to allow it." : "Its end was not shown yet. Scroll down, or press again to allow it.";
  };
  const reason = element("input", { placeholder: "Why not? (optional)", "aria-label": "Reason for denying" });
  const deny = (stop) => decide({ decision: "deny", stop, ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) });
  const scope = element("select", { "aria-label": "Where the rule holds" }, [["session", "in this session"], ["local", "in this directory, for you only"], ["project", "in this directory"], ["user", "everywhere"]].map(([value, name]) => element("option", { value }, name)));
  const rules = request.suggestedRules || [];
  const exact = request.canAllowExact && row(element("button", { type: "button", onclick: () => allow(() => ({ decision: "allow_exact", ...chosen() })) }, "Always allow exactly this, in this session"));
  const family = rules.length > 0 && row(element("button", { type: "button", onclick: () => allow(() => ({ decision: "allow_always", rules, scope: scope.value, ...chosen() })) }, "Always allow"), element("code", {}, asked(rules.join(" and "))), scope);
  const always = (exact || family) && element("div", {}, exact, family);
  const ran = request.ran && element("p", { class: "note" }, "It has run, and the sandbox refused a part of it. Allowed, it runs again without the sandbox.");
  // The lack of a sandbox is no news.
  const sandbox = !request.sandbox.startsWith("no sandbox") && element("p", { class: "note" }, asked(request.sandbox));
  const body = [shown, ran, reasons, sandbox, always, edit];
  const buttons = row(
    element("button", { type: "button", class: "primary", onclick: () => allow(() => ({ decision: "allow", ...chosen(), ...edited() })) }, "Allow once"),
    element("button", { type: "button", onclick: () => deny(false) }, "Deny"),
    element("button", { type: "button", class: "danger", onclick: () => deny(true) }, "Deny and stop"),
    line(reason, () => deny(false)),
  );
  const node = card(`${asked(request.toolName)}: ${asked(request.title)}`, body, [note, buttons]);
  node.querySelector(".body").addEventListener("scroll", () => subject() && reachedEnd(subject()));
  return node;
}

/** The card of a question; `answer` sends an answer. */
function question(record, answer) {
  const button = (text, value, style) => element("button", { type: "button", class: style || "", onclick: () => answer(value) }, asked(text));
  const message = record.message && element("p", {}, asked(record.message));
  const cancel = button("Cancel", { cancelled: true });
  if (record.method === "select") return card(asked(record.title), row(record.options.map((option) => button(option, { value: option }))), row(cancel));
  if (record.method === "confirm") return card(asked(record.title), message, row(button("Yes", { confirmed: true }, "primary"), button("No", { confirmed: false }), cancel));
  if (record.method === "url") {
    const safe = /^https?:\/\//i.test(record.url);
    const place = safe ? element("a", { href: record.url, target: "_blank", rel: "noopener noreferrer" }, asked(record.url)) : element("code", {}, asked(record.url));
    return card(asked(record.title), [message, element("p", {}, place)], row(button("Done", { confirmed: true }, "primary"), button("Decline", { declined: true }), cancel));
  }
  if (record.method === "plan") return plan(record, answer, button("Stop", { cancelled: true }, "danger"));
  if (record.method === "questions") return questions(record, answer);
  if (record.method === "form") return form(record, message, answer, cancel);
  return card(asked(record.title || "A question that this page does not know"), message, row(cancel));
}

/** The card of a plan. */
function plan(record, answer, stop) {
  const modes = [["ask", "asking before every change"], ["edits", "asking before commands"], ["auto", "without asking"]];
  const mode = element("select", { "aria-label": "Permission mode for the plan" }, modes.map(([value, name]) => element("option", { value }, name)));
  const accept = element("button", { type: "button", class: "primary", onclick: () => answer({ accepted: true, mode: mode.value }) }, "Carry it out");
  const comment = element("input", { type: "text", placeholder: "What should change?", "aria-label": "What should change?" });
  const refuse = () => (comment.value.trim() ? answer({ accepted: false, comment: comment.value.trim() }) : comment.focus());
  const reject = element("button", { type: "button", onclick: refuse }, "Reject");
  const refusal = record.refusal && element("p", { class: "note" }, asked(record.refusal));
  return card(asked(record.title), [element("pre", {}, asked(record.plan)), refusal], [row(accept, mode), row(line(comment, refuse), reject, stop)]);
}

/** The card of the model's questions: all of them below one another. */
function questions(record, answer) {
  const fields = record.questions.map((one) => {
    const name = `question-${Math.random().toString(36).slice(2)}`;
    const choices = (one.choices || []).map((choice) => {
      const box = element("input", { type: one.multiple ? "checkbox" : "radio", name });
      return { box, node: element("label", { class: "choice" }, box, element("span", {}, asked(choice))) };
    });
    const text = element("input", { type: "text", "aria-label": "In your own words", placeholder: choices.length ? "In your own words" : "Your answer" });
    // One answer is a choice or a text.
    if (!one.multiple) {
      text.addEventListener("input", () => choices.forEach(({ box }) => { box.checked = false; }));
      choices.forEach(({ box }) => box.addEventListener("change", () => { text.value = ""; }));
    }
    const read = () => ({ choices: choices.flatMap(({ box }, at) => (box.checked ? [at] : [])), text: text.value.trim() });
    const node = element("fieldset", { class: "field" }, element("legend", {}, asked(one.question)), choices.map(({ node }) => node), text);
    return { node, read, text };
  });
  const note = element("p", { class: "note", role: "status" });
  const submit = (event) => {
    event.preventDefault();
    const answers = fields.map((field) => field.read());
    const missing = answers.findIndex((given) => !given.choices.length && !given.text);
    if (missing < 0) return answer({ answers });
    note.textContent = answers.length > 1 ? `Question ${missing + 1} has no answer yet.` : "Choose or type an answer first.";
    fields[missing].text.focus();
  };
  const decline = element("button", { type: "button", onclick: () => answer({ declined: true }) }, "Decline");
  return card(asked(record.title), fields.map(({ node }) => node), [note, row(element("button", { class: "primary" }, "Send"), decline)], submit);
}

function form(record, message, answer, cancel) {
  const fields = record.fields.map((field) => {
    const id = `field-${Math.random().toString(36).slice(2)}`;
    let input, read;
    const chosen = [].concat(field.default ?? []);
    if (field.kind === "boolean") {
      input = element("input", { id, type: "checkbox", checked: field.default === true });
      read = () => input.checked;
    } else if (field.kind === "choice" || field.kind === "choices") {
      const many = field.kind === "choices";
      const options = field.options.map((option) => element("option", { value: option.value, selected: chosen.includes(option.value) }, asked(option.title)));
      input = element("select", { id, multiple: many, required: field.required }, !many && !field.required && element("option", { value: "" }, "–"), options);
      read = () => (many ? [...input.selectedOptions].map((option) => option.value) : input.value || undefined);
    } else if (field.kind === "number") {
      input = element("input", { id, type: "number", step: field.integer ? 1 : "any", min: field.minimum, max: field.maximum, required: field.required, value: field.default });
      read = () => (input.value === "" ? undefined : Number(input.value));
    } else {
      input = element("input", { id, minlength: field.minLength, maxlength: field.maxLength, required: field.required, value: field.default });
      read = () => (input.value === "" && !field.required ? undefined : input.value);
    }
    const node = element("div", { class: "field" }, element("label", { for: id }, asked(field.title) + (field.required ? " (required)" : "")), input, field.description && element("p", { class: "note" }, asked(field.description)));
    return { name: field.name, node, read };
  });
  const submit = (event) => {
    event.preventDefault();
    answer({ values: Object.fromEntries(fields.map((field) => [field.name, field.read()]).filter(([, value]) => value !== undefined)) });
  };
  const decline = element("button", { type: "button", onclick: () => answer({ declined: true }) }, "Decline");
  return card(asked(record.title), [message, fields.map((field) => field.node)], row(element("button", { class: "primary" }, "Send"), decline, cancel), submit);
}
