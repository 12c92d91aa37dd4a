//! Tests rules on files and protected paths against every way to name a file.

use super::*;

mod computed;
mod entered;
mod everyday;
mod found;
mod texts;
mod tracked;
mod unknown;
mod unnamed;
mod variants;

/// A folder with a home and a workspace in it.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage { folder };
        for (path, text) in [
            ("home/.ssh/id_rsa", "key"),
            ("home/.config/tau/auth.json", "key"),
            ("home/.bashrc", ""),
            ("home/work/.env", "secret"),
            ("home/work/sub/.env", "secret"),
            ("home/work/a.txt", ""),
            ("home/work/src/main.rs", ""),
            ("home/work/migrations/1.sql", ""),
            ("home/work/plain/b.txt", ""),
            ("home/work/.git/config", ""),
        ] {
            let path = stage.root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, stage.work().join(at)).unwrap();
        link(".env", "linked");
        link("sub", "linked-folder");
        link("../.ssh", "keys");
        stage
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn work(&self) -> PathBuf {
        self.root().join("home/work")
    }

    fn permissions(&self, rules: &[(&str, Verdict)]) -> Permissions {
        let rule = |(text, list): &(&str, Verdict)| RuleInForce {
            rule: text.parse().unwrap(),
            list: *list,
            source: RuleSource::Session,
        };
        let own = vec![self.root().join("home/.config/tau")];
        Permissions::new(rules.iter().map(rule).collect(), Options { own, ..Options::default() })
    }

    /// The verdict on a call of the tool `write`.
    fn judge_write(&self, permissions: &Permissions, mode: PermissionMode, access: &Access) -> Verdict {
        let (cwd, home) = (self.work(), self.root().join("home"));
        let (tool, read_only) = ("write", false);
        let facts = CallFacts { mode, tool, access, read_only, cwd: &cwd, home: Some(&home) };
        permissions.judge(&facts).verdict
    }

    #[track_caller]
    fn check(
        &self,
        permissions: &Permissions,
        mode: PermissionMode,
        expected: &[Verdict],
        commands: &[&str],
    ) {
        let (cwd, home) = (self.work(), self.root().join("home"));
        let wrong: Vec<String> = commands
            .iter()
            .map(|text| {
                let access = Access::command(*text);
                let (tool, home) = ("bash", Some(home.as_path()));
                let facts = CallFacts { mode, tool, access: &access, read_only: false, cwd: &cwd, home };
                (text, permissions.judge(&facts))
            })
            .filter(|(_, judgement)| !expected.contains(&judgement.verdict))
            .map(|(text, judgement)| format!("{text}\n    {judgement:?}"))
            .collect();
        assert!(wrong.is_empty(), "not {expected:?} in {mode:?}:\n{}", wrong.join("\n"));
    }
}

use Verdict::{Allow, Ask, Deny};

const NAMED: &[&str] = &[
    "less .env", "cp .env y", "tar cf - .env", "dd if=.env", "perl -pe1 .env", "iconv -f utf8 .env",
    "split .env", "gzip -c .env", "prog --file=.env", "prog --file .env", "curl -d @.env http://localhost",
    "curl -F x=@.env http://localhost", "prog -f.env", "prog a:.env:ro", "prog a,.env", "base64 sub/.env",
    "ln .env y", "mv .env y", "git show HEAD:.env", "prog < .env", "cat linked", "less linked-folder/.env",
    "cp sub/../.env y", "cat ./././.env", "cat $PWD/.env", "cat ~/work/.env", "cat /proc/self/cwd/.env",
    "cat /proc/$$/cwd/.env", "cat /proc/self/root$PWD/.env", "cat /proc/thread-self/root/home/x/.env",
    "cat /dev/fd/3/.env", "cd sub && cat .env", "pushd sub; cat .env", "env -C sub cat .env",
    "sudo less .env", "bash -c 'less .env'", "find . -name .env -exec less {} \\;", "x=.env; less $x",
    "x=.e y=nv; cat \"$x$y\"", "x=.e; y=nv; cat \"$x$y\"", "export x=.env; less \"${x}\"",
    "for f in a .env; do less \"$f\"; done", "for f in .e*; do cat \"$f\"; done", "x='.e*'; cat $x", "cat *",
];

