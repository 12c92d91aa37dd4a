//! Runs the tool calls of an answer: each gets exactly one result, in call order.
//!
//! [`crate::engine::base::call_order`] decides which of them run at the same time. A call is a task of its
//! own, so a crash becomes its result and a tool that hangs cannot hold up an abort. Calls that never ran are
//! reported like the others, with the reason as their result.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, SelectAll};
use futures_util::{StreamExt, stream};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout_at};

use super::call_hooks;
use super::call_plan::{Outcome, Slot, arguments, plan};
use super::call_task::{self, CarriedOut};
use crate::engine::attend::{attend, attend_unless_stopped};
use crate::engine::base::approvals::Review;
use crate::engine::base::call_order::{CallOrder, HeldCall, Reach};
use crate::engine::base::clock::{millis_since, now};
use crate::engine::base::loop_guard::LoopGuard;
use crate::engine::base::panics;
use crate::engine::queries::undo_queries;
use crate::engine::run::log::Run;
use crate::engine::state::Engine;
use crate::engine::{background_jobs, event_hooks, folder_instructions, gate, grants};
use tau_protocol::call_ending::{ABORTED, DROPPED, SKIPPED};
use tau_protocol::event::{NoticeLevel, TurnEvent};
use tau_protocol::message::{AssistantMessage, Message, ToolCall, ToolResultMessage};
use tau_protocol::run::SteerMode;
use tau_tools::{AnyTool, Content, OutputLimits, ToolContext, ToolError, ToolOutput, ToolProgress, delegate};

/// The maximum number of concurrent calls.
const MAX_CONCURRENT: usize = 8;
/// The minimum time between two updates of a call.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// The time that aborted calls have to end properly and to return partial results.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the calls of `answer`. When this returns, all results are recorded and reported.
pub(crate) async fn run_all(run: &mut Run<'_>, answer: &AssistantMessage) -> Vec<Arc<Message>> {
    let slots: Vec<Slot> = plan(run.engine, answer);
    if !slots.is_empty() {
        run.loop_guard.next_turn();
    }
    let slots = ToolRunner::run(run.engine, Some(&mut run.loop_guard), slots).await;
    let message = |slot: Slot| {
        let outcome = slot.outcome.unwrap_or_else(|| Outcome::unrun(ABORTED));
        run.commit(Message::ToolResult(ToolResultMessage {
            tool_call_id: slot.call.id,
            tool_name: slot.asked_name,
            content: outcome.output.content,
            details: outcome.output.details,
            is_error: outcome.is_error,
            timestamp: now(),
            duration_ms: outcome.duration_ms,
            hooks: outcome.hooks,
        }))
    };
    slots.into_iter().map(message).collect()
}

/// Runs a call that is not the model's. It is reported, but not recorded.
pub(crate) async fn run_one(engine: &mut Engine, call: ToolCall, tool: Arc<dyn AnyTool>) -> Outcome {
    let slot = Slot { asked_name: call.name.clone(), call, tool: Ok(tool), outcome: None };
    let slots = ToolRunner::run(engine, None, vec![slot]).await;
    slots.into_iter().find_map(|slot| slot.outcome).unwrap_or_else(|| Outcome::unrun(ABORTED))
}

/// Determines which calls may run side by side.
fn order_of(engine: &Engine, slots: &[Slot]) -> CallOrder {
    let mut order = CallOrder::default();
    for Slot { call, tool, .. } in slots {
        match tool {
            // A single call waits for nothing.
            Ok(tool) if slots.len() > 1 => {
                let access = tool.touches(&call.arguments, engine.cwd());
                let early = !tool.spec().read_only && tool.prepares_from_arguments();
                order.push(Reach::of(&**tool, access.as_ref(), engine.cwd()), early);
            }
            _ => order.push(Reach::nothing(), false),
        }
    }
    order
}

/// The next event of the calls.
enum Step {
    Ended(Result<(Id, CarriedOut), JoinError>),
    Progress(usize, ToolOutput),
    Prepared(usize, Review),
    /// The earlier calls that a decided call waited for have ended.
    Free(HeldCall),
}

/// The calls, and those that are running.
#[derive(Default)]
struct Batch {
    tasks: JoinSet<CarriedOut>,
    started: HashMap<Id, (usize, Instant)>,
    updates: SelectAll<BoxStream<'static, (usize, ToolOutput)>>,
    reviews: Reviews,
    order: CallOrder,
    /// Calls whose start was reported.
    reported: HashSet<usize>,
}

