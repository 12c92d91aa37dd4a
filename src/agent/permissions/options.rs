//! Options that a rule names, in any place and form of a command.

use std::borrow::Cow;

use super::command_pattern::{Match, NamedOption};
use super::programs::base;
use super::shell::Word;
use super::subcommands::has;
use tau_tools::words;

/// Programs with long options behind one dash: their letters are no options.
const LONG_BEHIND_A_DASH: &str = "find java javac go gcc g++ cc c++ clang clang++ rustc ld terraform openssl ffmpeg \
                                  convert magick";
/// The maximum number of letters in a cluster: longer words are names.
const MAX_CLUSTER: usize = 5;
/// Names of one option, by command.
const SAME: &[(&str, &[&str])] = &[
    ("rm", words!("r R recursive")),
    ("rm", words!("f force")),
    ("cp", words!("r R a archive recursive")),
    ("cp", words!("f force")),
    ("mv", words!("f force")),
    ("chmod", words!("R recursive")),
    ("chown", words!("R recursive")),
    ("curl", words!("d data")),
    ("curl", words!("X request")),
    ("curl", words!("F form")),
    ("curl", words!("T upload-file")),
    ("curl", words!("o output")),
    ("curl", words!("k insecure")),
    ("curl", words!("H header")),
    ("curl", words!("u user")),
    ("sed", words!("i in-place")),
    ("tar", words!("x extract get")),
    ("tar", words!("c create")),
    ("tar", words!("f file")),
    ("git push", words!("f force")),
    ("git push", words!("d delete")),
    ("git push", words!("u set-upstream")),
    ("git commit", words!("n no-verify")),
    ("git commit", words!("a all")),
    ("git add", words!("A all")),
    ("git add", words!("f force")),
    ("git clean", words!("f force")),
    ("git checkout", words!("f force")),
    ("git branch", words!("d delete")),
    ("git tag", words!("d delete")),
    ("pacman", words!("S sync")),
    ("pacman", words!("R remove")),
    ("git branch", words!("f force")),
    ("git branch", words!("m move")),
    ("git rebase", words!("i interactive")),
    ("npm install", words!("g global")),
    ("npm uninstall", words!("g global")),
    ("pnpm add", words!("g global")),
    ("docker run", words!("network net")),
    ("docker run", words!("v volume")),
    ("docker run", words!("p publish")),
    ("docker rm", words!("f force")),
    ("docker rmi", words!("f force")),
    ("kubectl", words!("f filename")),
    ("kubectl", words!("n namespace")),
];
/// Programs with rows in that table, which have no other pairs of names that rules use.
const KNOWN: &str = "rm cp mv chmod chown curl sed tar git npm pnpm docker kubectl";

/// A command whose options are compared.
struct GivenCommand<'a> {
    /// The program with its subcommand.
    command: String,
    program: &'a str,
    /// The words behind the program, up to `--`; `None` for one that is not known.
    words: Vec<Option<String>>,
}

/// How the words of a command match these options: all of them must be there. `leading` are the program and the subcommand.
pub(super) fn match_options(leading: &[String], options: &[NamedOption], words: &[Word]) -> Match {
    let program = leading.first().map_or("", |program| base(program));
    let command = leading.get(1).map_or_else(|| program.to_owned(), |sub| format!("{program} {sub}"));
    let literals = words.iter().skip(1).map(|word| word.literal().map(Cow::into_owned));
    let mut words: Vec<Option<String>> = literals.take_while(|text| text.as_deref() != Some("--")).collect();
    // The first word of tar are letters of options, with or without a dash.
    if let Some(Some(first)) = words.first_mut().filter(|_| program == "tar")
        && !first.starts_with('-')
    {
        first.insert(0, '-');
    }
    let given = GivenCommand { command, program, words };
    options.iter().map(|option| given.of_option(option)).min().unwrap_or(Match::No)
}