const MAY_READ: &[&str] = &[
    "python3 -c \"print(open('.env').read())\"",
    "perl -e 'open F, \"<.env\"; print <F>'",
    "find . -type f -exec cat {} +",
    "find . | xargs cat",
    "tar c .",
    "cp -r . /tmp/x",
    "grep -r x .",
    "grep -r x",
    "grep -r x $(pgrep -x zzz)",
    "rg -uu x $(seq 0)",
    "grep -R x sub",
    "rg --hidden x",
    "rg -uu x .",
    "zip -r x.zip .",
    "rsync -a . /tmp/x",
    "scp -r sub host:",
    "prog sub",
    "diff -r . /nowhere",
    "git grep --no-index x",
    "cat \"$x\"",
    "cat $(ls -a)",
    "prog --file=\"$x\"",
    "while read -r f; do cat \"$f\"; done < list",
    "cat < \"$x\"",
    "python3 - <<< \"print(open('.env').read())\"",
    "python3 <<'E'\nprint(open('.env').read())\nE",
    "timeout 5 perl <<E\nopen F, '.env';\nE",
    "sqlite3 x <<< '.read .env'",
    "GLOBIGNORE=x; cat *",
    "export GLOBIGNORE=x; cat *",
    "for GLOBIGNORE in x; do cat *; done",
    "read GLOBIGNORE < a.txt; cat *",
];

const READS_OTHERS: &[&str] = &[
    "ls -la",
    "ls .",
    "cat a.txt",
    "cat *.txt src/*.rs",
    "rg x",
    "rg x src",
    "grep -r x src",
    "cp -r src /tmp/x",
    "git status",
    "git add .",
    "git commit -m \"$(cat <<'E'\nmention .env; rm\nE\n)\"",
    "git commit -am \"remove .env from $x\"",
    "git commit -F - <<'E'\nmention .env; rm\nE",
    "cat >notes.md <<'E'\nmention .env\nE",
    "tee notes.md <<< 'mention .env'",
    "python3 <<'E'\nprint(open('a.txt').read())\nE",
    "GLOBIGNORE=x ls",
    "cargo build",
    "echo \"$x\"",
    "cd \"$x\"",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "find . -name '*.rs' -exec grep -l main {} +",
    "find . -name '*.rs'",
    "cat .envrc.example .env.example",
];

#[test]
fn a_rule_on_reading_covers_every_program_that_names_the_file() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(**/.env)", Deny), ("bash", Allow)]);
    for mode in [PermissionMode::Auto, PermissionMode::Ask] {
        stage.check(&rules, mode, &[Deny], NAMED);
        stage.check(&rules, mode, &[Ask, Deny], MAY_READ);
        stage.check(&rules, mode, &[Allow], READS_OTHERS);
    }
}

#[test]
fn a_name_that_is_not_literal_counts_as_what_it_can_be() {
    let stage = Stage::new();
    let spellings = [
        ".e*", "{.env,}", "{a,.e}nv", ".{e,x}nv", "{.e*,b}", "\"$x\"/.env", "$x/sub/.env", "~+/.env",
        "$PWD/.env", ".e\"\"nv", "$'\\x2eenv'", ".[e]nv", ".[!x]nv", ".e?v", ".??v", "./*/../.env",
        "s*/.env", "~/w*/.env", "./.en[u-w]", "\\.env", "'.env'", "\".env\"", "${PWD}/.env", ".e{n,m}v",
        "sub/.e*", "../work/.env",
    ];
    for (list, expected) in [(Deny, Deny), (Ask, Ask)] {
        let rules = stage.permissions(&[("read(**/.env)", list)]);
        for spelling in spellings {
            for command in ["cat F", "less F", "cat < F", "prog --file=F", "x y; tac F"] {
                // Braces become several words, which a redirection or an option cannot be.
                if spelling.contains('{') && (command.contains('<') || command.contains('=')) {
                    continue;
                }
                let command = command.replace('F', spelling);
                stage.check(&rules, PermissionMode::Auto, &[expected], &[&command]);
            }
        }
    }
    let asks = stage.permissions(&[("read(secret/**)", Ask)]);
    stage.check(&asks, PermissionMode::Auto, &[Ask], &["cat s*/x", "less secret/{a,b}", "cat \"$x\""]);
    stage.check(&asks, PermissionMode::Auto, &[Allow], &["cat src/*", "less a*"]);
}

