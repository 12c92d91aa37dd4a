// Markdown as nodes: what models write, no HTML. Blocks that are complete are kept while the rest of an
// answer streams in.

import { element, visible } from "/page/text.js";

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const SEPARATOR = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
// Deeper lists and quotes are shown as text.
const DEPTH = 8;

/** The source of each block at the top, so that only those that changed are made again. */
export function blocks(text) {
  const found = [];
  let lines = [];
  const close = () => {
    if (lines.length) found.push(lines.join("\n"));
    lines = [];
  };
  let fence = null;
  for (const line of text.split("\n")) {
    if (fence) {
      lines.push(line);
      if (line.trim().startsWith(fence) && /^[`~]+$/.test(line.trim())) {
        fence = null;
        close();
      }
      continue;
    }
    const opens = FENCE.exec(line);
    if (opens && !/^\s/.test(line)) {
      close();
      fence = opens[2];
      lines.push(line);
    } else if (line.trim() === "") {
      // Items and quotes continue after an empty line; what is indented belongs to them.
      if (lines.length && ITEM.test(lines[0])) lines.push(line);
      else close();
    } else {
      const inList = lines.length && ITEM.test(lines[0]);
      if (inList && lines.at(-1).trim() === "" && !ITEM.test(line) && !/^\s/.test(line)) close();
      lines.push(line);
    }
  }
  close();
  return found;
}

/** Shows `text` in `parent`, which has what an earlier and shorter text left there. */
export function show(parent, text) {
  const sources = blocks(visible(text));
  const kept = parent.sources || [];
  let same = 0;
  while (same < sources.length && same < kept.length && sources[same] === kept[same]) same++;
  const groups = parent.groups || [];
  for (const group of groups.splice(same)) group.forEach((node) => node.remove());
  for (const source of sources.slice(same)) {
    const nodes = block(source.split("\n"), 0);
    parent.append(...nodes);
    groups.push(nodes);
  }
  parent.sources = sources;
  parent.groups = groups;
}

function block(lines, depth) {
  const nodes = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (line.trim() === "") {
      at++;
    } else if (fence) {
      let end = at + 1;
      const closes = (other) => other.trim().startsWith(fence[2]) && /^[`~]+$/.test(other.trim());
      while (end < lines.length && !closes(lines[end])) end++;
      const indent = new RegExp(`^ {0,${fence[1].length}}`);
      nodes.push(code(lines.slice(at + 1, end).map((other) => other.replace(indent, "")).join("\n"), fence[3].trim()));
      at = end + 1;
    } else if (heading) {
      nodes.push(element(`h${Math.min(heading[1].length + 2, 5)}`, {}, inline(heading[2])));
      at++;
    } else if (RULE.test(line)) {
      nodes.push(element("hr"));
      at++;
    } else if (QUOTE.test(line) && depth < DEPTH) {
      const inner = [];
      while (at < lines.length && QUOTE.test(lines[at])) inner.push(QUOTE.exec(lines[at++])[1]);
      nodes.push(element("blockquote", {}, block(inner, depth + 1)));
    } else if (ITEM.test(line) && depth < DEPTH) {
      const [list, next] = items(lines, at, depth);
      nodes.push(list);
      at = next;
    } else if (line.includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && SEPARATOR.test(lines[at + 1])) {
      let end = at + 2;
      while (end < lines.length && lines[end].includes("|")) end++;
      nodes.push(table(lines[at], lines.slice(at + 2, end)));
      at = end;
    } else {
      const start = at++;
      const ends = (other) => other.trim() === "" || FENCE.test(other) || HEADING.test(other) || QUOTE.test(other) || RULE.test(other) || ITEM.test(other);
      while (at < lines.length && !ends(lines[at])) at++;
      nodes.push(element("p", {}, inline(lines.slice(start, at).map((other) => other.trim()).join("\n"))));
    }
  }
  return nodes;
}

function items(lines, from, depth) {
  const [, lead, mark] = ITEM.exec(lines[from]);
  const ordered = /\d/.test(mark);
  const list = element(ordered ? "ol" : "ul", ordered && parseInt(mark, 10) !== 1 ? { start: parseInt(mark, 10) } : {});
  let at = from;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || item[1].length < lead.length || /\d/.test(item[2]) !== ordered) break;
    if (item[1].length > lead.length + 1) break;
    const inner = [item[3]];
    const width = item[1].length + item[2].length + 1;
    at++;
    while (at < lines.length) {
      const other = ITEM.exec(lines[at]);
      const indent = /^\s*/.exec(lines[at])[0].length;
      if (other && indent < lead.length + 2) break;
      if (lines[at].trim() !== "" && indent < lead.length + 2 && lines[at - 1].trim() === "") break;
      inner.push(lines[at].slice(Math.min(indent, width)));
      at++;
    }
    const task = /^\[([ xX])\]\s+/.exec(inner[0]);
    if (task) inner[0] = inner[0].slice(task[0].length);
    const box = task && element("input", { type: "checkbox", disabled: true, checked: task[1] !== " ", "aria-label": task[1] === " " ? "open" : "done" });
    list.append(element("li", task ? { class: "task" } : {}, box, block(inner, depth + 1)));
  }
  return [list, at];
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function table(head, rows) {
  const columns = cells(head);
  const row = (name, texts) => element("tr", {}, columns.map((_, at) => element(name, {}, inline(texts[at] || ""))));
  return element("div", { class: "scroll", tabindex: 0 }, element("table", {}, element("thead", {}, row("th", columns)), element("tbody", {}, rows.map((line) => row("td", cells(line))))));
}

