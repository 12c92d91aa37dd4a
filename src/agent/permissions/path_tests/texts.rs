//! Tests names in texts that another program runs, names glued to others, and folders that become protected ones.

use super::*;

/// Commands that print `.env` here, through a text.
const READS_DENIED: &[&str] = &[
    "script -q -c 'cat .e*' /dev/null",
    "script -q -c 'cat .??v' /dev/null",
    "script -qc'cat .e*' /dev/null",
    "script -q -c 'x=.e; cat ${x}nv' /dev/null",
    "script -q -c 'cd sub; cat .e*' /dev/null",
    "script -q -c 'cat < .e*' /dev/null",
    "script -q -c \"bash -c 'cat .e*'\" /dev/null",
    "sed 'e cat .e*' a.txt",
    "sed 'r.env' a.txt",
    "sed '1r.env' a.txt",
    "sed -n '$R.env' a.txt",
    "sed '/x/{r.env\n}' a.txt",
    "sed -f - a.txt <<< 'r.env'",
    "sed 's/a/cat .e*/e' a.txt",
    "sqlite3 :memory: '.shell cat .e*'",
    "sqlite3 :memory: <<< '.shell cat .e*'",
    "make --eval='$(info $(shell cat .e*))'",
    "make -f - <<< '$(info $(shell cat .e*))'",
    "vim -es '+r .e*' '+%p' '+q!'",
    "vim -es '+r.env' '+%p' '+q!'",
    "vim -es -c 'r .e*' -c '%p' -c q!",
    "ex -s a.txt <<< 'r .e*'",
    "ed a.txt <<< 'r.env'",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='cat .e*' a.txt",
    "tar cf - -I 'sh -c \"cat .e*\"' a.txt",
    "git -c core.fsmonitor='cat .e*;false' status",
    "git -c core.pager='cat .e*' log",
    "git rebase -x 'cat .e*' HEAD~1",
    "GIT_EDITOR='cat .e*' git commit",
    "env GIT_EDITOR='cat .e*' git commit",
    "export GIT_PAGER='cat .e*'; git log",
    "GIT_SSH_COMMAND='cat .e*'; export GIT_SSH_COMMAND; git fetch",
    "split a.txt --filter='cat .e*'",
    "split a.txt --filter='cat<.en?'",
    "awk 'BEGIN{while((\"cat .e*\"|getline l)>0)print l}'",
    "awk 'BEGIN{while((getline l<\".env\")>0)print l}'",
    "find . -name a.txt -exec sh -c 'cat .e*' \\;",
    "docker run x sh -c 'cat .e*'",
    "parallel 'cat {}' ::: .e*",
    "watch 'cat .e*'",
    "perl -e 'print `cat .e*`'",
    "perl -e 'print <.e*>'",
    "python3 -c 'import os; os.system(\"cat .e*\")'",
    "python3 - <<< 'import os; os.system(\"cat .e*\")'",
    "xargs cat <<< .env",
    "curl -K - <<< 'url=file:.env'",
    "tar cf - -T - <<< .env",
    "git apply --numstat - <<< 'diff .env'",
    "gcc -E - <<< '#include \".env\"'",
];

