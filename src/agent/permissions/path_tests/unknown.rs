//! Tests targets that only the shell knows, bare names in programs, and formatters of a whole folder.

use super::*;

/// They write what a pattern or a folder names, through the output of another command.
const LISTED_TARGETS: &[&str] = &[
    "echo x >> \"$(ls -d ~/.bash* | head -1)\"",
    "grep -l orig ~/.b* | xargs sed -i s/a/b/",
    "ls -d ~/.bash* | xargs sed -i s/a/b/",
    "sed -i s/a/b/ $(ls -d ~/.b*)",
    "rm $(ls ~/.b*)",
    "for f in $(ls ~/.b*); do cp x \"$f\"; done",
    "for f in $(echo ~/.b*); do echo x >> $f; done",
    "f=$(ls -d ~/.b*); echo x >> $f",
    "tee -a $(ls -d ~/.b*) < x",
    "find ~/.b* | xargs sed -i s/a/b/",
    "stat -c %n ~/.b* | xargs sed -i s/a/b/",
    "realpath ~/.ba* | xargs sed -i s/a/b/",
    "file ~/.b* | cut -d: -f1 | xargs sed -i s/a/b/",
    "ls ~/.b* | while read f; do echo x >> \"$f\"; done",
    "cd ~; for f in $(ls -A); do echo x >> $f; done",
    "cd ~; ls -A | while read f; do echo x >> $f; done",
    "cd ..; ls -A | while read f; do echo x >> $f; done",
    "find ~ -maxdepth 1 -name '*rc' -exec sh -c 'echo x >> \"$1\"' _ {} \\;",
    "find ~ -maxdepth 1 -type f -exec bash -c 'for f; do echo x >> \"$f\"; done' _ {} +",
    "find ~ -maxdepth 1 -type f -execdir sh -c 'echo x >> $0' {} \\;",
    "find ~ -maxdepth 1 -type f | while read f; do echo x >> \"$f\"; done",
    "find $HOME -maxdepth 1 -type f 2>/dev/null | while IFS= read -r f; do cat a.txt > \"$f\"; done",
    "while read f; do echo x >> \"$f\"; done < <(find .. -maxdepth 1 -type f)",
    "find ~ -maxdepth 1 -type f | xargs -n1 sh -c 'echo x >> \"$0\"'",
    "find ~ -name '.b*' | while read f; do sed -i s/a/b/ \"$f\"; done",
    "for f in $(ls -A ~); do echo x >> $f; done",
    "f=$(fd -H rc ~ | head -1); echo x >> $f",
    "python3 -c \"from pathlib import Path; [p.open('a').write('y') for p in Path.home().glob('.b*')]\"",
    "python3 -c \"from pathlib import Path; [p.write_text('x') for p in Path.home().iterdir() if p.is_file()]\"",
    "python3 -c \"import os; h=os.path.expanduser('~'); [open(os.path.join(h,f),'a').write('x') for f in os.listdir(h) if f.endswith('rc')]\"",
    "node -e 'const fs=require(\"fs\"),h=os.homedir(); fs.readdirSync(h).filter(f=>f.endsWith(\"rc\")).forEach(f=>fs.appendFileSync(h+\"/\"+f,\"x\"))'",
    "ruby -e 'Dir.children(Dir.home).each { |f| File.write(f, \"x\") }'",
    "python3 <<'E'\nfrom pathlib import Path\nfor p in Path.home().iterdir():\n    p.write_text('x')\nE",
];

