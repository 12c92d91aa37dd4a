//! The actions that keys can trigger: one table.
//!
//! A row has a name (for `[keys]` in config.toml), default keys, a context and a line of help.
//! The key map, the help overlay and the README are made from it. Actions never leave
//! `update`. To add one: a row, and an arm in `update/actions.rs`.

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
    /// The group in the help.
    pub group: ActionGroup,
    /// One line of help.
    pub help: &'static str,
}

macro_rules! actions {
    ($($action:ident $name:literal $keys:tt $context:ident $group:ident $help:literal;)+) => {
        /// The meaning of a key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $($action,)+
        }

        /// All actions, in display order.
        pub const TABLE: &[ActionRow] = &[$(ActionRow {
            action: Action::$action,
            name: $name,
            keys: &$keys,
            context: KeyContext::$context,
            group: ActionGroup::$group,
            help: $help,
        },)+];
    };
}

actions! {
    Send "send" ["enter"] Composer Messages "send the message; while the agent is working, steer it";
    FollowUp "follow-up" ["alt+enter", "ctrl+x enter"] Composer Messages "queue the message until the agent finishes";
    NewLine "new-line" ["shift+enter", "ctrl+j"] Composer Messages "new line (also `\\`, then Enter)";
    Cancel "cancel" ["esc"] Screen Running "stop the agent or the command; clear the selection; twice: open the session tree";
    Clear "clear" ["ctrl+c"] Screen Running "clear the composer, or stop; twice: quit";
    Exit "exit" ["ctrl+d"] Screen Running "quit if the composer is empty, else delete forward";
    Suspend "suspend" ["ctrl+z"] Screen Running "suspend tau; `fg` resumes it";
    Background "background" ["ctrl+x b"] Screen Running "leave the session running and go back to the shell";
    Board "board" ["ctrl+x l"] Screen Running "show the sessions that run, wait for you or have ended";
    Jobs "jobs" ["ctrl+x i"] Screen Running "show the commands that run in the background";
    MoveToBackground "move-to-background" ["ctrl+b", "ctrl+x z"] Screen Running "move the running command to the background";
    Answer "answer" ["alt+a", "ctrl+x a"] Screen Running "answer a waiting call, or write first";
    Mode "mode" ["shift+tab", "alt+m"] Screen Running "next permission mode: ask, edits, plan, auto";
    GiveKeyboard "give-keyboard" ["f2", "ctrl+x g"] Screen Running "type into the running `!command`";
    TakeKeyboard "take-keyboard" ["ctrl+]"] Screen Running "switch the keyboard between tau and the command";
    EditQueue "edit-queue" ["alt+up", "ctrl+x q"] Screen Messages "edit, move, delete or send queued messages";
    Complete "complete" ["tab"] Composer Messages "complete a command, `@file` or path; on an empty composer: select a panel";
    HistorySearch "history-search" ["ctrl+r"] Screen Messages "search earlier prompts";
    HistoryPrevious "history-previous" ["up"] Composer Messages "row up; on the first row: previous prompt";
    HistoryNext "history-next" ["down"] Composer Messages "row down; on the last row: next prompt";
    Stash "stash" ["ctrl+s"] Composer Messages "set the draft aside; on an empty composer, bring it back";
    Paste "paste" ["ctrl+v"] Composer Messages "paste an image or text from the clipboard";
    Editor "editor" ["ctrl+g"] Screen Messages "edit the message in $VISUAL or $EDITOR";
    Undo "undo" ["ctrl+_", "ctrl+7"] Composer Editing "undo";
    Redo "redo" ["alt+_", "ctrl+shift+z", "ctrl+x r"] Composer Editing "redo";
    KillToEnd "kill-to-end" ["ctrl+k"] Composer Editing "delete to line end";
    KillToStart "kill-to-start" ["ctrl+u"] Composer Editing "delete to line start";
    KillWordBack "kill-word-back" ["ctrl+w", "alt+backspace", "ctrl+backspace"] Composer Editing "delete previous word";
    KillWordForward "kill-word-forward" ["alt+d", "ctrl+delete", "ctrl+x w"] Composer Editing "delete next word";
    Yank "yank" ["ctrl+y"] Composer Editing "insert last deleted text";
    DeleteBack "delete-back" ["backspace", "ctrl+h", "shift+backspace"] Composer Editing "delete backward";
    DeleteForward "delete-forward" ["delete"] Composer Editing "delete forward";
    WordLeft "word-left" ["alt+left", "ctrl+left", "alt+b"] Composer Editing "word left";
    WordRight "word-right" ["alt+right", "ctrl+right", "alt+f"] Composer Editing "word right";
    LineStart "line-start" ["home", "ctrl+a"] Composer Editing "start of line";
    LineEnd "line-end" ["end", "ctrl+e"] Composer Editing "end of line";
    Models "models" ["ctrl+l"] Screen Models "choose a model";
    NextModel "next-model" ["ctrl+p"] Screen Models "next favourite or recent model";
    PreviousModel "previous-model" ["ctrl+shift+p", "alt+p", "ctrl+x p"] Screen Models "previous favourite or recent one";
    Thinking "thinking" ["alt+t", "ctrl+x t"] Screen Models "next thinking level";
    ToggleTools "toggle-tools" ["ctrl+o"] Screen Transcript "expand or collapse tool output";
    ToggleThinking "toggle-thinking" ["ctrl+t"] Screen Transcript "show or hide thinking";
    ToggleDiff "toggle-diff" ["alt+s", "ctrl+x s"] Screen Transcript "show diffs side by side or one below the other";
    FoldPlan "fold-plan" ["ctrl+q"] Screen Running "fold or unfold the steps of the plan";
    CopyAnswer "copy-answer" ["ctrl+x c"] Screen Transcript "copy the last answer";
    PageUp "page-up" ["pageup", "ctrl+x u"] Screen Transcript "scroll a page up";
    PageDown "page-down" ["pagedown", "ctrl+x d"] Screen Transcript "scroll a page down";
    RowUp "row-up" ["shift+up", "ctrl+x k"] Screen Transcript "scroll up";
    RowDown "row-down" ["shift+down", "ctrl+x j"] Screen Transcript "scroll down";
    Find "find" ["ctrl+f"] Screen Transcript "find in the transcript";
    PreviousPrompt "previous-prompt" ["ctrl+up", "alt+pageup", "ctrl+x up"] Screen Transcript "previous prompt";
    NextPrompt "next-prompt" ["ctrl+down", "alt+pagedown", "ctrl+x down"] Screen Transcript "next prompt";
    Top "top" ["ctrl+home", "ctrl+x <"] Screen Transcript "scroll to the start";
    Tail "tail" ["ctrl+end", "ctrl+x >"] Screen Transcript "scroll to the end";
    SelectPanel "select-panel" ["alt+o", "ctrl+x o"] Screen Transcript "select a panel: a call, a message or a block of code";
    PanelUp "panel-up" ["up"] Panel Panel "previous panel";
    PanelDown "panel-down" ["down"] Panel Panel "next panel; after the last: the composer";
    PanelFold "panel-fold" ["enter", "space"] Panel Panel "expand or collapse the panel";
    PanelCopy "panel-copy" ["c"] Panel Panel "copy its output, diff, code or text";
    PanelCopyCommand "panel-copy-command" ["y"] Panel Panel "copy its command or path";
    PanelOpen "panel-open" ["e", "o"] Panel Panel "open its file or text in an editor";
    PanelReveal "panel-reveal" ["r"] Panel Panel "show or hide the secrets in it";
    PanelRerun "panel-rerun" ["s"] Panel Panel "run a `!` command that the sandbox blocked again, without the sandbox";
    PanelLeave "panel-leave" ["esc", "ctrl+c", "tab"] Panel Panel "back to the composer";
    Help "help" ["f1", "ctrl+x h"] Screen Running "show keys and commands (also `?` in an empty composer)";
    Palette "palette" ["alt+x", "ctrl+x x"] Screen Running "choose any action or command";
}

impl Action {
    /// Whether it moves in the transcript, which the terminal handles where the transcript is in its
    /// scrollback.
    pub(crate) fn is_of_the_transcript(self) -> bool {
        use Action::*;
        [PageUp, PageDown, RowUp, RowDown, Find, PreviousPrompt, NextPrompt, SelectPanel, Top, Tail]
            .contains(&self)
    }

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
