//! One run: from a message until the agent has nothing left to do.
//!
//! Owns the order of the events of a run (docs/rpc.md). The answer of a turn is in `turn`, its
//! tool calls in `tool_calls`, the messages of the run in `log`.

pub(crate) mod log;

use tokio::time::Instant;

use super::state::{Engine, Phase};
use super::{
    accepted_plan, announce, attend, background_jobs, commands, compact, event_hooks, expand,
    folder_instructions, goal, goal_check, grants, kept_queue, mode_note, open_jobs, turn,
};
use crate::context::request;
use crate::engine::base::meter::{TimeLimit, TimeLimitOwner};
use crate::engine::calls::{missing_results, tool_calls, written_calls};
use crate::engine::queries::session_usage;
use log::Run;
use tau_protocol::command::{QuestionAnswer, Queue};
use tau_protocol::event::{NoticeLevel, Question, QuestionEvent, RunEvent};
use tau_protocol::message::{AssistantMessage, Message, StopReason, UserMessage};
use tau_protocol::model::Api;
use tau_protocol::run::{OnRepeat, RunEnd};

/// The maximum number of times that hooks may keep a run from ending.
const MAX_HELD: u32 = 10;

/// Runs from `first`, or from the existing history. Steering messages left from an aborted run go before
/// `first`, because they were sent before it; without `first` they start the run, as many as their queue's
/// mode allows.
pub(crate) async fn run(engine: &mut Engine, first: Option<UserMessage>) {
    prepare(engine);
    let mut messages = Vec::new();
    while engine.queues.has_steering() && (messages.is_empty() || first.is_some()) {
        messages.extend(deliver(engine, Queue::Steer));
    }
    first.iter().for_each(|message| engine.queues.deliver(message));
    messages.extend(first);
    // Follow-ups alone also start a run, if it is requested without a message.
    if messages.is_empty() && !request::can_continue(&engine.config.session.context().messages) {
        messages = deliver(engine, Queue::FollowUp);
    }
    run_turns(engine, messages).await;
}

/// Runs from the queued messages, if there are any: steering messages first, else follow-ups.
pub(crate) async fn run_from_queue(engine: &mut Engine) {
    if engine.queues.is_empty() {
        return;
    }
    prepare(engine);
    let mut messages = deliver(engine, Queue::Steer);
    if messages.is_empty() {
        messages = deliver(engine, Queue::FollowUp);
    }
    run_turns(engine, messages).await;
}

/// Runs the goal's command, and works until it succeeds.
pub(crate) async fn pursue(engine: &mut Engine) {
    prepare(engine);
    run_turns_from(engine, Start::Check).await;
}

/// Resets the state of a single run.
fn prepare(engine: &mut Engine) {
    engine.current.phase = Phase::Running;
    engine.begin();
    accepted_plan::on_run_start(engine);
    missing_results::repair(engine);
    record_settings(engine);
    let spent = engine.meters.used.of_whole_session();
    engine.meters = Default::default();
    engine.meters.used = session_usage::meter(engine, spent);
    engine.meters.used.limit(&engine.run_limits());
    let until = engine.config.helper.as_ref().and_then(|role| role.deadline);
    if engine.config.tools.iter().any(|tool| !tool.spec().read_only) {
        engine.undo.precopy();
    }
    let own = engine.config.limits.time.and_then(|time| Instant::now().checked_add(time));
    let own = own.map(|at| TimeLimit { at, whose: TimeLimitOwner::Run });
    engine.meters.deadline = TimeLimit::first([own, until]);
    engine.goal.on_run_start();
    goal::limit_meter(engine);
}

/// The beginning of a run.
enum Start {
    Messages(Vec<UserMessage>),
    /// The goal's command.
    Check,
}

/// Runs turns until there is nothing left to do.
async fn run_turns(engine: &mut Engine, messages: Vec<UserMessage>) {
    run_turns_from(engine, Start::Messages(messages)).await;
}

async fn run_turns_from(engine: &mut Engine, start: Start) {
    let mut looped = Loop {
        run: Run::new(engine),
        compaction_failed: false,
        from_hooks: Vec::new(),
        held: 0,
        reminded: 0,
        called: false,
    };
    looped.take_turns(start).await;
    looped.settle().await;
}

