//! Keystroke scripts: the effects of keys and events, and the text on the screen.

use std::sync::Arc;

use tau::agent::AgentCommand;
use tau::agent::protocol::command::{
    BranchSummaryOptions, Queue, QueueCommand, RunCommand, SessionChange, SessionCommand, SettingsCommand,
    ShellCommand, TaskCommand,
};
use tau::agent::protocol::event::{
    Delta, QueueEvent, RunEvent, SessionEvent, SessionInfo, ShellEvent, TaskEvent, TurnEvent,
};
use tau::agent::protocol::message::{BashExecution, Message, StopReason};
use tau::agent::protocol::outline::{Outline, OutlineRow, RowKind};
use tau::agent::protocol::query::{HistoryPage, Query, QueryAnswer};
use tau::agent::protocol::session_row::{FoundSession, LastExchange, SessionOrigin, SessionRow};
use tau::app::geometry::Size;
use tau::app::request::{FileMatches, FoundSessions, ScreenReply, ScreenRequest, SessionRows, Ticket};
use tau::app::{Effect, Msg};

use crate::harness::{Screen, assistant, text, user};

/// Presses the keys on a fresh screen (with a run in progress if `running`), and compares the commands to
/// the agent.
fn check(running: bool, script: &str, expected: &[AgentCommand]) {
    let mut screen = Screen::new();
    if running {
        screen.run();
    }
    screen.take_effects();
    screen.keys(script);
    assert_eq!(commands(&screen.take_effects()), expected, "after {script:?}");
}

fn commands(effects: &[Effect]) -> Vec<AgentCommand> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Agent(command) => Some(command.clone()),
            _ => None,
        })
        .collect()
}

fn prompt(text: &str, streaming: Queue) -> AgentCommand {
    AgentCommand::Run(RunCommand::Prompt { text: text.into(), images: vec![], streaming })
}

fn bash(id: &str, command: &str, exclude_from_context: bool) -> AgentCommand {
    let size = Some((77, 24));
    AgentCommand::Shell(ShellCommand::Bash {
        id: Some(id.into()),
        command: command.into(),
        exclude_from_context,
        size,
        without_sandbox: false,
    })
}

#[test]
fn what_is_sent() {
    check(false, "fix it<enter>", &[prompt("fix it", Queue::Steer)]);
    check(false, "a\\<enter>b<enter>", &[prompt("a\nb", Queue::Steer)]);
    check(false, "a<ctrl+j>b<enter>", &[prompt("a\nb", Queue::Steer)]);
    check(false, "a<shift+enter>b<enter>", &[prompt("a\nb", Queue::Steer)]);
    check(false, "   <enter>", &[]);
    check(false, "<enter>", &[]);
    check(true, "look there<enter>", &[prompt("look there", Queue::Steer)]);
    check(true, "and then<alt+enter>", &[prompt("and then", Queue::FollowUp)]);
    check(false, "!ls -la<enter>", &[bash("user-3", "ls -la", false)]);
    check(false, "!!env<enter>", &[bash("user-3", "env", true)]);
    check(false, "!<enter>", &[]);
    check(false, "/new<enter>", &[AgentCommand::Session(SessionCommand::Change(SessionChange::New))]);
    check(
        false,
        "/name a b<enter>",
        &[AgentCommand::Session(SessionCommand::Change(SessionChange::Name { name: "a b".into() }))],
    );
    check(false, "/nosuch<enter>", &[]);
    check(false, "/usr/bin is full<enter>", &[prompt("/usr/bin is full", Queue::Steer)]);
}

#[test]
fn what_stops() {
    check(
        true,
        "<esc>",
        &[AgentCommand::Queue(QueueCommand::TakeQueue), AgentCommand::Run(RunCommand::Abort)],
    );
    check(false, "<esc>", &[]);
    check(
        true,
        "<ctrl+c>",
        &[AgentCommand::Queue(QueueCommand::TakeQueue), AgentCommand::Run(RunCommand::Abort)],
    );
}

