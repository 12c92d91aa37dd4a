// What waits for the user: calls that need approval, and questions.

import { diff } from "/page/transcript.js";
import { element, visible } from "/page/text.js";

function card(title, ...children) {
  const id = `ask-${Math.random().toString(36).slice(2)}`;
  return element("section", { class: "ask", role: "group", "aria-labelledby": id }, element("h2", { id }, title), children);
}

/** The card of a call; `decide` sends a decision. */
export function approval(request, decide) {
  const boxes = [];
  const chosen = () => {
    const hunks = boxes.flatMap((box, at) => (box.checked ? [at] : []));
    return hunks.length === boxes.length ? {} : { hunks };
  };
  const reasons = element("ul", {}, request.reasons.map((reason) => {
    const from = reason.rule ? ` (rule ${reason.rule})` : reason.path ? ` (${reason.path})` : "";
    return element("li", {}, visible(reason.text + from));
  }));
  const preview = request.preview;
  let shown = null;
  let editor = null;
  if (preview.kind === "command") {
    shown = element("pre", { tabindex: 0 }, visible(preview.command));
    // What hides in a command would hide in the field, too.
    if (visible(preview.command) === preview.command && !request.ran) {
      const edit = element("button", { type: "button", class: "plain", onclick: () => {
        editor = element("textarea", { "aria-label": "The command", rows: Math.min(preview.command.split("\n").length + 1, 12), spellcheck: "false" });
        editor.value = preview.command;
        shown.replaceWith(editor);
        edit.remove();
        if (always) always.remove();
        editor.focus();
      } }, "Edit the command");
      shown = element("div", { class: "command" }, shown, edit);
    }
  }
  const edited = () => (editor && editor.value !== preview.command ? { edited: editor.value } : {});
  if (preview.kind === "change") shown = diff(preview.change, !preview.change.cut && preview.change.hunks.length > 1 && ((_, box) => boxes.push(box)));
  const reason = element("input", { placeholder: "Why not? (optional)", "aria-label": "Reason for denying" });
  const deny = (stop) => decide({ decision: "deny", stop, ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) });
  const scope = element("select", { "aria-label": "Where the rule holds" }, [["session", "in this session"], ["project", "in this directory"], ["user", "everywhere"]].map(([value, name]) => element("option", { value }, name)));
  const always = request.suggestedRule && element("div", { class: "row" }, element("button", { type: "button", onclick: () => decide({ decision: "allow_always", rule: request.suggestedRule, scope: scope.value, ...chosen() }) }, "Always allow"), element("code", {}, visible(request.suggestedRule)), scope);
  return card(
    `${visible(request.toolName)}: ${visible(request.title)}`,
    reasons,
    shown,
    request.ran && element("p", { class: "note" }, "It has run, and the sandbox refused a part of it. Allowed, it runs again without the sandbox."),
    element("p", { class: "note" }, visible(request.sandbox)),
    element("div", { class: "row" }, element("button", { type: "button", class: "primary", onclick: () => decide({ decision: "allow", ...chosen(), ...edited() }) }, "Allow once"), element("button", { type: "button", onclick: () => deny(false) }, "Deny"), element("button", { type: "button", class: "danger", onclick: () => deny(true) }, "Deny and stop")),
    reason,
    always,
  );
}

/** The card of a question; `answer` sends an answer. */
export function question(record, answer) {
  const button = (text, value, style) => element("button", { type: "button", class: style || "", onclick: () => answer(value) }, visible(text));
  const message = record.message && element("p", {}, visible(record.message));
  const cancel = button("Cancel", { cancelled: true });
  if (record.method === "select") return card(visible(record.title), element("div", { class: "row" }, record.options.map((option) => button(option, { value: option })), cancel));
  if (record.method === "confirm") return card(visible(record.title), message, element("div", { class: "row" }, button("Yes", { confirmed: true }, "primary"), button("No", { confirmed: false }), cancel));
  if (record.method === "url") {
    const safe = /^https?:\/\//i.test(record.url);
    const place = safe ? element("a", { href: record.url, target: "_blank", rel: "noopener noreferrer" }, visible(record.url)) : element("code", {}, visible(record.url));
    return card(visible(record.title), message, element("p", {}, place), element("div", { class: "row" }, button("Done", { confirmed: true }, "primary"), button("Decline", { declined: true }), cancel));
  }
  if (record.method === "form") return form(record, message, answer, cancel);
  return card(visible(record.title || "A question that this page does not know"), message, cancel);
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
      const options = field.options.map((option) => element("option", { value: option.value, selected: chosen.includes(option.value) }, visible(option.title)));
      input = element("select", { id, multiple: many, required: field.required }, !many && !field.required && element("option", { value: "" }, "–"), options);
      read = () => (many ? [...input.selectedOptions].map((option) => option.value) : input.value || undefined);
    } else if (field.kind === "number") {
      input = element("input", { id, type: "number", step: field.integer ? 1 : "any", min: field.minimum, max: field.maximum, required: field.required, value: field.default });
      read = () => (input.value === "" ? undefined : Number(input.value));
    } else {
      input = element("input", { id, minlength: field.minLength, maxlength: field.maxLength, required: field.required, value: field.default });
      read = () => (input.value === "" && !field.required ? undefined : input.value);
    }
    const node = element("div", { class: "field" }, element("label", { for: id }, visible(field.title) + (field.required ? " (required)" : "")), input, field.description && element("p", { class: "note" }, visible(field.description)));
    return { name: field.name, node, read };
  });
  const submit = (event) => {
    event.preventDefault();
    answer({ values: Object.fromEntries(fields.map((field) => [field.name, field.read()]).filter(([, value]) => value !== undefined)) });
  };
  const decline = element("button", { type: "button", onclick: () => answer({ declined: true }) }, "Decline");
  const body = element("form", { class: "field", onsubmit: submit }, fields.map((field) => field.node), element("div", { class: "row" }, element("button", { class: "primary" }, "Send"), decline, cancel));
  return card(visible(record.title), message, body);
}
