//! Tests programs that only read in some of their forms.

use super::all;

const FREE: &[&str] = &[
    "less README.md", "cat a | less", "less -R a", "more a", "ls | tee /dev/null", "help cd",
    "curl --version", "curl -V", "wget --version", "node --help", "node --check x.js", "docker ps --help",
    "docker run --help", "bash --version", "gdb --version", "cargo build --help", "cargo help build",
    "cargo --list", "rustc --print sysroot", "rustc --print=cfg", "rustc --explain E0308", "rustc -vV",
    "gofmt -l .", "gofmt -d a.go", "npm ls", "npm ls --depth=0", "npm root -g", "npm run",
    "npm config get registry", "pip list", "pip show requests", "pip freeze", "clang-format a.c",
    "clang-format --dry-run a.c", "shellcheck -x a.sh", "javap -c X.class", "jar tf x.jar",
    "pkg-config --cflags zlib", "dpkg -l", "dpkg -S /bin/ls", "apt list --installed",
    "apt-cache policy bash", "rpm -qa", "man ls", "man -k ls", "bat a.rs", "bat -p --color=never a.rs",
    "ag foo", "tokei", "zgrep foo x.gz", "xzcat x.xz", "openssl version",
    "openssl x509 -in x.pem -text -noout", "xmllint --noout x.xml", "lsof -i:3000", "ss -tlnp", "ip addr",
    "ip a", "top -b -n1", "top -bn1", "ulimit -a", "kill -l", "declare -p PATH", "git stash drop --help",
    "tput cols", "php -l x.php", "sed --help", "rm --help", "find --help", "xargs --help", "timeout --help",
    "tee --help", "sh --help", "pushd src; ls; popd", "getent passwd root", "GIT_PAGER=cat ls",
];

const ASKED: &[&str] = &[
    "less -o log a",
    "less -olog a",
    "less --log-file=x a",
    "less +'!touch x' a",
    "more +!x a",
    "tee x",
    "ls | tee -a x",
    "curl --version http://x.test",
    "curl --help all",
    "rm --help x",
    "pushd +1",
    "popd +1",
    "node --version x",
    "gdb --version -ex 'shell x'",
    "cargo fmt",
    "cargo fmt -- a",
    "cargo build",
    "cargo install x",
    "rustfmt a.rs",
    "rustc --print native-static-libs a.rs b.rs",
    "rustc --print cfg -o x",
    "rustc --print cfg=x",
    "rustc --print=cfg=x",
    "rustc -vV --print=cfg=x",
    "rustc --print -- cfg=x",
    "gofmt -w a.go",
    "gofmt -l -w .",
    "npm config set x y",
    "npm pkg set x=y",
    "npm run build",
    "npm ls --script-shell=x",
    "npm ls --node-options=x",
    "pip list --python=x",
    "pip install x",
    "clang-format -i a.c",
    "man -P x ls",
    "man -Hx ls",
    "bat --pager=x a",
    "ag --pager x foo",
    "tput reset",
    "ip link set x down",
    "ss -K dst x",
    "dpkg -i x.deb",
    "apt install x",
    "rpm -e x",
    "openssl x509 -in x -out y",
    "xmllint --output x y",
    "kill 1",
    "node --check -r ./y x.js",
    "docker ps",
    "docker x --help",
    "docker run --help x",
    "mount /x",
    "alias ls=x",
    "shopt -s extglob",
    "declare -p 'a[$(x)]'",
    "hash -p x y",
    "history -w",
    "dmesg -C",
    "journalctl --vacuum-size=1",
    "top -d 1 -E x -Q",
    "lsof -D x",
    "sh x.sh",
    "pytest --version",
    "GIT_PAGER=x ls",
    "PAGER='x y' ls",
    "GIT_PAGER=cat GIT_PAGER=x ls",
];

#[test]
fn a_form_that_only_reads_is_free_and_no_other() {
    all(FREE, true);
    all(ASKED, false);
}

#[test]
fn comparisons_in_parentheses_write_nothing() {
    let free = [
        "awk '{ if ($1 > 5) print }' x",
        "awk '{ if ($1 > 5) print \"big (\", $2 }' x",
        "awk '{ for (i = NF; i > 0; i--) printf \"%s/\", $i }' x",
        "awk '{ while ((n > 1) && (m > 2)) n-- }' x",
        "awk '{ print ($1 > 5) ? \"a\\\"\" : \"b\" }' x",
    ];
    all(&free, true);
    let asked = [
        "awk '{ print $1 > (\"f\") }' x",
        "awk '{ print ($1) > \"f\" }' x",
        "awk '{ if ($1 > 5) print > f }' x",
        "awk '{ print \"(\" > f }' x",
        "awk '{ print \"a\\\"(\" > f }' x",
        "awk '{ if (/\\(/) print > f }' x",
        "awk '{ n = 1 # (\nprint > f }' x",
        "awk '{ if ($1 > 5) system($2) }' x",
        "awk '{ if ((\"id\" | getline) > 0) print }' x",
        "awk '{ print $1 ) > f }' x",
    ];
    all(&asked, false);
}

#[test]
fn what_find_has_found_is_no_option() {
    let free = [
        "find . -name '*.rs' -exec sed -n 1,5p {} \\;",
        "find src -type f -exec sed -n '/x/p' {} +",
        "find . -name '*.csv' -exec awk '{print $1}' {} +",
    ];
    all(&free, true);
    let asked = [
        "find . -exec sed {} x \\;", "find . -exec sed -n -f {} x \\;", "find . -exec sed -i s/a/b/ {} \\;",
        "find . -exec sed -n 'w x' {} +", "find . -execdir sed -n 1,5p {} \\;",
        "find . -exec awk -f {} x \\;", "find . -exec awk {} x \\;", "find . | xargs sed -n 1,5p",
    ];
    all(&asked, false);
}

#[test]
fn git_shows_more_than_it_changes() {
    let free = [
        "git -c core.pager=cat diff", "git -c color.ui=always -C . log -3", "git reflog -5",
        "git reflog show -n 3 HEAD", "git worktree list --porcelain", "git config --global --list",
        "git config --global --get user.name", "git config --global user.name", "git submodule",
        "git tag -n5",
    ];
    all(&free, true);
    let asked = [
        "git -c core.pager='cat x' diff", "git -c core.pager=less diff", "git -c core.fsmonitor=x status",
        "git -c \"$x\" diff", "git reflog expire --all", "git reflog -5 expire --all",
        "git reflog show --output=x", "git reflog delete HEAD@{1}", "git worktree list x",
        "git config --global user.name x", "git config --global --unset user.name",
        "git config --global --edit", "git config --file x --list", "git submodule update", "git tag -n5 x",
    ];
    all(&asked, false);
}