#[test]
fn leaving_needs_an_empty_composer() {
    let quits = |script: &str| {
        let mut screen = Screen::new();
        screen.keys(script);
        screen.take_effects().contains(&Effect::Quit)
    };
    assert!(quits("<ctrl+d>"));
    assert!(quits("<ctrl+c><ctrl+c>"));
    assert!(quits("/quit<enter>"));
    assert!(!quits("x<ctrl+d>"));
    assert!(!quits("<ctrl+c>"));
    assert!(!quits("x<ctrl+c><ctrl+c>"), "the first press only clears");
    assert!(!quits("<ctrl+c>x<backspace><ctrl+c>"), "another key disarms");
}

#[test]
fn a_cleared_text_can_be_brought_back() {
    let mut screen = Screen::new();
    screen.keys("precious<ctrl+c><up>");
    assert_eq!(screen.model().composer.text(), "precious");
}

#[test]
fn a_paste_has_no_empty_last_row_and_a_long_text_says_where_the_cursor_is() {
    let mut screen = Screen::new();
    screen.send(Msg::Paste("one\ntwo\nthree\n".into()));
    assert_eq!(screen.model().composer.text(), "one\ntwo\nthree");
    screen.send(Msg::Paste("\n4\n5\n6\n7\n8\n9\n10".into()));
    assert!(text(&screen.draw()).contains("row 10 of 10 ─"), "{}", text(&screen.draw()));
    screen.keys("<up><up>");
    assert!(text(&screen.draw()).contains("row 8 of 10 ─"));
    screen.keys("<ctrl+c>");
    assert!(!text(&screen.draw()).contains("row "));
}

#[test]
fn a_paste_never_sends_and_is_sent_in_full() {
    let mut screen = Screen::new();
    let long: String = (0..5_000).map(|n| format!("row {n}\n")).collect();
    screen.send(Msg::Paste(long.clone()));
    assert!(commands(&screen.take_effects()).is_empty());
    screen.keys("<enter>");
    assert_eq!(commands(&screen.take_effects()), [prompt(long.trim_end(), Queue::Steer)]);
}

#[test]
fn without_a_model_the_text_stays() {
    let mut screen = Screen::boot(tau::app::boot::Boot { model: None, ..crate::harness::boot() });
    screen.keys("hello<enter>");
    assert_eq!(screen.model().composer.text(), "hello");
    assert!(text(&screen.draw()).contains("no model to send this to"));
}

#[test]
fn queued_messages_come_back_before_what_is_being_written() {
    let mut screen = Screen::new();
    screen.run();
    screen.keys("draft");
    screen.agent(QueueEvent::QueueReturned { texts: vec!["one".into(), "two".into()], images: Vec::new() });
    assert_eq!(screen.model().composer.text(), "one\n\ntwo\n\ndraft");
}

#[test]
fn a_late_answer_to_a_closed_picker_is_dropped() {
    let mut screen = Screen::new();
    screen.take_effects();
    screen.keys("<ctrl+l>");
    let ticket = match screen.take_effects().as_slice() {
        [Effect::Ask(ticket, ScreenRequest::Models { .. })] => *ticket,
        other => panic!("{other:?}"),
    };
    screen.keys("<esc>");
    assert_eq!(screen.take_effects(), [Effect::Forget(ticket)]);
    let before = screen.model().clone();
    screen.fold(Msg::Finished(ticket, ScreenReply::Models(models_of(vec![Arc::new(crate::harness::ai())]))));
    assert_eq!(screen.model(), &before);
    screen.fold(Msg::Finished(Ticket(999), ScreenReply::Done("who?".into())));
    assert_eq!(screen.model(), &before);
}

fn models_of(usable: Vec<Arc<tau::agent::protocol::model::Model>>) -> tau::app::request::ModelList {
    tau::app::request::ModelList { usable, ..Default::default() }
}

