//! The source of a package, as the user names it.

use std::path::{Path, PathBuf};
use tau_tools::user_error::UserError;

/// The endings of archives.
const ARCHIVES: [&str; 6] = [".tar.gz", ".tgz", ".tar.xz", ".tar", ".zip", ".skill"];

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Folder(PathBuf),
    Archive(PathBuf),
    /// The address of an archive.
    Download(String),
    /// A repository, and the branch, tag or commit in it.
    Git {
        url: String,
        at: Option<String>,
    },
    /// A package of npm, and its version or tag.
    Npm {
        name: String,
        version: Option<String>,
    },
}

impl Source {
    /// Reads a source; relative paths are relative to `cwd`. The error says what can be written.
    pub(crate) fn parse(text: &str, cwd: &Path) -> Result<Self, UserError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "the source is empty; give a folder, an archive, github:OWNER/NAME, a git URL or npm:NAME"
                    .into(),
            );
        }
        if let Some(name) = text.strip_prefix("npm:") {
            return npm(name);
        }
        if let Some(repository) = text.strip_prefix("github:") {
            let (repository, at) = split_at(repository);
            let is_plain = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            };
            return match repository.split_once('/') {
                Some((owner, name)) if is_plain(owner) && is_plain(name) => {
                    Ok(Source::Git { url: format!("https://github.com/{owner}/{name}"), at })
                }
                _ => Err(format!("{text} is not github:OWNER/NAME").into()),
            };
        }
        if let Some(url) = text.strip_prefix("git+") {
            return git(url);
        }
        if let Some((scheme, _)) = text.split_once("://") {
            let (address, _) = split_at(text);
            let is_archive = ARCHIVES.iter().any(|ending| address.ends_with(ending));
            return match scheme {
                "http" | "https" if is_archive => Ok(Source::Download(address.to_owned())),
                "http" | "https" | "ssh" | "git" | "file" => git(text),
                _ => Err(format!("{scheme}:// is not an address of a package").into()),
            };
        }
        // As git writes addresses of ssh: `git@host:path`.
        if text.split_once('@').is_some_and(|(user, rest)| !user.contains('/') && rest.contains(':')) {
            return git(text);
        }
        let path = match text.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest))) {
            Some(path) => path,
            None => cwd.join(text),
        };
        match path.metadata() {
            Ok(found) if found.is_dir() => Ok(Source::Folder(path)),
            Ok(_) if ARCHIVES.iter().any(|ending| text.ends_with(ending)) => Ok(Source::Archive(path)),
            Ok(_) => Err(format!("{text} is neither a folder nor an archive ({})", ARCHIVES.join(", ")).into()),
            Err(_) => Err(format!(
                "{text} is neither a folder nor an archive here; you can also give github:OWNER/NAME, a git URL, the URL \
                 of an archive, or npm:NAME"
            ).into()),
        }
    }

    /// The source as it is shown and recorded: the same wherever it is read again, without passwords.
    pub(crate) fn canonical_text(&self) -> String {
        let at =
            |at: &Option<String>, sign: char| at.as_ref().map(|at| format!("{sign}{at}")).unwrap_or_default();
        match self {
            Source::Folder(path) | Source::Archive(path) => {
                path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string()
            }
            Source::Download(url) => without_secrets(url),
            Source::Git { url, at: version } => format!("git+{}{}", without_secrets(url), at(version, '#')),
            Source::Npm { name, version } => format!("npm:{name}{}", at(version, '@')),
        }
    }

    /// A name for the package, if it has none of its own.
    pub(crate) fn stem(&self) -> String {
        let last = |text: &str| {
            let last = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default().to_owned();
            let ending = ARCHIVES.iter().chain(&[".git"]).find(|ending| last.ends_with(**ending));
            ending.and_then(|ending| last.strip_suffix(ending)).unwrap_or(&last).to_owned()
        };
        match self {
            Source::Folder(path) | Source::Archive(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                last(&path.to_string_lossy())
            }
            Source::Download(url) | Source::Git { url, .. } => last(url),
            Source::Npm { name, .. } => name.clone(),
        }
    }
}

