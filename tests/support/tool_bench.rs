//! Tools as the agent calls them, in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tau::tools::process::ChildEnv;
use tau::tools::scratch::Scratch;
use tau::tools::{Content, PreparedCall, ToolContext, ToolError, ToolOutput, Toolbox};

/// A temporary working directory, with everything that a call needs.
pub struct Bench {
    /// Removed with its contents when the test ends.
    _folder: tempfile::TempDir,
    pub context: ToolContext,
    tools: Toolbox,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().join("work");
        fs::create_dir(&cwd).unwrap();
        let scratch = Arc::new(Scratch::new(folder.path()).unwrap());
        let env = Arc::new(ChildEnv::new(&[], &[], "test-session"));
        let context = ToolContext { env, ..ToolContext::new(&cwd, scratch) };
        Bench { _folder: folder, context, tools: Toolbox::all() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Calls a tool. No call of a test takes longer than this waits.
    pub async fn call(&self, tool: &str, args: Value) -> Result<ToolOutput, ToolError> {
        let call = self.tools.get(tool).unwrap().run(args, self.context.clone());
        tokio::time::timeout(Duration::from_secs(60), call).await.expect("the call does not end")
    }

    /// A call that is ready to run.
    pub async fn prepared(&self, tool: &str, args: Value) -> PreparedCall<'_> {
        self.tools.get(tool).unwrap().prepare(args, self.context.clone()).await.unwrap()
    }

    /// The text for the model, whether or not the call was refused.
    pub async fn text(&self, tool: &str, args: Value) -> String {
        match self.call(tool, args).await {
            Ok(output) => text_of(&output),
            Err(error) => format!("ERROR {error}"),
        }
    }
}

pub fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect()
}

/// The names left in the folder, for finding temporary files.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
