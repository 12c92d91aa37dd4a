//! The prompt of a waiting call: the question, the reasons, and the keys.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::typed;
use crate::layout::regions;
use crate::overlays::list::choice_mark;
use crate::panel::both_ends;
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::action::Action;
use tau_app::approval::{AlwaysList, Approval, Coverage, MarkedText, PromptStage, RuleDraft};
use tau_app::focus::Focus;
use tau_app::geometry::ScreenKind;
use tau_app::line_edit::LineEdit;
use tau_app::printable::{Printable, printable_line};
use tau_protocol::approval::{RuleScope, is_sandbox_rule};
use tau_tools::sandbox::support::NO_SANDBOX;

/// The maximum number of waiting calls listed.
const LISTED: usize = 5;
/// The number of titles shown of calls that a rule would have covered.
const COVERED: usize = 3;
/// The height from which the transcript has a row to set the prompt apart.
const SPACIOUS: usize = 16;
/// Cells for the number of omitted rows.
const LEFT_OUT: usize = 20;
/// The maximum number of rows for choices side by side; if they need more, they are shown by their letters.
const MAX_CHOICE_ROWS: usize = 2;
/// The cells of a reason that are shown at least, if it is cut.
const MIN_REASON: usize = 12;
/// The maximum number of rows of keys; if they need more, their words are left out.
const MAX_KEY_ROWS: usize = 2;

/// The prompt as rows, with the cursor's row and column if a line is being typed.
pub(crate) struct Prompt {
    pub rows: Vec<Row>,
    pub cursor: Option<(usize, u16)>,
    /// The requests that are listed whole.
    pub listed: Vec<String>,
}

/// The space that a prompt takes beside the request. Each look has fewer rows than the one before, and all
/// are tried before a row of the request is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    /// Set apart, with all waiting calls.
    Spacious,
    /// Reasons and choices have their own rows.
    Plain,
    /// One row of reasons; the choices share a row.
    Tight,
}

/// Writes rows.
struct Writer<'a> {
    rows: Vec<Row>,
    cursor: Option<(usize, u16)>,
    listed: Vec<String>,
    width: u16,
    look: Look,
    theme: &'a Theme,
}

impl Prompt {
    /// The prompt of a request, each row at most `width` cells wide.
    pub fn of(model: &Model, approval: &Approval, width: u16, theme: &Theme) -> Self {
        let height = transcript_height(model);
        let prompt = |look| Prompt::with(model, approval, width, theme, look);
        let spacious = prompt(Look::Spacious);
        let subject = super::subject_rows(approval, width, theme, height);
        let fits = |prompt: &Prompt| 1 + subject + prompt.rows.len() <= height;
        if height >= SPACIOUS && fits(&spacious) {
            return spacious;
        }
        let plain = prompt(Look::Plain);
        if fits(&plain) { plain } else { prompt(Look::Tight) }
    }

    fn with(model: &Model, approval: &Approval, width: u16, theme: &Theme, look: Look) -> Self {
        let mut writer = Writer { rows: Vec::new(), cursor: None, listed: Vec::new(), width, look, theme };
        if look == Look::Spacious {
            writer.push(Line::default());
        }
        writer.head(model, approval);
        if look == Look::Spacious {
            writer.list(model);
        }
        writer.reasons(approval);
        match &approval.stage {
            PromptStage::Choice => writer.choice(model, approval),
            PromptStage::Reason(line) => {
                writer.push_input("why not: ", line);
                writer.keys(&[("enter", "denies it, with or without a reason"), ("esc", "goes back")]);
            }
            PromptStage::Command(line) => {
                writer.push_input("$ ", line);
                writer.keys(&[("enter", "runs it as it is here"), ("esc", "goes back")]);
            }
            PromptStage::Always(list) => writer.always(approval, list),
            PromptStage::Rule(draft) => writer.rule(approval, draft),
            PromptStage::Editor(_) => {
                writer.text("in your editor: save and close it to continue", ThemeToken::Muted);
            }
        }
        Prompt { rows: writer.rows, cursor: writer.cursor, listed: writer.listed }
    }
}