#[test]
fn a_rule_on_what_is_in_a_folder_covers_the_folder() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("edit(migrations/**)", Deny), ("edit(src/generated/**)", Deny)]);
    stage.check(
        &rules,
        PermissionMode::Auto,
        &[Deny],
        &[
            "rm -r migrations", "rm -rf ./migrations/", "mv migrations m2", "mv x migrations",
            "cp x migrations/", "cp x migrations", "mv . x", "rm -r .", "rm -r *", "rm -r mig*",
            "mv ../work ../x", "rm -r ..", "find . -delete", "find migrations -delete", "touch migrations/x",
            "echo x > migrations/x", "echo x > m*/x", "chmod -R 777 .", "git rm -r migrations",
            "git clean -fd migrations", "cd migrations; rm x", "d=migrations; rm -r $d", "rm -r src",
            "cp -tmigrations x", "cp -ftmigrations x", "mv -ftmigrations x", "install -Dtmigrations x",
            "ln -sftmigrations x", "sort -uomigrations/1.sql a.txt", "patch -Ndmigrations -i x",
        ],
    );
    let reading = stage.permissions(&[("read(b/**)", Deny)]);
    std::fs::create_dir(stage.work().join("b")).unwrap();
    std::fs::write(stage.work().join("b/x"), "").unwrap();
    let packing =
        ["tar chf o.tar -Cb x", "tar -chf o.tar -Cb x", "tar cf o.tar -hCb x", "tar cf o.tar -C b x"];
    stage.check(&reading, PermissionMode::Auto, &[Ask, Deny], &packing);
    stage.check(
        &reading,
        PermissionMode::Auto,
        &[Allow],
        &["tar -xzvf a.tar", "ls -la", "rm -rf plain", "cp -ab x y"],
    );
    stage.check(
        &rules,
        PermissionMode::Auto,
        &[Ask, Deny],
        &["rm -rf \"$x\"", "prog .", "tar xf a.tar -C .", "cp x \"$y\"", "git checkout ."],
    );
    stage.check(
        &rules,
        PermissionMode::Auto,
        &[Allow],
        &[
            "cat migrations/1.sql", "ls migrations", "grep -r x .", "cargo build", "git add .",
            "rm -r plain", "cp a.txt plain/", "mkdir -p plain/x", "touch src/main.rs",
        ],
    );
}

#[test]
fn the_folders_of_a_call_are_looked_at_up_to_a_limit_together() {
    let stage = Stage::new();
    let seen = folders::EntriesSeen::default();
    let find = || folders::find(&stage.work(), &folders::Search::default(), &seen, |_| false);
    assert!(find().is_ok_and(|found| found.is_none()));
    while seen.count() {}
    assert!(find().is_err());
}

