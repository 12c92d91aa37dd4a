//! Limits the rules that a project may allow in its settings, skills and prompt templates.

use std::path::Path;

use super::arguments;
use super::command_pattern::CommandPattern;
use super::links;
use super::programs::{self, Program, base, is_runner, runs_texts};
use super::rule::{Pattern, Rule};
use super::shell::Word;
use super::subcommands::has;
use tau_tools::compare::close_matches;
use tau_tools::toolbox;

/// Tools that change files, whose rules have path patterns.
const FILES: [&str; 2] = ["edit", "write"];
/// Tools of tau that change nothing, and do not contact other machines.
const READING: [&str; 5] = ["read", "grep", "find", "ls", "web_search"];
/// Programs that run others, besides those known to run their operands.
const RUNNING: &str = "env xargs find sudo doas command builtin exec nice nohup setsid ionice chrt timeout stdbuf time \
                       taskset caffeinate eval source . trap alias coproc run0 socat lldb rr wine mono xterm \
                       gnome-terminal konsole kitty foot alacritty wezterm ed ex vi view vim vimdiff nvim emacs \
                       emacsclient ifne chronic ssh-agent startx run-parts crontab qemu-x86_64 mosh \
                       tau claude codex opencode gemini aider";
/// Subcommands and actions that run what further words say.
const RUN_WORDS: &str = "run exec x shell develop runner console repl eval execute script create start up compose kube \
                         play build-and-run cc c++ kernel notebook lab";
/// Programs whose subcommand has to be named: without it, what they do is open.
const BY_SUBCOMMAND: &str = "docker podman nerdctl kubectl mvn gradle dotnet";

/// The tools of other agents, in lower case, and their names in tau.
const TOOLS_OF_OTHERS: [(&str, &str); 11] = *tau_tools::pairs!(
    "bash=bash shell=bash read=read edit=edit multiedit=edit write=write grep=grep glob=find ls=ls webfetch=web_fetch websearch=web_search"
);

/// The name in tau of a tool of Claude Code, given in lower case.
pub(crate) fn tool_of_others(name: &str) -> Option<&'static str> {
    TOOLS_OF_OTHERS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// The rule on files that one on a tool of Claude Code for notebooks is, as in `NotebookEdit(src/**)`; `None` if the
/// tool is another. Fails where a pattern of tau cannot say which files these are; the error is the tool of tau.
pub(crate) fn of_notebooks(name: &str, inside: Option<&str>) -> Option<Result<String, &'static str>> {
    let tool = name.to_ascii_lowercase().strip_prefix("notebook").and_then(tool_of_others)?;
    let files = match (inside, inside.and_then(|files| files.strip_suffix("/**"))) {
        (None | Some("*" | "**"), _) => "**/*.ipynb".to_owned(),
        (Some(files), None) if files.ends_with(".ipynb") => files.to_owned(),
        (Some(_), Some(folder)) => format!("{folder}/**/*.ipynb"),
        (Some(_), None) => return Some(Err(tool)),
    };
    Some(Ok(format!("{tool}({files})")))
}

/// Names that are no tools of tau but mean all of them, or what some do.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("all", "*"),
    ("any", "*"),
    ("anything", "*"),
    ("everything", "*"),
    ("tools", "*"),
    ("commands", "bash"),
    ("terminal", "bash"),
    ("files", "edit"),
    ("network", "web_fetch"),
    ("internet", "web_fetch"),
];
/// Words beside the name of a tool in names that other programs give to tools: `read_file`, `bash_tool`.
const BESIDE: &str = "tool command commands cmd run exec execute file files text";

/// Tools of Claude Code, in lower case, whose work another tool of tau does. What denies or asks is about that one.
const REPLACED: [(&str, &str); 4] = [
    ("task", "delegate"),
    ("agent", "delegate"),
    ("askuserquestion", "ask_user"),
    ("exitplanmode", "submit_plan"),
];
/// The names that tau itself uses for tools besides its built-in ones, always or with some settings.
pub(crate) const FURTHER_TOOLS: [&str; 4] = ["tool_search", "tool_call", "web_fetch", "web_search"];

/// The tool of tau that does the work of one of Claude Code, given in lower case.
pub(crate) fn tool_instead_of(name: &str) -> Option<&'static str> {
    REPLACED.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// Whether no tool has this name, here or, as a custom one, in `folder`.
pub(crate) fn is_unknown(tool: &str, folder: Option<&Path>) -> bool {
    !is_tool(tool, folder)
}

