//! The form of what is sent, as a number: a hash of the sources that say what commands, events and requests
//! look like. So two builds of one version that differ in none of them speak the same.

macro_rules! sources {
    ($($path:literal),+ $(,)?) => {
        /// The sources, by their paths below `src`.
        const SOURCES: &[(&str, &[u8])] =
            &[$(($path, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $path)))),+];
    };
}

sources![
    "agent/protocol/approval.rs",
    "agent/protocol/attachment.rs",
    "agent/protocol/chosen.rs",
    "agent/protocol/command.rs",
    "agent/protocol/event.rs",
    "agent/protocol/extension.rs",
    "agent/protocol/form.rs",
    "agent/protocol/message.rs",
    "agent/protocol/mirror.rs",
    "agent/protocol/mod.rs",
    "agent/protocol/model.rs",
    "agent/protocol/needle.rs",
    "agent/protocol/outline.rs",
    "agent/protocol/placeholder.rs",
    "agent/protocol/query.rs",
    "agent/protocol/rules.rs",
    "agent/protocol/run.rs",
    "agent/protocol/screen_settings.rs",
    "agent/protocol/session_row.rs",
    "agent/protocol/status_template.rs",
    "agent/protocol/subject.rs",
    "agent/protocol/title.rs",
    "agent/protocol/trust.rs",
    "agent/protocol/undo.rs",
    "agent/protocol/usage.rs",
    "app/geometry.rs",
    "app/request.rs",
    "cli/attach/wire.rs",
    "tools/access.rs",
    "tools/details.rs",
    "tools/mod.rs",
    "tools/plan.rs",
    "tools/sandbox/mod.rs",
    "tools/user.rs",
];

/// The number.
pub(super) const FORM: u64 = hash(SOURCES);

/// FNV-1a, which the compiler can work out.
#[allow(long_running_const_eval, reason = "a few hundred kilobytes, once for each build")]
const fn hash(sources: &[(&str, &[u8])]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut sources = sources;
    while let [(_, source), rest @ ..] = sources {
        let mut bytes = *source;
        while let [byte, rest @ ..] = bytes {
            hash = (hash ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
            bytes = rest;
        }
        sources = rest;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// What is imported from there is not sent.
    const NOT_SENT: [&str; 6] = [
        "agent/secrets/mod.rs",
        "agent/settings/private_files.rs",
        "agent/settings/value.rs",
        "app/status_facts.rs",
        "tools/counted.rs",
        "tools/diff.rs",
    ];

    /// The file that a path of modules leads to, below `src`.
    fn file_of(path: &str) -> Option<String> {
        let mut names: Vec<&str> = path.split("::").collect();
        while !names.is_empty() {
            let base = names.join("/");
            let found = [format!("{base}.rs"), format!("{base}/mod.rs")]
                .into_iter()
                .find(|file| Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file).exists());
            if found.is_some() {
                return found;
            }
            names.pop();
        }
        None
    }

    #[test]
    fn all_that_says_what_is_sent_counts() {
        let counts = |file: &str| SOURCES.iter().any(|(source, _)| *source == file);
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/agent/protocol")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(counts(&format!("agent/protocol/{name}")), "{name} does not count");
        }
        let mut imported = 0;
        for (source, text) in SOURCES {
            let text = std::str::from_utf8(text).unwrap();
            for line in text.lines().filter_map(|line| line.strip_prefix("use crate::")) {
                let path = line.split(['{', ';']).next().unwrap_or_default().trim_end_matches(':');
                let Some(file) = file_of(path).filter(|file| file != "agent/mod.rs") else { continue };
                imported += 1;
                assert!(
                    counts(&file) || NOT_SENT.contains(&file.as_str()),
                    "{source} imports from {file}, which does not count"
                );
            }
        }
        assert!(imported > 20, "{imported}");
    }

    #[test]
    fn another_source_is_another_form() {
        let forms = [
            hash(&[("a", b"struct A;")]),
            hash(&[("a", b"struct B;")]),
            hash(&[("a", b"struct A;"), ("b", b" ")]),
            FORM,
        ];
        for (at, form) in forms.iter().enumerate() {
            assert!(!forms[at + 1..].contains(form), "{forms:x?}");
        }
    }
}
