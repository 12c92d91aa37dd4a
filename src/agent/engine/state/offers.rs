//! The tools that the model is offered, and the commands and resources that users are.

use std::collections::HashSet;
use std::sync::Arc;

use super::Engine;
use crate::engine::helper_part;
use crate::engine::helper_role::MAX_DEPTH;
use crate::extensions::helper_kinds::HelperKind;
use crate::extensions::mcp::search;
use tau_protocol::approval::PermissionMode;
use tau_protocol::event::{NoticeLevel, SettingsEvent};
use tau_protocol::extension::PromptCommand;
use tau_protocol::run::RunLimits;
use tau_tools::delegate::{self, Delegate};
use tau_tools::toolbox::Availability;
use tau_tools::{AnyTool, Toolbox, plan};

/// The context window assumed for a model whose window is unknown, in tokens.
const USUAL_WINDOW: u64 = 128_000;

impl Engine {
    /// Offers the current tools: its own, custom ones, and those of MCP servers. Not called within a turn, so
    /// that a call finds the tool that the model saw.
    pub(crate) fn refresh_tools(&mut self) {
        let delegate = self.own_tools.get(delegate::NAME).is_some().then(|| self.delegate_tool());
        let is_new = |own: &Toolbox, tool: &Arc<dyn AnyTool>| {
            let name = &tool.spec().name;
            self.config.behavior.offers(name) && own.get(name).is_none()
        };
        let mut own = self.own_tools.clone();
        if let Some(delegate) = delegate {
            own = own.replacing(Arc::new(delegate));
        }
        let behavior = &self.config.behavior;
        if behavior.search_tools_by_mode && behavior.permission_mode != PermissionMode::Auto {
            let searching = Toolbox::for_availability(Availability::WhereAsked);
            own = searching.iter().cloned().fold(own, Toolbox::with);
        }
        for tool in &self.config.behavior.extensions.current().tools {
            let tool: Arc<dyn AnyTool> = Arc::clone(tool) as _;
            if is_new(&self.own_tools, &tool) {
                own = own.with(tool);
            }
        }
        if let Some(tool) = self.plan_tool() {
            own = own.with(tool);
        }
        let is_offered = |tool: &Arc<dyn AnyTool>| is_new(&own, tool);
        let of_servers: Vec<Arc<dyn AnyTool>> = self.mcp.tools().into_iter().filter(is_offered).collect();
        let window =
            self.config.model.as_ref().map(|model| model.context_window).filter(|window| *window > 0);
        let share = u128::from(self.config.behavior.mcp.schema_share);
        let most = u128::from(window.unwrap_or(USUAL_WINDOW)) * share / 100;
        let is_much = !of_servers.is_empty() && u128::from(search::tokens(&of_servers)) > most;
        let with =
            |tools: Toolbox, more: &[Arc<dyn AnyTool>]| more.iter().cloned().fold(tools, Toolbox::with);
        if is_much {
            self.config.tools = with(own.clone(), &search::in_place_of(&of_servers));
            self.found_tools = with(Toolbox::empty(), &of_servers);
        } else {
            self.config.tools = with(own.clone(), &of_servers);
            let given = self.config.helper.as_ref().map(|role| role.found_tools.clone());
            self.found_tools = given.unwrap_or_default();
        }
        if let Some(kind) = self.kind_again() {
            self.config.tools = helper_part::tools(&self.config.tools, &kind);
            self.found_tools = helper_part::tools(&self.found_tools, &kind);
        }
    }

    /// The kind of a helper whose session is open again, without the call that asked for it: it keeps its part. Tells
    /// the user once if the kind is not known any more.
    fn kind_again(&mut self) -> Option<HelperKind> {
        let (kind, is_known) = self.reopened_kind()?;
        let id = &self.config.session.info().id;
        if !is_known && self.unknown_kind_of.as_ref() != Some(id) {
            self.unknown_kind_of = Some(id.clone());
            let text = format!("no kind of helpers is called {} any more", kind.name);
            self.notice(NoticeLevel::Warning, text, Some("this helper only reads"));
        }
        Some(kind)
    }

