//! Where the variables and functions lead that programs have for their folders and settings: `$CARGO_HOME`, `$PROFILE`.

use std::path::PathBuf;

use crate::permissions::path_text::{Mark, PathText};
use crate::permissions::shell::{Part, Word};
use crate::permissions::{folders, programs};

/// Variables with folders, whose values commands get from tau.
const FOLDERS: &[&str] = tau_tools::words!(
    "TAU_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR CARGO_HOME RUSTUP_HOME \
     GNUPGHOME ZDOTDIR KUBECONFIG DOCKER_CONFIG CLAUDE_CONFIG_DIR CODEX_HOME"
);
/// The site-packages of a user.
pub(super) const USER_SITE: &str = "USER_SITE";
/// A new file or folder for temporary use.
pub(super) const TEMPORARY: &str = "TEMPORARY_PLACE";
/// The hooks of a repository.
pub(super) const HOOKS: &str = "HOOKS_PATH";
/// Variables, and where they usually lead.
const USUAL: [(&str, &str); 15] = *tau_tools::pairs!(
    "XDG_CONFIG_HOME=~/.config XDG_DATA_HOME=~/.local/share XDG_STATE_HOME=~/.local/state \
     XDG_CACHE_HOME=~/.cache CARGO_HOME=~/.cargo BASH_ENV=~/.bashrc \
     PYTHONSTARTUP=~/.pythonrc MYVIMRC=~/.vimrc GIT_CONFIG_GLOBAL=~/.gitconfig NPM_CONFIG_USERCONFIG=~/.npmrc \
     __fish_config_dir=~/.config/fish GIT_DIR=.git GOPATH=~/go USER_SITE=~/.local/lib/python3/site-packages HOOKS_PATH=.githooks"
);
/// Names in other languages, which `&` joins, and a file in the place that they stand for.
const IN_PROGRAMS: [(&str, &str); 8] = *tau_tools::pairs!(
    "$PROFILE=~/.config/powershell/profile.ps1 $MYVIMRC=~/.vimrc stdpath(&write=~/.config/nvim/init.lua \
     user-init-file=~/.emacs $nu.config-path=~/.config/nushell/config.nu $nu.env-path=~/.config/nushell/env.nu \
     USER_SITE&.pth=~/.local/lib/python3/site-packages/x.pth purelib&.pth=~/.local/lib/python3/site-packages/x.pth"
);

/// The values of a variable that the command does not set.
pub(super) fn inherited_values(name: &str) -> Vec<PathText> {
    let value = FOLDERS.contains(&name).then(|| std::env::var_os(name)).flatten().map(PathBuf::from);
    if let Some(value) = value.filter(|value| value.is_absolute()) {
        return vec![PathText::from(value.as_path())];
    }
    if name == TEMPORARY {
        let mut text = PathText::from(std::env::temp_dir().join("tmp.").as_path());
        text.push(Mark::Name);
        return vec![text];
    }
    let usual = USUAL.iter().filter(|(of, _)| *of == name).map(|(_, place)| PathText::literal(place));
    usual.chain([PathText::any()]).collect()
}

/// The places that a program in another language names in its own words.
pub(super) fn places_in_programs(part: &Part) -> Vec<PathText> {
    let program = folders::program(part);
    let is_editor = programs::is_editor(&program) && program != "sed";
    if !programs::runs_texts(&program) && !is_editor && program != "emacs" {
        return Vec::new();
    }
    let words = part.words.iter().skip(1).filter_map(Word::literal);
    let texts: Vec<_> = words.chain(part.texts.iter().map(|text| text.as_str().into())).collect();
    let is_named = |name: &str| texts.iter().any(|text| text.contains(name));
    let named = IN_PROGRAMS.iter().filter(|(names, _)| names.split('&').all(is_named));
    named.map(|(_, place)| PathText::literal(place)).collect()
}