impl GivenCommand<'_> {
    fn has_clusters(&self) -> bool {
        !has(LONG_BEHIND_A_DASH, self.program)
    }

    fn literals(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter_map(Option::as_deref)
    }

    fn of_option(&self, option: &NamedOption) -> Match {
        if let Some(value) = &option.value {
            let name = option.name.trim_start_matches('-');
            return self.of_value(name, option.name.starts_with("--"), value);
        }
        let option = &option.name;
        if self.literals().any(|text| text == option) {
            return Match::Yes;
        }
        let of_both = |one, other| self.of_name(one, false).min(self.of_name(other, false));
        if self.command == "git branch" && ["-D", "-M"].contains(&option.as_str()) {
            let letter = option.trim_start_matches('-');
            return of_both(&letter.to_lowercase(), "f").max(self.of_name(letter, false));
        }
        let letters = option.strip_prefix('-').filter(|_| !option.starts_with("--")).and_then(cluster);
        match letters.filter(|_| self.has_clusters()) {
            Some(letters) => {
                let each = letters.char_indices().filter_map(|(at, c)| letters.get(at..at + c.len_utf8()));
                each.map(|letter| self.of_name(letter, false)).min().unwrap_or(Match::No)
            }
            None => self.of_name(option.trim_start_matches('-'), option.starts_with("--")),
        }
    }

    /// The names of the option with this name, and whether others are unknown.
    fn names<'n>(&self, name: &'n str) -> (Vec<&'n str>, bool) {
        let is_of = |of: &str| of == self.command || of == self.program;
        match SAME.iter().find(|(of, names)| is_of(of) && names.contains(&name)) {
            Some((_, names)) => (names.to_vec(), false),
            None => (vec![name], !has(KNOWN, self.program)),
        }
    }

    fn of_name(&self, name: &str, is_long: bool) -> Match {
        let (names, may_differ) = self.names(name);
        let of_name = |name: &&str| self.literals().map(|text| is(text, name, self.has_clusters())).max();
        // A refspec with a plus sign is forced.
        let is_forced = self.command == "git push"
            && names.contains(&"force")
            && self.literals().any(|text| text.starts_with('+'));
        let is_forced = is_forced || names.contains(&"global") && is_located(self.literals());
        let found = names.iter().filter_map(of_name).max().unwrap_or(Match::No);
        let may = may_differ && self.literals().any(|text| may_be(text, name, is_long));
        match (is_forced, may) {
            (true, _) => Match::Yes,
            (false, true) => found.max(Match::Perhaps),
            (false, false) => found,
        }
    }

    /// Whether an option has a value, in the next word or in its own.
    fn of_value(&self, name: &str, is_long: bool, value: &str) -> Match {
        let (names, may_differ) = self.names(name);
        let of_word = |(at, word): (usize, &Option<String>)| {
            let Some(text) = word else { return Match::No };
            let next = || match self.words.get(at + 1) {
                Some(Some(next)) if next == value => Match::Yes,
                Some(None) => Match::Perhaps,
                Some(Some(_)) | None => Match::No,
            };
            let of_name = |name: &&str| match behind(text, name, self.has_clusters()) {
                Some("") => next(),
                Some(rest) if rest.strip_prefix('=').unwrap_or(rest) == value => Match::Yes,
                Some(_) | None => Match::No,
            };
            let found = names.iter().map(of_name).max().unwrap_or(Match::No);
            let may =
                may_differ && may_be(text, name, is_long) && (next() > Match::No || text.ends_with(value));
            if may { found.max(Match::Perhaps) } else { found }
        };
        self.words.iter().enumerate().map(of_word).max().unwrap_or(Match::No)
    }
}

/// The rest of a word behind the name of an option.
fn behind<'t>(text: &'t str, name: &str, has_clusters: bool) -> Option<&'t str> {
    if name.len() > 1 {
        let dashed = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
        return dashed?.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('='));
    }
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-') && has_clusters)?;
    let (before, rest) = letters.split_once(name)?;
    (before.is_empty() || cluster(before).is_some()).then_some(rest)
}

/// Whether a word may be the other name, long or short, of an option.
fn may_be(text: &str, name: &str, is_long: bool) -> bool {
    match (text.strip_prefix("--"), is_long) {
        (Some(long), false) => name.len() == 1 && long.starts_with(name),
        (None, true) => text
            .strip_prefix('-')
            .zip(name.chars().next())
            .is_some_and(|(letters, first)| cluster(letters).is_some_and(|letters| letters.contains(first))),
        (Some(_), true) | (None, false) => false,
    }
}

/// Whether npm installs globally by `--location=global`, another spelling of `-g`.
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
        let is_start = !long.is_empty() && name.starts_with(long) && !is_short;
        return may(long == name && !is_short, Match::Yes).max(may(is_start, Match::Perhaps));
    }
    let Some(word) = text.strip_prefix('-') else { return Match::No };
    // The rest of the word may be the value of an option.
    let letters = word.split(|c: char| !c.is_ascii_alphabetic()).next().and_then(cluster);
    let has_letter = || word.starts_with(name) || letters.is_some_and(|letters| letters.contains(name));
    let is_in = has_clusters && name.len() == 1 && has_letter();
    let is_whole = name.len() > 1 && word.split('=').next() == Some(name);
    may(is_in || is_whole, Match::Yes)
}