/// Whether a tool has this name: one of tau's, of an MCP server, or a custom one in `folder`.
fn is_tool(tool: &str, folder: Option<&Path>) -> bool {
    let lower = tool.to_ascii_lowercase();
    // Names of custom tools are in lower case.
    let is_custom = || folder.is_some_and(|folder| folder.join(format!("tools/{tool}.toml")).exists());
    let mut known = toolbox::TABLE.iter().map(|row| row.name).chain(FURTHER_TOOLS);
    tool.contains('*') || lower.starts_with("mcp__") || known.any(|name| name == lower) || is_custom()
}

/// Whether a rule that names no tool names a program, which a rule of `bash` is about.
pub(crate) fn is_program(tool: &str, folder: Option<&Path>) -> bool {
    !is_tool(tool, folder) && (programs::is_known(tool) || links::program(tool).is_some())
}

/// The tool probably meant by a rule that names none of tau's: a similar name, or one of Claude Code's.
/// `folder` may have custom tools.
pub(crate) fn intended_tool(tool: &str, folder: Option<&Path>) -> Option<&'static str> {
    if is_tool(tool, folder) {
        return None;
    }
    let lower = tool.to_ascii_lowercase();
    let known: Vec<&'static str> = toolbox::TABLE.iter().map(|row| row.name).chain(FURTHER_TOOLS).collect();
    let of_others = tool_of_others(&lower).or_else(|| tool_instead_of(&lower));
    let of_others =
        of_others.or_else(|| OTHER_NAMES.iter().find(|(name, _)| *name == lower).map(|row| row.1));
    let of_others = of_others.or_else(|| {
        let (named, beside): (Vec<&str>, Vec<&str>) =
            lower.split(['_', '-']).partition(|part| tool_of_others(part).is_some());
        let is_alone = named.len() == 1 && beside.iter().all(|part| has(BESIDE, part));
        named.first().filter(|_| is_alone).and_then(|part| tool_of_others(part))
    });
    of_others.or_else(|| close_matches(&lower, &known, 1, 0.75).first().copied())
}

/// The reason a rule is too wide for a project to allow; `None` if it is not.
pub(crate) fn objection(rule: &Rule) -> Option<String> {
    let tool = rule.tool();
    if tool.contains('*') {
        // The server's name stands for all of its tools.
        let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split("__").next()).unwrap_or_default();
        let is_server =
            !server.is_empty() && !server.contains('*') && tool.len() > "mcp__".len() + server.len() + 1;
        return (!is_server).then(|| "a project cannot allow tools by a pattern; name them".to_owned());
    }
    match rule.pattern() {
        Pattern::All if READING.contains(&tool) || tool.starts_with("mcp__") => None,
        Pattern::All => Some(format!("a project cannot allow all calls of {tool}; name some of them")),
        Pattern::Command(pattern) => {
            let program = pattern.leading().first().filter(|program| !program.is_empty());
            let Some(program) = program else {
                return Some("a project cannot allow commands without naming their program".to_owned());
            };
            let name = base(program);
            let is_open = rule.inside().is_some_and(|text| text.contains('*'));
            if arguments::is_known(pattern) {
                None
            } else if has(RUNNING, name)
                || is_runner(name)
                || runs_texts(name)
                || is_open && runs_by_word(pattern, name)
            {
                Some(format!("a project cannot allow {name}, which runs whatever it is given"))
            } else if is_open && !is_limited(pattern, program) {
                Some(format!(
                    "a project cannot allow {name} with any words; name its subcommand, as in `{name} test *`, or all \
                     words"
                ))
            } else {
                None
            }
        }
        Pattern::Path(pattern) if FILES.contains(&tool) || !READING.contains(&tool) => {
            let is_narrow = rule.inside().is_some_and(is_below) && !pattern.is_outside();
            (!is_narrow).then(|| {
                format!("a project cannot allow {tool} but in folders and files below it; name one, as in {tool}(src/**)")
            })
        }
        Pattern::Path(pattern) => pattern
            .is_outside()
            .then(|| format!("a project cannot allow {tool} outside of it; name files and folders in it")),
        Pattern::Host(pattern) => (!pattern.is_narrow())
            .then(|| "a project cannot allow all hosts below a top-level name".to_owned()),
    }
}

/// Whether a pattern of commands names the word with which a program runs others.
fn runs_by_word(pattern: &CommandPattern, name: &str) -> bool {
    let words: Vec<Word> = pattern.leading().iter().map(|text| Word::of_text(text)).collect();
    let program = Program::find_by_name(name).filter(|_| !programs::is_client(name));
    let is_run_word = || pattern.leading().get(1).is_some_and(|word| has(RUN_WORDS, word));
    program.is_some_and(|program| !program.running(&words).is_empty())
        || (program.is_none() || has(BY_SUBCOMMAND, name)) && is_run_word()
}

