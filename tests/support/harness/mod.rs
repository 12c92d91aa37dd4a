//! A screen without a terminal: folds keys and events, draws frames, compares with goldens.
//!
//! Goldens hold the text of a frame and a layer of styles under it. `TAU_BLESS=1 cargo test` rewrites them;
//! review the diff before committing it.

mod answering;
pub mod svg;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tau::agent::AgentEvent;
use tau::agent::protocol::approval::PermissionMode;
use tau::agent::protocol::event::{Delta, Question, RunEvent, TurnEvent};
use tau::agent::protocol::message::{
    AssistantMessage, Block, Message, StopReason, ToolCall, Usage, UserContent, UserMessage,
};
use tau::agent::protocol::model::{Api, Model as AiModel};
use tau::agent::settings::Paths;
use tau::agent::settings::private_files::SharedFile;
use tau::app::boot::Boot;
use tau::app::geometry::{FrameLayout, Size};
use tau::app::msg::Millis;
use tau::app::{Effect, Model, Msg, StampedMsg, update};
use tau::view::color::ColorDepth;
use tau::view::frame::Frame;
use tau::view::{Memo, view};

pub use answering::answering;

/// The time of the first message; arbitrary, but always the same.
pub const START: Millis = 1_767_323_045_000;

/// A file as the program changes it; its lock is in a folder next to the file's.
pub fn shared(path: &Path) -> SharedFile {
    let folder = path.parent().unwrap();
    Paths::under(&folder.join("locks")).shared_file(path.to_owned())
}

/// A running screen.
pub struct Screen {
    pub model: Option<Model>,
    pub memo: Memo,
    pub effects: Vec<Effect>,
    pub at: Millis,
    /// Everything that was folded, for replay.
    pub log: Vec<StampedMsg>,
}

/// The data of a plain start.
pub fn boot() -> Boot {
    Boot {
        at: START,
        size: Size { width: 80, height: 24 },
        version: "0.0.0".into(),
        place: "~/work/parser".into(),
        model: Some(Arc::new(ai())),
        theme: "dark".into(),
        themes: vec!["dark".into(), "light".into()],
        ..Boot::default()
    }
}

/// A model to talk to.
pub fn ai() -> AiModel {
    AiModel {
        id: "coder".into(),
        name: "Coder".into(),
        provider: "local".into(),
        reasoning: true,
        context_window: 200_000,
        ..AiModel::default()
    }
}

/// A memo for a true-colour terminal.
pub fn memo() -> Memo {
    memo_of(ColorDepth::True)
}

fn memo_of(depth: ColorDepth) -> Memo {
    Memo::new(depth, std::collections::HashMap::new())
}

impl Screen {
    /// A plain start.
    pub fn new() -> Self {
        Screen::boot(boot())
    }

    /// A start with this data.
    pub fn boot(boot: Boot) -> Self {
        let at = boot.at;
        let (model, effects) = tau::app::boot(boot);
        let mut screen = Screen { model: Some(model), memo: memo(), effects, at, log: Vec::new() };
        screen.draw();
        screen
    }

    /// Adds these slash commands.
    pub fn with_commands(mut self, commands: std::sync::Arc<tau::app::slash::Commands>) -> Self {
        if let Some(model) = &mut self.model {
            model.commands = commands;
        }
        self
    }

    /// The current model.
    pub fn model(&self) -> &Model {
        self.model.as_ref().expect("only taken while folding")
    }

    /// Folds a message without advancing time.
    pub fn fold(&mut self, msg: Msg) {
        let stamped = StampedMsg { at: self.at, msg };
        self.log.push(stamped.clone());
        let model = self.model.take().expect("only taken while folding");
        let (model, effects) = update(model, stamped);
        self.model = Some(model);
        self.effects.extend(effects);
    }

    /// Folds a message and draws, as the shell does.
    pub fn send(&mut self, msg: Msg) {
        self.fold(msg);
        self.draw();
    }

