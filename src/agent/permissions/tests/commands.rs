//! Tests rules on commands against other spellings and against arguments that run programs.
//!
//! No other spelling of a command evades a deny rule, and no allow rule covers an argument that makes a
//! program run another.

use super::*;
use Verdict::{Allow, Ask, Deny};

const MODES: [PermissionMode; 2] = [PermissionMode::Ask, PermissionMode::Auto];

/// Commands that run another, in place of `@`.
const RUNNERS: &[&str] = &[
    "env a-b=1 @",
    "env '=x' @",
    "env -u X a.b=1 @",
    "prlimit --nofile=10 @",
    "flock /tmp/lock @",
    "flock -x /tmp/lock -c '@'",
    "script -qc '@' /dev/null",
    "script -q -c'@' /dev/null",
    "setpriv --no-new-privs @",
    "unshare -r @",
    "unshare --user -- @",
    "chroot . @",
    "setarch x86_64 -R @",
    "choom -n 0 -- @",
    "runuser -u me -- @",
    "nsenter -t 1 @",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/@",
    "split --filter='@' f",
    "split --filt='@' f",
    "tar -I '@' -cf x y",
    "tar cIf '@' x y",
    "tar --use-compress-prog='@' -cf x y",
    "tar cf x --checkpoint=1 --checkpoint-action=exec='@' y",
    "sort --compress-program='@' f",
    "sort --compress-prog '@' f",
    "git -c alias.x='!@' x",
    "git -calias.x='!@' x",
    "git -c core.sshCommand='@' fetch",
    "git submodule foreach '@'",
    "git submodule foreach --recursive @",
    "git rebase -x '@' HEAD~1",
    "git rebase -ix '@' HEAD~1",
    "git bisect run @",
    "git difftool -yx '@'",
    "git fetch --upload-pack='@' origin",
    "busybox @",
    "stdbuf -oL @",
    "chrt -f 1 @",
    "taskset -c 1 @",
    "ionice -c2 -n0 @",
    "setsid -w @",
    "watch -n1 '@'",
    "watch -n1 @",
    "parallel @ ::: x",
    "ssh host @",
    "ssh host '@'",
    "make X='@'",
    "make --eval='$(shell @)'",
    "some-unknown-program --with @",
    "some-unknown-program '@'",
    "some-unknown-program --run='@'",
    "npm exec -- @",
    "npm exec -c '@'",
    "docker run image @",
    "kubectl exec pod -- @",
    "rg --pre '@' x",
    "man -P '@' ls",
    "rsync -e '@' a b",
    "sudo prlimit @",
    "bash -c 'flock x @'",
    "flock x bash -c '@'",
    "strace -f unshare -r @",
    "eval '@'",
    "trap '@' EXIT",
];

/// Commands that rules on subcommands deny.
const PUSHES: &[&str] = &[
    "gmake push", "git --attr-source HEAD push", "git --attr-source=HEAD push x",
    "git --new-option value push", "git -c alias.p=push p", "git -c alias.p='push --force' p origin",
    "git -c alias.p='!git push' p", "git -c a=b -C c --git-dir=x push", "/usr/lib/git-core/git-push",
    "git-push origin", "npm --registry https://x publish", "npm --some-option x publish", "npm pub",
    "npm pu", "npm publi --tag x", "npm -s pub", "docker --log-level debug push x", "docker -l debug push x",
    "docker --new x push x", "kubectl -v 5 delete pod x", "kubectl --v=5 -n x delete pod x",
    "kubectl --new x delete pod", "cargo +nightly --color never publish", "cargo --new x publish",
    "gh --new repo delete x", "gh repo -R a/b delete x", "npm --silent run deploy",
];

