//! Parses configuration files of git to find settings that run programs.

/// A setting, as `section.name` or `section.subsection.name`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// In lower case, like `name`.
    pub section: String,
    pub subsection: Option<String>,
    pub name: String,
    /// `None` for a name alone, which means true.
    pub value: Option<String>,
}

/// Sections of which read-only commands run nothing, including sections of other programs.
const HARMLESS: &[&str] = tau_tools::words!(
    "user author committer branch color column pull push fetch init gc rerere rebase commit tag status \
     advice i18n apply am blame feature index pack receive transfer url versionsort grep clean checkout \
     worktree notes stash submodule gui gitweb http https credential maintenance repack revert \
     sequencer showbranch splitindex uploadpack uploadarchive ssh safe reftable bundle attr promisor \
     completion format pretty log svn svn-remote gitflow github gitlab hub gitk bugtraq vscode magit"
);

/// Names in `core` that are neither a program nor another location of files.
const CORE: [&str; 40] = *tau_tools::words!(
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks \
     autocrlf eol safecrlf hidedotfiles protecthfs protectntfs trustctime checkstat quotepath abbrev \
     whitespace sharedrepository sparsecheckout sparsecheckoutcone longpaths commentchar commentstring \
     untrackedcache preloadindex commitgraph multipackindex compression loosecompression \
     bigfilethreshold packedgitlimit packedgitwindowsize deltabasecachelimit fscache fsyncobjectfiles \
     fsync fsyncmethod splitindex ignorestat"
);

impl Setting {
    /// Whether a read-only command may run or contact something because of this setting. Unknown settings
    /// may.
    pub(super) fn may_run(&self) -> bool {
        let value = self.value.as_deref().unwrap_or_default();
        let is_false = ["false", "no", "off", "0"].iter().any(|word| value.eq_ignore_ascii_case(word));
        match (self.section.as_str(), self.name.as_str()) {
            ("core", "fsmonitor") => !is_false,
            ("core", name) => !CORE.contains(&name),
            ("extensions", name) => !tau_tools::words!(
                "objectformat refstorage worktreeconfig noop preciousobjects relativeworktrees"
            )
            .contains(&name),
            ("remote", name) => !tau_tools::words!(
                "url pushurl fetch push mirror tagopt prune prunetags skipdefaultupdate skipfetchall \
                 gh-resolved pushdefault followremotehead"
            )
            .contains(&name),
            ("diff", "external" | "command" | "textconv") => true,
            // It starts git in folders that only a tree names.
            ("diff", "submodule") => value != "log" && value != "short",
            ("diff", _) => false,
            ("merge", "driver") => true,
            ("merge", _) => false,
            ("log", "showsignature" | "diffmerges") => true,
            ("lfs", name) => !["repositoryformatversion", "url", "access", "locksverify"].contains(&name),
            // A command that git has deprecated may be redefined.
            ("alias", name) => name == "whatchanged",
            // gpg is run for it.
            ("format" | "pretty", _) => value.contains("%G"),
            (section, _) => !HARMLESS.contains(&section),
        }
    }

    /// Whether git may run or contact something because of this setting although its environment is hardened.
    pub(super) fn may_run_when_hardened(&self) -> bool {
        let name = format!("{}.{}", self.section, self.name);
        let is_overridden = self.subsection.is_none() && tau_tools::process::git::overrides(&name);
        self.may_run() && !is_overridden
    }

    /// Whether it names a program in a folder that depends on the directory git runs in: one of the user's own
    /// settings would then run a program of the repository.
    pub(super) fn is_relative(&self) -> bool {
        let words = self.value.as_deref().unwrap_or_default();
        let is_relative = |word: &str| word.contains('/') && !word.starts_with(['/', '~', '%', '$']);
        words.split([' ', '\t', '\'', '"', ';', '|', '&', '(']).any(is_relative)
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subsection {
            Some(subsection) => write!(f, "{}.{subsection}.{}", self.section, self.name),
            None => write!(f, "{}.{}", self.section, self.name),
        }
    }
}