/// The channel from prepared calls to the gate.
struct Reviews {
    sender: mpsc::UnboundedSender<(usize, Review)>,
    receiver: mpsc::UnboundedReceiver<(usize, Review)>,
}

impl Default for Reviews {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Reviews { sender, receiver }
    }
}

impl Batch {
    /// The next end or update; `None` when nothing is running. Cancel safe.
    async fn step(&mut self) -> Option<Step> {
        if self.tasks.is_empty() {
            return None;
        }
        tokio::select! {
            biased;
            Some((index, review)) = self.reviews.receiver.recv() => Some(Step::Prepared(index, review)),
            Some(ended) = self.tasks.join_next_with_id() => Some(Step::Ended(ended)),
            held = self.order.next_held_call() => Some(Step::Free(held)),
            Some((index, output)) = self.updates.next() => Some(Step::Progress(index, output)),
        }
    }
}

/// Carries out calls, which may run side by side.
struct ToolRunner<'a> {
    engine: &'a mut Engine,
    /// Warns the model if it repeats itself.
    loop_guard: Option<&'a mut LoopGuard>,
    slots: Vec<Slot>,
    /// The number of calls that ran to completion.
    ended: usize,
}

impl<'a> ToolRunner<'a> {
    /// Runs the calls; each has its outcome then, unless it was aborted before it started.
    async fn run(
        engine: &'a mut Engine,
        loop_guard: Option<&'a mut LoopGuard>,
        slots: Vec<Slot>,
    ) -> Vec<Slot> {
        let batch = Batch { order: order_of(engine, &slots), ..Batch::default() };
        let mut runner = ToolRunner { engine, loop_guard, slots, ended: 0 };
        runner.run_batch(batch).await;
        runner.slots
    }

    /// Whether a steering message makes the remaining calls unnecessary. Checked when a call has ended, so an
    /// answer with calls gets at least one result.
    fn is_steered(&self) -> bool {
        let engine = &self.engine;
        self.ended > 0
            && engine.config.behavior.steer == SteerMode::SkipRemaining
            && engine.queues.has_steering()
    }

    /// Ends a call that cannot or must not run.
    fn skip(&mut self, batch: &mut Batch, index: usize) {
        let stopped = self.engine.current.stop.is_cancelled();
        let reason = match self.slots.get(index).map(|slot| &slot.tool) {
            _ if stopped => ABORTED.to_owned(),
            Some(Err(reason)) => reason.clone().into(),
            _ => SKIPPED.to_owned(),
        };
        self.end(batch, index, Outcome::unrun(&reason));
    }

    async fn run_batch(&mut self, mut batch: Batch) {
        loop {
            while batch.tasks.len() < MAX_CONCURRENT
                && !self.engine.current.stop.is_cancelled()
                && !self.is_steered()
                && let Some(index) = batch.order.next_to_start(gate::asks(self.engine))
            {
                self.start(&mut batch, index);
            }
            match attend_unless_stopped(self.engine, batch.step()).await {
                Some(Some(step)) => self.step(&mut batch, step),
                Some(None) => break,
                None => {
                    self.abort(&mut batch).await;
                    break;
                }
            }
        }
        for index in batch.order.waiting() {
            self.skip(&mut batch, index);
        }
    }

    /// Gives aborted calls a moment to end properly, then drops the remaining ones.
    async fn abort(&mut self, batch: &mut Batch) {
        gate::withdraw_all(self.engine);
        let deadline = Instant::now() + GRACE;
        while let Ok(Some(step)) = attend(self.engine, timeout_at(deadline, batch.step())).await {
            self.step(batch, step);
        }
        batch.tasks.abort_all();
        let mut hanging: Vec<(usize, Instant)> = batch.started.drain().map(|(_, started)| started).collect();
        hanging.sort_unstable_by_key(|(index, _)| *index);
        for (index, since) in hanging {
            let mut outcome = Outcome { duration_ms: Some(millis_since(since)), ..Outcome::unrun(DROPPED) };
            // What it has cost counts, however long its commands take to end.
            let call = self.slots.get(index).map(|slot| slot.call.id.as_str());
            if let Some(details) = call.and_then(|call| self.engine.helpers.stopped_report(call)) {
                outcome.output.details = details;
            }
            self.end(batch, index, outcome);
        }
    }

