//! How this tau was installed, and the commands of the package manager that did it.

use std::path::{Path, PathBuf};

use super::own_folder::OwnFolder;
use tau_tools::regular_files::{read_capped, read_text};

/// The size limit of the note in a package, in bytes.
const MAX_NOTE: u64 = 64;
/// The size limit of the list of what cargo has installed, in bytes.
const MAX_LIST: u64 = 4 * 1024 * 1024;

/// The way in which tau was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// By `install.sh`, in a folder of its own: tau can replace itself.
    Script(OwnFolder),
    /// By unpacking an archive into this folder.
    Archive(PathBuf),
    /// By a package manager.
    Packager(&'static Packager),
    /// Unknown; the program is at this path.
    Unknown(PathBuf),
}

/// A package manager and its commands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packager {
    pub name: &'static str,
    pub update: &'static str,
    /// How to get an earlier version.
    pub back: &'static str,
    pub remove: &'static str,
}

const fn packager(
    name: &'static str,
    update: &'static str,
    back: &'static str,
    remove: &'static str,
) -> Packager {
    Packager { name, update, back, remove }
}

const NPM: Packager = packager(
    "npm", "npm install -g taucode@latest", "npm install -g taucode@VERSION", "npm uninstall -g taucode",
);
const NPX: Packager = packager("npx", "npx taucode@latest", "npx taucode@VERSION", "npm cache clean --force");
const PIP: Packager =
    packager("pip", "pip install --upgrade taucode", "pip install taucode==VERSION", "pip uninstall taucode");
const PIPX: Packager = packager(
    "pipx", "pipx upgrade taucode", "pipx install --force taucode==VERSION", "pipx uninstall taucode",
);
const UV: Packager = packager(
    "uv", "uv tool upgrade taucode", "uv tool install taucode==VERSION", "uv tool uninstall taucode",
);
const UVX: Packager = packager("uvx", "uvx taucode@latest", "uvx taucode@VERSION", "uv cache clean taucode");
const DEB: Packager = packager(
    "a Debian package",
    "sudo apt install ./taucode_VERSION_ARCH.deb, with the .deb of the new release",
    "sudo apt install --allow-downgrades ./taucode_VERSION_ARCH.deb",
    "sudo apt remove taucode",
);
const RPM: Packager = packager(
    "an RPM package",
    "sudo dnf install ./taucode-VERSION-1.ARCH.rpm, with the .rpm of the new release",
    "sudo dnf downgrade ./taucode-VERSION-1.ARCH.rpm",
    "sudo dnf remove taucode",
);
const BREW: Packager = packager(
    "Homebrew",
    "brew upgrade taucode",
    "brew install taucode@VERSION, if the tap has it",
    "brew uninstall taucode",
);
const PACMAN: Packager = packager(
    "pacman",
    "makepkg -si, with the PKGBUILD of the new release",
    "sudo pacman -U /var/cache/pacman/pkg/taucode-bin-VERSION-1-ARCH.pkg.tar.zst",
    "sudo pacman -R taucode-bin",
);
const NIX: Packager =
    packager("Nix", "nix profile upgrade taucode", "nix profile rollback", "nix profile remove taucode");
const CARGO: Packager = packager(
    "cargo",
    "cargo install taucode --force, or in a checkout: git pull && cargo install --path .",
    "cargo install taucode --version VERSION --force",
    "cargo uninstall taucode",
);

impl Origin {
    /// The origin of the running program.
    pub(crate) fn here() -> Self {
        let exe = std::env::current_exe().ok().or_else(by_name).unwrap_or_default();
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        Self::of(&exe.canonicalize().unwrap_or(exe), home.as_deref())
    }

