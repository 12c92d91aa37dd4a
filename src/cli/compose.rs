//! Builds what a front end needs and runs it.

use super::args::{Args, Front};
use super::exit::Exit;
use super::{crash, fail, tui};

/// Runs the front end that the arguments ask for.
pub fn run(args: Args, front: Front) -> Exit {
    match front {
        Front::Screen => {
            let state = std::env::var_os("TAU_HOME").map(std::path::PathBuf::from).unwrap_or_default();
            crash::install(state.join("state"));
            let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return fail(Exit::Config, &error.to_string()),
            };
            let exit = runtime.block_on(tui::run());
            runtime.shutdown_timeout(std::time::Duration::from_millis(100));
            exit
        }
        Front::Json | Front::Rpc => fail(Exit::Usage, "--mode json and --mode rpc come later; use --print"),
        Front::Print => fail(Exit::Config, &format!("no provider for {} prompts", args.prompts.len())),
    }
}