/// Commands that list nothing protected.
const OTHER_TARGETS: &[&str] = &[
    "for f in $(ls src/*.rs); do echo x >> $f; done",
    "ls plain/* | xargs sed -i s/a/b/",
    "ls src/* | while read f; do cp $f \"$f.bak\"; done",
    "cd src; for f in $(ls); do echo x >> $f; done",
    "out=$(mktemp); ls ~ > $out",
    "out=$(mktemp); ls > $out",
    "out=$(mktemp); find ~ -name '*.toml' > $out",
    "find . -name '*.rs' | while read f; do echo x >> \"$f\"; done",
    "find ~/work -name '*.rs' -exec sh -c 'echo x >> \"$1\"' _ {} \\;",
    "n=$(ls ~ | wc -l); echo \"$n\"",
    "python3 -c \"from pathlib import Path; [p.write_text('x') for p in Path.home().glob('*.txt')]\"",
    "python3 -c \"from pathlib import Path; print([p.name for p in Path.home().iterdir()])\"",
    "python3 -c \"import os; h=os.path.expanduser('~/work'); [open(os.path.join(h,f)).read() for f in os.listdir(h)]\"",
    "python3 -c \"from pathlib import Path; [p.read_text() for p in (Path.home()/'work'/'plain').rglob('*.md')]\"",
];

#[test]
fn a_target_that_a_pattern_may_name_is_asked_about() {
    let stage = Stage::new();
    std::fs::remove_file(stage.work().join("keys")).unwrap();
    let none = stage.permissions(&[]);
    stage.check(&none, PermissionMode::Auto, &[Ask], LISTED_TARGETS);
    stage.check(&none, PermissionMode::Auto, &[Allow], OTHER_TARGETS);
}

/// Programs that name the folder without a sign of a path.
const BARE: &[&str] = &[
    "python3 -c \"import shutil; shutil.rmtree('@')\"",
    "python3 -c \"import os; os.rename('@','m2')\"",
    "python3 -c \"import os; [os.remove(os.path.join('@',f)) for f in os.listdir('@')]\"",
    "python3 -c \"from pathlib import Path; [p.unlink() for p in Path('@').iterdir()]\"",
    "python3 - <<'E'\n# it's\nimport shutil\nshutil.rmtree('@')\nE",
    "node -e \"require('fs').rmSync('@',{recursive:true})\"",
    "ruby -e 'FileUtils.rm_rf(\"@\")'",
    "perl -e 'rmtree(\"@\")'",
    "perl -e 'rmtree(q(@))'",
    "php -r 'rename(\"@\",\"x\");'",
    "echo \"import shutil; shutil.rmtree('@')\" | python3",
    "awk 'BEGIN{system(\"rm -r @\")}'",
    "make -f <(printf 'x:;rm -r @')",
    "printf 'x:\\n\\trm -r @\\n' | make -f -",
    "python3 -c 'import os; os.system(\"cp -r @ /tmp/x\")'",
    "perl -e 'system \"cp -r @ /tmp/x\"'",
    "python3 -c \"import os; print(open(os.path.join('@','prod','a.txt')).read())\"",
];

#[test]
fn a_bare_name_in_a_program_may_be_the_folder_of_a_rule() {
    let stage = Stage::new();
    for rule in ["edit(migrations/**)", "read(migrations/**)", "edit(**/migrations/*)", "edit(migrations)"] {
        let rules = stage.permissions(&[(rule, Deny)]);
        let commands: Vec<String> = BARE.iter().map(|text| text.replace('@', "migrations")).collect();
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &commands);
        let others = [
            "python3 -c 'from app import migrations'",
            "python3 -c \"print('run migrations.sql2 first')\"",
            "python3 -c \"print('x_migrations')\"",
            "git commit -m 'add migrations'",
            "echo 'add migrations' > NOTES.md",
            "awk '/migrations/ {print}' a.txt",
        ];
        stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
    }
    let rules = stage.permissions(&[("edit(plain/x/**)", Deny)]);
    let joined = [
        "python3 -c \"import os; os.remove(os.path.join('plain','x','1'))\"",
        "cd plain && python3 -c \"import shutil; shutil.rmtree('x')\"",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &joined);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &["python3 -c \"print('x')\""]);
}