/// Commands that write or read protected files, through a text.
const TOUCHES_KEPT: &[&str] = &[
    "script -q -c 'cp a.txt ~/.bash*' /dev/null",
    "script -q -c 'cat a.txt > ~/.bash?c' /dev/null",
    "script -q -c 'cp a.txt .git/hooks/pre-commit' /dev/null",
    "script -q -c 'cp a.txt .mcp.json' /dev/null",
    "script -q -c 'cat ~/.ss*/id_rsa' /dev/null",
    "sed 'w../.bashrc' a.txt",
    "sed -n 'w../.profile' a.txt",
    "sed 's/e/e/w../.bashrc' a.txt",
    "sed 's/e/e/gw../.bashrc' a.txt",
    "sed -n '1,2w.git/config' a.txt",
    "split a.txt --filter='cat>~/.bashrc'",
    "split a.txt --filter='cat>$HOME/.bashrc'",
    "tar cf x a.txt --checkpoint=1 --checkpoint-action=exec='cp a.txt ~/.bash?c'",
    "git -c core.fsmonitor='cp a.txt ~/.bash?c' status",
    "git rebase -x 'cp a.txt ~/.bash?c' HEAD~1",
    "GIT_EDITOR='cp a.txt ~/.bash?c;:' git commit",
    "awk '{print > ENVIRON[\"HOME\"] \"/.bashrc\"}' a.txt",
    "awk '{print > \"../.bashrc\"}' a.txt",
    "awk '{print | \"cat > ../.bash?c\"}' a.txt",
    "python3 -c 'import os; open(os.environ[\"HOME\"] + \"/.bashrc\", \"a\")'",
    "python3 - <<'E'\nimport os\nopen(os.environ['HOME'] + '/.bashrc', 'a')\nE",
    "node -e 'require(\"fs\").writeFileSync(process.env.HOME + \"/.profile\", \"x\")'",
    "vim -es '+w! ../.bashrc' '+q!' a.txt",
    "vim -es '+w!../.bashrc' '+q!' a.txt",
    "ex -s a.txt <<< 'w!../.bashrc'",
    "curl -K - <<< $'output=../.bashrc\\nurl=file:///x'",
    "git apply <<< $'--- /dev/null\\n+++ b/.vscode/tasks.json\\n@@ -0,0 +1 @@\\n+x'",
    "git apply <<< $'--- /dev/null\\n+++ b/.husky/pre-commit\\n@@ -0,0 +1 @@\\n+x'",
    "patch -p1 <<< $'--- /dev/null\\n+++ b/.git/hooks/pre-commit\\n@@ -0,0 +1 @@\\n+x'",
    "xargs cat <<< ../.ssh/id_rsa",
    "shopt -s extglob\ncp a.txt ~/.@(bashrc)",
    "shopt -s extglob\ncp a.txt ~/.*(b)ashrc",
    "shopt -s extglob\ncp a.txt ~/.!(x)ashrc",
    "shopt -s extglob\ncp a.txt ~/@(.bashrc)",
    "shopt -s dotglob; cp a.txt ~/?bashrc",
    "shopt -s dotglob; cp a.txt ~/*bashrc",
    "GLOBIGNORE=z; cp a.txt ~/?bashrc",
    "export GLOBIGNORE=z; cp a.txt ~/?bashrc",
    "bash -O extglob -c 'cp a.txt ~/.@(bashrc)'",
    "BASHOPTS=dotglob bash -c 'cp a.txt ~/?bashrc'",
    "shopt -s nocaseglob; cp a.txt ~/.BASHR*",
    "find .. -path '*ssh*' -exec cat {} +",
    "mv plain .vscode",
    "mv -T plain .vscode",
    "mkdir q; cp a.txt q/tasks.json; mv q .vscode",
    "cp -r plain .vscode",
    "cp -r plain/. .vscode/",
    "ln -s plain .vscode",
    "ln -sT plain sub/.vscode",
    "rsync -a plain/ .vscode",
    "mv plain .vsc*",
    "mv plain .zed",
    "git mv plain .vscode",
    "mkdir .vscode; cp plain/tasks.json .vscode/",
    "mkdir .vscode && cd .vscode && cp ../plain/tasks.json .",
];