#[cfg(test)]
mod tests {
    use crate::permissions::Verdict::{Allow, Ask, Deny};
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
                    "git push -f", "git push origin feat --force", "git push origin feat -f",
                    "git push origin +feat", "git -C . push -uf origin feat",
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
                    "npm install x", "npm run g", "npm i x --location=project",
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

    #[test]
    fn an_option_has_its_value_in_the_next_word_or_in_its_own() {
        let rows: [(&str, &[&str], &[&str]); 11] = [
            (
                "bash(curl -X POST *)",
                &[
                    "curl u -X POST", "curl -XPOST u", "curl -sX POST u", "curl --request POST u",
                    "curl --request=POST u",
                ],
                &["curl u -X GET", "curl POST", "curl -o POST u"],
            ),
            (
                "bash(docker run --network host *)",
                &[
                    "docker run --network=host x", "docker run --rm --net host x",
                    "docker run -it --net=host x y",
                ],
                &["docker run --network none x", "docker run -p 80:80 host"],
            ),
            (
                "bash(sed -i *)",
                &["sed -i.bak s/a/b/ x", "sed s/a/b/ -i x", "sed --in-place=.o s/a/b/ x", "sed -Ei s/a/b/ x"],
                &["sed -n 1p x", "sed s/-i/b/ x"],
            ),
            ("bash(python3 -c *)", &["python3 -cprint", "python3 -Bc1", "python3 -c 1"], &["python3 x.py"]),
            ("bash(git push --set-upstream *)", &["git push -u origin x"], &["git push origin x"]),
            (
                "bash(git branch -D *)",
                &["git branch -d -f x", "git branch --delete --force x", "git branch -df x"],
                &["git branch -d x", "git branch -f x y"],
            ),
            ("bash(cp -r *)", &["cp -R a b", "cp -a a b", "cp a b -rf"], &["cp a b"]),
            ("bash(docker rm -f *)", &["docker rm --force x"], &["docker rm x"]),
            (
                "bash(tar -x *)",
                &["tar xf a", "tar xzf a", "tar -xf a", "tar --extract -f a"],
                &["tar cf a x", "tar tf a"],
            ),
            (
                "bash(make deploy *)",
                &["make V=1 deploy", "make build deploy", "make -j4 deploy"],
                &["make build", "make deployed"],
            ),
            (
                "bash(pip install *)",
                &["python3 -mpip install x", "python3 -m pip install x"],
                &["python3 -mpip list"],
            ),
        ];
        for (rule, denied, others) in rows {
            let rules = permissions(&[(rule, Deny)]);
            check(&rules, Auto, Deny, denied);
            check(&rules, Auto, Allow, others);
        }
    }

    #[test]
    fn an_option_that_may_be_the_other_name_of_one_is_asked_about() {
        for (rule, command) in [
            ("bash(rm -rf *)", "rm -f --r x"),
            ("bash(zap -f *)", "zap x --force"),
            ("bash(zap --yes *)", "zap -qy x"),
            ("bash(zap --mode wild *)", "zap -m wild x"),
        ] {
            check(&permissions(&[(rule, Deny)]), Auto, Ask, &[command]);
        }
    }

    #[test]
    fn programs_that_run_others_have_rules_of_their_own() {
        for (rule, command) in [
            ("bash(sh *)", "sh -c ls"),
            ("bash(bash *)", "bash -c 'ls; ls'"),
            ("bash(xargs *)", "echo a | xargs touch"),
            ("bash(xargs rm *)", "echo a | xargs -n1 rm x"),
            ("bash(env *)", "env touch x"),
            ("bash(env *)", "env A=1 touch x"),
            ("bash(nohup *)", "nohup touch x"),
            ("bash(timeout *)", "timeout 5 touch x"),
            ("bash(timeout 5 rm *)", "timeout 5 rm x"),
            ("bash(nice *)", "nice -n 5 touch x"),
            ("bash(exec *)", "exec touch x"),
            ("bash(command *)", "command touch x"),
            ("bash(find *)", "find . -exec touch x ';'"),
        ] {
            check(&permissions(&[(rule, Deny)]), Auto, Deny, &[command]);
            check(&permissions(&[(rule, Deny)]), Auto, Allow, &["touch x", "echo sh xargs env"]);
        }
    }
}