    /// Presses keys: literal characters, others as `<enter>`, `<ctrl+c>`; `<<` is `<`.
    pub fn keys(&mut self, script: &str) {
        let mut rest = script;
        while let Some(c) = rest.chars().next() {
            let (name, after) = match rest.strip_prefix('<').and_then(|inner| inner.split_once('>')) {
                Some((name, after)) if !name.is_empty() && !name.contains(' ') => (name.to_owned(), after),
                _ if c == ' ' => ("space".to_owned(), &rest[1..]),
                _ => (c.to_string(), &rest[c.len_utf8()..]),
            };
            self.send(Msg::Key(name.parse().expect("a key")));
            rest = after;
        }
    }

    /// Folds an event of the agent.
    pub fn agent(&mut self, event: impl Into<AgentEvent>) {
        self.send(Msg::Agent(event.into()));
    }

    /// Lets time pass.
    pub fn wait(&mut self, span: Millis) {
        self.at += span;
        self.send(Msg::Ticked);
    }

    /// Draws at the model's size and folds the results of the frame.
    pub fn draw(&mut self) -> Buffer {
        let size = self.model().size;
        let (buffer, laid) = draw(self.model.as_ref().expect("there"), &mut self.memo, size);
        if self.model().learns_from(&laid) {
            self.fold(Msg::Laid(laid));
        }
        buffer
    }

    /// Takes the effects so far.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// An answer of the model that streams in, in pieces of `step` bytes.
    pub fn answer(&mut self, text: &str, step: usize) {
        self.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::Stop)) });
        self.delta(Delta::TextStart { content_index: 0 });
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(step.min(rest.len())));
            self.delta(Delta::TextDelta { content_index: 0, delta: piece.to_owned() });
            rest = after;
        }
        self.delta(Delta::TextEnd { content_index: 0, content: text.to_owned() });
        let message = assistant(vec![Block::text(text)], StopReason::Stop);
        self.agent(TurnEvent::MessageEnd { message: Arc::new(message) });
    }

    /// A piece of the message in flight.
    pub fn delta(&mut self, delta: Delta) {
        self.agent(TurnEvent::MessageUpdate { usage: Usage::default(), assistant_message_event: delta });
    }

    /// A user message comes back from the agent.
    pub fn user(&mut self, text: &str) {
        self.agent(TurnEvent::MessageStart { message: Arc::new(user(text)) });
    }

    /// A run begins.
    pub fn run(&mut self) {
        self.agent(RunEvent::AgentStart);
        self.agent(TurnEvent::TurnStart);
    }

    /// The run is over.
    pub fn settle(&mut self) {
        self.agent(RunEvent::AgentSettled { aborted: false });
    }
}

/// A user message.
pub fn user(text: &str) -> Message {
    Message::User(UserMessage { timestamp: START, ..UserMessage::new(UserContent::Text(text.into())) })
}

/// An answer.
pub fn assistant(content: Vec<Block>, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        api: Api::OpenaiCompletions,
        provider: "local".into(),
        model: "coder".into(),
        stop_reason,
        timestamp: START,
        ..AssistantMessage::default()
    })
}

/// A call.
pub fn call(id: &str, name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments, thought_signature: None }
}

/// The question about a plan.
pub fn plan_question(text: &str) -> Question {
    Question::Plan { plan: text.into(), mode: PermissionMode::Ask, refusal: None }
}

/// A frame of the model at a size, and its results.
pub fn draw(model: &Model, memo: &mut Memo, size: Size) -> (Buffer, FrameLayout) {
    let mut frame = Frame::blank(Rect::new(0, 0, size.width, size.height));
    let laid = view(model, memo, &mut frame);
    (frame.buffer().clone(), laid)
}

/// The text of a frame, with right ends trimmed.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut row = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += (tau::view::wrap::cells(symbol) as u16).max(1);
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

