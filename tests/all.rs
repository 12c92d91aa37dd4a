//! All integration tests in one binary: one link, one module per subject.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests act on the machine")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "a test that cannot continue fails"
)]

/// Ends the test if this machine lacks what the test needs.
macro_rules! needs {
    ($has:expr) => {
        if !$has {
            return;
        }
    };
}

mod acp;
mod add;
mod agent;
mod approvals;
mod asking;
mod attach_wire;
mod attempts;
mod background;
mod background_jobs;
mod batch;
mod board;
mod board_answers;
mod chaos;
mod clouds;
mod completion;
mod contrast;
mod copying;
mod cut_answers;
mod delegation;
mod doctor;
mod documents;
mod drafts;
mod earlier;
mod every_command;
mod every_key;
mod export;
mod export_agents;
mod extensions;
mod faults;
mod faulty_settings;
mod find;
mod folds;
mod foreign_sessions;
mod forks;
mod frames;
mod fuzz;
mod goal;
mod gone_directory;
mod headless;
mod hints;
mod history_window;
mod import;
mod imports;
mod inline;
mod interruptions;
mod keyboard;
mod kills;
mod laws;
mod leader;
mod library;
mod links;
mod list_keys;
mod live;
mod live_ends;
mod live_looks;
mod live_requests;
mod live_unsaved;
mod live_waits;
mod login;
mod mcp;
mod model_cycle;
mod models;
mod motion;
mod notifications;
mod odd_directory;
mod off_screen;
mod offers;
mod onboarding;
mod packages;
mod panels;
mod pasting;
mod path_completion;
mod permission_paths;
mod permission_rules;
mod permissions;
mod personal_settings;
mod pictures;
mod pipes;
mod plugin_folders;
mod protocol;
mod providers;
mod proxy;
mod pty;
mod questions;
mod queue_list;
mod reader;
mod rendering;
mod reopened;
mod replays;
mod repository;
mod rpc;
mod run_ends;
mod sandbox;
mod screens;
mod scrolled;
mod secrets;
mod selected_panel;
mod serve;
mod session_back;
mod session_disk;
mod session_flags;
mod session_folders;
mod session_list;
mod session_locks;
mod session_search;
mod session_tail;
mod session_writing;
mod sessions;
mod settings;
mod settings_screen;
mod side_questions;
mod soak;
mod ssh;
mod status_line;
#[cfg(target_os = "linux")]
mod stops;
mod support;
mod system_prompt;
mod terminal_screen;
mod text;
mod tidy;
mod tools;
mod tools_args;
mod tools_edit;
mod tools_encodings;
mod tools_figures;
mod tools_search;
mod tools_shell;
mod torture;
mod totals;
mod trust;
mod trust_screen;
mod typed_words;
mod undo;
mod undo_screen;
mod upkeep;
mod vim;
mod vscode;
mod ways_out;
mod web;
mod widths;
mod wire;
mod wording;
mod worktrees;

use support::{fake, harness, screen, time_limit};