/// Commands of a working day, none of which is to be asked about, with or without a rule on `.env`.
pub(super) const ORDINARY: &[&str] = &[
    "cargo test",
    "cargo test --workspace -- --nocapture 'a::b'",
    "cargo clippy --all-targets -- -D warnings",
    "RUST_LOG=debug cargo run -- --config config.toml",
    "RUSTFLAGS='-C target-cpu=native' cargo build --release",
    "npm run build",
    "npm run test -- -t 'adds two numbers'",
    "npm install --save-dev typescript",
    "npx tsc --noEmit",
    "pnpm --filter web build",
    "git commit -m \"text with .env in it\"",
    "git commit -m 'fix: read ~/.bashrc only once' -m 'see a|b > c'",
    "git add -A && git commit -m 'x' && git push origin feature",
    "git log --oneline -5",
    "git log --format='%h %s' --since='2 days ago'",
    "git diff HEAD~1 -- src",
    "git stash && git pull --rebase && git stash pop",
    "git checkout -b feature/x",
    "git show HEAD:src/main.rs",
    "rg -n 'fn (main|test)\\b' src",
    "rg \"it's .*here\" -g '*.rs'",
    "grep -rn \"a.*b\" src",
    "sed -i 's/a/b/' src/main.rs",
    "sed -i 's/foo .*/bar/' src/main.rs",
    "sed -i -e 's|a/b|c/d|g' -e '/x/d' src/main.rs",
    "sed -i.bak 's/\\(.*\\)/\"\\1\"/' a.txt",
    "sed -E -i 's/^version = .*/version = \"1.2\"/' a.txt",
    "sed -n '1,20p' src/main.rs",
    "python3 - <<'EOF'\nimport json\nprint(json.dumps({'a': [1, 2]}))\nEOF",
    "python3 - <<'EOF'\nimport re, pathlib\np = pathlib.Path('src/main.rs')\ns = p.read_text()\n\
     s = re.sub(r'fn .*\\(', 'fn x(', s)\np.write_text(s)\nEOF",
    "python3 -c \"import sys; print(sys.version)\"",
    "python3 -m pytest tests -k 'not slow'",
    "python3 -c 'import os; [print(d) for d in os.listdir(\".\") if d != \".git\"]'",
    "node -e 'console.log(process.env.PATH)'",
    "node -e 'const {x} = process.env; console.log(x)'",
    "node -e \"console.log(require('./package.json').version)\"",
    "perl -pi -e 's/a b/c d/g' a.txt",
    "perl -ne 'print if /x.*y/' a.txt",
    "docker compose up -d",
    "docker compose logs -f web | head -20",
    "docker build -t x .  2>&1 | tail -5",
    "docker run --rm -v \"$PWD\":/w x make test",
    "jq '.a|.b' a.txt",
    "jq -r '.[] | select(.x == \"y\") | .z' a.txt",
    "awk '{print $1}' a.txt",
    "awk -F, '$2 > 3 {s += $2} END {print s}' a.txt",
    "find . -name '*.rs' | xargs wc -l",
    "find . -name '*.rs' -exec grep -l main {} +",
    "find src -type f -newer a.txt | head",
    "find . -name '*.orig' -print0 | xargs -0 rm -f",
    "for f in src/*.rs; do echo \"$f\"; done",
    "while read -r x; do echo \"$x\"; done < a.txt",
    "make -j4 test",
    "make CFLAGS='-O2 -g' all",
    "cmake -S . -B build -DX=ON && cmake --build build",
    "go test ./... -run 'TestA|TestB'",
    "curl -s http://localhost:3000/health",
    "curl -X POST -H 'Content-Type: application/json' -d '{\"a\": \"b c\"}' http://localhost/x",
    "mkdir -p build/out && cp a.txt build/out/",
    "cp -r src build/src2",
    "mv a.txt plain/c.txt",
    "ln -s ../a.txt plain/d.txt",
    "tar czf x.tgz src",
    "rm -rf target node_modules",
    "kill %1; sleep 1",
    "timeout 60 cargo test -- --test-threads=1",
    "echo 'export A=b' >> env.sh",
    "printf '%s\\n' a b c > list.txt",
    "cat > notes.md <<'EOF'\n# Notes\nuse `.env` and *.rs | more\nEOF",
    "gh pr create --title 'Read .env' --body 'It reads `.env` and ~/.bashrc; see a|b'",
    "ssh host 'cd app && git pull'",
    "psql -c 'select * from t where a > 1;'",
    "sqlite3 x.db 'select a.b from a;'",
    "X=build; rm -rf \"$X/out\"",
    "ls | grep log | xargs -n1 basename",
    "date +'%Y-%m-%d %H:%M'",
    "test -f a.txt && echo yes",
    "terraform plan -out=x -var 'a=b c'",
    "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
];

#[test]
fn texts_that_a_program_runs_are_searched_for_names() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(**/.env)", Deny)]);
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], READS_DENIED);
    let none = stage.permissions(&[]);
    stage.check(&none, PermissionMode::Auto, &[Ask], TOUCHES_KEPT);
}

#[test]
fn a_name_within_a_text_may_be_a_command_that_a_rule_denies() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("bash(zap *)", Deny), ("bash(git push *)", Deny)]);
    stage.check(
        &rules,
        PermissionMode::Auto,
        &[Ask, Deny],
        &[
            "sed '1ezap y' a.txt",
            "sed 'ezap y' a.txt",
            "sed 's/a/zap y/e' a.txt",
            "awk 'BEGIN{\"zap y\"|getline}'",
            "awk 'BEGIN{print 1|\"zap y\"}'",
            "git -c protocol.ext.allow=always ls-remote 'ext::zap y'",
            "git ls-remote ext::zap%20y",
            "gcc -wrapper zap,y -c a.c",
            "gcc -wrapper git,push,x -c a.c",
            "vim -es '+!zap y' '+q!'",
            "vim -es +!zap\\ y +q!",
            "ex -s a.txt <<< '!zap y'",
            "perl -e 'exec \"zap\", \"y\"'",
        ],
    );
    let one = stage.permissions(&[("bash(zap *)", Deny)]);
    stage.check(&one, PermissionMode::Auto, &[Allow], ORDINARY);
}

#[test]
fn commands_of_a_working_day_are_not_asked_about() {
    let stage = Stage::new();
    assert!(ORDINARY.len() >= 60);
    let lists =
        ["shopt -s nullglob; for f in src/*.rs; do wc -l \"$f\"; done", "shopt -s globstar; ls **/*.rs"];
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], &lists);
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], ORDINARY);
    // With a rule on reading, unknown names and folders with such a file are asked about, and what git shows.
    let asked = ["xargs", "docker", "$", "-exec", "git diff", "git show", "git log", "git stash", "while"];
    let others: Vec<&str> =
        ORDINARY.iter().copied().filter(|text| !asked.iter().any(|part| text.contains(part))).collect();
    let rules = stage.permissions(&[("read(**/.env)", Deny)]);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
}