/// The colour depths drawn in every golden frame.
const DEPTHS: [ColorDepth; 3] = [ColorDepth::True, ColorDepth::Ansi256, ColorDepth::Ansi16];

/// The styles of a frame, drawn in one or more ways: one letter per cell, `.` for the most frequent style,
/// and their meaning in each.
fn styles<const N: usize>(buffers: &[Buffer; N]) -> String {
    let at = |index: usize| buffers.each_ref().map(|buffer| buffer.content()[index].style());
    let cells: Vec<[Style; N]> = (0..buffers[0].content().len()).map(at).collect();
    let mut seen: Vec<([Style; N], usize)> = Vec::new();
    for looks in &cells {
        match seen.iter_mut().find(|(known, _)| known == looks) {
            Some((_, count)) => *count += 1,
            None => seen.push((*looks, 1)),
        }
    }
    let most = seen.iter().max_by_key(|(_, count)| *count).map(|(looks, _)| *looks);
    let others: Vec<[Style; N]> =
        seen.iter().map(|(looks, _)| *looks).filter(|looks| Some(*looks) != most).collect();
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    let letter = |looks: &[Style; N]| {
        others
            .iter()
            .position(|known| known == looks)
            .map_or('.', |at| letters.get(at).copied().unwrap_or('?'))
    };
    let mut out = String::new();
    for row in cells.chunks(usize::from(buffers[0].area.width.max(1))) {
        let row: String = row.iter().map(letter).collect();
        out.push_str(row.trim_end_matches('.'));
        out.push('\n');
    }
    for looks in most.iter().chain(&others) {
        let name = if Some(*looks) == most { '.' } else { letter(looks) };
        let _ = writeln!(out, "{name} = {}", looks.each_ref().map(describe).join(" | "));
    }
    out
}

fn describe(style: &Style) -> String {
    let color =
        |color: Option<ratatui::style::Color>| color.map_or("-".to_owned(), |color| color.to_string());
    format!("{} on {} {:?}", color(style.fg), color(style.bg), style.add_modifier)
}

/// Compares with the golden of this name, or writes it if `TAU_BLESS` is set.
pub fn golden(name: &str, content: &str) {
    generated(&format!("tests/golden/{name}"), content);
}

/// Compares a file of the project with its expected content, or writes it if `TAU_BLESS` is set.
pub fn generated(name: &str, content: &str) {
    let path = root().join(name);
    if std::env::var_os("TAU_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make the folder");
        std::fs::write(&path, content).expect("write the file");
        return;
    }
    let known = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; TAU_BLESS=1 writes it", path.display()));
    assert!(
        known == content,
        "{name} differs; TAU_BLESS=1 writes it again.\n--- as it is\n{known}\n--- now\n{content}"
    );
}

/// Compares a frame at a size, at every colour depth, with its golden.
pub fn frame(screen: &mut Screen, name: &str, width: u16, height: u16) {
    let size = Size { width, height };
    screen.send(Msg::Resized(size));
    screen.draw();
    let buffers = DEPTHS.map(|depth| draw(screen.model(), &mut memo_of(depth), size).0);
    assert!(buffers.iter().all(|buffer| text(buffer) == text(&buffers[0])), "depths differ in text: {name}");
    let content = format!("{}\n{}", text(&buffers[0]), styles(&buffers));
    golden(&format!("frames/{name}-{width}x{height}.txt"), &content);
}

/// Compares the frame at its current size with its golden.
pub fn frame_as_it_is(screen: &mut Screen, name: &str) {
    let buffer = screen.draw();
    golden(&format!("frames/{name}.txt"), &format!("{}\n{}", text(&buffer), styles(&[buffer])));
}

/// The four sizes in which every visible thing is checked.
pub fn frames(screen: &mut Screen, name: &str) {
    for (width, height) in [(200, 50), (120, 40), (40, 12), (80, 24)] {
        frame(screen, name, width, height);
    }
}

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}