#[test]
fn choosing_a_model_tells_the_agent_and_keeps_the_choice() {
    // The keys may arrive before the rows of the list, which another key undoes.
    for (early, late) in [("", "oth<enter>"), ("oth<enter>", ""), ("<enter>oth", "<enter>")] {
        let mut screen = Screen::new();
        screen.take_effects();
        screen.keys("<ctrl+l>");
        let Some(Effect::Ask(ticket, _)) = screen.take_effects().pop() else { panic!("no request") };
        screen.keys(early);
        let mut other = crate::harness::ai();
        other.id = "other".into();
        let models = vec![Arc::new(crate::harness::ai()), Arc::new(other.clone())];
        screen.send(Msg::Finished(ticket, ScreenReply::Models(models_of(models))));
        screen.keys(late);
        let effects = screen.take_effects();
        assert!(
            effects.contains(&Effect::Agent(AgentCommand::Settings(SettingsCommand::SetModel {
                model: Arc::new(other)
            }))),
            "{early} {late}: {effects:?}"
        );
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Save(_))));
        assert!(screen.model().overlays.is_empty());
    }
}

#[test]
fn completion_of_commands_and_files() {
    let mut screen = Screen::new();
    screen.keys("/hot<tab>");
    assert_eq!(screen.model().composer.text(), "/hotkeys ");
    screen.keys("<ctrl+c>");
    screen.take_effects();
    screen.keys("see @mai");
    let Some(Effect::Ask(ticket, ScreenRequest::Files { query })) = screen.take_effects().pop() else {
        panic!("no request")
    };
    assert_eq!(query, "mai");
    let paths = vec!["src/main.rs".into(), "docs/main.md".into()];
    screen.send(Msg::Finished(ticket, ScreenReply::Matches(FileMatches { paths, count: 312 })));
    assert!(text(&screen.draw()).contains("1 of 312"), "{}", text(&screen.draw()));
    screen.keys("<down><enter>");
    assert_eq!(screen.model().composer.text(), "see @docs/main.md ");
    screen.take_effects();
    screen.keys("@zz");
    let Some(Effect::Ask(ticket, _)) = screen.take_effects().pop() else { panic!("no request") };
    screen.send(Msg::Finished(ticket, ScreenReply::Matches(FileMatches::default())));
    assert!(text(&screen.draw()).contains("nothing matches @zz"), "{}", text(&screen.draw()));
    screen.keys(" ");
    assert!(!text(&screen.draw()).contains("nothing matches"));
    assert!(commands(&screen.take_effects()).is_empty(), "enter took the row, it did not send");
}

#[test]
fn the_reading_position_stays_while_text_arrives() {
    let mut screen = Screen::new();
    let long: String = (0..100).map(|n| format!("paragraph {n}\n\n")).collect();
    screen.answer(&long, 50);
    screen.keys("<pageup>");
    let top = |screen: &mut Screen| text(&screen.draw()).lines().next().unwrap_or("").to_owned();
    let before = top(&mut screen);
    screen.answer("more\n\nand more", 3);
    assert_eq!(top(&mut screen), before);
    assert!(text(&screen.draw()).contains("↓ 1 new"));
    screen.keys("<ctrl+end>");
    assert!(text(&screen.draw()).contains("and more"));
}

#[test]
fn a_shell_command_shows_its_output_and_its_end() {
    let mut screen = Screen::new();
    let id = Some("user-3".to_owned());
    let command = "make".to_owned();
    screen.agent(ShellEvent::BashStart {
        id: id.clone(),
        command,
        exclude_from_context: false,
        size: Some((77, 24)),
        without_sandbox: false,
    });
    screen
        .agent(ShellEvent::BashExecutionUpdate { id: id.clone(), delta: "\u{1b}[31mred\u{1b}[0m\n".into() });
    screen.take_effects();
    screen.keys("<esc>");
    assert_eq!(commands(&screen.take_effects()), [AgentCommand::Shell(ShellCommand::AbortBash)]);
    let message = BashExecution {
        command: "make".into(),
        output: "red\n".into(),
        exit_code: Some(2),
        ..BashExecution::default()
    };
    screen.agent(ShellEvent::BashEnd { id, message });
    let shown = text(&screen.draw());
    assert!(shown.contains("$ make") && shown.contains("│ red") && shown.contains("✗ exit 2"), "{shown}");
}

