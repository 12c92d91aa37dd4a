//! The prompt of a call that waits: what is asked, why, and what keys do.

use ratatui::text::{Line, Span};

use super::typed;
use crate::agent::protocol::approval::RuleScope;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::approval::{Approval, Coverage, MarkedText, PromptStage, RuleDraft};
use crate::app::geometry::ScreenKind;
use crate::app::line_edit::LineEdit;
use crate::app::printable::Printable;
use crate::view::panel::both_ends;
use crate::view::row::Row;
use crate::view::theme::{Theme, ThemeToken};
use crate::view::wrap;

/// Calls that wait shown at once.
const LISTED: usize = 5;
/// Titles shown of the calls that a rule would have covered.
const COVERED: usize = 3;
/// A window of so many rows has one to set the prompt apart.
const SPACIOUS: u16 = 20;
/// Rows that a prompt and what is around it take beside the command.
const BESIDE: usize = 14;
/// Windows with fewer rows have no list of the calls that wait.
const ROOMY: u16 = 16;
/// Rows of keys; where they need more, their words are left out. Low windows have fewer.
const KEY_ROWS: usize = 4;
const FEW_KEY_ROWS: usize = 2;

/// The prompt as rows, and the cursor's row and column where a line is typed.
pub(crate) struct Prompt {
    pub rows: Vec<Row>,
    pub cursor: Option<(usize, u16)>,
}

/// Writes rows.
struct Writer<'a> {
    rows: Vec<Row>,
    cursor: Option<(usize, u16)>,
    width: u16,
    key_rows: usize,
    theme: &'a Theme,
}

impl Prompt {
    /// The prompt of a request, each row at most `width` cells wide.
    pub fn of(model: &Model, approval: &Approval, width: u16, theme: &Theme) -> Self {
        let key_rows = if model.size.height < ROOMY { FEW_KEY_ROWS } else { KEY_ROWS };
        let mut writer = Writer { rows: Vec::new(), cursor: None, width, key_rows, theme };
        if model.size.height >= SPACIOUS {
            writer.push(Line::default());
        }
        writer.head(model, approval);
        writer.list(model);
        for reason in &approval.reasons {
            writer.text(&format!("! {}", reason.as_str()), ThemeToken::Warning);
        }
        if let Some(sandbox) = sandbox(approval) {
            writer.text(&sandbox, ThemeToken::Muted);
        }
        match &approval.stage {
            PromptStage::Choice => writer.choice(model, approval),
            PromptStage::Reason(line) => {
                writer.typed("why not: ", line);
                writer.keys(&[("enter", "denies it, with or without a reason"), ("esc", "goes back")]);
            }
            PromptStage::Command(line) => {
                writer.typed("$ ", line);
                writer.keys(&[("enter", "runs it as it is here"), ("esc", "goes back")]);
            }
            PromptStage::Rule(draft) => writer.rule(approval, draft),
            PromptStage::Editor(_) => {
                writer.text("in your editor: save and close it to continue", ThemeToken::Muted);
            }
        }
        Prompt { rows: writer.rows, cursor: writer.cursor }
    }
}

/// What is asked.
fn question(approval: &Approval) -> &'static str {
    match (&approval.command, &approval.change) {
        _ if approval.request.ran => "Run it again without the sandbox?",
        (Some(_), _) => "Run this command?",
        (None, Some(_)) => "Make this change?",
        (None, None) => "Allow this call?",
    }
}

/// Whether the call may not be on the screen with its prompt: the user scrolls, writes first, or looks at
/// a later hunk.
fn may_be_out_of_sight(model: &Model, approval: &Approval) -> bool {
    !model.approvals.follow || !model.takes_answer() || approval.hunk > 0
}

fn sandbox(approval: &Approval) -> Option<String> {
    let words = approval.sandbox.as_str();
    match words {
        "" => None,
        words if words.contains("sandbox") => Some(words.to_owned()),
        words => Some(format!("sandbox: {words}")),
    }
}

