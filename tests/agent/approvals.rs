//! Approval before a call runs, and the effect of the answer.

use std::path::PathBuf;

use tau::agent::api::OnAsk;
use tau::agent::protocol::approval::{
    ApprovalAnswer, ApprovalOutcome, ApprovalRequest, PermissionMode, RuleScope,
};
use tau::agent::protocol::command::{QuestionCommand, RunCommand, SettingsCommand, TaskCommand};
use tau::agent::protocol::event::{QuestionEvent, RunEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::{Message, ToolResultMessage};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::protocol::rules::{ListedRule, NewRule, RuleChange, Verdict};
use tau::tools::Preview;
use tau::tools::sandbox::{SandboxLevel, SandboxPolicy};

use super::*;

const ALLOW: ApprovalAnswer = ApprovalAnswer::Allow { hunks: None, edited: None };

/// An agent with the real tools that asks for approval.
pub(super) fn asking(mode: PermissionMode, answers: Vec<Vec<Step>>) -> Bench {
    Bench::with(Player::new(answers), |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = mode;
        config.behavior.on_ask = OnAsk::Ask;
    })
}

pub(super) fn bash(id: &'static str, command: &str) -> Step {
    Call(id, "bash", json!({ "command": command }))
}

fn is_request(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Questions(QuestionEvent::ApprovalRequested { .. }))
}

