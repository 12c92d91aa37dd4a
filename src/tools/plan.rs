//! Plans that the model submits (`submit_plan`) and whose finished steps it reports (`plan_step`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::user::{self, UserRequest};
use super::{
    Access, AnyTool, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args,
};
use crate::user_error::UserError;

/// The name of the tool that submits a plan.
pub const SUBMIT: &str = "submit_plan";
/// The beginning of the result of a plan that the user changed and accepted; the changed plan is its second paragraph.
pub const CHANGED: &str = "The user accepted the plan with changes.";
/// The result of a plan that the user neither accepted nor rejected.
pub const CLOSED: &str = "the user closed the plan without deciding";
/// The result of a rejected plan; the user's comment follows.
pub const REJECTED: &str = "the user rejected the plan";
/// The name of the tool that reports finished steps.
pub const STEP: &str = "plan_step";
/// The maximum length of a plan, in bytes.
const MAX_PLAN: usize = 100_000;

/// A plan in numbered steps. Its texts are markdown, and not safe to print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkPlan {
    /// The text before the first step.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub intro: String,
    pub steps: Vec<WorkStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkStep {
    /// The text without its number, up to the next step.
    pub text: String,
    pub done: bool,
}

impl WorkStep {
    /// The first line, without emphasis.
    pub fn title(&self) -> String {
        self.text.lines().next().unwrap_or_default().replace("**", "").replace('`', "").trim().to_owned()
    }
}

impl WorkPlan {
    /// Parses a plan from markdown: its steps are the lines outside of code that begin with a number.
    pub fn parse(text: &str) -> Self {
        let (mut plan, mut fence) = (WorkPlan::default(), None);
        for line in text.trim().lines() {
            let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
            match (mark, fence) {
                (Some(mark), None) => fence = Some(mark),
                (Some(mark), Some(open)) if mark == open => fence = None,
                _ => {}
            }
            match (step(line).filter(|_| fence.is_none()), plan.steps.last_mut()) {
                (Some(text), _) => plan.steps.push(WorkStep { text: text.to_owned(), done: false }),
                (None, Some(last)) => last.text = format!("{}\n{line}", last.text),
                (None, None) => plan.intro = format!("{}{line}\n", plan.intro),
            }
        }
        plan.intro.truncate(plan.intro.trim_end().len());
        for step in &mut plan.steps {
            step.text.truncate(step.text.trim_end().len());
        }
        plan
    }

    /// The whole text, with steps numbered from 1.
    pub fn markdown(&self) -> String {
        self.render(|_| "")
    }

    /// The whole text, with a mark at each step that is done or open.
    pub fn checklist(&self) -> String {
        self.render(|step| if step.done { "[x] " } else { "[ ] " })
    }

    fn render(&self, mark: impl Fn(&WorkStep) -> &'static str) -> String {
        let mut text = self.intro.clone();
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        for (index, step) in self.steps.iter().enumerate() {
            text.push_str(&format!("{}. {}{}\n", index + 1, mark(step), step.text));
        }
        text
    }

    /// The number of finished steps.
    pub fn done_count(&self) -> usize {
        self.steps.iter().filter(|step| step.done).count()
    }

    /// True if all steps are done.
    pub fn is_finished(&self) -> bool {
        self.steps.iter().all(|step| step.done)
    }

    /// The index of the first unfinished step.
    pub fn next(&self) -> Option<usize> {
        self.steps.iter().position(|step| !step.done)
    }

    /// Marks the steps with these numbers as done. Fails when there is no such step; nothing is marked then.
    pub fn finish(&mut self, numbers: &[usize]) -> Result<(), UserError> {
        let count = self.steps.len();
        if let Some(odd) = numbers.iter().find(|number| !(1..=count).contains(number)) {
            return Err(format!("there is no step {odd}; the plan has the steps 1 to {count}").into());
        }
        for (index, step) in self.steps.iter_mut().enumerate() {
            step.done |= numbers.contains(&(index + 1));
        }
        Ok(())
    }

    /// The progress of the plan, for the model.
    pub fn progress(&self) -> String {
        let (done, count) = (self.done_count(), self.steps.len());
        match self.next().and_then(|next| Some((next, self.steps.get(next)?))) {
            Some((next, step)) => format!("{done} of {count} done; next: {}. {}", next + 1, step.title()),
            None => format!("all {count} steps are done"),
        }
    }
}

/// The text after the number at the start of a line.
fn step(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let text = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?.trim();
    ((1..=3).contains(&digits) && !text.is_empty()).then_some(text)
}

/// The tool that submits a plan.
pub fn submit_tool() -> Arc<dyn AnyTool> {
    Arc::new(SubmitPlan::default())
}

/// The tool that reports finished steps.
pub fn step_tool() -> Arc<dyn AnyTool> {
    Arc::new(ReportStep::default())
}