/// An address without its password; of the web, also without the name before it, which may be a token.
pub(crate) fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    match host.rsplit_once('@') {
        Some((_, host)) if scheme.trim_start_matches("git+").starts_with("http") => {
            format!("{scheme}://{host}{path}")
        }
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// An address and what follows `#`.
fn split_at(text: &str) -> (&str, Option<String>) {
    match text.split_once('#') {
        Some((address, at)) if !at.is_empty() => (address, Some(at.to_owned())),
        Some((address, _)) => (address, None),
        None => (text, None),
    }
}

fn git(text: &str) -> Result<Source, UserError> {
    let (url, at) = split_at(text);
    // Neither may look like an option.
    if url.starts_with('-') || at.as_ref().is_some_and(|at| at.starts_with('-')) {
        return Err(format!("{text} is not a git URL").into());
    }
    Ok(Source::Git { url: url.to_owned(), at })
}

fn npm(text: &str) -> Result<Source, UserError> {
    let (scope, rest) = match text.strip_prefix('@').and_then(|text| text.split_once('/')) {
        Some((scope, rest)) => (Some(scope), rest),
        None => (None, text),
    };
    let (name, version) = rest.split_once('@').map_or((rest, None), |(name, version)| (name, Some(version)));
    let is_plain = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(fits)
    };
    let is_version = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b))
    };
    if !is_plain(name) || !scope.is_none_or(is_plain) || !version.is_none_or(is_version) {
        return Err(UserError::new(format!("npm:{text} is not npm:NAME or npm:NAME@VERSION")).because(
            "a version is one such as 1.0.0, or a tag such as latest; a range such as ^1.0.0 is neither",
        ));
    }
    let name = scope.map_or_else(|| name.to_owned(), |scope| format!("@{scope}/{name}"));
    Ok(Source::Npm { name, version: version.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read() {
        let here = tempfile::tempdir().unwrap();
        std::fs::create_dir(here.path().join("folder")).unwrap();
        std::fs::write(here.path().join("x.tgz"), "").unwrap();
        std::fs::write(here.path().join("x.txt"), "").unwrap();
        let read = |text: &str| Source::parse(text, here.path());
        let git = |url: &str, at: Option<&str>| Source::Git { url: url.into(), at: at.map(str::to_owned) };
        let npm = |name: &str, version: Option<&str>| Source::Npm {
            name: name.into(),
            version: version.map(str::to_owned),
        };
        for (text, expected) in [
            ("folder", Source::Folder(here.path().join("folder"))),
            ("./x.tgz", Source::Archive(here.path().join("./x.tgz"))),
            ("https://h.example/a/x.zip", Source::Download("https://h.example/a/x.zip".into())),
            ("https://h.example/a/b", git("https://h.example/a/b", None)),
            ("github:o/r#v1", git("https://github.com/o/r", Some("v1"))),
            ("git@h.example:o/r.git", git("git@h.example:o/r.git", None)),
            ("git+ssh://h.example/o/r#main", git("ssh://h.example/o/r", Some("main"))),
            ("npm:left-pad", npm("left-pad", None)),
            ("npm:@s/p@1.0.0", npm("@s/p", Some("1.0.0"))),
        ] {
            let source = read(text).unwrap();
            assert_eq!(source, expected, "{text}");
            // The record is read as the same source.
            assert_eq!(
                Source::parse(&source.canonical_text(), Path::new("/")).unwrap().stem(),
                source.stem(),
                "{text}"
            );
        }
        for wrong in *tau_tools::words!(
            "nowhere x.txt npm: npm:../x npm:@s npm:a@ github:o github:o/r/x git+--upload-pack=x \
             git+https://h.example/x#--help ftp://h.example/x"
        ) {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("git@h.example:o/r.git").unwrap().stem(), "r");
        assert_eq!(read("https://h.example/a/x.tar.gz").unwrap().stem(), "x");
    }

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("git+https://u:SECRET@h.example/o/r#v1", "git+https://h.example/o/r#v1"),
            ("https://SECRET@h.example/o/r", "git+https://h.example/o/r"),
            ("https://u:SECRET@h.example/x.zip", "https://h.example/x.zip"),
            ("ssh://git:SECRET@h.example/o/r", "git+ssh://git@h.example/o/r"),
            ("git@h.example:o/r.git", "git+git@h.example:o/r.git"),
            ("https://h.example/@s/r", "git+https://h.example/@s/r"),
        ] {
            assert_eq!(Source::parse(text, Path::new("/")).unwrap().canonical_text(), shown);
            assert_eq!(without_secrets(shown), shown);
        }
    }
}