#[test]
fn the_complete_message_counts() {
    let mut screen = Screen::new();
    screen.run();
    screen.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::Stop)) });
    screen.delta(Delta::TextStart { content_index: 0 });
    screen.delta(Delta::TextDelta { content_index: 0, delta: "half of".into() });
    let whole =
        assistant(vec![tau::agent::protocol::message::Block::text("half of it was lost")], StopReason::Stop);
    screen.agent(TurnEvent::MessageEnd { message: Arc::new(whole) });
    assert!(text(&screen.draw()).contains("half of it was lost"));
}

#[test]
fn a_key_typed_in_the_login_box_is_secret() {
    let mut screen = Screen::new();
    assert!(!screen.model().wants().secret);
    screen.keys("/login local<enter>");
    assert!(screen.model().wants().secret);
    screen.keys("sk-very-secret");
    assert!(!text(&screen.draw()).contains("very"));
    assert!(!format!("{:?}", screen.model()).contains("very"));
}

#[test]
fn nothing_ticks_when_nothing_moves() {
    let mut screen = Screen::new();
    assert_eq!(screen.model().wants().tick, None);
    screen.run();
    assert_eq!(screen.model().wants().tick, Some(100));
    screen.settle();
    assert_eq!(screen.model().wants().tick, None);
    screen.keys("<ctrl+c>");
    assert!(screen.model().wants().tick.is_some(), "a remark has to go away");
    screen.wait(5_000);
    assert_eq!(screen.model().wants().tick, None);
}

#[test]
fn silence_is_shown_with_a_countdown_and_is_over_with_the_next_word() {
    let mut screen = Screen::new();
    screen.run();
    screen.delta(Delta::TextStart { content_index: 0 });
    screen.agent(RunEvent::Stalled { idle_ms: 12_000, limit_ms: 60_000 });
    assert!(text(&screen.draw()).contains("no data for 12s · timing out in 48s"), "{}", text(&screen.draw()));
    screen.wait(5_000);
    assert!(text(&screen.draw()).contains("no data for 17s · timing out in 43s"), "{}", text(&screen.draw()));
    screen.delta(Delta::TextDelta { content_index: 0, delta: "at last".into() });
    assert!(text(&screen.draw()).contains("answering"), "{}", text(&screen.draw()));
}

#[test]
fn esc_twice_opens_the_tree_and_a_choice_goes_there() {
    let mut screen = Screen::new();
    screen.take_effects();
    screen.keys("<esc>");
    screen.wait(1_500);
    screen.keys("<esc>");
    assert!(commands(&screen.take_effects()).is_empty(), "too slow");
    screen.keys("a<esc><backspace><esc>");
    assert!(commands(&screen.take_effects()).is_empty(), "something was typed between");
    screen.keys("<esc>");
    assert_eq!(
        commands(&screen.take_effects()),
        [AgentCommand::Task(TaskCommand::Query { ticket: 0, query: Query::Outline })]
    );
    let row = |id: &str, parent, kind| OutlineRow { id: id.into(), parent, kind, ..OutlineRow::default() };
    let rows = vec![row("a", None, RowKind::User), row("b", Some(0), RowKind::Assistant)];
    screen.agent(TaskEvent::Answered {
        ticket: 0,
        answer: Ok(QueryAnswer::Outline(Outline { rows, leaf: Some(1) })),
    });
    screen.keys("<up><enter><down><enter>");
    let summary = Some(BranchSummaryOptions::default());
    let go = SessionChange::GoTo { entry_id: "a".into(), summary };
    assert_eq!(commands(&screen.take_effects()), [AgentCommand::Session(SessionCommand::Change(go))]);
    assert!(screen.model().overlays.is_empty());
    screen.agent(RunEvent::BranchSummary { running: true });
    assert!(text(&screen.draw()).contains("summarizing the branch"));
    screen.keys("<esc>");
    assert!(commands(&screen.take_effects()).contains(&AgentCommand::Run(RunCommand::Abort)));
    screen.agent(RunEvent::BranchSummary { running: false });
    screen.agent(QueueEvent::QueueReturned { texts: vec!["once more".into()], images: Vec::new() });
    assert_eq!(screen.model().composer.text(), "once more");
}

