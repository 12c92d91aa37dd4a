//! The names of programs: without folders, versions, editions and the ends that they have on Windows.

use tau_tools::words;

/// The name of a program without its folder.
pub(in crate::permissions) fn base(name: &str) -> &str {
    let end = name.bytes().rposition(|byte| byte == b'/');
    end.and_then(|end| name.get(end + 1..)).unwrap_or(name)
}

/// Whether a program is also there with a prefix: `grm` of Homebrew, `uu-rm` of uutils.
#[rustfmt::skip]
fn has_prefixed(name: &str) -> bool {
    matches!(
        name,
        "base64" | "cat" | "chgrp" | "chmod" | "chown" | "cp" | "cut" | "date" | "dd" | "env" | "find" | "grep"
            | "head" | "install" | "kill" | "ln" | "ls" | "mkdir" | "mkfifo" | "mktemp" | "mv" | "nice" | "nohup"
            | "rm" | "rmdir" | "sed" | "shred" | "sort" | "split" | "stat" | "stdbuf" | "tail" | "tar" | "tee"
            | "timeout" | "touch" | "tr" | "truncate" | "unlink" | "xargs"
    )
}

/// The name of a program without its folder, the end that it has on Windows, and the prefix of its edition.
pub(in crate::permissions) fn plain_name(name: &str) -> &str {
    let base = base(name);
    // The shell itself.
    if base == "exe" && name.starts_with("/proc/") {
        return "bash";
    }
    let split = base.len().checked_sub(4).and_then(|at| base.split_at_checked(at));
    let plain = split.filter(|(plain, end)| !plain.is_empty() && matches!(*end, ".exe" | ".cmd" | ".bat"));
    let plain = plain.map_or(base, |(plain, _)| plain);
    if !plain.starts_with(['g', 'u']) {
        return plain;
    }
    let mut rests = ["g", "uu-", "uu_"].iter().filter_map(|prefix| plain.strip_prefix(prefix));
    rests.find(|rest| has_prefixed(rest)).unwrap_or(plain)
}

/// Programs that are also there under names with their version.
const VERSIONED: &[&str] =
    words!("python pip pypy perl ruby gem php lua luajit node gcc g++ clang clang++ tclsh guile java make");

/// Other names of programs.
const RENAMED: &[(&str, &str)] = tau_tools::pairs!(
    "nodejs=node gmake=make gradlew=gradle mvnw=mvn yarnpkg=yarn flyctl=fly vc=vercel \
     npm-cli.js=npm npx-cli.js=npx yarn.js=yarn yarn.cjs=yarn pnpm.cjs=pnpm"
);

/// The name of a program that is there under several: `pip` of `pip3`, `gradle` of `gradlew`. Others have their own.
pub(in crate::permissions) fn stem(name: &str) -> &str {
    if let Some((_, stem)) = RENAMED.iter().find(|(renamed, _)| *renamed == name) {
        return stem;
    }
    let stem = without_version(name);
    let has_version =
        stem != name && (VERSIONED.contains(&stem) || RENAMED.iter().any(|(_, of)| *of == stem));
    if has_version { stem } else { name }
}

/// Whether two names are those of one program: `pip3` and `pip`, `gradlew` and `gradle`.
pub(in crate::permissions) fn is_same(one: &str, other: &str) -> bool {
    stem(one) == stem(other)
}

/// A name without the version at its end.
pub(in crate::permissions) fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}