/// The keys where the decision is asked for, with what they do.
fn choice_keys(model: &Model, approval: &Approval) -> Vec<(String, &'static str)> {
    let fixed = |key: &str, word| Some((key.to_owned(), word));
    let ran = approval.request.ran;
    let can_edit = approval.can_edit();
    let has_more = approval.command.is_some() || approval.change.is_some();
    let is_cut = approval.change.as_ref().is_some_and(|change| change.cut);
    let lines = approval.command.as_ref().map_or(0, |command| command.text.lines().count());
    let is_full = model.boot.screen == ScreenKind::Full;
    let is_long = is_full && lines + BESIDE > usize::from(model.size.height);
    let views = has_more && (is_cut || !is_full);
    let keys = [
        fixed("y", if ran { "again, without it" } else { "once" }),
        fixed("n", if ran { "leave it" } else { "deny" }),
        match approval.request.suggested_rule {
            None if ran => None,
            Some(_) if ran => fixed("a", "add the path"),
            Some(_) | None => fixed("a", "always"),
        },
        fixed("e", "edit").filter(|_| can_edit),
        fixed("v", "view").filter(|_| views),
        fixed("↑↓", "scroll").filter(|_| is_long),
        fixed("space", "hunk").filter(|_| approval.hunks() > 0),
        fixed("←→", "next").filter(|_| model.approvals.pending().len() > 1),
        fixed("esc", "stop"),
        model.keymap.hint(Action::Answer).map(|key| (key, "write")),
    ];
    keys.into_iter().flatten().collect()
}

/// What can be done with all calls of the tool at once.
fn kind_keys(model: &Model, approval: &Approval) -> Option<[(&'static str, String); 2]> {
    let same = model.approvals.same_kind();
    let name = approval.name.as_str();
    (same > 1).then(|| [("Y", format!("allow all {same} {name} calls")), ("N", format!("deny all {same}"))])
}

fn cut_note(approval: &Approval) -> Option<&'static str> {
    let is_cut = approval.change.as_ref().is_some_and(|change| change.cut);
    is_cut.then_some("The change is too large to show in full; its hunks cannot be chosen.")
}

/// Why no rule is suggested.
const NO_RULE: &str = "No rule is suggested: none would cover just calls like this one. You can type one.";

/// What a rule would have covered, in words.
fn coverage(draft: &RuleDraft) -> (String, ThemeToken) {
    if matches!(draft.coverage, Coverage::Known(_)) && draft.line.text().trim().is_empty() {
        return ("for example bash(cargo test *) or edit(src/**)".to_owned(), ThemeToken::Muted);
    }
    if draft.line.text().trim_start().starts_with("sandbox_writable(") {
        let text = match draft.scope {
            RuleScope::Once => "this call can change everything in it",
            RuleScope::Session | RuleScope::Project | RuleScope::User => {
                "commands can change everything in it from then on"
            }
        };
        return (text.to_owned(), ThemeToken::Muted);
    }
    coverage_words(&draft.coverage, "covered")
}

