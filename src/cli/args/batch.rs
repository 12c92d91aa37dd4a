//! The arguments of `tau batch`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::{count_parser, dollars_parser};

const AFTER: &str = "\
A line of TASKS is a JSON object: prompt; directory, or git with a repository to clone and optionally ref; id,
model, thinking, permission_mode, max_cost, max_tokens, max_turns, timeout; until, a command that tau works on
until it succeeds; check, a command that decides afterwards whether the task is passed.

Each task gets one result, in a folder that may be shared; running again does those without one. A task whose
run the provider, the configuration or a signal has ended has none. See docs/batch.md.

Exit codes: 0 all passed, 1 some did not, 2 usage, 3 configuration; else those of signals
To send the word as a prompt: tau -- batch";

/// The engines that run tasks on other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// An array job of Slurm.
    Slurm,
    /// An Indexed Job of Kubernetes.
    Kubernetes,
}

/// The arguments of `tau batch`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau batch", bin_name = "tau batch", after_help = AFTER)]
#[command(about = "Run many tasks, a few at a time, here or on a cluster")]
pub struct BatchArgs {
    /// The file of tasks, one JSON object a line
    #[arg(value_name = "TASKS")]
    pub tasks: PathBuf,
    /// Run N tasks at a time
    #[arg(short = 'n', long, value_name = "N", default_value = "4", value_parser = count_parser::<usize>, allow_negative_numbers = true)]
    pub at_once: usize,
    /// Keep results in DIR; TASKS with the ending .results unless given
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Run only the task with this id; can be repeated
    #[arg(long, value_name = "ID")]
    pub only: Vec<String>,
    /// Run tasks again that have failed
    #[arg(long, conflicts_with = "report")]
    pub again: bool,
    /// Begin no more tasks once all together have cost USD dollars
    #[arg(long, value_name = "USD", value_parser = dollars_parser, allow_negative_numbers = true, conflicts_with = "on")]
    pub max_cost: Option<f64>,
    /// Only print the report of the results so far
    #[arg(long, conflicts_with = "on")]
    pub report: bool,
    /// Be the part of an engine's job: succeed once the task has a result, whatever that is
    #[arg(long, hide = true, requires = "only", conflicts_with_all = ["on", "report"])]
    pub part: bool,
    /// Print progress and report as JSON, one object a line
    #[arg(long)]
    pub json: bool,
    /// Write what this engine runs: slurm or kubernetes
    #[arg(long, value_name = "ENGINE", value_enum, hide_possible_values = true)]
    pub on: Option<Engine>,
    /// Hand it to the engine as well, by sbatch or kubectl
    #[arg(long, requires = "on")]
    pub apply: bool,
    /// With --on kubernetes: the image, made from integrations/server
    #[arg(long, value_name = "IMAGE", default_value = "tau")]
    pub image: String,
    /// With --on kubernetes: the volume claim for results
    #[arg(long, value_name = "CLAIM", default_value = "tau-batch")]
    pub volume: String,
    /// With --on kubernetes: a secret whose keys become variables, such as ANTHROPIC_API_KEY
    #[arg(long, value_name = "NAME")]
    pub secret: Option<String>,
    /// With --on slurm: options for sbatch, after --
    #[arg(value_name = "OPTION", last = true)]
    pub options: Vec<String>,
}