function code(text, language) {
  const copy = element("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  } }, "Copy");
  const pre = element("pre", { tabindex: 0, "aria-label": language ? `Code, ${language}` : "Code" }, element("code", {}, text));
  return element("div", { class: "code" }, navigator.clipboard ? copy : null, pre);
}

// In the order in which they count: code, links, bold, italic, strikethrough, bare addresses.
const SPAN = /(`+)([\s\S]+?)\1(?!`)|\[([^\]\n]+)\]\(\s*<?([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+"[^"]*")?\s*\)|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__(?!\w)|\*(?=[^\s*])([^*]*?[^\s*])\*|(?<!\w)_(?=[^\s_])([^_]*?[^\s_])_(?!\w)|~~(?=\S)([\s\S]*?\S)~~|(https?:\/\/[^\s<>"')\]]+[^\s<>"')\].,;:!?])|\\([!-/:-@[-`{-~])/;

function inline(text, depth = 0) {
  const nodes = [];
  let rest = text;
  for (;;) {
    const found = depth < DEPTH ? SPAN.exec(rest) : null;
    if (!found) break;
    if (found.index) nodes.push(rest.slice(0, found.index));
    const [all, , codeText, label, address, bold, bold2, italic, italic2, struck, bare, escaped] = found;
    const inner = (part) => inline(part, depth + 1);
    if (codeText !== undefined) nodes.push(element("code", {}, codeText.replace(/^ (.*) $/s, "$1")));
    else if (address !== undefined) nodes.push(...link(address, inner(label)));
    else if (bold ?? bold2) nodes.push(element("strong", {}, inner(bold ?? bold2)));
    else if (italic ?? italic2) nodes.push(element("em", {}, inner(italic ?? italic2)));
    else if (struck) nodes.push(element("s", {}, inner(struck)));
    else if (bare) nodes.push(...link(bare, [bare]));
    else nodes.push(escaped);
    rest = rest.slice(found.index + all.length);
  }
  if (rest) nodes.push(rest);
  return nodes;
}

/** A link to the web or a mail address; of any other only the text, with its address. */
function link(address, label) {
  let url = null;
  try {
    url = new URL(address);
  } catch {
    return [...label, ` (${address})`];
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return [...label, ` (${address})`];
  return [element("a", { href: url.href, title: url.href, target: "_blank", rel: "noopener noreferrer" }, label)];
}