const WRITES_PROTECTED: &[&str] = &[
    "cp x ~/.[b]ashrc",
    "echo x >> $BASH_ENV",
    "echo x >> \"$PYTHONSTARTUP\"",
    "echo x >> $MYVIMRC",
    "echo x >> $GIT_CONFIG_GLOBAL",
    "echo x >> $NPM_CONFIG_USERCONFIG",
    "cp x \"$GIT_DIR/config\"",
    "cp x $(git rev-parse --git-dir)/hooks/pre-commit",
    "cp x $(git config core.hooksPath)/pre-commit",
    "cp x.pth $(python3 -m site --user-site)/",
    "echo 'import os' > \"$(python3 -m site --user-site)/y.pth\"",
    "cp x $(systemd-path user-configuration)/systemd/user/x.service",
    "python3 -c \"import site,os; open(os.path.join(site.USER_SITE,'x.pth'),'w')\"",
    "pwsh -c 'Add-Content $PROFILE x'",
    "fish -c 'echo x >> $__fish_config_dir/config.fish'",
    "nu -c '\"x\" | save -a $nu.config-path'",
    "vim -c 'call writefile([\"x\"], $MYVIMRC, \"a\")'",
    "nvim -c 'call writefile([\"x\"], stdpath(\"config\").\"/init.lua\")'",
    "emacs --eval '(append-to-file \"x\" nil user-init-file)'",
    "cp x ~/.?ashrc",
    "f=bashrc; cp x ~/.$f",
    "f=$(echo bashrc); cp x ~/.$f",
    "f=.bash; f+=rc; cp x ~/$f",
    "cd ~ && cat x > /proc/self/cwd/.bashrc",
    "pushd ~; cp x .bashrc",
    "x=~; cd $x; cp y .bashrc",
    "x=~; cp y $x/.bashrc",
    "cd ~; cp x {.bashrc,}",
    "cp x ~/{.bashrc,y}",
    "cp x {~,y}/.bashrc",
    "cp x ~root/.bashrc",
    "cp x /proc/$$/root/etc/profile",
    "cp x /proc/self/root/etc/cron.d/x",
    "ln -s ~ h; cp x h/.bashrc",
    "ln -s ~ h; echo x >> h/.bashrc",
    "ln -s .. h; cp x h/../.bashrc",
    "cp .bashrc ~",
    "cp dotfiles/.bashrc ~/",
    "tar xf a.tar -C ~ .bashrc",
    "tar xf a.tar -C ~",
    "cp -r dotfiles/. ~",
    "rm -r ~/.config",
    "mv evil ~/.config",
    "f=$(cat name) # .zshrc\ncp x $f",
    "cp x \"$y\" <<E\n.bashrc\nE",
    "echo x > \"$(printf %s ~/.bash rc)\"; : bashrc",
    "cp x ~/\"$y\"",
    "echo x > ~/.$y",
    "python3 -c \"open('$HOME/.bashrc','a').write('x')\"",
    "HOME=/tmp; cp x ~/.bashrc",
    "cp x $OLDPWD/.bashrc",
    "cd -; cp x .bashrc",
    "rm keys/authorized_keys",
    "cp x .g*/hooks/pre-commit",
    "mv x .g?t/config",
    "cp x ~/.local/bin/ls",
    "mkdir -p ~/.claude/skills/x",
    "cp x .claude/settings.json",
    "cp x .mcp.json",
    "cp x .vscode/tasks.json",
    "echo x >> .husky/pre-commit",
    "cp x .githooks/pre-push",
    "cp x sub/.devcontainer/devcontainer.json",
    "cp x .exrc",
    "tee .nvim.lua",
    "mv x .dir-locals.el",
    "cp x .pre-commit-config.yaml",
];

const READS_SECRETS: &[&str] = &[
    "cat ~/.config/*/auth.json", "cat ~/.s*/*", "cat ~/.*/id_*", "cat ~/.ss?/id_rsa", "cat keys/id_rsa",
    "cat k*/id_rsa", "cat ~/{.ssh,x}/id_rsa", "cat \"$x\"/.ssh/id_rsa", "find ~ -type f -exec cat {} +",
    "find ~ -type f | xargs cat", "cat ~/.ssh/$(ls)", "grep -r x ~", "grep -r x ..", "cd ~; grep -r x .",
    "cat < ~/.[s]sh/id_rsa", "x=~/.ssh; cat $x/id_rsa", "x=.ssh; cat ~/$x/id_rsa",
    "for d in ~/.*; do cat \"$d\"/*; done",
];

