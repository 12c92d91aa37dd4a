//! The actions that keys can trigger: one table.
//!
//! A row has a name (for `[keys]` in config.toml), default keys, a context and a line of help.
//! The key map, the help overlay and the README are made from it. Actions never leave
//! `update`. To add one: a variant, a row, and an arm in `update/actions.rs`.

/// The meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    Send,
    FollowUp,
    NewLine,
    Cancel,
    Clear,
    Exit,
    Suspend,
    Background,
    Board,
    Jobs,
    MoveToBackground,
    Answer,
    Mode,
    GiveKeyboard,
    TakeKeyboard,
    Editor,
    FoldPlan,
    EditQueue,
    Stash,
    Paste,
    Complete,
    HistorySearch,
    HistoryPrevious,
    HistoryNext,
    Undo,
    Redo,
    Yank,
    KillToEnd,
    KillToStart,
    KillWordBack,
    KillWordForward,
    DeleteBack,
    DeleteForward,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Models,
    Thinking,
    NextModel,
    PreviousModel,
    ToggleTools,
    ToggleThinking,
    ToggleDiff,
    CopyAnswer,
    PageUp,
    PageDown,
    RowUp,
    RowDown,
    Find,
    PreviousPrompt,
    NextPrompt,
    Top,
    Tail,
    SelectPanel,
    PanelUp,
    PanelDown,
    PanelFold,
    PanelCopy,
    PanelCopyCommand,
    PanelOpen,
    PanelReveal,
    PanelRerun,
    PanelLeave,
    Help,
    Palette,
}

/// The heading under which the help lists an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionGroup {
    Messages,
    Running,
    Models,
    Transcript,
    Panel,
    Editing,
}

impl ActionGroup {
    /// All groups, in display order.
    pub const ALL: &'static [ActionGroup] = &[
        ActionGroup::Messages,
        ActionGroup::Transcript,
        ActionGroup::Panel,
        ActionGroup::Models,
        ActionGroup::Running,
        ActionGroup::Editing,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            ActionGroup::Messages => "Messages",
            ActionGroup::Running => "Stop, run, quit",
            ActionGroup::Models => "Models",
            ActionGroup::Transcript => "Transcript",
            ActionGroup::Panel => "Selected panel",
            ActionGroup::Editing => "Editing",
        }
    }
}

impl Action {
    /// Whether it moves in the transcript, which the terminal handles where the transcript is in its
    /// scrollback.
    pub(crate) fn is_of_the_transcript(self) -> bool {
        use Action::*;
        matches!(
            self,
            PageUp
                | PageDown
                | RowUp
                | RowDown
                | Find
                | PreviousPrompt
                | NextPrompt
                | SelectPanel
                | Top
                | Tail
        )
    }

    /// The group in the help.
    pub fn group(self) -> ActionGroup {
        use Action::*;
        match self {
            Send | FollowUp | NewLine | Editor | EditQueue | Stash | Paste | Complete | HistorySearch
            | HistoryPrevious | HistoryNext => ActionGroup::Messages,
            Cancel | Clear | Exit | Suspend | Background | Board | Jobs | MoveToBackground | Answer
            | Mode | FoldPlan | GiveKeyboard | TakeKeyboard | Help | Palette => ActionGroup::Running,
            Models | Thinking | NextModel | PreviousModel => ActionGroup::Models,
            ToggleTools | ToggleThinking | ToggleDiff | CopyAnswer | PageUp | PageDown | RowUp | RowDown
            | Find | PreviousPrompt | NextPrompt | Top | Tail | SelectPanel => ActionGroup::Transcript,
            PanelUp | PanelDown | PanelFold | PanelCopy | PanelCopyCommand | PanelOpen | PanelReveal
            | PanelRerun | PanelLeave => ActionGroup::Panel,
            Undo | Redo | Yank | KillToEnd | KillToStart | KillWordBack | KillWordForward | DeleteBack
            | DeleteForward | WordLeft | WordRight | LineStart | LineEnd => ActionGroup::Editing,
        }
    }
}

/// The place in which a key triggers the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyContext {
    Composer,
    /// Everywhere but in overlays.
    Screen,
    /// While a panel is selected, before everything else.
    Panel,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ActionRow {
    pub action: Action,
    /// Its name in config.toml.
    pub name: &'static str,
    /// Default keys, unless the settings override them.
    pub keys: &'static [&'static str],
    pub context: KeyContext,
    /// One line of help.
    pub help: &'static str,
}

const fn row(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    context: KeyContext,
    help: &'static str,
) -> ActionRow {
    ActionRow { action, name, keys, context, help }
}

use KeyContext::{Composer, Panel, Screen};