    fn start(&mut self, batch: &mut Batch, index: usize) {
        let Some(Slot { call, tool: Ok(tool), .. }) = self.slots.get(index) else {
            return self.skip(batch, index);
        };
        let arguments = match self.engine.config.behavior.masking.arguments(&call.name, &call.arguments) {
            Ok(filled) => filled.unwrap_or_else(|| call.arguments.clone()),
            Err(reason) => return self.end(batch, index, Outcome::unrun(&reason)),
        };
        let (progress, updates) = ToolProgress::channel();
        let helpers = (call.name == delegate::NAME).then(|| self.engine.helpers.link(&call.id));
        let (tool, context) = (tool.clone(), ToolContext { helpers, ..context(self.engine, progress) });
        let reviews = batch.reviews.sender.clone();
        let undo = undo_queries::of_call(self.engine, call);
        let hooks = call_hooks::of_call(self.engine, call, &tool);
        batch.order.start(index);
        // A call that is only prepared is reported when it may run.
        if batch.order.is_free(index) {
            self.report_start(batch, index);
        }
        let task =
            batch.tasks.spawn(call_task::carry_out(tool, arguments, context, index, reviews, undo, hooks));
        batch.started.insert(task.id(), (index, Instant::now()));
        batch.updates.push(changes(index, updates));
    }

    fn step(&mut self, batch: &mut Batch, step: Step) {
        match step {
            Step::Progress(index, partial_result) => self.report_progress(index, partial_result),
            // It is already running.
            Step::Prepared(index, review) if review.again => self.judge(index, review),
            Step::Prepared(index, review) => self.judge_prepared_call(batch, index, review),
            Step::Free(held) => {
                self.report_start(batch, held.index);
                held.run();
            }
            Step::Ended(ended) => {
                let id = match &ended {
                    Ok((id, _)) => *id,
                    Err(error) => error.id(),
                };
                if let Some((index, since)) = batch.started.remove(&id) {
                    self.ended += 1;
                    let mut outcome = self.outcome(ended.map(|(_, ended)| ended), millis_since(since));
                    // The run was stopped. Its task, which knows of no decision, names it denied.
                    if batch.order.was_held_back(index) {
                        outcome = Outcome { hooks: outcome.hooks, ..Outcome::unrun(ABORTED) };
                    }
                    self.end(batch, index, outcome);
                    self.skip_held_calls(batch);
                }
            }
        }
    }

    /// Judges a prepared call. The decision is held while it must wait for other calls.
    fn judge_prepared_call(&mut self, batch: &mut Batch, index: usize, review: Review) {
        if review.changed.is_some()
            && let Some(Slot { tool: Ok(tool), .. }) = self.slots.get(index)
        {
            // A hook may have changed the call after its order was determined.
            let reach = Reach::of(&**tool, Some(&review.access), self.engine.cwd());
            batch.order.revise(index, reach);
        }
        if batch.order.is_free(index) {
            return self.judge(index, review);
        }
        if self.is_steered() {
            // Its task ends with that, or is already gone.
            let _ = review.decide.send(Err(ToolError::refused(SKIPPED)));
            return;
        }
        let decide = batch.order.hold(index, review.decide);
        self.judge(index, Review { decide, ..review });
    }

    /// Ends the held calls if a steering message made them unnecessary.
    fn skip_held_calls(&mut self, batch: &mut Batch) {
        if self.is_steered() {
            let refused = batch.order.refuse_held_calls(SKIPPED);
            if !refused.is_empty() {
                gate::withdraw_all(self.engine);
            }
            refused.into_iter().for_each(|index| self.report_start(batch, index));
        }
    }

    /// The outcome of a task that ended `ms` milliseconds after it started.
    fn outcome(&mut self, ended: Result<CarriedOut, JoinError>, ms: u64) -> Outcome {
        let (result, waited, is_denied, hooks) = match ended {
            Ok(CarriedOut { result, waited, is_denied, notices, hooks }) => {
                undo_queries::tell(self.engine, notices);
                self.engine.tell_of_directory();
                let hooks = event_hooks::after_call(self.engine, hooks);
                (result, waited, is_denied, hooks)
            }
            Err(error) => {
                let why = match error.try_into_panic() {
                    Ok(panic) => panics::text(&*panic),
                    Err(error) => error.to_string(),
                };
                let text = format!("the tool crashed: {why}");
                let hint = "this is a bug in tau; please report it";
                self.engine.notice(NoticeLevel::Error, text.clone(), Some(hint));
                (Err(ToolError::refused(text)), Duration::ZERO, false, Vec::new())
            }
        };
        let (output, is_error) = match result {
            Ok(output) => (output, false),
            Err(ToolError::Refused { message, details } | ToolError::Aborted { message, details }) => {
                (ToolOutput::new(message, *details), true)
            }
        };
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Outcome { output, is_error, is_denied, duration_ms: Some(ms.saturating_sub(waited)), hooks }
    }

