//! Tools by name. Commands name the tools to enable, so they stay plain data.

use std::sync::Arc;

use parking_lot::Mutex;
use tau_tools::{AnyTool, Toolbox};

/// Tools by name. Clones share their contents.
#[derive(Clone, Default)]
pub struct ToolRegistry(Arc<Mutex<Vec<Arc<dyn AnyTool>>>>);

tau_tools::debug_fields!(ToolRegistry {});

impl ToolRegistry {
    /// Adds a tool, replacing one of the same name. An enabled tool stays in use until tools are selected
    /// again.
    pub fn register(&self, tool: Arc<dyn AnyTool>) {
        let mut tools = self.0.lock();
        tools.retain(|known| known.spec().name != tool.spec().name);
        tools.push(tool);
    }

    /// Adds the tools of `toolbox` whose names are not registered.
    pub(crate) fn extend(&self, toolbox: &Toolbox) {
        let mut tools = self.0.lock();
        for tool in toolbox.iter() {
            if !tools.iter().any(|known| known.spec().name == tool.spec().name) {
                tools.push(Arc::clone(tool));
            }
        }
    }

    /// The tools with these names, in this order, and the names that are not registered.
    pub(crate) fn select(&self, names: &[String]) -> (Toolbox, Vec<String>) {
        let tools = self.0.lock();
        let mut missing = Vec::new();
        let mut selected = Toolbox::empty();
        for name in names {
            match tools.iter().find(|tool| tool.spec().name == *name) {
                Some(tool) => selected = selected.with(Arc::clone(tool)),
                None => missing.push(name.clone()),
            }
        }
        (selected, missing)
    }
}