pub(super) async fn asked(bench: &mut Bench) -> ApprovalRequest {
    match bench.until(is_request).await.pop() {
        Some(AgentEvent::Questions(QuestionEvent::ApprovalRequested { request })) => *request,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn answer(bench: &Bench, request: &ApprovalRequest, answer: ApprovalAnswer) {
    bench.send(QuestionCommand::AnswerApproval { id: request.id.clone(), answer }).await;
}

fn said(result: &ToolResultMessage) -> String {
    let text = |content: &Content| match content {
        Content::Text { text } => text.clone(),
        Content::Image { .. } => "image".to_owned(),
    };
    result.content.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn file(bench: &Bench, name: &str, text: &str) -> PathBuf {
    let path = bench.dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Applies the user's decision to one `bash` call and returns its result.
async fn decided(command: &str, decision: ApprovalAnswer) -> (Bench, ToolResultMessage) {
    let call = bash("c", command);
    let mut bench = asking(PermissionMode::Ask, vec![vec![call, USE], vec![Say("ok"), STOP]]);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    assert_eq!(request.preview, Preview::Command { command: command.into() });
    assert!(!request.reasons.is_empty() && request.tool_call_id == "c", "{request:?}");
    answer(&bench, &request, decision).await;
    let result = tool_results(&bench.settled().await).pop().unwrap();
    (bench, result)
}

#[tokio::test]
async fn a_call_runs_when_it_was_allowed_and_only_then() {
    let (bench, result) = decided("touch made", ALLOW).await;
    assert!(!result.is_error && bench.dir.path().join("made").exists(), "{result:?}");
    let deny = ApprovalAnswer::Deny { reason: Some("use the Makefile".into()), stop: false };
    let (bench, result) = decided("touch made", deny).await;
    assert!(result.is_error && !bench.dir.path().join("made").exists());
    assert_eq!(said(&result), "the user denied this call, it was not run: use the Makefile");
}

#[tokio::test]
async fn an_edited_command_runs_instead_and_the_model_is_told() {
    let edited = ApprovalAnswer::Allow { hunks: None, edited: Some("touch other".into()) };
    let (bench, result) = decided("touch made", edited).await;
    let made = |name: &str| bench.dir.path().join(name).exists();
    assert!(made("other") && !made("made"));
    assert!(said(&result).starts_with("The user changed the command to:\ntouch other\n"), "{result:?}");
}

#[tokio::test]
async fn a_denial_can_end_the_run() {
    let call = || bash("c", "touch made");
    let mut bench = asking(PermissionMode::Ask, vec![vec![call(), USE], vec![Say("never"), STOP]]);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    answer(&bench, &request, ApprovalAnswer::Deny { reason: None, stop: true }).await;
    let events = bench.settled().await;
    assert!(events.contains(&AgentEvent::Run(RunEvent::AgentSettled { aborted: true })));
    // It reads as a stop: the user did not decide about the call.
    assert!(said(&tool_results(&events)[0]).contains("before the user decided; the call was not run"));
}

#[tokio::test]
async fn only_the_hunks_that_were_chosen_are_written() {
    let old: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let edits = json!([
        { "old_string": "line 2\n", "new_string": "two\n" },
        { "old_string": "line 30\n", "new_string": "thirty\n" },
    ]);
    let call = Call("c", "edit", json!({ "path": "f", "edits": edits }));
    let mut bench = asking(PermissionMode::Ask, vec![vec![call, USE], vec![Say("ok"), STOP]]);
    let path = file(&bench, "f", &old);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    let Preview::Change { change } = &request.preview else { panic!("{request:?}") };
    assert_eq!((change.hunks.len(), request.access.writes.as_slice()), (2, &[path.clone()][..]));
    answer(&bench, &request, ApprovalAnswer::Allow { hunks: Some(vec![1]), edited: None }).await;
    let result = tool_results(&bench.settled().await).pop().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old.replace("line 30\n", "thirty\n"));
    let text = said(&result);
    assert!(text.contains("rejected part of this change (hunk 1 of 2)"), "{text}");
    assert!(text.contains("-line 30\n+thirty\n") && !text.contains("two"), "{text}");
}

#[tokio::test]
async fn a_new_text_can_be_put_in_place_of_the_proposed_one() {
    let call = Call("c", "write", json!({ "path": "f", "content": "of the model\n" }));
    let mut bench = asking(PermissionMode::Ask, vec![vec![call, USE], vec![Say("ok"), STOP]]);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    let query = Query::ProposedText { id: request.id.clone() };
    bench.send(TaskCommand::Query { ticket: 1, query }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    let text = QueryAnswer::Text("of the model\n".into());
    assert_eq!(events.last(), Some(&AgentEvent::Task(TaskEvent::Answered { ticket: 1, answer: Ok(text) })));
    assert!(!bench.dir.path().join("f").exists(), "nothing is written before it is allowed");
    let edited = Some("of the user\n".to_owned());
    answer(&bench, &request, ApprovalAnswer::Allow { hunks: None, edited }).await;
    let result = tool_results(&bench.settled().await).pop().unwrap();
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("f")).unwrap(), "of the user\n");
    assert!(said(&result).contains("The user changed the new text before it was written."), "{result:?}");
}

#[tokio::test]
async fn a_file_that_changed_while_it_was_asked_about_is_left_alone() {
    let call = Call("c", "edit", json!({ "path": "f", "old_string": "a", "new_string": "b" }));
    let mut bench = asking(PermissionMode::Ask, vec![vec![call, USE], vec![Say("ok"), STOP]]);
    let path = file(&bench, "f", "a\n");
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    file(&bench, "f", "a and more of the user\n");
    answer(&bench, &request, ALLOW).await;
    let result = tool_results(&bench.settled().await).pop().unwrap();
    assert!(result.is_error && said(&result).contains("changed it"), "{result:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a and more of the user\n");
}

#[tokio::test]
async fn a_rule_for_the_session_answers_the_next_question() {
    let calls =
        vec![vec![bash("a", "touch one"), USE], vec![bash("b", "touch two"), USE], vec![Say("ok"), STOP]];
    let mut bench = asking(PermissionMode::Ask, calls);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    let wrong =
        ApprovalAnswer::AllowAlways { rules: vec!["bash(".into()], scope: RuleScope::Session, hunks: None };
    answer(&bench, &request, wrong).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Notice { .. }))).await;
    let Some(AgentEvent::Task(TaskEvent::Notice { text, .. })) = events.last() else { panic!() };
    assert!(text.contains("cannot add the rule"), "{text}");
    let query = Query::RuleCoverage { rule: "bash".into(), list: Verdict::Allow };
    bench.send(TaskCommand::Query { ticket: 2, query }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    // The call that waits is not an earlier one.
    let titles = QueryAnswer::Titles(Vec::new());
    assert_eq!(events.last(), Some(&AgentEvent::Task(TaskEvent::Answered { ticket: 2, answer: Ok(titles) })));
    let always =
        ApprovalAnswer::AllowAlways { rules: vec!["bash".into()], scope: RuleScope::Session, hunks: None };
    answer(&bench, &request, always).await;
    let events = bench.settled().await;
    assert!(!events.iter().any(is_request));
    assert!(bench.dir.path().join("one").exists() && bench.dir.path().join("two").exists());
}