/// The session picker with two rows.
fn sessions() -> Screen {
    let mut screen = Screen::new();
    screen.keys("/resume<enter>");
    let Some(Effect::Ask(ticket, ScreenRequest::Sessions { all: false })) = screen.take_effects().pop()
    else {
        panic!("no request")
    };
    let row = |name: &str| SessionRow {
        path: format!("/s/{name}").into(),
        first_prompt: name.into(),
        ..SessionRow::default()
    };
    let (rows, troubles) = (vec![row("alpha"), row("beta")], Vec::new());
    screen.send(Msg::Finished(ticket, ScreenReply::Sessions(SessionRows { rows, done: true, troubles })));
    screen
}

#[test]
fn sessions_are_listed_by_the_sentence_with_which_they_began() {
    let mut screen = Screen::new();
    screen.keys("/resume<enter>");
    let Some(Effect::Ask(ticket, ScreenRequest::Sessions { .. })) = screen.take_effects().pop() else {
        panic!("no request")
    };
    let row = |name: Option<&str>, first: &str| SessionRow {
        path: format!("/s/{first}").into(),
        name: name.map(str::to_owned),
        first_prompt: first.into(),
        ..SessionRow::default()
    };
    let rows =
        vec![row(None, "Fix the parser. Then commit."), row(Some("mine"), "Something else"), row(None, "")];
    let troubles = vec!["one cannot be read".to_owned()];
    screen.send(Msg::Finished(ticket, ScreenReply::Sessions(SessionRows { rows, done: true, troubles })));
    let shown = text(&screen.draw());
    assert!(shown.contains("! one cannot be read"), "{shown}");
    assert!(shown.contains("Fix the parser ") && !shown.contains("Then commit"), "{shown}");
    assert!(
        shown.contains("mine") && !shown.contains("Something else") && shown.contains("(no messages yet)"),
        "{shown}"
    );
}

fn said(path: &str) -> FoundSession {
    let line = "the **zyx** of it".into();
    FoundSession { path: path.into(), line, entry: "e1".into(), passage: "zyx".into() }
}

#[test]
fn sessions_are_found_by_what_was_said() {
    let mut screen = sessions();
    screen.take_effects();
    screen.keys("zyx");
    let asked = screen.take_effects();
    let Some(Effect::Ask(ticket, ScreenRequest::SearchSessions { query, all: false })) =
        asked.iter().find(|effect| matches!(effect, Effect::Ask(_, ScreenRequest::SearchSessions { .. })))
    else {
        panic!("{asked:?}")
    };
    assert_eq!(query, "zyx");
    assert!(text(&screen.draw()).contains("searching messages"));
    let found = ScreenReply::Found(FoundSessions { found: vec![said("/s/beta")], done: false });
    screen.send(Msg::Finished(*ticket, found));
    let shown = text(&screen.draw());
    assert!(shown.contains("match: the **zyx** of it"), "{shown}");
    assert!(shown.contains("beta") && shown.contains("text match") && !shown.contains("alpha"), "{shown}");
    let asked = screen.take_effects();
    assert!(
        asked.iter().any(|effect| matches!(effect, Effect::Ask(_, ScreenRequest::Preview { .. }))),
        "{asked:?}"
    );
    screen.keys("<backspace>");
    assert_eq!(screen.take_effects().first(), Some(&Effect::Forget(*ticket)), "nobody waits for it");
    screen.send(Msg::Finished(
        *ticket,
        ScreenReply::Found(FoundSessions { found: vec![said("/s/alpha")], done: true }),
    ));
    assert!(text(&screen.draw()).contains("no matches"), "too late");
}