/// Which earlier calls a rule would have decided on, in words: it would have `verb` them.
pub(crate) fn coverage_words(coverage: &Coverage, verb: &str) -> (String, ThemeToken) {
    match coverage {
        Coverage::Asked(_) => ("looking up earlier calls…".to_owned(), ThemeToken::Muted),
        Coverage::Wrong(why) => (why.as_str().to_owned(), ThemeToken::Error),
        Coverage::Known(titles) => {
            let first: Vec<&str> = titles.iter().take(COVERED).map(Printable::as_str).collect();
            let more = titles.len().saturating_sub(COVERED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = match titles.len() {
                0 => format!("would have {verb} no earlier call of this session"),
                1 => format!("would have {verb} 1 earlier call: {}", first.join("")),
                count => format!("would have {verb} {count} earlier calls: {}{more}", first.join(" · ")),
            };
            (text, ThemeToken::Muted)
        }
    }
}

impl Writer<'_> {
    fn push(&mut self, line: Line<'static>) {
        self.rows.push(Row::mark(line));
    }

    fn text(&mut self, text: &str, token: ThemeToken) {
        let line = Line::styled(text.to_owned(), self.theme.style(token));
        wrap::wrap(&line, self.width, 2).into_iter().for_each(|row| self.push(row));
    }

    /// The question, the call where it may be out of sight, and which of several it is.
    fn head(&mut self, model: &Model, approval: &Approval) {
        let style = |token| self.theme.style(token);
        let mut left = vec![Span::styled(question(approval), style(ThemeToken::Strong))];
        if may_be_out_of_sight(model, approval) {
            let call = format!("  {}  {}", approval.name.as_str(), approval.title.as_str());
            left.push(Span::styled(call, style(ThemeToken::Muted)));
        }
        let count = model.approvals.pending().len();
        let place = format!("{} of {count}", model.approvals.open_index() + 1);
        let right = match count {
            0 | 1 => Vec::new(),
            _ => vec![Span::styled(place, style(ThemeToken::Accent))],
        };
        self.push(both_ends(left, right, self.width.saturating_add(1)));
    }

    /// All calls that wait, if there are several.
    fn list(&mut self, model: &Model) {
        let (pending, open) = (model.approvals.pending(), model.approvals.open_index());
        if pending.len() < 2 || model.size.height < ROOMY {
            return;
        }
        let first = open.saturating_sub(LISTED / 2).min(pending.len().saturating_sub(LISTED));
        for (at, other) in pending.iter().enumerate().skip(first).take(LISTED) {
            let (mark, token) =
                if at == open { ("› ", ThemeToken::Accent) } else { ("  ", ThemeToken::Muted) };
            let text = format!("{mark}{}  {}  {}", at + 1, other.name.as_str(), other.title.as_str());
            let text = wrap::truncate(&text, self.width).into_owned();
            self.push(Line::styled(text, self.theme.style(token)));
        }
    }

    fn choice(&mut self, model: &Model, approval: &Approval) {
        if let Some(note) = cut_note(approval) {
            self.text(note, ThemeToken::Muted);
        }
        if let Some(keys) = kind_keys(model, approval) {
            let keys: Vec<(&str, &str)> = keys.iter().map(|(key, word)| (*key, word.as_str())).collect();
            self.keys(&keys);
        }
        if model.approvals.aside {
            let key = model.keymap.hint(Action::Answer).unwrap_or_else(|| "/answer".to_owned());
            return self.keys(&[(&key, "answers; keys go to your text now")]);
        }
        let keys = choice_keys(model, approval);
        let keys: Vec<(&str, &str)> = keys.iter().map(|(key, word)| (key.as_str(), *word)).collect();
        self.keys(&keys);
    }

    fn rule(&mut self, approval: &Approval, draft: &RuleDraft) {
        if approval.request.suggested_rule.is_none() {
            self.text(NO_RULE, ThemeToken::Muted);
        }
        self.typed("rule: ", &draft.line);
        let mut spans = vec![Span::styled("for: ", self.theme.style(ThemeToken::Muted))];
        for (at, (scope, name)) in approval.scopes().iter().enumerate() {
            let is_chosen = *scope == draft.scope;
            let token = if is_chosen { ThemeToken::OverlaySelected } else { ThemeToken::Muted };
            let between = if at == 0 { "" } else { " " };
            let text = if is_chosen { format!("‹{name}›") } else { format!(" {name} ") };
            spans.extend([Span::raw(between), Span::styled(text, self.theme.style(token))]);
        }
        self.wrapped(spans);
        let (text, token) = coverage(draft);
        self.text(&text, token);
        let adds = match approval.request.ran {
            true => "adds it and runs the call again, in the sandbox",
            false => "adds it and runs the call",
        };
        self.keys(&[("enter", adds), ("tab", "where it holds"), ("esc", "goes back")]);
    }

    fn wrapped(&mut self, spans: Vec<Span<'static>>) {
        wrap::wrap(&Line::from(spans), self.width, 2).into_iter().for_each(|row| self.push(row));
    }

    fn typed(&mut self, label: &str, line: &LineEdit) {
        let (rows, (row, column)) = typed::rows(label, line, self.width.saturating_sub(1));
        self.cursor = Some((self.rows.len() + row, column));
        let style = self.theme.style(ThemeToken::Text);
        let first = rows.iter().enumerate().map(|(at, text)| match text.strip_prefix(label) {
            Some(rest) if at == 0 => Line::from(vec![
                Span::styled(label.to_owned(), self.theme.style(ThemeToken::Accent)),
                Span::styled(rest.to_owned(), style),
            ]),
            _ => Line::styled(text.clone(), style),
        });
        let lines: Vec<Line<'static>> = first.collect();
        lines.into_iter().for_each(|line| self.push(line));
    }

    /// Keys with what they do; a row is never broken between the two.
    fn keys(&mut self, keys: &[(&str, &str)]) {
        let (key_style, word_style) =
            (self.theme.style(ThemeToken::Accent), self.theme.style(ThemeToken::Text));
        let width = usize::from(self.width);
        let cells = |(key, word): &(&str, &str)| wrap::cells(key) + 1 + wrap::cells(word);
        let mut rows: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
        let mut taken = 0;
        for item in keys {
            let more = cells(item) + if taken > 0 { 3 } else { 0 };
            if taken > 0 && taken + more > width {
                rows.push(Vec::new());
                taken = 0;
            }
            taken += cells(item) + if taken > 0 { 3 } else { 0 };
            rows.last_mut().into_iter().for_each(|row| row.push(*item));
        }
        if rows.len() > self.key_rows {
            let names: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
            let line = Line::styled(names.join(" "), key_style);
            return wrap::wrap(&line, self.width, 0).into_iter().for_each(|row| self.push(row));
        }
        for row in rows {
            let mut spans = Vec::new();
            for (at, (key, word)) in row.into_iter().enumerate() {
                let between = if at == 0 { "" } else { " · " };
                spans.push(Span::styled(between, self.theme.style(ThemeToken::Muted)));
                spans.push(Span::styled(key.to_owned(), key_style));
                spans.push(Span::styled(format!(" {word}"), word_style));
            }
            self.push(wrap::truncate_line(Line::from(spans), self.width));
        }
    }
}

