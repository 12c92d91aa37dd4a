//! Files of unfinished operations, such as a rebase, with which git would run something or write elsewhere.

use super::nested_git::has_only;

/// Whether the content of a file does no harm.
pub(super) type Check = fn(&[u8]) -> bool;

/// The files in the folder of a repository or working tree.
pub(super) const FILES: [(&str, Check); 4] = [
    ("rebase-merge/strategy", is_strategy),
    ("rebase-apply/strategy", is_strategy),
    ("rebase-apply/apply-opt", are_options_of_apply),
    ("sequencer/opts", are_options_of_sequencer),
];
/// Strategies of merges. Any other is a program, which may be one of the working tree.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];
/// Options of `git apply` with which it writes to the working tree only.
const OF_APPLY: [&str; 8] =
    ["-3", "-C", "-p", "--directory=", "--exclude=", "--include=", "--reject", "--whitespace="];
/// Settings of the sequencer besides its strategy.
const OF_SEQUENCER: &[(&str, &[&str])] = &[(
    "options",
    crate::words!(
        "allow-empty allow-empty-message allow-ff allow-rerere-auto commit-use-reference \
         default-msg-cleanup drop-redundant-commits edit gpg-sign keep-redundant-commits mainline \
         no-commit record-origin signoff strategy-option"
    ),
)];

fn is_strategy(content: &[u8]) -> bool {
    std::str::from_utf8(content).is_ok_and(|name| STRATEGIES.contains(&name.trim()))
}

fn are_options_of_apply(content: &[u8]) -> bool {
    let is_known = |option: &str| {
        let inner = option.strip_prefix('\'').and_then(|option| option.strip_suffix('\'')).unwrap_or(option);
        !inner.contains(['\'', '\\']) && OF_APPLY.iter().any(|known| inner.starts_with(known))
    };
    std::str::from_utf8(content).is_ok_and(|options| options.split_whitespace().all(is_known))
}

fn are_options_of_sequencer(content: &[u8]) -> bool {
    let is_known = |line: &str| {
        let strategy = line.trim().strip_prefix("strategy = ");
        strategy.is_some_and(|name| STRATEGIES.contains(&name))
    };
    let others = std::str::from_utf8(content)
        .map(|text| text.split_inclusive('\n').filter(|line| !is_known(line)).collect::<String>());
    others.is_ok_and(|text| has_only(text.as_bytes(), OF_SEQUENCER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_would_run_or_write_elsewhere_does_harm() {
        let check = |file: &str, content: &str| {
            let check = FILES.iter().find(|(name, _)| *name == file).unwrap().1;
            check(content.as_bytes())
        };
        let harmless = [
            ("rebase-merge/strategy", "ort\n"),
            ("rebase-apply/apply-opt", ""),
            ("rebase-apply/apply-opt", " '--whitespace=fix' '-p1'\n"),
            (
                "sequencer/opts",
                "[options]\n\tno-commit = true\n\tstrategy = recursive\n\tstrategy-option = ours\n",
            ),
        ];
        for (file, content) in harmless {
            assert!(check(file, content), "{file}: {content}");
        }
        let harmful = [
            ("rebase-merge/strategy", "x/../run\n"),
            ("rebase-merge/strategy", "index"),
            ("rebase-apply/apply-opt", " '--unsafe-paths'"),
            ("rebase-apply/apply-opt", " '--unsa' '-p1'"),
            ("rebase-apply/apply-opt", " '-p1'\\'' --unsafe-paths'"),
            ("sequencer/opts", "[options]\n\tstrategy = x/../run\n"),
            ("sequencer/opts", "[options] strategy = x/../run\n"),
            ("sequencer/opts", "[options]\n\tmainline = 1 \\\n\tstrategy = ort\n"),
        ];
        for (file, content) in harmful {
            assert!(!check(file, content), "{file}: {content}");
        }
    }
}
