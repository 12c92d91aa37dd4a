//! Prompts on the shell's screen and for screen readers.

use ratatui::layout::Rect;
use tau::agent::protocol::command::QuestionCommand;
use tau::agent::protocol::event::{QuestionEvent, RunEvent, SessionEvent, TurnEvent};
use tau::app::boot::Boot;
use tau::app::geometry::ScreenKind;
use tau::app::{Model, StampedMsg, update};
use tau::view::frame::Frame;

use super::*;
use crate::harness::{boot, memo};

/// A screen of another kind: the last frame, and everything printed or spoken before.
struct Other {
    model: Option<Model>,
    at: i64,
    memo: tau::view::Memo,
    printed: String,
    live: String,
    effects: Vec<Effect>,
}

impl Other {
    fn new(kind: ScreenKind, size: Size) -> Self {
        let boot = Boot { screen: kind, size, ..boot() };
        let at = boot.at;
        let (model, _) = tau::app::boot(boot);
        let (printed, live) = (String::new(), String::new());
        let mut other = Other { model: Some(model), at, memo: memo(), printed, live, effects: Vec::new() };
        other.agent(SessionEvent::SessionOpened {
            session: tau::agent::protocol::event::SessionInfo { id: "s".into(), ..Default::default() },
            messages: Vec::new(),
            titles: Default::default(),
        });
        other.agent(RunEvent::AgentStart);
        other
    }

    fn fold(&mut self, msg: Msg) {
        let (model, effects) = update(self.model.take().unwrap(), StampedMsg { at: self.at, msg });
        self.model = Some(model);
        self.effects.extend(effects);
    }

    fn send(&mut self, msg: Msg) {
        self.fold(msg);
        let model = self.model.clone().unwrap();
        let mut frame = Frame::blank(Rect::new(0, 0, model.size.width, model.size.height));
        let drawing = tau::view::draw(&model, &mut self.memo, &mut frame);
        let all = text(frame.buffer());
        let rows: Vec<&str> = all.lines().collect();
        let (finished, live) = rows.split_at(usize::from(drawing.finished).min(rows.len()));
        self.printed += &finished.iter().map(|row| format!("{row}\n")).collect::<String>();
        self.live = live.iter().map(|row| format!("{row}\n")).collect();
        if model.learns_from(&drawing.laid) {
            self.fold(Msg::Laid(drawing.laid));
        }
    }

    fn agent(&mut self, event: impl Into<AgentEvent>) {
        self.send(Msg::Agent(event.into()));
    }

    fn asked(&mut self, request: ApprovalRequest) {
        self.agent(QuestionEvent::ApprovalRequested { request: Box::new(request) });
        self.at += SEEN;
        self.send(Msg::Ticked);
    }

    fn key(&mut self, name: &str) {
        self.send(Msg::Key(name.parse().unwrap()));
    }

    fn answer(&mut self) -> Option<ApprovalAnswer> {
        std::mem::take(&mut self.effects).into_iter().find_map(|effect| match effect {
            Effect::Agent(AgentCommand::Questions(QuestionCommand::AnswerApproval { answer, .. })) => {
                Some(answer)
            }
            _ => None,
        })
    }

    #[track_caller]
    fn has(&self, words: &[&str]) {
        let all = format!("{}--- live\n{}", self.printed, self.live);
        words.iter().for_each(|words| assert!(all.contains(words), "no {words:?} in\n{all}"));
    }
}

const SIZE: Size = Size { width: 80, height: 24 };

#[test]
fn a_prompt_is_live_on_the_shells_screen() {
    let mut other = Other::new(ScreenKind::Inline, SIZE);
    other.asked(change_request("c1", change(6)));
    assert!(other.live.contains("1 Yes, once") && other.live.contains("● [x] hunk 1 of 6"), "{}", other.live);
    other.key("tab");
    other.key("space");
    other.key("y");
    assert_eq!(other.answer(), None, "the last hunk was not shown");
    other.key("y");
    assert_eq!(
        other.answer(),
        Some(ApprovalAnswer::Allow { hunks: Some(vec![0, 2, 3, 4, 5]), edited: None })
    );
    assert!(!other.printed.contains("hunk"), "nothing of it stays: {}", other.printed);
    // A call that does not fit yields to the prompt, even if it is not the last call.
    let script: String = (1..60).map(|n| format!("echo line {n}\n")).collect();
    let mut other = Other::new(ScreenKind::Inline, SIZE);
    other.asked(command_request("c1", &script, (0, 11)));
    for at in 2..30 {
        let (id, name) = (format!("c{at}"), "bash".to_owned());
        let args = json!({ "command": "true" });
        other.agent(TurnEvent::ToolExecutionStart { tool_call_id: id, tool_name: name, args });
    }
    assert!(other.live.contains("echo line 2") && other.live.contains("1 Yes, once"), "{}", other.live);
    assert!(other.live.contains("v views"), "the terminal cannot scroll what is live: {}", other.live);
    other.effects.clear();
    other.key("v");
    let shows = |effect: &Effect| matches!(effect, Effect::Ask(_, ScreenRequest::OpenInEditor { .. }));
    assert!(other.effects.iter().any(shows));
    other.key("n");
    other.key("x");
    other.key("enter");
    assert_eq!(other.answer(), Some(deny(Some("x"), false)));
}

#[test]
fn a_screen_reader_says_the_prompt() {
    let mut other = Other::new(ScreenKind::Reader, SIZE);
    other.asked(command_request("c1", COMMAND, (11, 26)));
    let expected = [
        "Run this command? bash\ncommand: cd /tmp && rm -rf build && ls\n",
        "because of: rm -rf build",
        "because: removes files",
        "1, or y: Yes, once",
        "4, or n: No, and say why",
        "keys: esc stops, v views",
        "your answer:",
    ];
    other.has(&expected);
    assert!(!other.printed.contains(['┃', '›', '←']), "{}", other.printed);
    other.key("n");
    other.key("x");
    other.has(&["why not, then enter: x"]);
    other.key("enter");
    assert_eq!(other.answer(), Some(deny(Some("x"), false)));
    let mut other = Other::new(ScreenKind::Reader, SIZE);
    other.asked(change_request("c1", change(2)));
    other.has(&[
        "hunk 1 of 2", "removed:     let a = 1;", "added:     let a = 12;", "hunk 1 selected: applied",
    ]);
    other.key("tab");
    other.key("space");
    other.has(&["hunk 2 selected: not applied"]);
    other.key("y");
    assert_eq!(other.answer(), Some(ApprovalAnswer::Allow { hunks: Some(vec![0]), edited: None }));
    // Too early is too early here as well.
    let mut other = Other::new(ScreenKind::Reader, SIZE);
    let request = Box::new(command_request("c1", COMMAND, (11, 26)));
    other.agent(QuestionEvent::ApprovalRequested { request });
    other.key("y");
    assert_eq!(other.answer(), None);
    other.has(&["1, or y: Yes, once", "> y"]);
}
