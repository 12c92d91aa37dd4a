//! Options that a rule names, in any place and form of a command.

use super::command_pattern::Match;
use super::programs::base;
use super::shell::Word;
use super::subcommands::{has, words};

/// Programs with long options behind one dash: their letters are no options.
const LONG_BEHIND_A_DASH: &str = "find java javac go gcc g++ cc c++ clang clang++ rustc ld terraform openssl ffmpeg \
                                  convert magick";
/// The maximum number of letters in a cluster: longer words are names.
const MAX_CLUSTER: usize = 5;
/// Names of one option, by command.
const SAME: &[(&str, &[&str])] = &[
    ("rm", words!("r R recursive")),
    ("rm", words!("f force")),
    ("chmod", words!("R recursive")),
    ("chown", words!("R recursive")),
    ("curl", words!("d data")),
    ("git push", words!("f force")),
    ("git push", words!("d delete")),
    ("git commit", words!("n no-verify")),
    ("git commit", words!("a all")),
    ("git add", words!("A all")),
    ("git add", words!("f force")),
    ("git clean", words!("f force")),
    ("git checkout", words!("f force")),
    ("git branch", words!("d delete")),
    ("npm install", words!("g global")),
    ("npm uninstall", words!("g global")),
    ("pnpm add", words!("g global")),
];

/// Whether the words of a command have all of these options. `leading` are the program and the subcommand.
pub(super) fn given(leading: &[String], options: &[String], words: &[Word]) -> Match {
    let program = leading.first().map_or("", |program| base(program));
    let command = leading.get(1).map_or_else(|| program.to_owned(), |sub| format!("{program} {sub}"));
    let given: Vec<String> =
        words.iter().skip(1).filter_map(|word| Some(word.literal()?.into_owned())).collect();
    let given = || given.iter().take_while(|text| *text != "--").map(String::as_str);
    let has_clusters = !has(LONG_BEHIND_A_DASH, program);
    let is_given = |name: &str| {
        let names =
            SAME.iter().find(|(of, names)| (*of == command || *of == program) && names.contains(&name));
        let names = names.map_or(std::slice::from_ref(&name), |(_, names)| *names);
        let of_name = |name: &&str| given().map(|text| is(text, name, has_clusters)).max();
        // A refspec with a plus sign is forced.
        let is_forced =
            command == "git push" && names.contains(&"force") && given().any(|text| text.starts_with('+'));
        let is_forced = is_forced || names.contains(&"global") && is_located(given());
        let found = names.iter().filter_map(of_name).max().unwrap_or(Match::No);
        if is_forced { Match::Yes } else { found }
    };
    let of_option = |option: &String| {
        if given().any(|text| text == option) {
            return Match::Yes;
        }
        let letters = option.strip_prefix('-').filter(|_| !option.starts_with("--")).and_then(cluster);
        match letters.filter(|_| has_clusters) {
            Some(letters) => {
                let each = letters.char_indices().filter_map(|(at, c)| letters.get(at..at + c.len_utf8()));
                each.map(is_given).min().unwrap_or(Match::No)
            }
            None => is_given(option.trim_start_matches('-')),
        }
    };
    options.iter().map(of_option).min().unwrap_or(Match::No)
}

/// Whether npm is told where to install with another option: `--location=global`.
fn is_located<'a>(given: impl Iterator<Item = &'a str>) -> bool {
    let mut before = "";
    given.into_iter().any(|text| {
        let option = std::mem::replace(&mut before, text);
        text == "--location=global" || option == "--location" && text == "global"
    })
}

/// The letters of a cluster of short options.
fn cluster(text: &str) -> Option<&str> {
    let is_one =
        !text.is_empty() && text.len() <= MAX_CLUSTER && text.chars().all(|c| c.is_ascii_alphabetic());
    is_one.then_some(text)
}

/// Whether a word is the option with this name, or has its letter.
fn is(text: &str, name: &str, has_clusters: bool) -> Match {
    let may = |may: bool, found: Match| if may { found } else { Match::No };
    if let Some(long) = text.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or_default();
        let is_short = name.len() == 1;
        let is_start = long.len() > 1 && name.starts_with(long) && !is_short;
        return may(long == name && !is_short, Match::Yes).max(may(is_start, Match::Perhaps));
    }
    let Some(word) = text.strip_prefix('-') else { return Match::No };
    let is_in =
        has_clusters && name.len() == 1 && cluster(word).is_some_and(|letters| letters.contains(name));
    let is_whole = name.len() > 1 && word.split('=').next() == Some(name);
    may(is_in || is_whole, Match::Yes)
}

#[cfg(test)]
mod tests {
    use crate::permissions::Verdict::{Allow, Deny};
    use crate::permissions::tests::{check, permissions};
    use tau_protocol::approval::PermissionMode::Auto;

    #[test]
    fn the_options_of_a_rule_may_stand_anywhere_and_in_any_form() {
        for (rule, denied, others) in [
            (
                "bash(rm -rf *)",
                &["rm -fr x", "rm -Rf x", "rm -rfv x", "rm -r -f x", "rm --recursive --force x", "rm x -rf"]
                    [..],
                &["rm -r x", "rm -f x", "rm -i report-final"][..],
            ),
            (
                "bash(git push --force *)",
                &[
                    "git push -f",
                    "git push origin feat --force",
                    "git push origin feat -f",
                    "git push origin +feat",
                    "git -C . push -uf origin feat",
                ],
                &["git push origin feat", "git push --force-with-lease origin x", "git push --follow-tags"],
            ),
            (
                "bash(git commit --no-verify *)",
                &["git commit -n -m x", "git commit -nm x", "git commit -m x --no-verify"],
                &["git commit -m no-verify", "git commit -am x", "git commit --no-edit"],
            ),
            (
                "bash(npm install -g *)",
                &[
                    "npm install x -g",
                    "npm i --global x",
                    "npm --location=global install x",
                    "npm i x --location global",
                    "npm_config_global=true npm i x",
                    "npm_config_location=global npm install x",
                ],
                &[
                    "npm install x",
                    "npm run g",
                    "npm i x --location=project",
                    "npm_config_audit=false npm i x",
                ],
            ),
            ("bash(find -delete *)", &["find . -name x -delete"], &["find . -type d -empty -name tel"]),
            (
                "bash(pip install *)",
                &["pip3 install x", "pip3.12 install x"],
                &["pip3 list", "pipenv install"],
            ),
            ("bash(python3 *)", &["python3.12 x", "python x", "sudo python3 x"], &["ls python3", "pypy3 x"]),
            ("bash(node *)", &["nodejs x", "/usr/bin/node22 x"], &["ls node", "npm test"]),
        ] {
            let rules = permissions(&[(rule, Deny)]);
            check(&rules, Auto, Deny, denied);
            check(&rules, Auto, Allow, others);
        }
    }
}