/// The rules after a change, or the reason why there was none.
async fn changed(bench: &mut Bench, change: RuleChange) -> Result<Vec<(Verdict, String)>, String> {
    bench.send(SettingsCommand::ChangeRules { ticket: 7, change }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    match events.last() {
        Some(AgentEvent::Task(TaskEvent::Answered {
            ticket: 7,
            answer: Ok(QueryAnswer::PermissionRules(all)),
        })) => Ok(all.rules.iter().map(|rule| (rule.list, rule.rule.clone())).collect()),
        Some(AgentEvent::Task(TaskEvent::Answered { ticket: 7, answer: Err(error) })) => {
            Err(error.clone().into())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_rule_that_is_added_decides_on_a_call_that_waits() {
    let calls =
        vec![vec![bash("a", "touch one"), USE], vec![bash("b", "touch two"), USE], vec![Say("ok"), STOP]];
    let mut bench = asking(PermissionMode::Ask, calls);
    bench.prompt("go").await;
    asked(&mut bench).await;
    let new = |list, rule: &str, scope| RuleChange {
        remove: None,
        add: Some(NewRule { list, rule: rule.into(), scope }),
    };
    let wrong = changed(&mut bench, new(Verdict::Allow, "bash(", RuleScope::Session)).await;
    assert!(wrong.unwrap_err().contains("is not a rule"));
    let nowhere = changed(&mut bench, new(Verdict::Allow, "bash", RuleScope::User)).await;
    assert_eq!(nowhere.unwrap_err(), "here rules can be added to the session only");
    let fleeting = changed(&mut bench, new(Verdict::Allow, "bash", RuleScope::Once)).await;
    assert!(fleeting.unwrap_err().contains("for this session at least"));
    let listed = |list, rule: &str| ListedRule {
        list,
        rule: rule.into(),
        scope: RuleScope::Session,
        place: None,
        granted_by: None,
        in_force: true,
    };
    let gone = RuleChange { remove: Some(listed(Verdict::Allow, "bash")), add: None };
    assert!(changed(&mut bench, gone).await.unwrap_err().contains("is no longer in force"));
    let ask = new(Verdict::Ask, "bash(touch two)", RuleScope::Session);
    let both =
        vec![(Verdict::Ask, "bash(touch two)".to_owned()), (Verdict::Allow, "bash(touch *)".to_owned())];
    assert_eq!(changed(&mut bench, ask).await.unwrap(), both[..1]);
    let allow = new(Verdict::Allow, "bash(touch *)", RuleScope::Session);
    assert_eq!(changed(&mut bench, allow).await.unwrap(), both);
    // The first call runs with it; the second needs approval, until its rule denies it.
    let request = asked(&mut bench).await;
    assert_eq!(request.title, "touch two");
    assert!(bench.dir.path().join("one").exists());
    let query = Query::RuleCoverage { rule: "bash(touch one)".into(), list: Verdict::Deny };
    bench.send(TaskCommand::Query { ticket: 2, query }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    let titles = QueryAnswer::Titles(vec!["touch one".into()]);
    assert_eq!(events.last(), Some(&AgentEvent::Task(TaskEvent::Answered { ticket: 2, answer: Ok(titles) })));
    let deny = NewRule { list: Verdict::Deny, rule: "bash(touch two)".into(), scope: RuleScope::Session };
    let change = RuleChange { remove: Some(listed(Verdict::Ask, "bash(touch two)")), add: Some(deny) };
    let left = changed(&mut bench, change).await.unwrap();
    assert_eq!(left, [both[1].clone(), (Verdict::Deny, "bash(touch two)".to_owned())]);
    bench.settled().await;
    assert!(!bench.dir.path().join("two").exists());
}

#[tokio::test]
async fn another_mode_decides_on_calls_that_wait() {
    for (mode, runs) in [(PermissionMode::Auto, true), (PermissionMode::Plan, false)] {
        let calls = vec![vec![bash("a", "touch one"), USE], vec![Say("ok"), STOP]];
        let mut bench = asking(PermissionMode::Ask, calls);
        bench.prompt("go").await;
        let request = asked(&mut bench).await;
        bench.send(SettingsCommand::SetPermissionMode { mode }).await;
        let events = bench.settled().await;
        let outcome = if runs { ApprovalOutcome::Allowed } else { ApprovalOutcome::Denied };
        assert!(
            events.contains(&AgentEvent::Questions(QuestionEvent::ApprovalEnded { id: request.id, outcome }))
        );
        assert_eq!(bench.dir.path().join("one").exists(), runs, "{mode:?}");
    }
}

#[tokio::test]
async fn in_plan_mode_nothing_changes_and_the_model_is_told_when_it_begins_and_ends() {
    let calls = vec![
        vec![bash("a", "touch one"), Call("b", "read", json!({ "path": "f" })), USE],
        vec![Say("the plan"), STOP],
        vec![bash("c", "touch two"), USE],
        vec![Say("done"), STOP],
    ];
    let mut bench = asking(PermissionMode::Plan, calls);
    file(&bench, "f", "content\n");
    bench.prompt("go").await;
    let events = bench.settled().await;
    let ended = tool_results(&events);
    assert!(ended[0].is_error && said(&ended[0]).contains("plan mode"), "{ended:?}");
    assert!(!ended[1].is_error && said(&ended[1]).contains("content"), "{ended:?}");
    assert!(!bench.dir.path().join("one").exists());
    bench.send(SettingsCommand::SetPermissionMode { mode: PermissionMode::Auto }).await;
    bench.prompt("do it").await;
    let events = [events, bench.settled().await].concat();
    assert!(bench.dir.path().join("two").exists());
    let notes = events.iter().filter_map(|event| match event {
        AgentEvent::Turn(TurnEvent::MessageEnd { message }) => match message.as_ref() {
            Message::Custom(note) => Some(note.content.text()),
            _ => None,
        },
        _ => None,
    });
    let notes: Vec<String> = notes.collect();
    assert!(notes.len() == 2 && notes[0].contains("Plan mode is on"), "{notes:?}");
    assert!(notes[1].contains("Plan mode is off"), "{notes:?}");
}

#[tokio::test]
async fn a_question_ends_with_the_run_and_the_call_did_not_run() {
    let calls = vec![vec![bash("a", "touch one"), USE], vec![Say("never"), STOP]];
    let mut bench = asking(PermissionMode::Ask, calls);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    bench.send(RunCommand::Abort).await;
    let events = bench.settled().await;
    let ended = AgentEvent::Questions(QuestionEvent::ApprovalEnded {
        id: request.id.clone(),
        outcome: ApprovalOutcome::Withdrawn,
    });
    assert!(events.contains(&ended), "{events:?}");
    assert!(said(&tool_results(&events)[0]).contains("before the user decided; the call was not run"));
    // A late answer changes nothing.
    answer(&bench, &request, ALLOW).await;
    bench.prompt("next").await;
    bench.settled().await;
    assert!(!bench.dir.path().join("one").exists());
}

#[tokio::test]
async fn a_call_that_waited_when_tau_was_killed_did_not_run() {
    let calls = vec![vec![bash("a", "touch one"), USE]];
    let mut bench = asking(PermissionMode::Ask, calls);
    bench.prompt("go").await;
    asked(&mut bench).await;
    // The file as a kill leaves it.
    let path = files(&bench.dir).into_iter().next().unwrap();
    let copy = bench.dir.path().join("sessions/copy.jsonl");
    std::fs::copy(&path, &copy).unwrap();
    let session = tau::agent::session::Session::open(&copy).unwrap();
    let mut again = Bench::with(Player::new(vec![vec![Say("ok"), STOP]]), |config| config.session = session);
    again.prompt("continue").await;
    again.settled().await;
    let (session, _dir) = {
        let Bench { agent, dir } = again;
        drop(agent);
        (std::fs::read_to_string(&copy).unwrap(), dir)
    };
    assert!(session.contains("not run: tau ended before the user decided"), "{session}");
    assert!(!session.contains("it may have run in part"), "{session}");
}

#[tokio::test]
async fn time_spent_waiting_is_not_the_tools_time() {
    let mut bench = asking(PermissionMode::Ask, vec![vec![bash("a", "touch a"), USE], vec![Say("ok"), STOP]]);
    let begun = Instant::now();
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    let since = Instant::now();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let waited = since.elapsed();
    answer(&bench, &request, ALLOW).await;
    let result = tool_results(&bench.settled().await).pop().unwrap();
    let time = Duration::from_millis(result.duration_ms.unwrap());
    assert!(time + waited <= begun.elapsed(), "{time:?} and {waited:?} of {:?}", begun.elapsed());
}

/// Three commands in one answer, all of which need approval.
async fn three() -> (Bench, Vec<ApprovalRequest>) {
    let command = |id, name: &str| bash(id, &format!("ls >> log; echo {name} >> log"));
    let calls = vec![
        vec![command("a", "one"), command("b", "two"), command("c", "three"), USE],
        vec![Say("ok"), STOP],
    ];
    let mut bench = asking(PermissionMode::Ask, calls);
    bench.prompt("go").await;
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(asked(&mut bench).await);
    }
    requests.sort_by(|one, next| one.tool_call_id.cmp(&next.tool_call_id));
    (bench, requests)
}

#[tokio::test]
async fn the_commands_of_an_answer_are_asked_about_together_and_run_in_order() {
    let (mut bench, requests) = three().await;
    answer(&bench, &requests[2], ALLOW).await;
    answer(&bench, &requests[1], ApprovalAnswer::Deny { reason: None, stop: false }).await;
    answer(&bench, &requests[0], ALLOW).await;
    let events = bench.settled().await;
    let calls = |line: &String| line.starts_with("run ") || line.starts_with("ran ");
    let order: Vec<String> = brief(&events).into_iter().filter(calls).collect();
    assert_eq!(order, ["ran a", "run b", "ran b failed", "run c", "ran c"]);
    let log = std::fs::read_to_string(bench.dir.path().join("log")).unwrap();
    let said: Vec<&str> = log.lines().filter(|line| ["one", "two", "three"].contains(line)).collect();
    assert_eq!(said, ["one", "three"]);
}

#[tokio::test]
async fn a_command_that_cannot_run_does_not_hold_up_those_after_it() {
    let secret = bash("a", "echo [secret 1-k7qd: github token]");
    let calls = vec![vec![secret, bash("b", "touch b"), USE], vec![Say("ok"), STOP]];
    let mut bench = asking(PermissionMode::Ask, calls);
    bench.prompt("go").await;
    let request = asked(&mut bench).await;
    assert_eq!(request.tool_call_id, "b");
    answer(&bench, &request, ALLOW).await;
    let ended = tool_results(&bench.settled().await);
    assert!(ended[0].is_error && !ended[1].is_error, "{ended:?}");
    assert!(bench.dir.path().join("b").exists());
}

#[tokio::test]
async fn a_steering_message_ends_the_questions_that_are_left() {
    let (mut bench, requests) = three().await;
    bench.send(RunCommand::Prompt { text: "stop".into(), images: Vec::new(), streaming: Queue::Steer }).await;
    answer(&bench, &requests[0], ALLOW).await;
    let events = bench.settled().await;
    let ended = tool_results(&events);
    assert!(!ended[0].is_error && ended[1].is_error && ended[2].is_error, "{ended:?}");
    assert!(said(&ended[1]).contains("skipped") && said(&ended[2]).contains("skipped"), "{ended:?}");
    let withdrawn = |event: &&AgentEvent| {
        matches!(
            event,
            AgentEvent::Questions(QuestionEvent::ApprovalEnded { outcome: ApprovalOutcome::Withdrawn, .. })
        )
    };
    assert_eq!(events.iter().filter(withdrawn).count(), 2);
    let starts = brief(&events).iter().filter(|line| line.starts_with("run ")).count();
    assert_eq!(starts, 2, "each call is reported once; the first was before it was asked about");
}

#[tokio::test]
async fn an_abort_ends_all_questions_of_an_answer() {
    let (mut bench, _) = three().await;
    bench.send(RunCommand::Abort).await;
    let events = bench.settled().await;
    let lines = brief(&events);
    for call in ["a", "b", "c"] {
        // The first was reported before its approval was requested.
        let starts = lines.iter().filter(|line| **line == format!("run {call}")).count();
        assert_eq!(starts, usize::from(call != "a"), "{lines:?}");
        assert_eq!(
            lines.iter().filter(|line| **line == format!("ran {call} failed")).count(),
            1,
            "{lines:?}"
        );
    }
    assert!(!bench.dir.path().join("log").exists());
}

#[tokio::test]
async fn without_a_mode_nothing_is_asked() {
    let calls = vec![vec![bash("a", "touch one"), USE], vec![Say("ok"), STOP]];
    let mut bench = Bench::with(Player::new(calls), |config| config.tools = Toolbox::all());
    bench.prompt("go").await;
    let events = bench.settled().await;
    assert!(!events.iter().any(is_request));
    assert!(bench.dir.path().join("one").exists());
}

/// An agent whose commands are confined to its directory; `None` if this kernel cannot confine.
fn confined(on_ask: OnAsk, answers: Vec<Vec<Step>>) -> Option<Bench> {
    if !crate::sandbox::has_landlock() {
        return None;
    }
    Some(Bench::with(Player::new(answers), |config| {
        let level = SandboxLevel::WorkspaceWrite;
        let workspace = config.session.info().cwd.clone();
        config.tools = Toolbox::all();
        config.behavior.on_ask = on_ask;
        config.behavior.sandbox.policy = SandboxPolicy { level, workspace, ..SandboxPolicy::off() }.into();
    }))
}

#[tokio::test]
async fn what_the_sandbox_refuses_a_command_is_asked_and_runs_again() {
    let allowed = |request: &ApprovalRequest| {
        let rules = request.suggested_rules.clone();
        ApprovalAnswer::AllowAlways { rules, scope: RuleScope::Session, hunks: None }
    };
    let this_time = |request: &ApprovalRequest| {
        let rules = request.suggested_rules.clone();
        ApprovalAnswer::AllowAlways { rules, scope: RuleScope::Once, hunks: None }
    };
    let denied = |_: &ApprovalRequest| ApprovalAnswer::Deny { reason: Some("no".into()), stop: false };
    let once = |_: &ApprovalRequest| ALLOW;
    type Decide = fn(&ApprovalRequest) -> ApprovalAnswer;
    for (decide, works) in [(allowed as Decide, true), (this_time, true), (denied, false), (once, true)] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let target = folder.path().join("f");
        let command = format!("echo ran >> runs; echo x > {}", target.display());
        let second = format!("echo y > {}", folder.path().join("g").display());
        let answers =
            vec![vec![bash("a", &command), USE], vec![bash("b", &second), USE], vec![Say("ok"), STOP]];
        let Some(mut bench) = confined(OnAsk::Ask, answers) else { return };
        bench.prompt("go").await;
        let request = asked(&mut bench).await;
        assert!(request.reasons[0].text.contains("the sandbox blocks writing"), "{request:?}");
        assert_eq!(request.reasons[0].path.as_deref(), Some(target.as_path()));
        assert_eq!(request.sandbox, "workspace-write");
        assert!(request.ran && request.blocked.is_some(), "{request:?}");
        assert_eq!(request.suggested_rules, [format!("sandbox_writable({})", folder.path().display())]);
        let decision = decide(&request);
        let always = matches!(decision, ApprovalAnswer::AllowAlways { scope: RuleScope::Session, .. });
        answer(&bench, &request, decision).await;
        // An added path needs no more approval.
        let mut events = Vec::new();
        if !always {
            events = bench.until(is_request).await;
            let Some(AgentEvent::Questions(QuestionEvent::ApprovalRequested { request })) = events.last()
            else {
                panic!()
            };
            answer(&bench, request, denied(request)).await;
        }
        events.extend(bench.settled().await);
        let results = tool_results(&events);
        let runs = std::fs::read_to_string(bench.dir.path().join("runs")).unwrap().lines().count();
        assert_eq!((target.exists(), runs), (works, if works { 2 } else { 1 }));
        assert_eq!(folder.path().join("g").exists(), always);
        if works {
            assert!(said(&results[0]).contains("run a second time"), "{results:?}");
        } else {
            let said = said(&results[0]);
            assert!(
                said.contains("not the program but tau's sandbox") && said.ends_with("the sandbox: no"),
                "{said}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_ran_is_denied_a_second_run() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let command = format!("echo x > {}", folder.path().join("f").display());
    let answers = vec![vec![bash("a", &command), USE], vec![Say("ok"), STOP]];
    let Some(mut bench) = confined(OnAsk::Ask, answers) else { return };
    bench.prompt("go").await;
    asked(&mut bench).await;
    bench.send(SettingsCommand::SetPermissionMode { mode: PermissionMode::Plan }).await;
    let results = tool_results(&bench.settled().await);
    assert!(said(&results[0]).contains("denied, the call was not run again: plan mode"), "{results:?}");
}

#[tokio::test]
async fn writes_of_file_tools_outside_the_sandbox_are_asked_before_or_refused() {
    for (on_ask, works) in [(OnAsk::Ask, true), (OnAsk::Allow, false)] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let target = folder.path().join("f");
        let write = |id, path: &std::path::Path| Call(id, "write", json!({ "path": path, "content": "x" }));
        let inside = std::path::Path::new("inside");
        let answers =
            vec![vec![write("a", &target), USE], vec![write("b", inside), USE], vec![Say("ok"), STOP]];
        let Some(mut bench) = confined(on_ask, answers) else { return };
        bench.prompt("go").await;
        if on_ask == OnAsk::Ask {
            let request = asked(&mut bench).await;
            assert!(
                !target.exists() && request.reasons[0].text.contains("outside the workspace"),
                "{request:?}"
            );
            answer(&bench, &request, ALLOW).await;
        }
        let results = tool_results(&bench.settled().await);
        assert_eq!((target.exists(), results[0].is_error), (works, !works), "{results:?}");
        assert!(works || said(&results[0]).contains("tau's sandbox blocks writing"), "{results:?}");
        assert!(bench.dir.path().join("inside").exists(), "{results:?}");
    }
}

#[tokio::test]
async fn without_anybody_to_ask_the_refusal_of_the_sandbox_stands() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().join("f");
    let command = format!("echo x > {}", target.display());
    let answers = vec![vec![bash("a", &command), USE], vec![Say("ok"), STOP]];
    let Some(mut bench) = confined(OnAsk::Allow, answers) else { return };
    bench.prompt("go").await;
    let events = bench.settled().await;
    assert!(!events.iter().any(is_request));
    let results = tool_results(&events);
    assert!(
        !target.exists() && said(&results[0]).contains("not the program but tau's sandbox"),
        "{results:?}"
    );
}