const READS_NO_SECRETS: &[&str] = &[
    "ls ~", "ls ~/*", "cat *.txt", "cat .git/HEAD", "cat ~/.bashrc", "grep -r x .", "cat \"$x\"", "ls .*",
    "find . -type f | xargs grep -l main", "head -3 src/*",
];

const WRITES_OTHERS: &[&str] = &[
    "cp x \"$y\"", "rm *.json", "sed -i s/a/b/ *.rs", "mkdir -p bin && cp x bin/y",
    "cp a.txt dist/config.toml", "rm -rf target", "mv a.txt b.txt", "echo x > \"$y\"",
    "cargo build --profile release", "cp a.txt \"$prefix/bin/x\"", "git commit -m \"$x\"", "npm install",
    "tar xf a.tar", "cp -r src /tmp/x",
];

#[test]
fn protected_paths_are_asked_however_they_are_named() {
    let stage = Stage::new();
    let none = stage.permissions(&[]);
    let everything = stage.permissions(&[("bash", Allow), ("edit", Allow), ("read", Allow)]);
    for rules in [&none, &everything] {
        stage.check(rules, PermissionMode::Auto, &[Ask], WRITES_PROTECTED);
    }
    for mode in [PermissionMode::Auto, PermissionMode::Ask] {
        stage.check(&none, mode, &[Ask], READS_SECRETS);
        stage.check(&none, mode, &[Allow], READS_NO_SECRETS);
    }
    stage.check(&none, PermissionMode::Auto, &[Allow], WRITES_OTHERS);
}

#[test]
fn commands_that_write_settings_of_git_and_what_is_started_later_are_asked() {
    let stage = Stage::new();
    let none = stage.permissions(&[]);
    stage.check(
        &none,
        PermissionMode::Auto,
        &[Ask],
        &[
            "git config core.fsmonitor X", "git config --global core.pager X",
            "git config set core.hooksPath x", "git -C sub config x y", "git -c a=b config x y",
            "git --attr-source HEAD config x y", "git remote add x y", "git remote set-url origin y",
            "git submodule add x", "git submodule update --init", "git worktree add x",
            "git init --template=x", "git init --templ x", "git clone x y", "git branch -u origin/x",
            "git branch --set-upstream-to=origin/x", "git -c alias.x='config a b' x",
            "/usr/lib/git-core/git-config x y", "sudo git config x y", "bash -c 'git config x y'",
            "git $x x y; git config \"$x\" y", "git lfs install", "pre-commit install", "gh auth setup-git",
            "crontab x", "crontab -", "systemctl --user enable x", "npm config set script-shell x",
            "echo x | at now", "direnv allow",
        ],
    );
    stage.check(
        &none,
        PermissionMode::Auto,
        &[Allow],
        &[
            "git config --get user.name", "git config user.name", "git config --list", "git remote -v",
            "git remote", "git remote show origin", "git submodule status", "git worktree list",
            "git init x", "git branch -a", "git branch new", "git checkout -b x", "git push -u origin x",
            "git commit -m config", "crontab -l", "npm install", "systemctl status x",
        ],
    );
}

#[test]
fn what_a_search_comes_across_is_judged_file_by_file() {
    let stage = Stage::new();
    let rules =
        stage.permissions(&[("read(**/.env)", Deny), ("read(src/**)", Ask), ("grep(plain/**)", Deny)]);
    let filter = rules.file_filter(&stage.work(), Some(&stage.root().join("home")));
    let left_out = |tool: &str, folder: &Path, below: &str| {
        let left_out = filter.below(tool, folder)?.leaves_out(Path::new(below))?;
        Some((left_out.name, left_out.why))
    };
    let (work, home) = (stage.work(), stage.root().join("home"));
    let denied = Some((true, "a rule denies reading them (read(**/.env))".to_owned()));
    assert_eq!(left_out("grep", &work, ".env"), denied);
    assert_eq!(left_out("find", &home, "work/sub/.env"), denied);
    assert_eq!(left_out("ls", &work.join("linked-folder"), ".env"), denied);
    assert_eq!(left_out("grep", &work, "a.txt"), None);
    let asked = Some((false, "a rule asks before reading (read(src/**))".to_owned()));
    assert_eq!(left_out("grep", &work, "src/main.rs"), asked);
    assert_eq!(left_out("grep", &work.join("src"), "main.rs"), None, "the folder itself was asked about");
    assert!(
        left_out("grep", &work, "plain/b.txt").is_some() && left_out("find", &work, "plain/b.txt").is_none()
    );
    let secret = left_out("grep", &home, ".ssh/id_rsa");
    assert_eq!(secret, Some((false, "protected, the keys and settings of ssh".to_owned())));
    assert!(left_out("grep", &home, ".config/tau/auth.json").is_some());
    assert_eq!(left_out("grep", &home.join(".ssh"), "id_rsa"), None, "the folder itself was asked about");
    assert!(filter.denies(&work.join("linked")).is_some() && filter.denies(&work.join("a.txt")).is_none());
}