#[test]
fn a_formatter_rewrites_the_files_of_its_language() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("edit(migrations/**)", Deny)]);
    let python =
        ["isort .", "black .", "python3 -m black .", "ruff format .", "ruff check --fix .", "uv run black ."];
    let others = [
        "gofmt -w .", "cargo fmt", "black --check .", "ruff check .", "npx prettier --check .", "eslint .",
        "black src", "npx prettier --write src",
    ];
    let all = ["npx prettier --write .", "eslint --fix .", "npx biome format --write .", "deno fmt"];
    stage.check(&rules, PermissionMode::Auto, &[Allow], &python);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
    stage.check(&rules, PermissionMode::Auto, &[Ask], &all);
    std::fs::write(stage.work().join("migrations/1.py"), "").unwrap();
    stage.check(&rules, PermissionMode::Auto, &[Ask], &python);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
}

/// Substitutions that print a number or a commit, or name no file where they stand.
const NUMBERS: &[&str] = &[
    "make -j$(nproc)",
    "make -j \"$(nproc)\" test",
    "cmake --build build -j$(nproc)",
    "ninja -j $(nproc)",
    "cargo build -j $(nproc)",
    "pytest -n $(nproc)",
    "git checkout $(git rev-parse HEAD~1)",
    "docker ps -aq | xargs docker rm -f",
    "kubectl get pods -o name | xargs kubectl delete",
    "git branch --merged | xargs git branch -d",
    "curl http://localhost:$PORT/health",
    "docker build -t app:$(git rev-parse --short HEAD) src",
    "cargo test $NAME",
    "pytest -k \"$NAME\"",
    "npm version $(cat VERSION)",
    "lsof -ti:3000 | xargs kill -9",
    "pgrep node | xargs kill",
    "cat $(pwd)/README.md",
    "cp a.txt a-$(date +%Y%m%d).txt",
];

#[test]
fn a_number_or_a_commit_is_no_file() {
    let stage = Stage::new();
    for rule in ["read(**/.env)", "edit(migrations/**)"] {
        let rules = stage.permissions(&[(rule, Deny)]);
        stage.check(&rules, PermissionMode::Auto, &[Allow], NUMBERS);
    }
    let rules = stage.permissions(&[("edit(migrations/**)", Deny), ("read(**/.env)", Deny)]);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &["git diff $(git merge-base main HEAD) --stat"]);
    let files = [
        "cat ${x:-$(nproc)}", "cat $x$(nproc)", "cat \"$(git rev-parse .env)\"", "cat $(date +.env)",
        "nproc() { echo .env; }; cat $(nproc)", "cat $(pwd)/.env", "LINENO=.env; cat $(nproc)",
        "cat $(./nproc)", "cat $(/tmp/nproc)", "PATH=.:$PATH; cat $(nproc)",
        "export PATH=.:$PATH; cat $(nproc)", "declare -x PATH=.; cat $(nproc)", "cat $(nproc; echo .env)",
        "curl http://localhost:$PORT/x -o $F", "cat a | xargs cat",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &files);
}

#[test]
fn what_runs_a_file_that_the_command_writes_may_do_anything() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(**/.env)", Deny)]);
    let written = [
        "printf 'all:\\n\\tcat .e[n]v' > Makefile; make",
        "cp a.txt Makefile && make -s",
        "tee package.json < a.txt; npm test",
        "cat a.txt > build.rs; cargo build",
        "printf x > conftest.py; python3 -m pytest",
        "cp a.txt justfile; just x",
        "printf x > build.ninja; ninja",
        "sed -i s/a/b/ Makefile; make",
        "cd sub; cp ../a.txt Makefile; make",
        "printf x > .cargo/config.toml; cargo run",
    ];
    let others = [
        "make > out.txt",
        "cp a.txt b.txt; make",
        "cat a.txt > src/x.rs; cargo build",
        "cp a.txt Makefile; cat Makefile",
        "cargo test > out.txt; cat out.txt",
        "sed -i s/a/b/ src/main.rs && cargo test",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &written);
    stage.check(&rules, PermissionMode::Auto, &[Allow], &others);
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], &others);
}