/// All actions, in display order.
pub const TABLE: &[ActionRow] = &[
    row(Action::Send, "send", &["enter"], Composer, "send the message; while the agent is working, steer it"),
    row(
        Action::FollowUp,
        "follow-up",
        &["alt+enter", "ctrl+x enter"],
        Composer,
        "queue the message until the agent finishes",
    ),
    row(
        Action::NewLine,
        "new-line",
        &["shift+enter", "ctrl+j"],
        Composer,
        "new line (also `\\`, then Enter)",
    ),
    row(
        Action::Cancel,
        "cancel",
        &["esc"],
        Screen,
        "stop the agent or the command; clear the selection; twice: open the session tree",
    ),
    row(Action::Clear, "clear", &["ctrl+c"], Screen, "clear the composer, or stop; twice: quit"),
    row(Action::Exit, "exit", &["ctrl+d"], Screen, "quit if the composer is empty, else delete forward"),
    row(Action::Suspend, "suspend", &["ctrl+z"], Screen, "suspend tau; `fg` resumes it"),
    row(
        Action::Background,
        "background",
        &["ctrl+x b"],
        Screen,
        "leave the session running and go back to the shell",
    ),
    row(
        Action::Board,
        "board",
        &["ctrl+x l"],
        Screen,
        "show the sessions that run, wait for you or have ended",
    ),
    row(Action::Jobs, "jobs", &["ctrl+x i"], Screen, "show the commands that run in the background"),
    row(
        Action::MoveToBackground,
        "move-to-background",
        &["ctrl+b", "ctrl+x z"],
        Screen,
        "move the running command to the background",
    ),
    row(Action::Answer, "answer", &["alt+a", "ctrl+x a"], Screen, "answer a waiting call, or write first"),
    row(
        Action::Mode,
        "mode",
        &["shift+tab", "alt+m"],
        Screen,
        "next permission mode: ask, edits, plan, auto",
    ),
    row(
        Action::GiveKeyboard,
        "give-keyboard",
        &["f2", "ctrl+x g"],
        Screen,
        "type into the running `!command`",
    ),
    row(
        Action::TakeKeyboard,
        "take-keyboard",
        &["ctrl+]"],
        Screen,
        "switch the keyboard between tau and the command",
    ),
    row(
        Action::EditQueue,
        "edit-queue",
        &["alt+up", "ctrl+x q"],
        Screen,
        "edit, move, delete or send queued messages",
    ),
    row(
        Action::Complete,
        "complete",
        &["tab"],
        Composer,
        "complete a command, `@file` or path; on an empty composer: select a panel",
    ),
    row(Action::HistorySearch, "history-search", &["ctrl+r"], Screen, "search earlier prompts"),
    row(
        Action::HistoryPrevious,
        "history-previous",
        &["up"],
        Composer,
        "row up; on the first row: previous prompt",
    ),
    row(Action::HistoryNext, "history-next", &["down"], Composer, "row down; on the last row: next prompt"),
    row(
        Action::Stash,
        "stash",
        &["ctrl+s"],
        Composer,
        "set the draft aside; on an empty composer, bring it back",
    ),
    row(Action::Paste, "paste", &["ctrl+v"], Composer, "paste an image or text from the clipboard"),
    row(Action::Editor, "editor", &["ctrl+g"], Screen, "edit the message in $VISUAL or $EDITOR"),
    row(Action::Undo, "undo", &["ctrl+_", "ctrl+7"], Composer, "undo"),
    row(Action::Redo, "redo", &["alt+_", "ctrl+shift+z", "ctrl+x r"], Composer, "redo"),
    row(Action::KillToEnd, "kill-to-end", &["ctrl+k"], Composer, "delete to line end"),
    row(Action::KillToStart, "kill-to-start", &["ctrl+u"], Composer, "delete to line start"),
    row(
        Action::KillWordBack,
        "kill-word-back",
        &["ctrl+w", "alt+backspace", "ctrl+backspace"],
        Composer,
        "delete previous word",
    ),
    row(
        Action::KillWordForward,
        "kill-word-forward",
        &["alt+d", "ctrl+delete", "ctrl+x w"],
        Composer,
        "delete next word",
    ),
    row(Action::Yank, "yank", &["ctrl+y"], Composer, "insert last deleted text"),
    row(
        Action::DeleteBack,
        "delete-back",
        &["backspace", "ctrl+h", "shift+backspace"],
        Composer,
        "delete backward",
    ),
    row(Action::DeleteForward, "delete-forward", &["delete"], Composer, "delete forward"),
    row(Action::WordLeft, "word-left", &["alt+left", "ctrl+left", "alt+b"], Composer, "word left"),
    row(Action::WordRight, "word-right", &["alt+right", "ctrl+right", "alt+f"], Composer, "word right"),
    row(Action::LineStart, "line-start", &["home", "ctrl+a"], Composer, "start of line"),
    row(Action::LineEnd, "line-end", &["end", "ctrl+e"], Composer, "end of line"),
    row(Action::Models, "models", &["ctrl+l"], Screen, "choose a model"),
    row(Action::NextModel, "next-model", &["ctrl+p"], Screen, "next favourite or recent model"),
    row(
        Action::PreviousModel,
        "previous-model",
        &["ctrl+shift+p", "alt+p", "ctrl+x p"],
        Screen,
        "previous favourite or recent one",
    ),
    row(Action::Thinking, "thinking", &["alt+t", "ctrl+x t"], Screen, "next thinking level"),
    row(Action::ToggleTools, "toggle-tools", &["ctrl+o"], Screen, "expand or collapse tool output"),
    row(Action::ToggleThinking, "toggle-thinking", &["ctrl+t"], Screen, "show or hide thinking"),
    row(
        Action::ToggleDiff,
        "toggle-diff",
        &["alt+s", "ctrl+x s"],
        Screen,
        "show diffs side by side or one below the other",
    ),
    row(Action::FoldPlan, "fold-plan", &["ctrl+q"], Screen, "fold or unfold the steps of the plan"),
    row(Action::CopyAnswer, "copy-answer", &["ctrl+x c"], Screen, "copy the last answer"),
    row(Action::PageUp, "page-up", &["pageup", "ctrl+x u"], Screen, "scroll a page up"),
    row(Action::PageDown, "page-down", &["pagedown", "ctrl+x d"], Screen, "scroll a page down"),
    row(Action::RowUp, "row-up", &["shift+up", "ctrl+x k"], Screen, "scroll up"),
    row(Action::RowDown, "row-down", &["shift+down", "ctrl+x j"], Screen, "scroll down"),
    row(Action::Find, "find", &["ctrl+f"], Screen, "find in the transcript"),
    row(
        Action::PreviousPrompt,
        "previous-prompt",
        &["ctrl+up", "alt+pageup", "ctrl+x up"],
        Screen,
        "previous prompt",
    ),
    row(
        Action::NextPrompt,
        "next-prompt",
        &["ctrl+down", "alt+pagedown", "ctrl+x down"],
        Screen,
        "next prompt",
    ),
    row(Action::Top, "top", &["ctrl+home", "ctrl+x <"], Screen, "scroll to the start"),
    row(Action::Tail, "tail", &["ctrl+end", "ctrl+x >"], Screen, "scroll to the end"),
    row(
        Action::SelectPanel,
        "select-panel",
        &["alt+o", "ctrl+x o"],
        Screen,
        "select a panel: a call, a message or a block of code",
    ),
    row(Action::PanelUp, "panel-up", &["up"], Panel, "previous panel"),
    row(Action::PanelDown, "panel-down", &["down"], Panel, "next panel; after the last: the composer"),
    row(Action::PanelFold, "panel-fold", &["enter", "space"], Panel, "expand or collapse the panel"),
    row(Action::PanelCopy, "panel-copy", &["c"], Panel, "copy its output, diff, code or text"),
    row(Action::PanelCopyCommand, "panel-copy-command", &["y"], Panel, "copy its command or path"),
    row(Action::PanelOpen, "panel-open", &["e", "o"], Panel, "open its file or text in an editor"),
    row(Action::PanelReveal, "panel-reveal", &["r"], Panel, "show or hide the secrets in it"),
    row(
        Action::PanelRerun,
        "panel-rerun",
        &["s"],
        Panel,
        "run a `!` command that the sandbox blocked again, without the sandbox",
    ),
    row(Action::PanelLeave, "panel-leave", &["esc", "ctrl+c", "tab"], Panel, "back to the composer"),
    row(
        Action::Help,
        "help",
        &["f1", "ctrl+x h"],
        Screen,
        "show keys and commands (also `?` in an empty composer)",
    ),
    row(Action::Palette, "palette", &["alt+x", "ctrl+x x"], Screen, "choose any action or command"),
];

impl Action {
    /// The context in which a key triggers it.
    pub(crate) fn context(self) -> KeyContext {
        TABLE.iter().find(|row| row.action == self).map_or(KeyContext::Screen, |row| row.context)
    }

    /// Its name in config.toml.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.action == self).map_or("", |row| row.name)
    }
}

/// The row of an action.
pub fn of(name: &str) -> Option<&'static ActionRow> {
    TABLE.iter().find(|row| row.name == name)
}