/// Arguments that make a program run another.
const RUNNING_OTHERS: &[&str] = &[
    "git -c alias.x='!rm x' x",
    "git -calias.x='!rm x' x",
    "git --exec-path=./x status",
    "git --exec-path=./x push",
    "git --config-env=core.sshCommand=X fetch",
    "git --config-env core.sshCommand=X fetch",
    "git -c core.sshCommand=./x fetch",
    "git submodule foreach ./x",
    "git submodule --quiet foreach ./x",
    "git rebase -x ./x HEAD~2",
    "git rebase -ix ./x HEAD~2",
    "git rebase --exec ./x",
    "git rebase --exe=./x",
    "git bisect run ./x",
    "git difftool -x ./x",
    "git difftool",
    "git fetch --upload-pack=./x origin",
    "git fetch --upload-p ./x origin",
    "git clone -u ./x y",
    "git clone -c core.fsmonitor=./x y",
    "git push --receive-pack=./x origin",
    "git ls-remote --upload-pack=./x .",
    "git filter-branch --tree-filter ./x",
    "git grep -O./x y",
    "git --git-dir=evil push",
    "git --unknown x push",
    "git config core.fsmonitor ./x",
    "npm exec ./x",
    "npm x ./x",
    "npm run env -- ./x",
    "npm run -s env ./x",
    "npm --script-shell=./x test",
    "npm test --script-shell ./x",
    "npm run lint --script-shell=./x",
    "npm --unknown x test",
    "docker run -v /:/x image",
    "docker compose run x",
    "make SHELL=./x all",
    "make --eval='x:;./x'",
    "make -f other",
    "tar -I ./x -cf a b",
    "tar cIf ./x a b",
    "tar cf a --to-command=./x b",
    "tar xf a --checkpoint-action=exec=./x",
    "cargo --config build.rustc='\"./x\"' build",
    "cargo build --config=x.toml",
    "cargo +/tmp/x build",
    "go test -exec ./x",
    "go build -toolexec=./x",
    "go vet -vettool=./x",
    "go run ./x",
    "git submodule--helper foreach ./x",
    "cmake -S /tmp/x",
    "cmake --build ../x",
    "cmake --build=/tmp/x",
    "cmake -B/tmp/x .",
    "cmake --toolchain ~/x",
    "cmake --install /tmp/x",
    "cmake /tmp/x",
    "docker compose -f /tmp/evil.yml up",
    "docker compose -f - up",
    "docker compose --file=../x.yml up",
    "docker compose --project-directory /tmp/x up",
    "docker stack deploy -c /tmp/x.yml x",
    "sed -n '1e ./x' a",
    "sed 's/a/b/e' a",
    "ssh -o ProxyCommand=./x h",
    "ssh -oproxyCommand=./x h",
    "ssh -o PermitLocalCommand=yes -o LocalCommand=./x h",
    "tcpdump -z ./x -w y",
    "helm install x y --post-renderer ./x",
    "helm template --post-renderer=./x y",
    "bazel test --run_under=./x //...",
    "bazel test --run_under ./x //...",
    "poetry run ./x",
];

/// Calls for which tau offers a rule.
const CALLS: &[&str] = &[
    "cargo test --all", "cargo build", "cargo check", "cargo clippy", "cargo fmt", "cargo doc",
    "cargo bench", "cargo tree", "cargo metadata", "git add -A", "git fetch origin", "git pull",
    "git switch x", "git merge x", "git stash", "git commit -m x", "go test ./...", "go build", "go vet",
    "dotnet test", "docker build .", "kubectl apply -f x", "rustup target add x", "pytest", "ruff check",
    "mypy x", "black x", "eslint x", "prettier x", "jest", "npm run lint", "npm test", "make test",
    "mvn test", "python3 -m unittest", "python3 -m pytest tests",
];

