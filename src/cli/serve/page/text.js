// Text of others as nodes. It reaches the page as text only, never as HTML.

// Controls, and characters that are invisible or turn the direction of what follows.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
// Escape sequences of terminals: colours, titles, links.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g;

// What is not seen, or looks like a space and is none: shown where the user decides, within emoji too.
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\ufff9-\ufffb]/gu;
const BLANKS = /[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]{40,}/gu;
const EMPTY_LINES = /(?:[ \t]*\n){41,}/g;

const spelled = (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
const counted = (count, what) => `⋯ ${count.toLocaleString("en")} ${what} ⋯`;

/** Text with what hides in it made visible. */
export function visible(text) {
  return String(text).replace(/\r\n/g, "\n").replace(HIDDEN, spelled);
}

/** Text that the user decides on: nothing in it is unseen, and of long runs of blanks the number is shown. */
export function asked(text) {
  const folded = String(text)
    .replace(/\r\n/g, "\n")
    .replace(EMPTY_LINES, (run) => `\n${counted(run.split("\n").length - 2, "empty lines")}\n`)
    .replace(BLANKS, (run) => counted([...run].length, "blanks"));
  return visible(folded).replace(UNSEEN, spelled);
}

/** Output of a command without what only a terminal understands. */
export const output = (text) => visible(String(text).replace(SEQUENCES, ""));

/** An element with attributes and children; text children are text. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** A picture of a message, or a note. */
export function picture(block) {
  if (!PICTURES.includes(block.mimeType)) return element("p", { class: "note" }, "a picture that cannot be shown");
  return element("img", { src: `data:${block.mimeType};base64,${block.data}`, alt: "picture" });
}

/** The text of content: a string, or blocks. */
export function textOf(content) {
  if (typeof content === "string") return content;
  return (content || []).filter((block) => block.type === "text").map((block) => block.text).join("\n");
}

/** The title of a session. */
export const nameOf = (session) => visible(session.name || session.firstPrompt || "New session");

/** Commands of a terminal's screen that notices name. */
const COMMANDS = /(?:^|[\s(])(\/(?:attempts|diff|export|goal|jobs|login|model|new|permissions|redo|resume|settings|trust|undo|worktree))\b(?!\/)/;

/** A notice of a session; of a command in it, where it runs. */
export function noticeText(session, record) {
  const text = [record.text, record.hint].filter(Boolean).join("; ");
  const command = COMMANDS.exec(text)?.[1];
  return command ? `${text} (${command} is for a terminal: run "tau attach ${session}" there)` : text;
}

/** How long ago a time is. */
export function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (!(seconds >= 60)) return "now";
  const [size, unit] = seconds < 3600 ? [60, "min"] : seconds < 86400 ? [3600, "h"] : [86400, "d"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}