/// Records the model and thinking level in use, unless the session already names them.
fn record_settings(engine: &mut Engine) {
    if let Some(model) = engine.config.model.clone() {
        let saved = engine.config.session.set_model(&model.provider, &model.id);
        engine.report_save_result(saved);
    }
    let level = engine.thinking();
    let saved = engine.config.session.set_thinking(level);
    engine.report_save_result(saved);
}

/// Takes the next messages from a queue and reports that.
fn deliver(engine: &mut Engine, queue: Queue) -> Vec<UserMessage> {
    let messages = engine.queues.next(queue);
    if !messages.is_empty() {
        engine.emit(engine.queues.update());
    }
    messages
}

struct Loop<'a> {
    run: Run<'a>,
    /// Whether a compaction has failed: it is not tried again at every turn.
    compaction_failed: bool,
    /// Requests of hooks before the run ends, for the next turn.
    from_hooks: Vec<Message>,
    /// The number of times that hooks have kept the run from ending.
    held: u32,
    /// The number of times that the model was reminded that it wrote a call as text.
    reminded: u32,
    /// Whether the model has called a tool since the goal's command last ran.
    called: bool,
}

impl Loop<'_> {
    async fn take_turns(&mut self, start: Start) {
        self.run.engine.emit(RunEvent::AgentStart);
        if !matches!(&start, Start::Messages(messages) if !messages.is_empty()) {
            commands::answer_sync_queries(self.run.engine);
        }
        self.warn_of_unknown_price();
        // A session that is resumed with a smaller model may be too large from the start.
        self.await_servers().await;
        self.compaction_failed = compact::if_full(self.run.engine).await;
        let Some(mut messages) = self.first(start).await else { return };
        let mut begun = false;
        loop {
            self.run.engine.refresh_tools();
            let waiting = !messages.is_empty();
            let (added, prompts) = event_hooks::admit(self.run.engine, std::mem::take(&mut messages)).await;
            messages = expand::all(self.run.engine, prompts).await;
            if waiting && messages.is_empty() && !(begun && self.can_continue()) {
                kept_queue::finish_delivery(self.run.engine);
                match self.deliver_next() {
                    Some(queued) => messages = queued,
                    None => return,
                }
                continue;
            }
            begun = true;
            self.run.open_turn();
            if let Some(note) = mode_note::before_answer(self.run.engine) {
                self.run.commit(note);
            }
            let lost = open_jobs::note(self.run.engine).await;
            for note in lost.into_iter().chain(background_jobs::note(self.run.engine)) {
                self.run.commit(note);
            }
            open_jobs::save(self.run.engine);
            if let Some(note) = goal::note(self.run.engine) {
                self.run.commit(note);
            }
            if let Some(note) = folder_instructions::before_answer(self.run.engine).await {
                self.run.commit(note);
            }
            for message in std::mem::take(&mut self.from_hooks).into_iter().chain(added) {
                self.run.commit(message);
            }
            for message in messages.drain(..) {
                self.run.commit(Message::User(UserMessage { stays_queued: false, ..message }));
            }
            // What was sent is acknowledged once it is saved.
            kept_queue::finish_delivery(self.run.engine);
            commands::answer_sync_queries(self.run.engine);
            let Some(message) = turn::answer(&mut self.run).await else { return };
            self.run.engine.meters.used.count_answer();
            let Message::Assistant(answer) = message.as_ref() else {
                return;
            };
            let results = tool_calls::run_all(&mut self.run, answer).await;
            let called = !results.is_empty();
            self.called |= called;
            self.run.close_turn(message.clone(), results);
            let stopped = self.run.engine.current.stop.is_cancelled();
            if called && !stopped && !self.compaction_failed && self.run.reached_limit().is_none() {
                self.compaction_failed = compact::if_full(self.run.engine).await;
            }
            match self.next(answer, called).await {
                Some(next) => messages = next,
                None => return,
            }
        }
    }

    /// The messages of the first turn; `None` if there is nothing to do.
    async fn first(&mut self, start: Start) -> Option<Vec<UserMessage>> {
        match start {
            Start::Messages(messages) => {
                goal::begin_round(self.run.engine);
                Some(messages)
            }
            Start::Check => {
                if !goal_check::may_pursue(self.run.engine).await {
                    return None;
                }
                self.called = true;
                match goal_check::at_end(self.run.engine, std::mem::take(&mut self.called)).await {
                    Some(note) => {
                        self.from_hooks.push(note);
                        Some(deliver(self.run.engine, Queue::Steer))
                    }
                    None => self.deliver_next(),
                }
            }
        }
    }

    /// Waits a moment for MCP servers that are starting, so that their tools are known from the first turn
    /// on.
    async fn await_servers(&mut self) {
        let engine = &mut *self.run.engine;
        if engine.mcp.is_settled() {
            engine.mcp.start_logged_in();
        }
        if !engine.mcp.is_settled() {
            let ready = engine.mcp.ready(engine.config.behavior.mcp.wait);
            // A stopped run is noticed elsewhere.
            let _ = attend::attend_unless_stopped(engine, ready).await;
        }
        engine.refresh_tools();
    }

    /// Whether the run was stopped, or has reached a limit.
    fn is_ended(&self) -> bool {
        self.run.engine.current.stop.is_cancelled() || self.run.engine.meters.ended_by.is_some()
    }

    /// The queued messages with which the run continues, when there is nothing else to do: steering messages first.
    fn deliver_next(&mut self) -> Option<Vec<UserMessage>> {
        if self.is_ended() {
            return None;
        }
        let mut messages = deliver(self.run.engine, Queue::Steer);
        if messages.is_empty() {
            messages = deliver(self.run.engine, Queue::FollowUp);
        }
        (!messages.is_empty()).then_some(messages)
    }

    /// Whether messages or reports of jobs wait for the model.
    fn has_more(&self) -> bool {
        !self.run.engine.queues.is_empty() || background_jobs::has_news(self.run.engine)
    }

    fn can_continue(&self) -> bool {
        request::can_continue(&self.run.engine.config.session.context().messages)
    }

    /// The messages that the next turn starts with; `None` if there is no further turn.
    async fn next(&mut self, answer: &AssistantMessage, called: bool) -> Option<Vec<UserMessage>> {
        let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        if failed || self.run.engine.current.stop.is_cancelled() {
            return None;
        }
        if !self.may_continue().await {
            return None;
        }
        if !called && self.run.engine.queues.is_empty() {
            if let Some(reminder) = self.remind_of_written_call(answer) {
                self.from_hooks.push(reminder);
            } else if self.held < MAX_HELD
                && let Some(message) = event_hooks::before_end(self.run.engine, self.held > 0).await
            {
                self.held += 1;
                self.from_hooks.push(message);
            } else if !self.has_more() {
                let called = std::mem::take(&mut self.called);
                match goal_check::at_end(self.run.engine, called).await {
                    Some(note) => self.from_hooks.push(note),
                    // Messages may have been queued while the command of the goal ran.
                    None if self.is_ended() || !self.has_more() => return None,
                    None => {}
                }
            }
        }
        if let Some(end) = self.run.reached_limit() {
            self.run.engine.meters.ended_by = Some(end);
            return None;
        }
        let steering = deliver(self.run.engine, Queue::Steer);
        if called || !steering.is_empty() || !self.from_hooks.is_empty() {
            return Some(steering);
        }
        let follow_ups = deliver(self.run.engine, Queue::FollowUp);
        (!follow_ups.is_empty() || background_jobs::has_news(self.run.engine)).then_some(follow_ups)
    }

    /// The reminder for a model that wrote a call as text; also shows the user a notice.
    fn remind_of_written_call(&mut self, answer: &AssistantMessage) -> Option<Message> {
        let engine = &mut *self.run.engine;
        let tool =
            written_calls::find_called_tool(&answer.text(), &|name| engine.config.tools.get(name).is_some())?;
        let is_told = self.reminded < written_calls::MAX_REMINDERS;
        let hint =
            if is_told { "it is asked to make the call" } else { "try another model, or another server" };
        let text = format!("the model wrote a call of {tool} as text, which runs nothing");
        engine.notice(NoticeLevel::Warning, text, Some(hint));
        self.reminded += 1;
        is_told.then(|| written_calls::reminder(&tool))
    }

    /// Whether the loop guard lets the run continue. If there is a user, the user decides.
    async fn may_continue(&mut self) -> bool {
        let Some(tool) = self.run.loop_guard.stuck_tool().map(str::to_owned) else {
            return true;
        };
        let engine = &mut *self.run.engine;
        if engine.config.behavior.on_repeat == OnRepeat::Ask {
            let question = Question::Confirm {
                title: format!("The model keeps repeating the same {tool} call. Let it continue?"),
                message: "it got the same result each time, and was warned".to_owned(),
            };
            if attend::ask(engine, question).await == QuestionAnswer::Confirmed(true) {
                self.run.loop_guard.reset();
                return true;
            }
            if engine.current.stop.is_cancelled() {
                return false;
            }
        }
        engine.meters.ended_by = Some(RunEnd::Repeats);
        false
    }

    /// Warns if a cost limit cannot be enforced.
    fn warn_of_unknown_price(&mut self) {
        let engine = &mut *self.run.engine;
        let Some(model) = engine.config.model.clone() else { return };
        let of_goal = engine.goal.active().and_then(|goal| goal.limits.dollars);
        let limited = engine.config.limits.dollars.or(of_goal).is_some()
            || engine.config.behavior.spending.is_limited();
        if limited && model.cost.is_none() && model.api != Api::Scripted {
            let text = format!("the price of {} is unknown, so the cost limit is not enforced", model.id);
            engine.notice(NoticeLevel::Warning, text, Some("set its price in models.toml"));
        }
    }

    /// Reports the limit or guard that ended the run, if any.
    fn report_end(&mut self) {
        let engine = &mut *self.run.engine;
        let Some(reason) = engine.meters.ended_by.take() else { return };
        let (mut text, hint) = engine.meters.used.notice(reason, engine.meters.time_of.take());
        if let (RunEnd::Repeats, Some(tool)) = (reason, self.run.loop_guard.stuck_tool()) {
            text = format!("stopped: the model keeps repeating the same {tool} call with the same result");
        }
        engine.emit(RunEvent::RunStopped { reason });
        let saved = engine.config.session.append_limit(reason);
        engine.report_save_result(saved);
        // No message continues a helper, which ends with its run.
        let hint = Some(hint).filter(|_| engine.config.helper.is_none());
        engine.notice(NoticeLevel::Warning, text, hint);
    }

    /// Ends the run: records pending messages, compacts if necessary, saves, and reports it.
    async fn settle(&mut self) {
        let end = self.run.engine.meters.ended_by;
        let ended = end.is_some();
        self.report_end();
        let messages = self.run.take_messages();
        let engine = &mut *self.run.engine;
        engine.current.phase = Phase::Settling;
        engine.emit(RunEvent::AgentEnd { messages, will_retry: false });
        let aborted = engine.current.stop.is_cancelled();
        // Front ends drop the questions of the run.
        for id in engine.questions.close_all() {
            engine.emit(QuestionEvent::AskWithdrawn { id });
        }
        announce::record_pending(engine);
        // Settings that changed during the run; otherwise its last answer would decide what a resume uses.
        record_settings(engine);
        if !aborted && !ended && !self.compaction_failed {
            compact::if_full(engine).await;
            announce::record_pending(engine);
        }
        grants::end(engine);
        accepted_plan::on_run_end(engine);
        goal::on_run_end(engine, end);
        kept_queue::on_run_end(engine);
        open_jobs::on_run_end(engine);
        session_usage::count_apart(engine, &[]);
        engine.meters.deadline = None;
        engine.meters.used.end_run();
        engine.undo.settle();
        engine.flush();
        engine.current.phase = Phase::Idle;
        engine.emit(RunEvent::AgentSettled { aborted });
    }
}