/// Arguments that make some program run another.
const RUNNING: &[&str] = &[
    "--upload-pack=./x", "--upload-pack ./x", "--upload-p=./x", "--exec=./x", "--exec ./x", "-x ./x",
    "-u ./x", "--receive-pack=./x", "-c core.sshCommand=./x", "--config core.pager=./x",
    "--config=build.rustc='./x'", "--config ./x.toml", "-Zunstable", "--manifest-path /tmp/x/Cargo.toml",
    "--manifest-path=../x/Cargo.toml", "--target-dir /tmp/x", "-C /tmp/x", "--script-shell=./x",
    "--script-shell ./x", "--node-options=-r./x", "--prefix /tmp/x", "-exec ./x", "-exec=./x",
    "-toolexec ./x", "-vettool=./x", "-ldflags=-extld=./x", "-o /tmp/x", "--output=/tmp/x",
    "-p no_such_plugin_x --pdbcls=x:y", "--pdbcls=x:y", "--override-ini=x=y", "/tmp/x", "../x", "~/x", "@x",
    "-- --logfile=/tmp/x", "-- -C linker=./x", "--fix", "--edit", "--open", "SHELL=./x", "CC=./x",
    "--eval=x", "-f x", "other-target", "exec:exec", "-Dexec.executable=./x", "--plugin=./x",
    "--rulesdir ./x", "--parser ./x", "-c ./x.js --runner=./x", "--config ./x.js", "--python-executable ./x",
    "--kubeconfig=./x", "--host tcp://x", "-H tcp://x", "ext::./x", "file:///tmp/x", "--template=./x",
    "--strategy=x", "-s /tmp/x", "-s ../x", "-s ~", "-s \"$X\"", "-t /tmp/x", "-vs /tmp/x",
    "discover -s /tmp/x", "--cov=/tmp/x", "--cov ~/x", "--profile ../x",
];

/// Ways to run a command in a directory that is not the workspace, or is unknown.
const ELSEWHERE: &[&str] = &[
    "cd /tmp/x && @", "cd .. && @", "cd ~; @", "cd && @", "cd - && @", "cd \"$X\" && @",
    "cd $(mktemp -d); @", "pushd /tmp/x; @", "(cd /tmp/x; @)", "if cd /tmp/x; then @; fi",
    "cd src && cd ../.. && @", "cd /tmp/x; timeout 9 @", "env -C /tmp/x @", "builtin cd /tmp/x; @",
    "CDPATH=/tmp cd x && @",
];

/// Arguments among them that have this meaning for one program only.
const OF: &[(&str, &str)] = &[
    ("ext::", "git fetch"),
    ("-u ", "git fetch"),
    ("-x ", "git fetch"),
    ("-c core", "git fetch"),
    ("-f x", "make"),
    ("other", "make"),
    ("exec:", "mvn"),
    ("-- --logfile", "cargo test"),
    ("--prefix", "npm"),
    ("--fix", "cargo clippy"),
    ("-p no_such", "pytest"),
];

/// Arguments without a special meaning.
const PLAIN: &[&str] = &["a", "src/b", "-v", "-q", "--", "--all", "name-c", "--release"];