/// Whether a pattern is of a program that is known not to run its words, of a script of the project, or names a
/// subcommand.
fn is_limited(pattern: &CommandPattern, program: &str) -> bool {
    let name = base(program);
    let mut behind = pattern.leading().iter().skip(1);
    let is_named = behind.next().is_some_and(|word| !word.starts_with('-') && !word.contains(['.', '/']));
    let is_script = program.contains('/') && !program.starts_with('/');
    let is_any = has(BY_SUBCOMMAND, name) || programs::is_client(name);
    let takes_data = || !is_any && programs::takes_data(&[Word::of_text(name)], false);
    is_named || is_script || takes_data()
}

/// Whether a path pattern names a folder or a file below the working directory.
fn is_below(text: &str) -> bool {
    let text = text.trim().trim_start_matches("./");
    let first = text.split('/').find(|part| !part.is_empty() && *part != ".").unwrap_or_default();
    !first.is_empty() && !first.contains(['*', '?', '[', '{', '\\']) && first != ".."
}

#[cfg(test)]
mod tests {
    use super::objection;

    #[test]
    fn a_project_names_a_program_or_a_folder() {
        let refused = |text: &str| objection(&text.parse().unwrap()).is_some();
        for text in [
            "bash", "bash(*)", "bash(* *)", "bash(*:*)", "bash(t*)", "bash(t* *)", "bash(*t)", "bash(env *)",
            "bash(bash *)", "bash(/bin/sh -c *)", "bash(python3 *)", "bash(python3 -m *)",
            "bash(python3.12 -c *)", "bash(node *)", "bash(sudo *)", "bash(xargs *)", "bash(find *)",
            "bash(prlimit *)", "bash(busybox *)", "bash(ssh *)", "bash('' *)", "bash(npx *)", "edit",
            "edit(*)", "edit(**)", "edit(**/*)", "edit(.)", "edit(./)", "edit(./**)", "edit(*.rs)",
            "edit(~/x)", "edit(/etc/x)", "edit(/)", "edit(~)", "edit({a,b}/**)", "edit([a-z]*)",
            "write(**/*)", "write(./*)", "*", "mcp__*", "mcp__*__x", "web_fetch", "web_fetch(*)",
            "web_fetch(*.com)", "todos", "todos(**)", "e*(src/**)", "read(~/.ssh/**)", "read(/etc/**)",
            "grep(~)", "ls(/)", "find(/srv/**)",
        ] {
            assert!(refused(text), "{text}");
        }
        for text in [
            "bash(git add *)", "bash(npm run lint *)", "bash(./build.sh *)", "bash(cargo test)",
            "bash(python3 -m unittest *)", "bash(node --test *)", "edit(src/**)", "edit(./src/*.rs)",
            "edit(./README.md)", "edit(docs/**)", "write(a/b)", "read", "read(**)", "read(**/*.md)",
            "ls(./x)", "grep", "mcp__a__b", "mcp__a__*", "web_fetch(example.com)",
            "web_fetch(*.example.com)", "todos(src/**)", "web_search",
        ] {
            assert!(!refused(text), "{text}");
        }
    }

    #[test]
    fn a_project_allows_nothing_that_runs_whatever_it_is_given() {
        let refused = |text: &&&str| objection(&format!("bash({text})").parse().unwrap()).is_some();
        let running = [
            "mawk *", "powershell *", "R *", "osh *", "tsx *", "julia *", "java *", "dotnet *",
            "dotnet exec *", "npm exec *", "yarn dlx *", "uv *", "uv run *", "bundle exec *", "run0 *",
            "vim *", "kubectl exec *", "git rebase -x *", "git bisect run *", "docker run *", "m4 *",
            "sqlite3 *", "gawk *", "/usr/bin/mawk *", "nvim *", "nano *", "podman *", "podman run *",
            "podman create *", "zig *", "jupyter execute *", "swift *", "lua5.4 *", "luau *",
            "luau x.luau *", "Rscript *", "runghc *", "elixir *", "sbt *", "gradle *", "mvn *", "bazel *",
            "bazel run *", "just *", "task *", "nix *", "nix run *", "an-interpreter-of-next-year *",
            "an-interpreter-of-next-year -e *",
        ];
        assert_eq!(running.iter().filter(|text| !refused(text)).collect::<Vec<_>>(), Vec::<&&str>::new());
        let plain = [
            "dotnet test *", "uv run pytest *", "uv pip list *", "bundle install", "go generate ./...",
            "cmake -DX=1 -B build", "git *", "npm *", "docker ps *", "kubectl get *", "make *",
            "just test *", "task build *", "bazel test *", "zig build *", "gradle check *",
            "terraform plan *", "an-interpreter-of-next-year", "ls *", "./scripts/x.sh *", "go test *",
        ];
        assert_eq!(plain.iter().filter(refused).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
