//! Parses a record as a command: its type, its fields, and their faults.
//!
//! Pure. Unknown fields are ignored. `commands` carries commands out.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::lines::InputLine;
use tau_protocol::approval::{ApprovalAnswer, PermissionMode};
use tau_protocol::attachment::{Attachment, AttachmentKind, picture_bytes};
use tau_protocol::command::{
    AgentCommand, QuestionAnswer, Queue, SessionChange, SessionCommand, ShellCommand,
};
use tau_protocol::goal::GoalOrder;
use tau_protocol::message::{Block, UserMessage};
use tau_protocol::model::ThinkingLevel;
use tau_protocol::query::Query;
use tau_protocol::rules::{RuleChange, Verdict};
use tau_protocol::run::QueueMode;
use tau_tools::user_error::UserError;

/// A command with the data for its answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcRequest {
    pub call: RpcCall,
    /// The command, or its fault.
    pub command: Result<RpcCommand, UserError>,
}

/// The identity of a command in its answer: the command's type and its id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcCall {
    /// A string or a number; `None` for clients that only listen.
    pub id: Option<Value>,
    /// The type of the command; `parse` for anything else.
    pub command: String,
}

impl RpcCall {
    /// True when the client does not number its commands.
    pub(crate) fn is_bare(&self) -> bool {
        self.id.is_none()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RpcCommand {
    Prompt {
        message: UserMessage,
        streaming: Option<Queue>,
    },
    Enqueue {
        message: UserMessage,
        queue: Queue,
    },
    Abort,
    ClearQueue,
    Query(Query),
    /// `SessionCommand::Undo`, `Redo` or `Revert`.
    Restore(AgentCommand),
    SetModel {
        provider: String,
        id: String,
    },
    CycleModel,
    Models,
    SetThinking(ThinkingLevel),
    CycleThinking,
    ThinkingLevels,
    SetQueueMode {
        queue: Queue,
        mode: QueueMode,
    },
    AutoCompaction {
        enabled: bool,
    },
    AutoRetry {
        enabled: bool,
    },
    HelperEvents {
        enabled: bool,
    },
    AskUser {
        enabled: bool,
    },
    AbortRetry,
    Compact {
        instructions: Option<String>,
    },
    Bash {
        command: String,
        hidden: bool,
    },
    AbortBash,
    /// A change of background jobs.
    Jobs(ShellCommand),
    Session(SessionChange),
    Name(String),
    Export {
        file: Option<PathBuf>,
    },
    /// An answer to a question. It gets no response.
    Answer {
        id: String,
        answer: QuestionAnswer,
    },
    AnswerApproval {
        id: String,
        answer: ApprovalAnswer,
    },
    SetPermissionMode(PermissionMode),
    DropPlan,
    SetGoal(Option<GoalOrder>),
    PursueGoal,
    /// The question, whose id is that of the command.
    SideQuestion(String),
    ChangeRules(RuleChange),
    /// An answer without a question: ignored.
    Nothing,
}

/// The command in a line.
pub fn read(line: &InputLine) -> RpcRequest {
    let text = match line {
        InputLine::Record(text) => text,
        InputLine::TooLong => return parse_failure(None, "the line is longer than 64 MiB"),
    };
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return parse_failure(None, "a command is a JSON object"),
        Err(error) => return parse_failure(None, &error.to_string()),
    };
    let id = fields.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    match fields.get("type") {
        Some(Value::String(kind)) => {
            let command = command(kind, &Fields(&fields));
            RpcRequest { call: RpcCall { id, command: kind.clone() }, command }
        }
        _ => parse_failure(id, "type must be a string"),
    }
}

fn parse_failure(id: Option<Value>, why: &str) -> RpcRequest {
    let command = Err(UserError::new("Failed to parse command").because(why));
    RpcRequest { call: RpcCall { id, command: "parse".to_owned() }, command }
}

/// Reads the fields of a command.
type FieldReader = fn(&Fields<'_>) -> Result<RpcCommand, UserError>;

/// The commands.
const COMMANDS: &[(&str, FieldReader)] = &[
    ("prompt", prompt),
    ("steer", |fields| Ok(RpcCommand::Enqueue { message: fields.message()?, queue: Queue::Steer })),
    ("follow_up", |fields| Ok(RpcCommand::Enqueue { message: fields.message()?, queue: Queue::FollowUp })),
    ("abort", |_| Ok(RpcCommand::Abort)),
    ("clear_queue", |_| Ok(RpcCommand::ClearQueue)),
    ("get_state", |_| Ok(RpcCommand::Query(Query::State))),
    ("get_messages", |_| Ok(RpcCommand::Query(Query::MessageRecords))),
    ("get_last_assistant_text", |_| Ok(RpcCommand::Query(Query::LastText))),
    ("get_entries", |fields| Ok(RpcCommand::Query(Query::Entries { since: fields.maybe_text("since")? }))),
    ("get_tree", |_| Ok(RpcCommand::Query(Query::Entries { since: None }))),
    ("get_fork_messages", |_| Ok(RpcCommand::Query(Query::ForkMessages))),
    ("get_session_stats", |_| Ok(RpcCommand::Query(Query::Stats))),
    ("get_commands", |_| Ok(RpcCommand::Query(Query::Commands))),
    ("get_resources", |_| Ok(RpcCommand::Query(Query::Resources))),
    ("complete_argument", |fields| {
        Ok(RpcCommand::Query(Query::CompleteArgument {
            command: fields.text("command")?,
            typed: fields.maybe_text("typed")?.unwrap_or_default(),
        }))
    }),
    ("set_model", |fields| {
        Ok(RpcCommand::SetModel { provider: fields.text("provider")?, id: fields.text("modelId")? })
    }),
    ("cycle_model", |_| Ok(RpcCommand::CycleModel)),
    ("get_available_models", |_| Ok(RpcCommand::Models)),
    ("set_thinking_level", |fields| {
        let names = ThinkingLevel::ALL.map(|level| (level.name(), level));
        Ok(RpcCommand::SetThinking(fields.one_of("level", &names)?))
    }),
    ("cycle_thinking_level", |_| Ok(RpcCommand::CycleThinking)),
    ("get_available_thinking_levels", |_| Ok(RpcCommand::ThinkingLevels)),
    ("set_steering_mode", |fields| {
        Ok(RpcCommand::SetQueueMode { queue: Queue::Steer, mode: fields.queue_mode()? })
    }),
    ("set_follow_up_mode", |fields| {
        Ok(RpcCommand::SetQueueMode { queue: Queue::FollowUp, mode: fields.queue_mode()? })
    }),
    ("set_auto_compaction", |fields| Ok(RpcCommand::AutoCompaction { enabled: fields.flag("enabled")? })),
    ("set_auto_retry", |fields| Ok(RpcCommand::AutoRetry { enabled: fields.flag("enabled")? })),
    ("set_helper_events", |fields| Ok(RpcCommand::HelperEvents { enabled: fields.flag("enabled")? })),
    ("set_ask_user", |fields| Ok(RpcCommand::AskUser { enabled: fields.flag("enabled")? })),
    ("abort_retry", |_| Ok(RpcCommand::AbortRetry)),
    ("compact", |fields| Ok(RpcCommand::Compact { instructions: fields.maybe_text("customInstructions")? })),
    ("bash", |fields| {
        Ok(RpcCommand::Bash {
            command: fields.text("command")?,
            hidden: fields.maybe_flag("excludeFromContext")?.unwrap_or_default(),
        })
    }),
    ("abort_bash", |_| Ok(RpcCommand::AbortBash)),
    ("new_session", |fields| {
        Ok(RpcCommand::Session(match fields.maybe_text("parentSession")? {
            Some(parent) => SessionChange::Continued { parent: parent.into() },
            None => SessionChange::New,
        }))
    }),
    ("switch_session", |fields| {
        Ok(RpcCommand::Session(SessionChange::Open { path: fields.text("sessionPath")?.into() }))
    }),
    ("fork", |fields| Ok(RpcCommand::Session(SessionChange::Fork { entry_id: fields.text("entryId")? }))),
    ("clone", |_| Ok(RpcCommand::Session(SessionChange::Clone))),
    ("set_session_name", name),
    ("export_html", |fields| {
        Ok(RpcCommand::Export { file: fields.maybe_text("outputPath")?.map(PathBuf::from) })
    }),
    ("extension_ui_response", answer),
    ("answer_approval", |fields| {
        Ok(RpcCommand::AnswerApproval { id: fields.text("approvalId")?, answer: approval_answer(fields.0)? })
    }),
    ("set_permission_mode", |fields| {
        let names = PermissionMode::ALL.map(|mode| (mode.name(), mode));
        Ok(RpcCommand::SetPermissionMode(fields.one_of("mode", &names)?))
    }),
    ("drop_plan", |_| Ok(RpcCommand::DropPlan)),
    ("set_goal", |fields| {
        Ok(RpcCommand::SetGoal(fields.non_null("command").map(|_| goal(fields)).transpose()?))
    }),
    ("pursue_goal", |_| Ok(RpcCommand::PursueGoal)),
    ("side_question", |fields| Ok(RpcCommand::SideQuestion(fields.text("message")?))),
    ("get_extensions", |_| Ok(RpcCommand::Query(Query::Extensions))),
    // Permission rules and pending approvals.
    ("get_rule_coverage", |fields| {
        let names = Verdict::ALL.map(|list| (list.name(), list));
        let list = match fields.non_null("list") {
            Some(_) => fields.one_of("list", &names)?,
            None => Verdict::Allow,
        };
        Ok(RpcCommand::Query(Query::RuleCoverage { rule: fields.text("rule")?, list }))
    }),
    ("get_permission_rules", |_| Ok(RpcCommand::Query(Query::PermissionRules))),
    ("change_permission_rules", rule_change),
    ("get_proposed_text", |fields| {
        Ok(RpcCommand::Query(Query::ProposedText { id: fields.text("approvalId")? }))
    }),
    // Background jobs.
    ("get_jobs", |_| Ok(RpcCommand::Query(Query::Jobs))),
    ("get_job_output", |fields| Ok(RpcCommand::Query(Query::JobOutput { job: fields.job()? }))),
    ("move_to_background", |_| Ok(RpcCommand::Jobs(ShellCommand::MoveToBackground))),
    ("stop_job", |fields| Ok(RpcCommand::Jobs(ShellCommand::StopJob { job: fields.job()? }))),
    ("keep_jobs", |fields| {
        Ok(RpcCommand::Jobs(ShellCommand::KeepJobs {
            job: fields.non_null("job").map(|_| fields.job()).transpose()?,
            kept: fields.flag("kept")?,
        }))
    }),
    // Changes of files, and reverting them.
    ("get_checkpoints", |_| Ok(RpcCommand::Query(Query::Checkpoints))),
    ("get_changes", |_| Ok(RpcCommand::Query(Query::Changes))),
    ("get_undo_plan", |fields| {
        Ok(RpcCommand::Query(Query::UndoPlan { entry_id: fields.maybe_text("entryId")? }))
    }),
    ("undo", |fields| {
        fields.text("entryId")?;
        Ok(RpcCommand::Restore(AgentCommand::Session(SessionCommand::Undo { order: fields.whole()? })))
    }),
    ("redo", |fields| {
        Ok(RpcCommand::Restore(AgentCommand::Session(SessionCommand::Redo { order: fields.whole()? })))
    }),
    ("revert", |fields| {
        fields.text("path")?;
        Ok(RpcCommand::Restore(AgentCommand::Session(SessionCommand::Revert { order: fields.whole()? })))
    }),
];

fn command(kind: &str, fields: &Fields<'_>) -> Result<RpcCommand, UserError> {
    let row = COMMANDS.iter().find(|(name, _)| *name == kind);
    let (_, read) = row.ok_or_else(|| format!("Unknown command: {kind}"))?;
    read(fields)
}

fn goal(fields: &Fields<'_>) -> Result<GoalOrder, UserError> {
    let order: GoalOrder = fields.whole()?;
    match order.command.trim().is_empty() {
        true => {
            Err("command is empty: give the command that decides, or leave it out to drop the goal".into())
        }
        false => Ok(order),
    }
}

/// A change of the permission rules.
fn rule_change(fields: &Fields<'_>) -> Result<RpcCommand, UserError> {
    let change: RuleChange = fields.whole()?;
    match change == RuleChange::default() {
        true => Err("name a rule to add, to remove, or both".into()),
        false => Ok(RpcCommand::ChangeRules(change)),
    }
}

fn prompt(fields: &Fields<'_>) -> Result<RpcCommand, UserError> {
    let streaming = match fields.non_null("streamingBehavior") {
        None => None,
        Some(_) => {
            let names = [("steer", Queue::Steer), ("followUp", Queue::FollowUp)];
            Some(fields.one_of("streamingBehavior", &names)?)
        }
    };
    Ok(RpcCommand::Prompt { message: fields.message()?, streaming })
}

/// The answer to a question. An unintelligible one cancels it, so that nothing waits forever.
fn answer(fields: &Fields<'_>) -> Result<RpcCommand, UserError> {
    let Ok(id) = fields.text("id") else { return Ok(RpcCommand::Nothing) };
    Ok(RpcCommand::Answer { id, answer: question_answer(fields.0) })
}

/// The answer to a question in a record.
pub(crate) fn question_answer(fields: &Map<String, Value>) -> QuestionAnswer {
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool);
    if flag("cancelled") == Some(true) {
        return QuestionAnswer::Cancelled;
    }
    if let Some(accepted) = flag("accepted") {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let mode = text("mode").as_deref().and_then(PermissionMode::from_name);
        return match (accepted, mode) {
            (true, Some(mode)) => QuestionAnswer::PlanAccepted { mode, plan: text("plan") },
            (true, None) => QuestionAnswer::Cancelled,
            (false, _) => QuestionAnswer::PlanRejected { comment: text("comment").unwrap_or_default() },
        };
    }
    if let Some(answers) = fields.get("answers") {
        let answers = serde_json::from_value(answers.clone());
        return answers.map_or(QuestionAnswer::Cancelled, QuestionAnswer::Answers);
    }
    match (fields.get("value"), fields.get("values"), flag("confirmed")) {
        (Some(Value::String(value)), _, _) => QuestionAnswer::Value(value.clone()),
        (_, Some(Value::Object(values)), _) => QuestionAnswer::Form(values.clone()),
        (_, _, Some(confirmed)) => QuestionAnswer::Confirmed(confirmed),
        _ if flag("declined") == Some(true) => QuestionAnswer::Declined,
        _ => QuestionAnswer::Cancelled,
    }
}

/// The decision in a record. The error is the fault in it.
pub(crate) fn approval_answer(fields: &Map<String, Value>) -> Result<ApprovalAnswer, UserError> {
    serde_json::from_value(Value::Object(fields.clone()))
        .map_err(|error| UserError::new("no decision").because(error))
}

fn name(fields: &Fields<'_>) -> Result<RpcCommand, UserError> {
    let words = fields.text("name")?;
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match words.join(" ") {
        name if name.is_empty() => Err("name must not be empty".into()),
        name => Ok(RpcCommand::Name(name)),
    }
}

/// The fields of a command.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    /// A present field; null counts as absent.
    fn non_null(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// All fields as one value; unknown ones are ignored.
    fn whole<T: serde::de::DeserializeOwned>(&self) -> Result<T, UserError> {
        serde_json::from_value(Value::Object(self.0.clone())).map_err(|error| error.to_string().into())
    }

    fn text(&self, name: &str) -> Result<String, UserError> {
        self.maybe_text(name)?.ok_or_else(|| format!("{name} must be a string").into())
    }

    fn maybe_text(&self, name: &str) -> Result<Option<String>, UserError> {
        let text = |value: &Value| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| UserError::new(format!("{name} must be a string")))
        };
        self.non_null(name).map(text).transpose()
    }

    /// The id of a background job.
    fn job(&self) -> Result<u32, UserError> {
        let id = self.non_null("job").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| "job must be the number of a job".to_owned().into())
    }

    fn flag(&self, name: &str) -> Result<bool, UserError> {
        self.maybe_flag(name)?.ok_or_else(|| format!("{name} must be true or false").into())
    }

    fn maybe_flag(&self, name: &str) -> Result<Option<bool>, UserError> {
        let flag = |value: &Value| {
            value.as_bool().ok_or_else(|| UserError::new(format!("{name} must be true or false")))
        };
        self.non_null(name).map(flag).transpose()
    }

    /// The value with that name in a closed list.
    fn one_of<T: Copy>(&self, name: &str, list: &[(&str, T)]) -> Result<T, UserError> {
        let found = self.non_null(name).and_then(Value::as_str);
        let found = list.iter().find(|(known, _)| Some(*known) == found);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = list.iter().map(|(known, _)| *known).collect();
            UserError::new(format!("{name} must be one of {}", names.join(", ")))
        })
    }

    fn queue_mode(&self) -> Result<QueueMode, UserError> {
        self.one_of("mode", &[("all", QueueMode::All), ("one-at-a-time", QueueMode::OneAtATime)])
    }

    fn list(&self, name: &str) -> Result<&[Value], UserError> {
        match self.non_null(name) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(format!("{name} must be a list").into()),
        }
    }

    fn images(&self) -> Result<Vec<Block>, UserError> {
        self.list("images")?.iter().map(image).collect()
    }

    /// The message of a prompt: its text, images and attachments.
    fn message(&self) -> Result<UserMessage, UserError> {
        let attachments = self.attachments()?;
        let blocks = self.images()?.into_iter().chain(attachments.iter().map(Block::of_attachment)).collect();
        Ok(UserMessage { attachments, ..UserMessage::with_blocks(self.text("message")?, blocks) })
    }

    fn attachments(&self) -> Result<Vec<Attachment>, UserError> {
        self.list("attachments")?.iter().map(attachment).collect()
    }
}

fn image(value: &Value) -> Result<Block, UserError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("type").as_deref(), text("data"), text("mimeType")) {
        (Some("image"), Some(data), Some(mime_type)) => {
            picture_bytes(&data)?;
            Ok(Block::Image { data, mime_type })
        }
        _ => Err("images must be blocks of type image with data and mimeType".into()),
    }
}

/// A file attached to the message.
fn attachment(value: &Value) -> Result<Attachment, UserError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match text("type") {
        Some("image") if text("content").is_none() || text("mimeType").is_none() => {
            Err("attachments of type image need content and mimeType".into())
        }
        Some("image" | "document") => {
            let mut value = value.clone();
            if let Some(fields) = value.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
            let attachment: Attachment = serde_json::from_value(value)
                .map_err(|error| UserError::new("an attachment is not as it must be").because(error))?;
            if attachment.kind == AttachmentKind::Image {
                picture_bytes(&attachment.content)?;
            }
            Ok(attachment)
        }
        _ => Err("attachments must be of type image or document".into()),
    }
}