    fn reopened_kind(&self) -> Option<(HelperKind, bool)> {
        let name = self.config.session.helper_kind().filter(|_| self.config.helper.is_none())?;
        let (mut kind, is_known) =
            helper_part::reopened_kind(&name, &self.config.behavior.extensions.current().kinds);
        if self.depth() >= MAX_DEPTH {
            kind.without.push(delegate::NAME.to_owned());
        }
        Some((kind, is_known))
    }

    /// The number of agents above this one: also of those that asked for the helper whose session is open again.
    pub(crate) fn depth(&self) -> u32 {
        match &self.config.helper {
            Some(role) => role.depth,
            None => self.config.session.helper_depth().unwrap_or(MAX_DEPTH),
        }
    }

    /// The limits of a run. Those of its kind hold for a helper whose session is open again, too.
    pub(crate) fn run_limits(&self) -> RunLimits {
        let of_kind = self.reopened_kind().and_then(|(kind, _)| kind.turns);
        let turns = [self.config.limits.turns, of_kind].into_iter().flatten().min();
        RunLimits { turns, ..self.config.limits }
    }

    /// The system prompt, with the part of a helper whose session is open again.
    pub(crate) fn system(&self) -> Arc<str> {
        match self.reopened_kind() {
            Some((kind, _)) => helper_part::system(&self.config.system, &kind, &self.config.tools).into(),
            None => Arc::clone(&self.config.system),
        }
    }

    /// The tools that the model finds with `tool_search`.
    pub(crate) fn searchable_tools(&self) -> &Toolbox {
        &self.found_tools
    }

    /// The tool that gives tasks to helpers, with the kinds that there were at the start of the session.
    fn delegate_tool(&mut self) -> Delegate {
        let id = &self.config.session.info().id;
        if self.kinds_of.as_ref() != Some(id) {
            self.kinds_of = Some(id.clone());
            self.helpers.kinds = match &self.config.helper {
                Some(role) => Arc::clone(&role.kinds),
                None => self.config.behavior.extensions.current().kinds.as_slice().into(),
            };
        }
        let line = |kind: &HelperKind| (kind.name.clone(), kind.description.clone());
        Delegate::with_kinds(&self.helpers.kinds.iter().map(line).collect::<Vec<_>>())
    }

    /// The tool that submits a plan, in plan mode if a user can accept one; while a plan is carried out, the
    /// one that reports its steps.
    fn plan_tool(&self) -> Option<Arc<dyn AnyTool>> {
        let behavior = &self.config.behavior;
        match behavior.permission_mode {
            _ if self.config.helper.is_some() => None,
            _ if !behavior.asks_user || self.own_tools.iter().next().is_none() => None,
            PermissionMode::Plan => Some(plan::submit_tool()),
            _ => self.plan.as_ref().map(|_| plan::step_tool()),
        }
    }

    /// The commands for prompt templates, skills and prompts of MCP servers. If names are equal, the first
    /// counts.
    pub(crate) fn commands(&self) -> Vec<PromptCommand> {
        let mut commands = self.config.behavior.extensions.current().commands();
        commands.extend(self.mcp.commands());
        let mut taken = HashSet::new();
        commands.retain(|command| taken.insert(command.name.clone()));
        commands
    }

    /// Reports the other offers of MCP servers besides tools, if they have changed.
    pub(crate) fn report_offers(&mut self) {
        let resources = self.mcp.resources();
        if resources != self.reported_resources {
            self.reported_resources = resources.clone();
            self.emit(SettingsEvent::ResourcesChanged { resources });
        }
        let of_servers = self.mcp.commands();
        if of_servers != self.reported_commands {
            self.reported_commands = of_servers;
            let commands = self.commands();
            self.emit(SettingsEvent::CommandsChanged { commands });
        }
    }

    /// The tool with that name, even if the model must find it first.
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.config.tools.get(name).or_else(|| self.found_tools.get(name))
    }
}