tool! {
    /// The `submit_plan` tool.
    pub(crate) struct SubmitPlan(SubmitPlanArgs, SUBMIT, "submit_plan.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct SubmitPlanArgs {
    /// The plan as Markdown; its steps are lines that begin with `1. `, `2. ` and so on.
    pub plan: String,
}

impl Tool for SubmitPlan {
    type Args = SubmitPlanArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        let text: &str = args::partial(args, "plan").unwrap_or_default();
        let plan = WorkPlan::parse(text);
        let heading = plan.intro.lines().find(|line| line.starts_with('#'));
        let first = text.lines().find(|line| !line.trim().is_empty());
        heading.or(first).unwrap_or_default().trim_start_matches('#').trim().to_owned()
    }

    async fn prepare(
        &self,
        args: SubmitPlanArgs,
        context: ToolContext,
    ) -> Result<PreparedCall<'_>, ToolError> {
        let refused = |why: String| ToolError::refused(format!("{SUBMIT}: {why}"));
        if args.plan.len() > MAX_PLAN {
            return Err(refused(format!("the plan is longer than {MAX_PLAN} bytes")));
        }
        let plan = WorkPlan::parse(&args.plan);
        if plan.steps.is_empty() {
            return Err(refused(
                "the plan has no steps; begin each with its number, as in `1. Read it`".to_owned(),
            ));
        }
        Ok(PreparedCall::new(Access::default(), async move |_| {
            let text = plan.markdown();
            let submit = |reply| UserRequest::Plan { plan, reply };
            let reply = user::request(context.user.as_ref(), &context.cancel, submit).await?;
            let details = Details::Text { text };
            match reply.unwrap_or_else(|| Err("nobody can accept a plan here".into())) {
                Ok(accepted) => Ok(ToolOutput::new(accepted, details)),
                Err(message) => {
                    Err(ToolError::Refused { message: message.into(), details: Box::new(details) })
                }
            }
        }))
    }
}

tool! {
    /// The `plan_step` tool.
    pub(crate) struct ReportStep(ReportStepArgs, STEP, "plan_step.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct ReportStepArgs {
    /// The numbers of the steps that are done now.
    pub done: Vec<usize>,
}

impl Tool for ReportStep {
    type Args = ReportStepArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        let mut args = args.clone();
        self.repair(&mut args);
        let done = args.get("done").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let numbers: Vec<String> = done.iter().map(Value::to_string).collect();
        match numbers.as_slice() {
            [] => String::new(),
            [one] => format!("step {one} is done"),
            several => format!("steps {} are done", several.join(", ")),
        }
    }

    fn repair(&self, args: &mut Value) {
        // A single number that is not in a list.
        if let Some(done) = args.get_mut("done").filter(|done| done.is_number()) {
            *done = Value::Array(vec![done.take()]);
        }
    }

    async fn prepare(
        &self,
        args: ReportStepArgs,
        context: ToolContext,
    ) -> Result<PreparedCall<'_>, ToolError> {
        Ok(PreparedCall::new(Access::default(), async move |_| {
            let report = |reply| UserRequest::StepsDone { numbers: args.done, reply };
            let reply = user::request(context.user.as_ref(), &context.cancel, report).await?;
            match reply.unwrap_or_else(|| Err("there is no plan".into())) {
                Ok(progress) => Ok(ToolOutput::new(progress, Details::None)),
                Err(why) => Err(ToolError::refused(format!("{STEP}: {why}"))),
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_numbered_lines() {
        let text = "# Title\n\nWhy.\n\n1. **Read** `a`\n   more\n\n2) write b\n```\n3. not a step\n```\n10. ship\n## Checks\nrun it\n";
        let plan = WorkPlan::parse(text);
        assert_eq!(plan.intro, "# Title\n\nWhy.");
        let steps: Vec<&str> = plan.steps.iter().map(|step| step.text.as_str()).collect();
        let expected =
            ["**Read** `a`\n   more", "write b\n```\n3. not a step\n```", "ship\n## Checks\nrun it"];
        assert_eq!(steps, expected);
        assert_eq!(plan.steps[0].title(), "Read a");
        let numbered = "# Title\n\nWhy.\n\n1. **Read** `a`\n   more\n2. write b\n```\n3. not a step\n```\n3. ship\n## Checks\nrun it\n";
        assert_eq!(plan.markdown(), numbered);
        assert_eq!(WorkPlan::parse(&plan.markdown()), plan, "writing and parsing agree");
        for none in ["", "- a\n- b", "1.no blank\n 2. indented\n2026. a year", "3. "] {
            assert_eq!(WorkPlan::parse(none).steps, [], "{none:?}");
        }
    }

    #[test]
    fn steps_are_marked_as_done() {
        let mut plan = WorkPlan::parse("1. a\n2. b\n3. c");
        assert_eq!(plan.progress(), "0 of 3 done; next: 1. a");
        assert!(plan.finish(&[1, 4]).is_err() && plan.finish(&[0]).is_err());
        assert_eq!(plan.done_count(), 0, "all or nothing");
        plan.finish(&[2]).unwrap();
        assert_eq!(plan.progress(), "1 of 3 done; next: 1. a");
        assert_eq!(plan.checklist(), "1. [ ] a\n2. [x] b\n3. [ ] c\n");
        plan.finish(&[1, 3, 2]).unwrap();
        assert!(plan.is_finished());
        assert_eq!(plan.progress(), "all 3 steps are done");
    }
}