/// The prompt in lines to be said, and the line that is typed in or the keys.
pub(crate) fn lines(model: &Model, approval: &Approval) -> (Vec<String>, String) {
    let count = model.approvals.pending().len();
    let of =
        if count > 1 { format!("{} of {count}: ", model.approvals.open_index() + 1) } else { String::new() };
    let (name, title) = (approval.name.as_str(), approval.title.as_str());
    // A command is said below, once.
    let is_said = |command: &MarkedText| command.text.starts_with(title.trim_end_matches('…').trim_end());
    let call = match approval.command.as_ref().is_some_and(is_said) {
        true => name.to_owned(),
        false => format!("{name}, {title}"),
    };
    let mut said = vec![format!("{of}{} {call}", question(approval))];
    if let Some(command) = &approval.command {
        said.extend(command.text.lines().map(|line| format!("command: {line}")));
        let marks = command.marks.iter().filter_map(|mark| command.text.get(mark.clone()));
        said.extend(marks.map(|part| format!("because of: {part}")));
    }
    let change = approval.change.iter().flat_map(|change| change.hunks.iter().enumerate());
    for (at, hunk) in change {
        said.push(format!("hunk {} of {}", at + 1, approval.change.as_ref().map_or(0, |it| it.hunks.len())));
        said.extend(hunk.lines.iter().filter_map(|line| match line.split_at_checked(1)? {
            ("-", text) => Some(format!("removed: {text}")),
            ("+", text) => Some(format!("added: {text}")),
            (_, text) => Some(text.to_owned()),
        }));
    }
    said.extend(approval.reasons.iter().map(|reason| format!("because: {}", reason.as_str())));
    said.extend(sandbox(approval));
    said.extend(cut_note(approval).map(str::to_owned));
    if approval.hunks() > 0 {
        let state = if approval.rejected.contains(&approval.hunk) { "not applied" } else { "applied" };
        said.push(format!("hunk {} selected: {state}", approval.hunk + 1));
    }
    let typed = |label: &str, line: &LineEdit| {
        let (before, after) = line.at_cursor();
        format!("{label}: {}{}", Printable::line(before), Printable::line(after))
    };
    let prompt = match &approval.stage {
        PromptStage::Choice => {
            let keys = choice_keys(model, approval).into_iter().map(|(key, word)| match key.as_str() {
                "←→" => "left and right other calls".to_owned(),
                key => format!("{key} {word}"),
            });
            let kinds = kind_keys(model, approval).into_iter().flatten();
            let keys = keys.chain(kinds.map(|(key, word)| format!("capital {key} {word}")));
            said.push(format!("keys: {}", keys.collect::<Vec<_>>().join(", ")));
            "your answer: ".to_owned()
        }
        PromptStage::Reason(line) => typed("why not, then enter", line),
        PromptStage::Command(line) => typed("the command, then enter", line),
        PromptStage::Rule(draft) => {
            let scope = approval
                .scopes()
                .iter()
                .find(|(scope, _)| *scope == draft.scope)
                .map_or("", |(_, name)| *name);
            if approval.request.suggested_rule.is_none() {
                said.push(NO_RULE.to_owned());
            }
            said.push(coverage(draft).0);
            said.push(format!("holds for {scope}; tab changes that"));
            typed("the rule, then enter", &draft.line)
        }
        PromptStage::Editor(_) => "in your editor: ".to_owned(),
    };
    (said, prompt)
}