/// The settings of a file, parsed as by git; `None` if git would refuse it.
pub(super) fn settings(text: &str) -> Option<Vec<Setting>> {
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text) };
    let (mut section, mut subsection, mut found) = (String::new(), None, Vec::new());
    while let Some(c) = reader.next() {
        match c {
            '#' | ';' => reader.skip_line(),
            '[' => (section, subsection) = reader.section()?,
            c if c.is_ascii_whitespace() => {}
            c if c.is_ascii_alphabetic() => {
                let mut name = c.to_ascii_lowercase().to_string();
                name.push_str(&reader.name());
                let value = reader.value()?;
                found.push(Setting { section: section.clone(), subsection: subsection.clone(), name, value });
            }
            _ => return None,
        }
    }
    Some(found)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        // A carriage return before a newline is ignored.
        if self.rest.starts_with("\r\n") { Some('\n') } else { self.rest.chars().next() }
    }

    fn next(&mut self) -> Option<char> {
        self.rest =
            if self.rest.starts_with("\r\n") { self.rest.get(1..).unwrap_or_default() } else { self.rest };
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|c| c != '\n') {}
    }

    /// The rest of a name, in lower case.
    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '-') {
            name.push(c.to_ascii_lowercase());
            self.next();
        }
        name
    }

    /// Parses the section after `[`, up to `]`.
    fn section(&mut self) -> Option<(String, Option<String>)> {
        let mut name = String::new();
        loop {
            match self.next()? {
                ']' => break,
                c if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') => name.push(c.to_ascii_lowercase()),
                ' ' | '\t' => return Some((name, Some(self.subsection()?))),
                _ => return None,
            }
        }
        Some(match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
            None => (name, None),
        })
    }

    fn subsection(&mut self) -> Option<String> {
        let mut c = self.next()?;
        while matches!(c, ' ' | '\t') {
            c = self.next()?;
        }
        if c != '"' {
            return None;
        }
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => text.push(self.next().filter(|c| *c != '\n')?),
                c => text.push(c),
            }
        }
        (self.next()? == ']').then_some(text)
    }

    /// Parses the rest after a name: nothing, or `=` and a value.
    fn value(&mut self) -> Option<Option<String>> {
        let mut c = self.next();
        while matches!(c, Some(' ' | '\t')) {
            c = self.next();
        }
        match c {
            None | Some('\n') => return Some(None),
            Some('=') => {}
            Some(_) => return None,
        }
        let (mut text, mut quoted) = (String::new(), false);
        loop {
            match self.next() {
                None | Some('\n') if quoted => return None,
                None | Some('\n') => break,
                Some('#' | ';') if !quoted => {
                    self.skip_line();
                    break;
                }
                Some('"') => quoted = !quoted,
                Some('\\') => match self.next()? {
                    '\n' => {}
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'b' => text.push('\u{8}'),
                    c @ ('"' | '\\') => text.push(c),
                    _ => return None,
                },
                Some(c) => text.push(c),
            }
        }
        Some(Some(text.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::settings;

    fn running(text: &str) -> Vec<String> {
        let settings = settings(text).unwrap();
        settings.iter().filter(|setting| setting.may_run()).map(ToString::to_string).collect()
    }

    #[test]
    fn a_hardened_git_still_runs_filters() {
        let running = |text: &str| settings(text).unwrap().iter().any(super::Setting::may_run_when_hardened);
        for text in [
            "[core]\n\thooksPath = .husky\n\tsshCommand = x\n\tfsmonitor = ./x\n\teditor = vi",
            "[user]\n\tname = x",
        ] {
            assert!(!running(text), "{text}");
        }
        for text in [
            "[filter \"x\"]\n\tsmudge = ./x", "[merge \"x\"]\n\tdriver = ./x", "[include]\n\tpath = x",
            "[core \"x\"]\n\thooksPath = y",
        ] {
            assert!(running(text), "{text}");
        }
    }

    #[test]
    fn settings_that_run_something_are_found_however_they_are_written() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core] fsmonitor=./x",
            "[CORE]FsMonitor=x",
            "\u{feff}[core]\r\nfsmonitor = x\r\n",
            "[user]name=a # [core]\n[core] ; comment\nfsmonitor",
            "[user]\nname = \"a\\\n[user]\"\n[core]fsmonitor=x",
            "[user]\nname = a\\\n # still\n[core]fsmonitor=x",
            "[user][core]fsmonitor=x",
        ] {
            assert_eq!(running(text), ["core.fsmonitor"], "{text}");
        }
        for text in [
            "[core]\npager=x", "[core]\nsshCommand=x", "[core]\nworktree=/x", "[core]\nhooksPath=x",
            "[core]\nattributesFile=x", "[core]\nalternateRefsCommand=x", "[diff]\nexternal=x",
            "[diff \"a\"]\ntextconv=x", "[diff.a]\ncommand=x", "[diff]\nsubmodule=diff",
            "[filter \"a\"]\nclean=x", "[filter \"a\"]\nprocess=x", "[merge \"a\"]\ndriver=x",
            "[gpg]\nprogram=x", "[gpg \"ssh\"]\ndefaultKeyCommand=x", "[log]\nshowSignature",
            "[include]\npath=x", "[includeIf \"gitdir:x\"]\npath=x", "[remote \"o\"]\npromisor=true",
            "[remote \"o\"]\nuploadpack=x", "[remote \"o\"]\nvcs=x", "[extensions]\npartialClone=o",
            "[pager]\nlog=x", "[lfs \"customtransfer.x\"]\npath=x", "[alias]\nwhatchanged=!x",
            "[pretty]\nx=%GG", "[hook \"x\"]\ncommand=y", "[trailer \"x\"]\ncommand=y", "[something]\nnew=x",
        ] {
            assert_eq!(running(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn what_a_repository_usually_has_runs_nothing() {
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
            \tfsmonitor = false\n[remote \"origin\"]\n\turl = https://example.org/x.git\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\
            \tvscode-merge-base = origin/main\n[submodule \"a b\\\"c\"]\n\turl = ../x\n\tactive = true\n\
            [user]\n\tname = \"A; B\" # c\n\temail=a@b\n[alias]\n\tst = status\n[diff \"rs\"]\n\txfuncname = \"^fn.*\"\n\
            [extensions]\n\tworktreeConfig = true\n[lfs]\n\trepositoryformatversion = 0\n";
        assert_eq!(running(usual), Vec::<String>::new());
    }

    #[test]
    fn what_git_refuses_is_not_read() {
        for text in [
            "[core\nx=1", "x", "=", "[core]\nx y", "[core \"a]\nx=1", "[core]\nx=\"a\n", "[core]\nx=\\q",
            "[a b]\nx=1",
        ] {
            assert!(settings(text).is_none() || text == "x", "{text}");
        }
    }

    #[test]
    fn programs_below_the_folder_are_known() {
        let here = |text: &str| settings(text).unwrap().iter().any(|it| it.may_run() && it.is_relative());
        assert!(here("[filter \"x\"]\nclean=./x %f") && here("[diff]\nexternal=sh tools/diff.sh"));
        assert!(
            !here("[filter \"lfs\"]\nprocess=git-lfs filter-process")
                && !here("[diff]\nexternal=/usr/bin/difft")
        );
    }
}