    /// Sends a prepared call to be judged.
    fn judge(&mut self, index: usize, review: Review) {
        if let Some(Slot { call, tool: Ok(tool), .. }) = self.slots.get(index) {
            gate::review(self.engine, call, tool.spec().read_only, review);
        }
    }

    /// Reports the start of a call, once.
    fn report_start(&mut self, batch: &mut Batch, index: usize) {
        if let Some(slot) = self.slots.get(index)
            && batch.reported.insert(index)
        {
            self.engine.emit(TurnEvent::ToolExecutionStart {
                tool_call_id: slot.call.id.clone(),
                tool_name: slot.call.name.clone(),
                args: arguments(&slot.call),
            });
        }
    }

    fn report_progress(&mut self, index: usize, mut partial_result: ToolOutput) {
        if let Some(slot) = self.slots.get(index).filter(|slot| slot.outcome.is_none()) {
            self.engine.config.behavior.masking.partial_answer(&mut partial_result);
            self.engine.emit(TurnEvent::ToolExecutionUpdate {
                tool_call_id: slot.call.id.clone(),
                tool_name: slot.call.name.clone(),
                args: arguments(&slot.call),
                partial_result,
            });
        }
    }

    /// Stores and reports the outcome of a call without its secrets, with a warning for the model if it
    /// repeats itself.
    fn end(&mut self, batch: &mut Batch, index: usize, mut outcome: Outcome) {
        self.report_start(batch, index);
        batch.order.end(index);
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        self.engine.config.behavior.masking.answer(&mut outcome.output);
        if !outcome.is_error {
            grants::skill_read(self.engine, &slot.call);
            folder_instructions::add_touched_paths(self.engine, &slot.call);
        }
        if let Some(guard) = self.loop_guard.as_mut().filter(|_| !self.engine.current.stop.is_cancelled()) {
            let repeat = guard.note(&slot.call, &outcome.output);
            outcome.output.content.extend(repeat.warning().map(Content::text));
        }
        self.engine.emit(TurnEvent::ToolExecutionEnd {
            tool_call_id: slot.call.id.clone(),
            tool_name: slot.call.name.clone(),
            result: outcome.output.clone(),
            is_error: outcome.is_error,
            duration_ms: outcome.duration_ms,
            hooks: outcome.hooks.clone(),
        });
        slot.outcome = Some(outcome);
    }
}

/// The context that a call runs in.
pub(crate) fn context(engine: &Engine, progress: ToolProgress) -> ToolContext {
    let images = engine.config.model.as_ref().is_some_and(|model| model.sees());
    let window = engine.config.model.as_ref().map_or(0, |model| model.context_window);
    ToolContext {
        cwd: engine.cwd().into(),
        cancel: engine.current.stop.child_token(),
        progress,
        file_versions: engine.conversation.file_versions.clone(),
        scratch: engine.config.scratch.clone(),
        env: engine.config.env.clone(),
        sandbox: engine.config.behavior.sandbox.in_directory(engine.cwd()),
        files: engine.config.behavior.permissions.file_filter(engine.cwd(), std::env::home_dir().as_deref()),
        editor: engine.config.behavior.editor.clone(),
        user: Some(engine.user.link()),
        jobs: Some(background_jobs::link(engine)),
        helpers: None,
        limits: OutputLimits {
            images,
            secrets: engine.config.behavior.masking.finder(),
            ..OutputLimits::default()
        }
        .within_window(window),
        default_timeout: engine.config.bash_timeout,
    }
}

/// The updates of a running call: only the newest, at most one per `UPDATE_INTERVAL`.
fn changes(index: usize, updates: watch::Receiver<ToolOutput>) -> BoxStream<'static, (usize, ToolOutput)> {
    let next = move |(mut updates, sent): (watch::Receiver<ToolOutput>, bool)| async move {
        if sent {
            sleep(UPDATE_INTERVAL).await;
        }
        updates.changed().await.ok()?;
        let output = updates.borrow_and_update().clone();
        Some(((index, output), (updates, true)))
    };
    stream::unfold((updates, false), next).boxed()
}