/// The reasons in one row: the last of them cut if they do not fit, and the number of those that are left out.
fn reasons_row(reasons: &[&str], width: u16) -> String {
    let joined = |count: usize| format!("! {}", reasons.get(..count).unwrap_or_default().join(" · "));
    let cut = |shown: usize| {
        let left = reasons.len() - shown;
        let more = if left > 0 { format!(" · {left} more") } else { String::new() };
        let room = usize::from(width).saturating_sub(wrap::cells(&more));
        let is_readable = wrap::cells(&joined(shown - 1)) + MIN_REASON <= room;
        is_readable.then(|| wrap::truncate(&joined(shown), room as u16).into_owned() + &more)
    };
    (1..=reasons.len()).rev().find_map(cut).unwrap_or_else(|| joined(reasons.len()))
}

/// The rows of the transcript while the prompt is open.
fn transcript_height(model: &Model) -> usize {
    let window = Rect { x: 0, y: 0, width: model.size.width, height: model.size.height };
    usize::from(regions(model, window).transcript.height)
}

fn question(approval: &Approval) -> &'static str {
    match (&approval.command, &approval.change) {
        _ if matches!(approval.stage, PromptStage::Always(_)) => "Always allow what?",
        _ if matches!(approval.stage, PromptStage::Rule(_)) && !approval.request.adds_path() => {
            "Always allow what?"
        }
        _ if approval.request.ran => "Run it again without the sandbox?",
        (Some(_), _) => "Run this command?",
        (None, Some(_)) => "Make this change?",
        (None, None) => "Allow this call?",
    }
}

/// True if the call may not be visible with its prompt: the user scrolls, writes first, or views a later
/// hunk.
fn may_be_out_of_sight(model: &Model, approval: &Approval) -> bool {
    !model.approvals.follow || !model.shows_prompt() || approval.hunk > 0
}

/// The sandbox of the call; nothing without a sandbox.
fn sandbox(approval: &Approval) -> Option<String> {
    let words = approval.sandbox.as_str();
    (!words.is_empty() && !words.starts_with(NO_SANDBOX)).then(|| format!("sandbox: {words}"))
}

/// A key that is not a choice.
struct OtherKey {
    key: String,
    /// As it is read out.
    spoken: String,
    /// Its action.
    word: &'static str,
}

/// The keys that are not choices; the least important last.
fn other_keys(model: &Model, approval: &Approval) -> Vec<OtherKey> {
    let fixed = |key: &str, word| Some(OtherKey { key: key.to_owned(), spoken: key.to_owned(), word });
    let has_more = approval.command.is_some() || approval.change.is_some() || !approval.arguments.is_empty();
    let is_cut = approval.change.as_ref().is_some_and(|change| change.cut);
    let is_full = model.boot.screen == ScreenKind::Full;
    let views = has_more && (is_cut || !is_full || approval.insists.is_some());
    let keys = [
        fixed("esc", "stops"),
        fixed("v", "views").filter(|_| views),
        fixed("space", "drops the hunk").filter(|_| approval.hunks() > 0),
        fixed("tab", "next hunk").filter(|_| approval.hunks() > 0),
        fixed("←→", "other calls")
            .filter(|_| model.approvals.pending().len() > 1)
            .map(|keys| OtherKey { spoken: "left and right".to_owned(), ..keys }),
        model
            .keymap
            .hint(Action::Answer)
            .and_then(|key| fixed(&key, if model.on_board.is_some() { "goes back" } else { "writes" })),
    ];
    keys.into_iter().flatten().collect()
}

fn cut_note(approval: &Approval) -> Option<&'static str> {
    let is_cut = approval.change.as_ref().is_some_and(|change| change.cut);
    is_cut.then_some("The change is too large to show in full; its hunks cannot be chosen.")
}

/// The calls that a rule would have covered, in words.
fn coverage(draft: &RuleDraft) -> (String, ThemeToken) {
    if matches!(draft.coverage, Coverage::Known(_)) && draft.line.text().trim().is_empty() {
        return ("for example bash(cargo test *) or edit(src/**)".to_owned(), ThemeToken::Muted);
    }
    if is_sandbox_rule(draft.line.text()) {
        let text = match draft.scope {
            RuleScope::Once => "this call can change everything in it",
            RuleScope::Session | RuleScope::Local | RuleScope::Project | RuleScope::User => {
                "commands can change everything in it from then on"
            }
        };
        return (text.to_owned(), ThemeToken::Muted);
    }
    coverage_words(&draft.coverage, "covered")
}