#[test]
fn a_denied_command_is_denied_whatever_runs_it() {
    let rules = permissions(&[("bash(rm *)", Deny), ("bash(git push *)", Deny), ("bash(curl *)", Ask)]);
    for mode in MODES {
        let all = |inner: &str| RUNNERS.iter().map(|runner| runner.replace('@', inner)).collect::<Vec<_>>();
        for denied in ["rm -rf x", "git push origin main"] {
            let commands = all(denied);
            check(&rules, mode, Deny, &commands.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let asked = all("curl http://x");
        check(&rules, mode, Ask, &asked.iter().map(String::as_str).collect::<Vec<_>>());
        check(
            &rules,
            mode,
            Deny,
            &[
                "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
                "nohup prlimit /bin/rm x",
                "f=1 prlimit rm x",
                "git send-pack x",
            ],
        );
        // An unknown word may be it.
        check(
            &rules,
            mode,
            Ask,
            &[
                "echo push | parallel git",
                "parallel -a x git",
                "echo push | gxargs git",
                "echo push | busybox xargs git",
                "prlimit $x y",
                "flock f \"$x\"",
                "python3 -c 'import os; os.system(\"rm x\")'",
                "python3 <<'E'\nos.system('rm x')\nE",
                "make -f - <<< 'x:; rm y'",
                "env A=1 perl - <<< 'system \"rm x\"'",
            ],
        );
    }
}

#[test]
fn what_takes_its_words_as_data_runs_none_of_them() {
    let rules = permissions(&[("bash(rm *)", Deny), ("bash(git push *)", Deny), ("bash(npm *)", Ask)]);
    check(
        &rules,
        PermissionMode::Auto,
        Allow,
        &[
            "echo rm x", "cat rm", "grep -rn 'git push' docs", "git commit -m 'rm x; git push'", "git rm x",
            "git log --grep push", "git stash push -m push", "git -C push log", "git --no-pager -c log",
            "docker rm x", "cargo add rm", "command -v rm", "which rm git npm", "printf 'rm %s' x",
            "sudo apt-get install -y npm", "mkdir rm", "man rm", "./build.sh farm format", "python3 form.py",
            "find . -name rm", "git config --get alias.push",
        ],
    );
}

#[test]
fn a_subcommand_is_found_behind_any_options_and_by_any_name() {
    let rules = permissions(&[
        ("bash(git push *)", Deny),
        ("bash(npm publish *)", Deny),
        ("bash(npm install *)", Ask),
        ("bash(docker push *)", Deny),
        ("bash(kubectl delete *)", Deny),
        ("bash(cargo publish *)", Deny),
        ("bash(make push *)", Deny),
        ("bash(gh repo delete *)", Deny),
        ("bash(npm run deploy)", Deny),
        ("bash(hg push *)", Ask),
    ]);
    for mode in MODES {
        check(&rules, mode, Deny, PUSHES);
        check(
            &rules,
            mode,
            Ask,
            &[
                "npm i x", "npm ins", "npm add x", "npm --registry x in", "git p", "git pus", "cargo p",
                "npm p", "hg pus",
            ],
        );
    }
    check(
        &rules,
        PermissionMode::Auto,
        Allow,
        &[
            "git commit -m push", "git -C push status", "npm --registry publish ls", "npm run publish",
            "npm pack", "docker --log-level push ps", "kubectl -n delete get pods", "cargo build -p publish",
            "gh repo view delete", "git branch push",
        ],
    );
}

#[test]
fn a_rule_that_allows_a_program_does_not_cover_what_makes_it_run_another() {
    let rules = permissions(&[
        ("bash(git *)", Allow),
        ("bash(npm *)", Allow),
        ("bash(docker *)", Allow),
        ("bash(make *)", Allow),
        ("bash(tar *)", Allow),
        ("bash(cargo *)", Allow),
        ("bash(go *)", Allow),
        ("bash(cmake *)", Allow),
        ("bash(sed *)", Allow),
        ("bash(ssh *)", Allow),
        ("bash(tcpdump *)", Allow),
        ("bash(helm *)", Allow),
        ("bash(bazel test *)", Allow),
        ("bash(poetry *)", Allow),
        ("bash(npm run *)", Allow),
        ("bash(git log *)", Allow),
    ]);
    check(&rules, PermissionMode::Ask, Ask, RUNNING_OTHERS);
    check(
        &rules,
        PermissionMode::Ask,
        Allow,
        &[
            "git push origin main",
            "git -C sub commit -m x",
            "git switch -c new",
            "git commit -c HEAD",
            "git clean -n",
            "git --no-pager stash",
            "npm install x",
            "npm --prefix web test",
            "npm run lint -- --fix",
            "docker build .",
            "make -C sub all V=1",
            "tar czf a b",
            "cargo +nightly build -x",
            "go test ./... -run X",
            "cmake -S . -B build",
            "cmake --build /work/build -j4 --target all",
            "docker compose -f compose.dev.yml up -d",
            "docker compose logs -f web",
            "sed -i 's/a/b/' x",
            "sed -i \"s/a/$B/\" x",
            "ssh -o StrictHostKeyChecking=no h uptime",
            "tcpdump -i eth0",
            "helm upgrade x y",
            "bazel test //...",
            "poetry install",
        ],
    );
    // Words that a rule names in full are covered.
    let named = permissions(&[
        ("bash(git bisect run *)", Allow),
        ("bash(git -c core.pager=cat *)", Allow),
        ("bash(make CC=gcc *)", Allow),
        ("bash(docker run *)", Allow),
    ]);
    check(
        &named,
        PermissionMode::Ask,
        Allow,
        &["git bisect run make", "git -c core.pager=cat push", "make CC=gcc all", "docker run x y"],
    );
    check(
        &named,
        PermissionMode::Ask,
        Ask,
        &[
            "git -c core.pager=cat -c core.sshCommand=x fetch",
            "make CC=gcc LD=./x",
            "git -c core.pager=cat rebase -x ./x",
        ],
    );
}

#[test]
fn a_rule_does_not_cover_settings_and_projects_elsewhere() {
    let rules = ["ssh *", "man *", "make *", "gmake *", "terraform plan *", "tofu *"];
    let rules = rules.map(|rule| format!("bash({rule})"));
    let rules: Vec<(&str, Verdict)> = rules.iter().map(|rule| (rule.as_str(), Allow)).collect();
    let rules = permissions(&rules);
    let asked = [
        "ssh -F x h", "ssh -Fx h", "ssh -vF x h", "ssh h -F x", "ssh -p 22 -I ./x.so h", "ssh -I./x.so h",
        "ssh -o PKCS11Provider=./x.so h", "ssh -oSecurityKeyProvider=./x h", "ssh -o 'Include x' h",
        "man -C x ls", "man --config-file=x ls", "make test -I /tmp", "make -I/tmp",
        "make --include-dir=/tmp", "make -C /tmp/x", "gmake -C ../x", "terraform plan -var-file=/tmp/x",
        "terraform plan -var-file ../x", "terraform plan -out=/tmp/x", "terraform plan -out ~/x",
        "tofu -chdir=/tmp/x plan",
    ];
    check(&rules, PermissionMode::Ask, Ask, &asked);
    let allowed = [
        "ssh h ls -F",
        "ssh -p 22 h",
        "ssh -i key h",
        "ssh -v h grep -I x",
        "man ls",
        "man 3 printf",
        "make -C sub -I inc",
        "make test",
        "terraform plan -var-file=dev.tfvars -out=plan",
    ];
    check(&rules, PermissionMode::Ask, Allow, &allowed);
}

/// Every rule that tau offers, with arbitrary arguments: it allows none that make the program run another,
/// whether these come first, last, after `--`, abbreviated or with their value attached.
#[test]
fn a_rule_that_tau_offers_allows_no_argument_that_runs_something() {
    let none = permissions(&[]);
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let (mut offered, mut wrong) = (0, Vec::new());
    for call in CALLS.iter().copied() {
        let rules = suggest(&none, call);
        let [rule] = rules.as_slice() else { continue };
        offered += 1;
        let rules = permissions(&[(rule, Allow)]);
        check(&rules, PermissionMode::Ask, Allow, &[call]);
        for elsewhere in ELSEWHERE {
            let text = elsewhere.replace('@', call);
            let judgement = command(&rules, PermissionMode::Ask, &text);
            // Another repository is read as freely as this one.
            if judgement.verdict == Allow && !judgement.unasked {
                wrong.push(format!("{rule} allows {text}"));
            }
        }
        let inside =
            rule.trim_start_matches("bash(").trim_end_matches(')').trim_end_matches(['*', ' ']).to_owned();
        for round in 0..300 {
            let running = RUNNING[if round < RUNNING.len() { round } else { next(RUNNING.len()) }];
            // Some only have a meaning for one program.
            if OF.iter().any(|(start, of)| running.starts_with(start) && !inside.starts_with(of)) {
                continue;
            }
            let mut words: Vec<&str> = (0..next(4)).map(|_| PLAIN[next(PLAIN.len())]).collect();
            words.retain(|word| *word != "--");
            words.insert(next(words.len() + 1), running);
            let text = format!("{inside} {}", words.join(" "));
            if command(&rules, PermissionMode::Ask, &text).verdict == Allow {
                wrong.push(format!("{rule} allows {text}"));
            }
        }
    }
    assert!(offered > 25, "only {offered} rules were offered");
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// Package managers run a program of that name if no subcommand and no script has it.
#[test]
fn a_denied_program_is_denied_behind_a_package_manager() {
    let rules = permissions(&[("bash(zap *)", Deny)]);
    for mode in MODES {
        check(
            &rules,
            mode,
            Deny,
            &[
                "npm run env -- zap", "npm rum env zap", "yarn zap", "yarn -s zap x", "pnpm --filter x zap",
                "bun zap",
            ],
        );
    }
    check(&rules, PermissionMode::Auto, Allow, &["yarn add zap", "pnpm i zap", "yarn test zap"]);
}
