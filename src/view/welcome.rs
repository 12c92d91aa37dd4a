//! The head of a session: the version, first hints, how to connect a model.

use ratatui::text::{Line, Span};

use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use tau_app::Model;
use tau_protocol::model::Api;

/// The rows of the head.
pub fn rows(model: &Model, theme: &Theme, width: u16) -> Vec<Row> {
    let muted = theme.style(ThemeToken::Muted);
    let accent = theme.style(ThemeToken::Accent);
    let strong = theme.style(ThemeToken::Heading);
    let mut rows = vec![Line::from(vec![
        Span::styled("τ ", accent),
        Span::styled("tau", strong),
        Span::styled(format!(" {}", model.boot.version), muted),
    ])];
    // Some terminals and editors capture F1; this can be typed anywhere.
    let text = "  ? keys and commands · ! runs a command · @ names a file · / commands";
    rows.push(Line::styled(text, muted));
    // Until a real model is chosen.
    let uses_demo = model.status.mirror.model.as_ref().is_none_or(|ai| ai.api == Api::Scripted);
    if model.boot.demo && uses_demo {
        rows.push(Line::default());
        rows.extend(demo(theme));
    }
    let width = width.saturating_sub(1);
    rows.into_iter().flat_map(|row| wrap::line_rows(&row, width, 2)).collect()
}

/// The hint for a new user: no model is connected yet.
fn demo(theme: &Theme) -> Vec<Line<'static>> {
    let (text, strong, code) = (
        theme.style(ThemeToken::Text),
        theme.style(ThemeToken::Warning),
        theme.style(ThemeToken::CodeInline),
    );
    let item = |before: &'static str, what: &'static str, after: &'static str| {
        Line::from(vec![Span::styled(before, text), Span::styled(what, code), Span::styled(after, text)])
    };
    vec![
        Line::from(vec![
            Span::styled("  This is the scripted demo: not an AI. ", strong),
            Span::styled("It answers from a script and works offline.", text),
        ]),
        Line::styled("  Send anything to watch it read, write and run. To connect a real model:", text),
        item("  · set ", "ANTHROPIC_API_KEY", ", OPENAI_API_KEY or another key, and restart tau"),
        item("  · type ", "/login", " for a subscription or a provider's API key"),
        item("  · start a local server (Ollama, LM Studio, llama.cpp, vLLM), or use ", "--base-url", ""),
    ]
}