#[test]
fn a_session_has_its_beginning_as_its_title_until_it_has_a_name() {
    let mut screen = Screen::new();
    let opened = |screen: &mut Screen, messages: Vec<Message>| {
        let messages = messages.into_iter().map(Arc::new).collect();
        let session = SessionInfo::default();
        screen.agent(SessionEvent::SessionOpened { session, messages, titles: Default::default() });
    };
    let title = |screen: &Screen| screen.model().wants().title;
    opened(&mut screen, Vec::new());
    let place = title(&screen);
    screen.keys("/clone<enter>");
    assert!(commands(&screen.take_effects()).is_empty(), "there is nothing to copy");
    let long = format!("\n  why is\u{1b}[31m it red?\n{}", "x".repeat(90));
    screen.agent(TurnEvent::MessageEnd { message: Arc::new(user(&long)) });
    assert!(title(&screen).ends_with("why is␛[31m it red?"), "{}", title(&screen));
    screen.agent(TurnEvent::MessageEnd { message: Arc::new(user("another")) });
    assert!(title(&screen).ends_with("it red?"), "the first counts");
    screen.agent(SessionEvent::SessionInfoChanged { name: Some("mine".into()) });
    assert!(title(&screen).ends_with("tau · mine"));
    opened(&mut screen, vec![user(&"y".repeat(90)), user("more")]);
    assert!(title(&screen).ends_with(&format!(" {}…", "y".repeat(59))));
    opened(
        &mut screen,
        vec![user("src/a.rs:\n```\nfn a() {}\n```\n\nExplain this file. Then fix it."), user("more")],
    );
    assert!(title(&screen).ends_with("tau · Explain this file"), "{}", title(&screen));
    opened(&mut screen, vec![assistant(Vec::new(), StopReason::Stop), user("later")]);
    assert_eq!(title(&screen), place, "what it began with is not known");
    opened(&mut screen, vec![user("from the middle")]);
    screen.agent(SessionEvent::HistoryAvailable { left: 9 });
    let mut earlier = |messages: Vec<Message>, left| {
        let messages = messages.into_iter().map(Arc::new).collect();
        let page = HistoryPage { messages, left, ..HistoryPage::default() };
        screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::HistoryPage(page)) });
        title(&screen)
    };
    assert_eq!(earlier(Vec::new(), Some(9)), place, "it is in what was not read");
    assert_eq!(earlier(vec![user("not yet")], Some(1)), place);
    assert!(earlier(vec![user("the first"), user("the second")], None).ends_with("the first"));
    assert!(earlier(Vec::new(), None).ends_with("the first"), "nothing new");
    screen.take_effects();
    screen.keys("/clone<enter>");
    assert_eq!(
        commands(&screen.take_effects()),
        [AgentCommand::Session(SessionCommand::Change(SessionChange::Clone))]
    );
    assert!(text(&screen.draw()).contains("in a copy"));
}

#[test]
fn what_is_looked_for_here_is_looked_for_in_all_directories() {
    let mut screen = sessions();
    screen.keys("zyx");
    screen.take_effects();
    screen.keys("<tab>");
    let asked = screen.take_effects();
    let found = asked.iter().find_map(|effect| match effect {
        Effect::Ask(_, ScreenRequest::SearchSessions { query, all }) => Some((query.clone(), *all)),
        _ => None,
    });
    assert_eq!(found, Some(("zyx".to_owned(), true)), "{asked:?}");
    assert!(text(&screen.draw()).contains("> zyx"));
}

