//! The completion scripts of shells. They come from clap's definition of the arguments; in bash, zsh and fish
//! they also ask tau for the names of models, sessions and others.

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

use super::man_pages::definition;
use super::name_completion::{BASH, Names, WORD, WORDS};

/// The completions for a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_folders(definition()), "tau", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => {
            script.replace(r#"COMPREPLY=($(compgen -f "${cur}"))"#, r#"_tau_files "${cur}""#) + &of_bash()
        }
        Shell::Zsh => of_zsh(&script),
        Shell::Fish => script + &of_fish(),
        _ => script,
    }
}

/// The definition, in which values that are folders are marked as such.
fn with_folders(command: Command) -> Command {
    let is_folder = |argument: &Arg| {
        argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.as_str() == "DIR"))
    };
    let marked =
        |argument: Arg| if is_folder(&argument) { argument.value_hint(ValueHint::DirPath) } else { argument };
    command.mut_args(marked).mut_subcommands(with_folders)
}

/// Names first; without any, the matches of clap's function.
fn of_bash() -> String {
    format!(
        r#"
_tau_files() {{
    local name
    COMPREPLY=()
    while IFS= read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen -f -- "$1")
    # Quotes what has blanks.
    compopt -o filenames 2>/dev/null
}}

_tau_with_names() {{
    local name
    COMPREPLY=()
    while IFS= read -r name; do
        COMPREPLY+=("${{name%%$'\t'*}}")
    done < <(command tau {WORD} {BASH} "$COMP_WORDBREAKS" "${{COMP_LINE:0:COMP_POINT}}" 2>/dev/null </dev/null)
    [[ ${{#COMPREPLY[@]}} -gt 0 ]] || _tau "$@"
    # Behind a folder one types on.
    [[ ${{#COMPREPLY[@]}} -ne 1 || ${{COMPREPLY[0]}} != */ ]] || compopt -o nospace 2>/dev/null
}}

if [[ "${{BASH_VERSINFO[0]}}" -eq 4 && "${{BASH_VERSINFO[1]}}" -ge 4 || "${{BASH_VERSINFO[0]}}" -gt 4 ]]; then
    complete -F _tau_with_names -o nosort -o bashdefault -o default tau taucode
else
    complete -F _tau_with_names -o bashdefault -o default tau taucode
fi
"#
    )
}

/// The script is the function `_tau`, which zsh loads by that name; clap's function is renamed.
fn of_zsh(script: &str) -> String {
    let names = format!(
        r#"
_tau_names() {{
    local -a lines names shown end
    local line
    lines=("${{(@f)$(command tau {WORD} {WORDS} "${{(@Q)words[1,CURRENT-1]}}" "${{(Q)PREFIX}}" 2>/dev/null </dev/null)}}")
    for line in $lines; do
        names+=("${{line%%$'\t'*}}")
        shown+=("${{line/$'\t'/  -- }}")
    done
    (( $#names )) || return 1
    [[ $PREFIX == --*=* ]] && compset -P '*='
    # Behind a folder one types on.
    [[ $names[1] == */ ]] && end=(-S '')
    compadd -V names $end -l -d shown -a names
}}

_tau() {{
    _tau_names || _tau_words "$@"
}}

_tau_words() {{
"#
    );
    let script = script.replacen("\n_tau() {\n", &names, 1);
    script
        .replace("#compdef tau\n", "#compdef tau taucode\n")
        .replace("compdef _tau tau\n", "compdef _tau tau taucode\n")
}

/// Names for every flag that takes some, and for other words.
fn of_fish() -> String {
    let mut text = format!(
        "\nfunction __tau_names\n    set -l current (commandline -ct)\n    \
         command tau {WORD} {WORDS} (commandline -opc) \"$current\" 2>/dev/null </dev/null\nend\n\
         complete -c tau -n 'count (__tau_names) >/dev/null' -f -a '(__tau_names)'\n\
         complete -c taucode -w tau\n"
    );
    for flag in flags(&definition()) {
        text.push_str(&format!("complete -c tau -l {flag} -x -a '(__tau_names)'\n"));
    }
    text
}

/// The flags of tau and of its commands that take names.
fn flags(command: &Command) -> std::collections::BTreeSet<String> {
    let own = command.get_arguments().filter(|argument| Names::of(argument).is_some());
    let own = own.filter_map(|argument| argument.get_long().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(flags)).collect()
}
