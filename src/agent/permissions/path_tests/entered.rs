//! Tests of commands that depend on the folder that they run in.

use super::*;
use Verdict::{Allow, Ask, Deny};

#[test]
fn the_home_directory_is_not_published_unasked() {
    let stage = Stage::new();
    std::fs::create_dir(stage.work().join("dist")).unwrap();
    let publishing = [
        "cd ~ && python3 -m http.server", "cd; python3 -m http.server 8000", "cd ~; npx serve",
        "npx serve ~", "cd ~ && npx -y serve@14 -p 80", "pushd ~ && npx http-server", "npx http-server ~",
        "cd / && php -S 0.0.0.0:80", "cd ~ && php -S 0.0.0.0:80", "(cd ~ && ruby -run -e httpd . -p 80) &",
        "env -C ~ python3 -m http.server", "cd ~ && busybox httpd -f -p 80", "cd .. && caddy file-server",
        "python3 -m http.server -d ~", "cd ~ && python3.12 -m uploadserver", "cd ~ && bunx serve",
        "cd ~ && uvx updog", "miniserve ~",
    ];
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Ask], &publishing);
    let others = [
        "python3 -m http.server", "npx serve dist", "npx serve", "cd dist && python3 -m http.server",
        "php -S localhost:80", "python3 -m http.server -d dist", "npx http-server dist -p 80", "cd ~ && ls",
    ];
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], &others);
}

#[test]
fn behind_set_e_a_folder_was_entered() {
    let stage = Stage::new();
    std::fs::remove_file(stage.work().join("keys")).unwrap();
    let rules = stage.permissions(&[("read(./a.txt)", Deny)]);
    let within = [
        "set -e; cd src; cat *",
        "set -euo pipefail\ncd src\ncat a.txt",
        "set -o errexit; cd src; cat *",
        "(set -e; cd src; cat *)",
        "set -e; set -u; cd src; cat *",
        "set -e; ls; cd src && cat *",
        "set -e; if true; then cd src; cat *; fi",
        "set -e; (cd src; cat *)",
        "cd src || exit $?; cat *",
        "if ! cd src; then exit 1; fi; cat *",
        "if ! cd src 2>/dev/null; then echo no; exit 1; fi; cat *",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Allow], &within);
    let others = [
        "cd src; cat *",
        "set -u; cd src; cat *",
        "set -e; set +e; cd src; cat *",
        "set -e; set +o errexit; cd src; cat *",
        "set -e; cd src || true; cat *",
        "set -e; { cd src; cat *; } || true",
        "set -e; if { cd src; cat *; }; then ls; fi",
        "set -e; ! cd src; cat *",
        "set -e; ! { cd src; cat *; }",
        "(set -e); cd src; cat *",
        "set -e | cat; cd src; cat *",
        "set -e; cd src & cat *",
        "set -e; cd $X; cat *",
        "set -e; eval 'set +e'; cd src; cat *",
        "set -- -e; cd src; cat *",
        "set x -e; cd src; cat *",
        "set -e; set $X; cd src; cat *",
        "set -e; cd src; cd ..; cat *",
        "true && set -e; cd src; cat *",
        "set -e; while true; do cd src; cat *; set +e; done",
        "f() { cd src; cat *; }; set -e; f || true",
        "set -e; command set +e; cd src; cat *",
        "set -e; $X; cd src; cat *",
        "set -e; ls | while cd src; cat *; do ls; done",
        "if ! cd src; then ls; fi; cat *",
        "if cd src; then exit; fi; cat *",
        "if ! cd src; then exit 1; else ls; fi; cat *",
        "if ! cd src && ls; then exit 1; fi; cat *",
        "cd src || exit $X; cat *",
        "until ! cd src; do exit 1; done; cat *",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &others);
    let (lost, kept) = (
        ["cd src; rm -rf *", "set -e; cd .; rm -rf *"],
        ["set -e; cd src; rm -rf *", "set -e\ncd src\nrm -rf ."],
    );
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Ask], &lost);
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], &kept);
}

#[test]
fn a_loop_counts_only_for_what_is_in_it() {
    let stage = Stage::new();
    std::fs::remove_file(stage.work().join("keys")).unwrap();
    let rules = stage.permissions(&[("read(./a.txt)", Deny)]);
    let within = [
        "cd src && for f in *; do cat \"$f\"; done",
        "cd src && while true; do cat *; done",
        "cd src && cat * && for f in 1 2; do ls; done",
        "for f in 1 2; do ls; done; cd src && cat *",
        "cd src && cat *; cd $X",
        "cat /dev/null; cd src && cat *",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Allow], &within);
    let others = [
        "cd src && for f in *; do cd ..; cat \"$f\"; done",
        "for f in 1 2; do cd src && cat *; cd ../..; done",
        "while cd src && cat *; do cd ../..; done",
        "f() { cd ..; }; cd src && f; cat *",
        "f() { cat *; }; f; cd src && ls",
        "cd $X; cd src && cat *",
        "cd src && for f in 1 2; do ls; done; cat *",
        "bash -c 'for f in 1 2; do cd src && cat *; cd ../..; done'",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &others);
}

#[test]
fn a_loop_behind_a_folder_runs_only_there() {
    let stage = Stage::new();
    let rules = stage.permissions(&[("read(./src/src/**)", Deny)]);
    let within = [
        "cd src && for f in *; do cat \"$f\"; done",
        "cd src && while true; do cat *; done",
        "cd src && for f in *; do if true; then cat *; fi; done",
        "set -e; cd src; for f in a b; do cat *; done",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Allow], &within);
    let others = [
        "for d in 1 2; do cd src && cat *; done",
        "cd src && for d in 1 2; do cd src && cat *; done",
        "while cd src; do cat *; done",
        "cd src && for d in 1 2; do cat *; cd src; done",
        "cd src && cd src && for f in *; do cat *; done",
    ];
    stage.check(&rules, PermissionMode::Auto, &[Ask, Deny], &others);
}