#[test]
fn a_session_stays_in_the_list_until_it_is_deleted() {
    let mut screen = sessions();
    let delete = |screen: &mut Screen| {
        screen.take_effects();
        screen.keys("<ctrl+d><ctrl+d>");
        let asked = screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Ask(ticket, ScreenRequest::DeleteSession { .. }) => Some(ticket),
            _ => None,
        });
        asked.expect("asked to delete it")
    };
    let ticket = delete(&mut screen);
    screen.send(Msg::Finished(ticket, ScreenReply::Failed("the session is open".into())));
    let shown = text(&screen.draw());
    assert!(shown.contains("alpha") && shown.contains("the session is open"), "{shown}");
    screen.send(Msg::Resized(Size { width: 30, height: 10 }));
    screen.keys("<ctrl+d>");
    assert!(text(&screen.draw()).contains("ctrl+d again deletes it"), "asked in a narrow window, too");
    screen.keys("<up>");
    let ticket = delete(&mut screen);
    screen.send(Msg::Finished(ticket, ScreenReply::Done("it is gone".into())));
    let shown = text(&screen.draw());
    assert!(!shown.contains("alpha") && shown.contains("beta") && shown.contains("it is gone"), "{shown}");
    let previewed = screen.take_effects().into_iter().any(|effect| {
        matches!(effect, Effect::Ask(_, ScreenRequest::Preview { path }) if path == std::path::Path::new("/s/beta"))
    });
    assert!(previewed, "the next one is shown");
}

#[test]
fn sessions_are_renamed_in_the_list() {
    let (mut screen, mut keys) = (sessions(), "<down><ctrl+r>new name<enter>");
    let renamed = ScreenRequest::RenameSession { path: "/s/beta".into(), name: "new name".into() };
    let (refused, done) = (ScreenReply::Failed("it cannot".into()), ScreenReply::Done("done".into()));
    for (reply, shows) in [(refused, "it cannot"), (done, "new name")] {
        screen.keys(std::mem::replace(&mut keys, "<ctrl+r>new name<enter>"));
        let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Ask(ticket, request) if request == renamed => Some(ticket),
            _ => None,
        });
        screen.send(Msg::Finished(ticket.unwrap(), reply));
        let shown = ["it cannot", "new name"].map(|words| text(&screen.draw()).contains(words));
        assert_eq!(shown, ["it cannot", "new name"].map(|words| words == shows));
    }
    screen.keys("<ctrl+r>x<esc><enter>");
    let offer = SessionChange::Offer { path: "/s/beta".into(), source: SessionOrigin::Tau };
    assert_eq!(commands(&screen.take_effects()), [AgentCommand::Session(SessionCommand::Change(offer))]);
}

#[test]
fn the_selected_session_shows_what_was_said_last() {
    let mut screen = sessions();
    let preview = |screen: &mut Screen| {
        screen.take_effects().into_iter().rev().find_map(|effect| match effect {
            Effect::Ask(ticket, ScreenRequest::Preview { path }) => Some((ticket, path)),
            _ => None,
        })
    };
    let (late, path) = preview(&mut screen).expect("asked with the first rows");
    assert_eq!(path, std::path::Path::new("/s/alpha"));
    screen.keys("<down>");
    let (ticket, path) = preview(&mut screen).expect("asked for the next row");
    assert_eq!(path, std::path::Path::new("/s/beta"));
    let words = |person: &str| LastExchange { user: person.into(), model: "an answer".into() };
    screen.send(Msg::Finished(late, ScreenReply::LastExchange(words("of alpha"))));
    assert!(!text(&screen.draw()).contains("of alpha"), "it came too late");
    screen.send(Msg::Finished(ticket, ScreenReply::LastExchange(words("of beta"))));
    let shown = text(&screen.draw());
    assert!(shown.contains("you: of beta") && shown.contains("tau: an answer"), "{shown}");
}

#[test]
fn scrolling_against_an_end_is_over_at_once() {
    let mut screen = Screen::new();
    (0..60).for_each(|at| screen.user(&format!("message {at}")));
    let shown = |screen: &mut Screen| text(&screen.draw());
    screen.keys("<ctrl+home>");
    let top = shown(&mut screen);
    screen.keys(&"<pageup>".repeat(5));
    assert_eq!(shown(&mut screen), top);
    screen.keys("<pagedown>");
    assert!(!shown(&mut screen).contains("message 0\n"), "one page down is one page down");
    screen.keys("<ctrl+end>");
    let end = shown(&mut screen);
    screen.keys(&"<pagedown>".repeat(5));
    assert_eq!(shown(&mut screen), end);
    screen.keys("<pageup>");
    assert!(!shown(&mut screen).contains("message 59"), "and up");
}