#[test]
fn a_rule_on_reading_all_files_is_about_tools_that_find_them() {
    let (cwd, access) = (Path::new("/work"), Access::read("/work"));
    for (rule, list, expected) in [
        ("read", Deny, [Deny, Deny, Deny]),
        ("read(**)", Deny, [Deny, Deny, Deny]),
        ("read", Ask, [Ask, Allow, Allow]),
        ("grep", Deny, [Deny, Allow, Allow]),
    ] {
        let rules = super::tests::permissions(&[(rule, list)]);
        let verdicts = ["grep", "find", "ls"].map(|tool| {
            let mode = PermissionMode::Auto;
            let facts = CallFacts { mode, tool, access: &access, read_only: true, cwd, home: None };
            rules.judge(&facts).verdict
        });
        assert_eq!(verdicts, expected, "{list:?} {rule}");
    }
}

#[test]
fn a_file_that_a_tool_writes_is_asked_about_if_it_is_hidden_or_not_what_it_seems() {
    let stage = Stage::new();
    let none = stage.permissions(&[]);
    let judged = |mode: PermissionMode, path: &str| {
        let access = Access { writes: vec![stage.work().join(path)], ..Access::default() };
        stage.judge_write(&none, mode, &access)
    };
    for mode in [PermissionMode::Edits, PermissionMode::Auto] {
        for path in [
            "f\u{200b}.txt", "a/\u{202e}x", ".git\u{200c}/config", "\u{e0041}x", "../.quiltrc",
            "../.yarn/bin/x",
        ] {
            assert_eq!(judged(mode, path), Ask, "{path:?}");
        }
        for path in ["f.txt", "\u{e9}t\u{e9}.txt", ".prettierrc", "\u{65e5}\u{672c}.md"] {
            assert_eq!(judged(mode, path), Allow, "{path:?}");
        }
    }
    assert_eq!(judged(PermissionMode::Auto, "../.cache/x/y"), Allow);
}

#[test]
fn a_folder_that_a_tool_names_is_judged_with_what_is_in_it() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(**/.env)", Deny)]);
    let (cwd, home) = (stage.work(), stage.root().join("home"));
    let judged = |tool: &str, path: &str| {
        let access = Access::read(cwd.join(path));
        let mode = PermissionMode::Auto;
        let facts = CallFacts { mode, tool, access: &access, read_only: true, cwd: &cwd, home: Some(&home) };
        rules.judge(&facts).verdict
    };
    assert_eq!(judged("mine", "sub"), Ask);
    assert_eq!(judged("mine", "."), Ask);
    assert_eq!(judged("mine", "src"), Allow);
    assert_eq!(judged("mine", "sub/.env"), Deny);
    assert_eq!(judged("grep", "."), Allow, "it leaves out what it may not read");
    let edit = Access::change(cwd.join(".env"));
    let (mode, tool) = (PermissionMode::Auto, "edit");
    let facts = CallFacts { mode, tool, access: &edit, read_only: false, cwd: &cwd, home: Some(&home) };
    assert_eq!(rules.judge(&facts).verdict, Deny, "an edit that fails says what is there");
}