/// The earlier calls that a rule would have decided, in words: it would have `verb` them.
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

    /// The question, the call if it may be out of sight, and its number if there are several.
    fn head(&mut self, model: &Model, approval: &Approval) {
        let style = |token| self.theme.style(token);
        let mut left = vec![Span::styled(question(approval), style(ThemeToken::Strong))];
        if may_be_out_of_sight(model, approval) {
            let call = format!("  {}  {}", approval.name.as_str(), approval.title.as_str());
            left.push(Span::styled(call, style(ThemeToken::Muted)));
        }
        let count = model.approvals.pending().len();
        let place = format!("{} of {count}", model.approvals.open_index() + 1);
        let place = Some(Span::styled(place, style(ThemeToken::Accent))).filter(|_| count > 1);
        if self.look < Look::Tight {
            return self.push(both_ends(left, place.into_iter().collect(), self.width.saturating_add(1)));
        }
        let mut hints: Vec<Span<'static>> = place.into_iter().collect();
        if approval.stage == PromptStage::Choice && !model.approvals.aside {
            let keys = other_keys(model, approval).into_iter();
            hints.extend(keys.map(|OtherKey { key, word, .. }| {
                Span::styled(format!("{key} {word}"), style(ThemeToken::Muted))
            }));
        }
        // They have no row of their own. The right end may show how much is left out.
        let room = usize::from(self.width).saturating_sub(LEFT_OUT);
        for hint in hints {
            if wrap::spans_cells(&left) + 2 + wrap::cells(&hint.content) <= room {
                left.extend([Span::raw("  "), hint]);
            }
        }
        self.push(wrap::truncate_line(Line::from(left), self.width));
    }

    /// The reasons and the sandbox: in one row, unless there is room for more.
    fn reasons(&mut self, approval: &Approval) {
        let reasons: Vec<&str> = approval.reasons.iter().map(Printable::as_str).collect();
        let fits = wrap::cells(&format!("! {}", reasons.join(" · "))) <= usize::from(self.width);
        if !reasons.is_empty() && (fits || self.look == Look::Tight) {
            let row = reasons_row(&reasons, self.width);
            let line = Line::styled(row, self.theme.style(ThemeToken::Warning));
            self.push(wrap::truncate_line(line, self.width));
        } else {
            reasons.iter().for_each(|reason| self.text(&format!("! {reason}"), ThemeToken::Warning));
        }
        if let Some(sandbox) = sandbox(approval).filter(|_| self.look < Look::Tight) {
            self.text(&sandbox, ThemeToken::Muted);
        }
    }

    /// All waiting calls, if there are several.
    fn list(&mut self, model: &Model) {
        let (pending, open) = (model.approvals.pending(), model.approvals.open_index());
        if pending.len() < 2 {
            return;
        }
        let first = open.saturating_sub(LISTED / 2).min(pending.len().saturating_sub(LISTED));
        for (at, other) in pending.iter().enumerate().skip(first).take(LISTED) {
            // Neither the mark nor the numbers of the choices: the list has no cursor of its own.
            let (mark, token) =
                if at == open { ("● ", ThemeToken::Accent) } else { ("  ", ThemeToken::Muted) };
            let text = format!("{mark}{}  {}", other.name.as_str(), other.title.as_str());
            if other.is_title() && wrap::cells(&text) <= usize::from(self.width) {
                self.listed.push(other.request.id.clone());
            }
            let text = wrap::truncate(&text, self.width).into_owned();
            self.push(Line::styled(text, self.theme.style(token)));
        }
    }

    fn choice(&mut self, model: &Model, approval: &Approval) {
        if let Some(note) = cut_note(approval) {
            self.text(note, ThemeToken::Muted);
        }
        if let Some([full, short]) = approval.repeat_reason() {
            let fits = wrap::cells(full) + 2 <= usize::from(self.width);
            self.text(&format!("! {}", if fits { full } else { short }), ThemeToken::Warning);
        }
        let elsewhere = match model.focus() {
            Focus::Command => Some((Action::TakeKeyboard, "then answer; keys go to your command now")),
            Focus::Panel => Some((Action::PanelLeave, "then answer; keys go to the selected panel now")),
            Focus::Find | Focus::Overlay | Focus::Prompt { .. } | Focus::Composer => None,
        };
        let aside = model.approvals.aside.then_some((Action::Answer, "answers; typing goes to your draft"));
        if let Some((action, words)) = aside.or(elsewhere) {
            let key = model.keymap.hint(action).unwrap_or_else(|| "/answer".to_owned());
            return self.keys(&[(&key, words)]);
        }
        let same = model.approvals.same_kind();
        let choices = approval.choices(same);
        let marked = Some(approval.selected.min(choices.len().saturating_sub(1)));
        let marked = marked.filter(|_| model.takes_answer());
        let words = choices.iter().map(|choice| (approval.choice_words(*choice, same), choice.letter()));
        match self.look {
            Look::Tight => {
                let (texts, letters): (Vec<String>, Vec<String>) = words
                    .enumerate()
                    .map(|(at, ((_, short), letter))| (format!("{} {short}", at + 1), letter.to_string()))
                    .unzip();
                let rows = self.in_a_row(texts, marked);
                let rows = if rows.len() > MAX_CHOICE_ROWS { self.in_a_row(letters, marked) } else { rows };
                rows.into_iter().for_each(|row| self.push(wrap::truncate_line(Line::from(row), self.width)));
            }
            Look::Spacious | Look::Plain => {
                let rows: Vec<String> =
                    words.map(|((full, _), letter)| format!("{full} ({letter})")).collect();
                self.options(&rows, marked);
                let keys = other_keys(model, approval);
                let keys: Vec<(&str, &str)> = keys.iter().map(|it| (it.key.as_str(), it.word)).collect();
                self.keys(&keys);
            }
        }
    }

    /// The numbered choices, each in its own rows.
    fn options(&mut self, texts: &[String], marked: Option<usize>) {
        for (at, text) in texts.iter().enumerate() {
            let (mark, token) = choice_mark(marked == Some(at));
            let line = Line::styled(format!("{mark}{} {text}", at + 1), self.theme.style(token));
            wrap::wrap(&line, self.width, 4).into_iter().for_each(|row| self.push(row));
        }
    }

    /// The numbered choices in as few rows as possible.
    fn in_a_row(&self, texts: Vec<String>, marked: Option<usize>) -> Vec<Vec<Span<'static>>> {
        let mut rows: Vec<Vec<Span<'static>>> = vec![Vec::new()];
        for (at, text) in texts.into_iter().enumerate() {
            let (mark, token) = choice_mark(marked == Some(at));
            let span = Span::styled(format!("{mark}{text}"), self.theme.style(token));
            let taken = rows.last().map_or(0, wrap::spans_cells);
            if taken > 0 && taken + wrap::cells(&span.content) > usize::from(self.width) {
                rows.push(Vec::new());
            }
            rows.last_mut().into_iter().for_each(|row| row.push(span.clone()));
        }
        rows
    }

    fn rule(&mut self, approval: &Approval, draft: &RuleDraft) {
        self.push_input("rule: ", &draft.line);
        self.scopes(approval, draft.scope);
        let (text, token) = coverage(draft);
        self.text(&text, token);
        let adds = match (approval.request.ran, approval.request.adds_path()) {
            (true, true) => "adds it and runs the call again, in the sandbox",
            (true, false) => "adds it and runs the call again",
            (false, _) => "adds it and runs the call",
        };
        self.keys(&[("enter", adds), ("tab", "changes its scope"), ("esc", "goes back")]);
    }

    /// The numbered meanings of "always".
    fn always(&mut self, approval: &Approval, list: &AlwaysList) {
        let offers = approval.always();
        let texts: Vec<String> =
            offers.iter().map(|offer| printable_line(&approval.always_words(offer)).into_owned()).collect();
        self.options(&texts, Some(list.selected));
        let has_scope = list.has_scope(&offers);
        if has_scope {
            self.scopes(approval, list.scope);
        }
        let tab = has_scope.then_some(("tab", "changes the scope"));
        let takes = ("enter", "takes it and runs the call");
        let keys: Vec<_> = std::iter::once(takes).chain(tab).chain([("esc", "goes back")]).collect();
        self.keys(&keys);
    }

    /// The scopes of a rule; if rows are scarce only the chosen one, as Tab shows the others.
    fn scopes(&mut self, approval: &Approval, chosen: RuleScope) {
        let mut spans = vec![Span::styled("for: ", self.theme.style(ThemeToken::Muted))];
        let shown = |scope: RuleScope| self.look != Look::Tight || scope == chosen;
        let scopes = approval.scopes().iter().filter(|(scope, _)| shown(*scope));
        for (at, (scope, name)) in scopes.enumerate() {
            let is_chosen = *scope == chosen;
            let token = if is_chosen { ThemeToken::OverlaySelected } else { ThemeToken::Muted };
            let between = if at == 0 { "" } else { " " };
            let text = if is_chosen { format!("‹{name}›") } else { format!(" {name} ") };
            spans.extend([Span::raw(between), Span::styled(text, self.theme.style(token))]);
        }
        self.push_wrapped(spans);
    }

    fn push_wrapped(&mut self, spans: Vec<Span<'static>>) {
        wrap::wrap(&Line::from(spans), self.width, 2).into_iter().for_each(|row| self.push(row));
    }

    fn push_input(&mut self, label: &str, line: &LineEdit) {
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

    /// Keys with their actions; a row is never broken between the two.
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
        if rows.len() > MAX_KEY_ROWS {
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

/// The prompt as lines to read aloud, with the typed line or the keys.
pub(crate) fn lines(model: &Model, approval: &Approval) -> (Vec<String>, String) {
    let count = model.approvals.pending().len();
    let of =
        if count > 1 { format!("{} of {count}: ", model.approvals.open_index() + 1) } else { String::new() };
    let (name, title) = (approval.name.as_str(), approval.title.as_str());
    // A command is spoken once, below.
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
    said.extend(approval.arguments.iter().map(|it| format!("{}: {}", it.name, it.text)));
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
    let prompt = describe_stage(model, approval, &mut said);
    (said, prompt)
}

/// The choices or input of this stage, and the typed line.
fn describe_stage(model: &Model, approval: &Approval, said: &mut Vec<String>) -> String {
    let typed = |label: &str, line: &LineEdit| {
        let (before, after) = line.at_cursor();
        format!("{label}: {}{}", Printable::line(before), Printable::line(after))
    };
    match &approval.stage {
        PromptStage::Choice => {
            let same = model.approvals.same_kind();
            let choices = approval.choices(same);
            for (at, choice) in choices.iter().enumerate() {
                let (words, _) = approval.choice_words(*choice, same);
                let letter = match choice.letter() {
                    letter if letter.is_uppercase() => format!("capital {letter}"),
                    letter => letter.to_string(),
                };
                said.push(format!("{}, or {letter}: {words}", at + 1));
            }
            let keys = other_keys(model, approval);
            let keys: Vec<_> = keys.iter().map(|key| format!("{} {}", key.spoken, key.word)).collect();
            said.push(format!("keys: {}", keys.join(", ")));
            let selected = choices.get(approval.selected).filter(|_| approval.selected > 0);
            said.extend(
                selected.map(|choice| format!("selected: {}", approval.choice_words(*choice, same).0)),
            );
            "your answer: ".to_owned()
        }
        PromptStage::Reason(line) => typed("why not, then enter", line),
        PromptStage::Command(line) => typed("the command, then enter", line),
        PromptStage::Always(list) => {
            let offers = approval.always();
            let words = |at: usize| {
                offers.get(at).map(|offer| format!("{}: {}", at + 1, approval.always_words(offer)))
            };
            said.extend((0..offers.len()).filter_map(words));
            said.extend(words(list.selected).map(|words| format!("selected: {words}")));
            "your answer: ".to_owned()
        }
        PromptStage::Rule(draft) => {
            let scope = approval
                .scopes()
                .iter()
                .find(|(scope, _)| *scope == draft.scope)
                .map_or("", |(_, name)| *name);
            said.push(coverage(draft).0);
            said.push(format!("applies to {scope}; tab changes that"));
            typed("the rule, then enter", &draft.line)
        }
        PromptStage::Editor(_) => "in your editor: ".to_owned(),
    }
}