    fn of(exe: &Path, cargo_home: Option<&Path>) -> Self {
        let unknown = || Origin::Unknown(exe.to_owned());
        let Some(bin) = exe.parent() else { return unknown() };
        let has = |part: &str| exe.to_str().is_some_and(|path| path.contains(part));
        if exe.starts_with("/nix/store") {
            return Origin::Packager(&NIX);
        }
        if let Some((root, note)) = bin.parent().and_then(|root| Some((root, note(root)?))) {
            return match note.as_str() {
                "install.sh" => OwnFolder::of_version(root)
                    .map_or_else(|| Origin::Archive(root.to_owned()), Origin::Script),
                "archive" => Origin::Archive(root.to_owned()),
                "npm" if has("/_npx/") => Origin::Packager(&NPX),
                "npm" => Origin::Packager(&NPM),
                "pip" if has("/pipx/") => Origin::Packager(&PIPX),
                "pip" if has("/uv/tools/") => Origin::Packager(&UV),
                "pip" if has("/uv/") => Origin::Packager(&UVX),
                "pip" => Origin::Packager(&PIP),
                "deb" => Origin::Packager(&DEB),
                "rpm" => Origin::Packager(&RPM),
                "brew" => Origin::Packager(&BREW),
                "pacman" => Origin::Packager(&PACMAN),
                _ => unknown(),
            };
        }
        let by_cargo = cargo_home.is_some_and(|home| {
            let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
            let listed = read_text(&home.join(".crates.toml"), MAX_LIST).unwrap_or_default();
            bin == home.join("bin") && listed.contains("\"taucode ")
        });
        if by_cargo { Origin::Packager(&CARGO) } else { unknown() }
    }

    /// The origin in words: `npm`, `install.sh`.
    pub(crate) fn name(&self) -> String {
        match self {
            Origin::Script(_) => "install.sh".to_owned(),
            Origin::Archive(folder) => format!("an archive, in {}", folder.display()),
            Origin::Packager(manager) => manager.name.to_owned(),
            Origin::Unknown(path) => format!("unknown, {}", path.display()),
        }
    }

    /// The command for a newer version.
    pub(crate) fn update_command(&self) -> &'static str {
        match self {
            Origin::Packager(manager) => manager.update,
            Origin::Script(_) => "tau update",
            // `tau update` refuses there.
            Origin::Archive(_) | Origin::Unknown(_) => {
                "sh install.sh, with the install.sh of the new release"
            }
        }
    }
}

/// The path of the running program by the name it was started under, for systems without `/proc`.
fn by_name() -> Option<PathBuf> {
    let name = PathBuf::from(std::env::args_os().next()?);
    if name.components().count() > 1 {
        return std::env::current_dir().ok().map(|cwd| cwd.join(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|program| program.is_file())
}

/// The note of a package on its kind.
fn note(root: &Path) -> Option<String> {
    let bytes = read_capped(&root.join("share/taucode/package"), MAX_NOTE).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(folder: &str, note: &str) -> Origin {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join(folder);
        std::fs::create_dir_all(root.join("share/taucode")).unwrap();
        std::fs::write(root.join("share/taucode/package"), format!("{note}\n")).unwrap();
        Origin::of(&root.join("bin/tau"), None)
    }

    #[test]
    fn a_package_says_how_it_was_installed() {
        let cases = [
            ("lib/node_modules/taucode-linux-x64", "npm", "npm install -g taucode@latest"),
            (".npm/_npx/1/node_modules/taucode-linux-x64", "npm", "npx taucode@latest"),
            ("venv", "pip", "pip install --upgrade taucode"),
            (".local/share/pipx/venvs/taucode", "pip", "pipx upgrade taucode"),
            (".local/share/uv/tools/taucode", "pip", "uv tool upgrade taucode"),
            (".cache/uv/archive-v0/x", "pip", "uvx taucode@latest"),
            ("Cellar/taucode/0.1.0", "brew", "brew upgrade taucode"),
        ];
        for (folder, note, command) in cases {
            assert_eq!(origin(folder, note).update_command(), command, "{folder}");
        }
        for (note, command) in [("deb", "sudo apt remove taucode"), ("rpm", "sudo dnf remove taucode")] {
            assert!(
                matches!(origin("usr", note), Origin::Packager(found) if found.remove == command),
                "{note}"
            );
        }
        assert!(matches!(origin("taucode-0.1.0", "archive"), Origin::Archive(_)));
        for note in ["archive", "something else"] {
            assert!(origin("taucode-0.1.0", note).update_command().starts_with("sh install.sh"), "{note}");
        }
        // Without its folder around it, what the script installed is only an archive.
        assert!(matches!(origin("0.1.0", "install.sh"), Origin::Archive(_)));
        assert!(matches!(origin("x", "something else"), Origin::Unknown(_)));
    }

    #[test]
    fn cargo_is_known_by_its_list() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("bin")).unwrap();
        let of = || Origin::of(&home.join("bin/tau"), Some(&home));
        assert!(matches!(of(), Origin::Unknown(_)));
        let listed = "[v1]\n\"taucode 0.1.0 (path+file:///x)\" = [\"tau\"]\n";
        std::fs::write(home.join(".crates.toml"), listed).unwrap();
        assert_eq!(of(), Origin::Packager(&CARGO));
    }
}
