//! Files and preferences as the terminals write them.

use std::collections::BTreeMap;

use super::super::report::as_text;
use super::*;

const HOME: &str = "/Users/me";

/// The report in a terminal with these variables, files (below the home directory) and preferences.
fn report_for(variables: &[(&str, &str)], files: &[(&str, &str)], preferences: &[(&str, &str)]) -> String {
    let variables: BTreeMap<_, _> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    let file = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(HOME).join(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    let exported = |domain: &str| {
        let found = preferences.iter().find(|(name, _)| *name == domain);
        found.map(|(_, text)| (*text).to_owned())
    };
    let machine = Machine { home: Path::new(HOME), variable: &variable, file: &file, preferences: &exported };
    as_text(&[examine(&machine)])
}

#[track_caller]
fn arrives(said: &str) {
    assert!(said.contains("Escape: keys with Alt arrive") && said.contains("no problems found"), "{said}");
}

#[track_caller]
fn types(said: &str, how: &str) {
    assert!(said.contains("a character: keys with Alt do not arrive"), "{said}");
    let advice = said.lines().find_map(|line| line.strip_prefix("advice: ")).unwrap_or_default();
    assert!(advice.contains(how) && advice.contains("ctrl+x and a key do the same"), "{said}");
}

fn apple_preferences(set: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n\
         \t<key>Default Window Settings</key>\n\t<string>Red &amp; Sands.1</string>\n\
         \t<key>Window Settings</key>\n\t<dict>\n\t\t<key>Basic</key>\n\t\t<dict>\n\
         \t\t\t<key>Font</key>\n\t\t\t<data>\n\t\t\tYnBsaXN0\n\t\t\t</data>\n\t\t\t<key>keyMapBoundKeys</key>\n\
         \t\t\t<dict/>\n\t\t\t<key>useOptionAsMetaKey</key>\n\t\t\t<true/>\n\t\t</dict>\n\
         \t\t<key>Red &amp; Sands.1</key>\n\t\t<dict>\n\t\t\t<key>ProfileCurrentVersion</key>\n\
         \t\t\t<real>2.07</real>\n{set}\t\t</dict>\n\t</dict>\n</dict>\n</plist>\n"
    )
}

#[test]
fn terminal_has_it_in_the_profile_that_windows_open_with() {
    let how = "Use Option as Meta key";
    let variables = [("TERM_PROGRAM", "Apple_Terminal")];
    let with = |set: &str| {
        let preferences = apple_preferences(set);
        report_for(&variables, &[], &[("com.apple.Terminal", &preferences)])
    };
    arrives(&with("\t\t\t<key>useOptionAsMetaKey</key>\n\t\t\t<true/>\n"));
    types(&with("\t\t\t<key>useOptionAsMetaKey</key>\n\t\t\t<false/>\n"), how);
    types(&with(""), how);
    types(&report_for(&variables, &[], &[]), how);
    types(&report_for(&variables, &[], &[("com.apple.Terminal", "<plist><dict><key>Window")]), how);
}

#[test]
fn iterm_has_it_in_the_profile_of_the_session() {
    let how = "Left Option key to Esc+";
    let preferences = "<plist version=\"1.0\"><dict><key>Default Bookmark Guid</key><string>B</string>\
        <key>New Bookmarks</key><array>\
        <dict><key>Guid</key><string>A</string><key>Name</key><string>Work</string>\
        <key>Option Key Sends</key><integer>2</integer></dict>\
        <dict><key>Guid</key><string>B</string><key>Name</key><string>Default</string>\
        <key>Keyboard Map</key><dict/><key>Option Key Sends</key><integer>0</integer></dict>\
        <dict><key>Guid</key><string>C</string><key>Name</key><string>Meta</string>\
        <key>Option Key Sends</key><integer>1</integer></dict></array></dict></plist>";
    let of =
        |variables: &[(&str, &str)]| report_for(variables, &[], &[("com.googlecode.iterm2", preferences)]);
    types(&of(&[("TERM_PROGRAM", "iTerm.app")]), how);
    types(&of(&[("TERM_PROGRAM", "iTerm.app"), ("ITERM_PROFILE", "Meta")]), how);
    arrives(&of(&[("TERM_PROGRAM", "iTerm.app"), ("ITERM_PROFILE", "Work")]));
    // Through tmux, which names itself.
    arrives(&of(&[("TERM_PROGRAM", "tmux"), ("LC_TERMINAL", "iTerm2"), ("ITERM_PROFILE", "Work")]));
    types(&report_for(&[("TERM_PROGRAM", "iTerm.app")], &[], &[]), how);
}

#[test]
fn ghostty_and_kitty_have_it_in_their_files() {
    let ghostty = [("TERM_PROGRAM", "ghostty")];
    let file = ".config/ghostty/config";
    arrives(&report_for(&ghostty, &[(file, "font-size = 13\nmacos-option-as-alt = left\n")], &[]));
    arrives(&report_for(&ghostty, &[(file, "macos-option-as-alt=false\nmacos-option-as-alt=true")], &[]));
    let how = "macos-option-as-alt = left into /Users/me/.config/ghostty/config";
    types(
        &report_for(&ghostty, &[(file, "# macos-option-as-alt = true\nmacos-option-as-alt = false")], &[]),
        how,
    );
    let own = "Library/Application Support/com.mitchellh.ghostty/config";
    types(
        &report_for(
            &ghostty,
            &[(file, "macos-option-as-alt = true"), (own, "macos-option-as-alt = false")],
            &[],
        ),
        how,
    );
    let unset = report_for(&ghostty, &[(file, "macos-option-as-alternative = true")], &[]);
    assert!(unset.contains("American layout") && unset.contains("macos-option-as-alt = left"), "{unset}");

    let kitty = [("TERM", "xterm-kitty")];
    let file = ".config/kitty/kitty.conf";
    arrives(&report_for(&kitty, &[(file, "macos_option_as_alt both")], &[]));
    let how = "macos_option_as_alt left into /Users/me/.config/kitty/kitty.conf";
    types(&report_for(&kitty, &[(file, "#macos_option_as_alt yes\nmacos_option_as_alt no")], &[]), how);
    types(
        &report_for(
            &[("TERM_PROGRAM", "tmux"), ("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")],
            &[],
            &[],
        ),
        how,
    );
}

#[test]
fn editors_have_it_in_their_settings() {
    let code = [("TERM_PROGRAM", "vscode")];
    let file = "Library/Application Support/Code/User/settings.json";
    let text = "{\n  // \"terminal.integrated.macOptionIsMeta\": false,\n  \"a\": \"// no \\\" comment\", /* x */\n  \
                \"terminal.integrated.macOptionIsMeta\": true,\n}\n";
    arrives(&report_for(&code, &[(file, text)], &[]));
    let how =
        "\"terminal.integrated.macOptionIsMeta\": true into /Users/me/Library/Application Support/Code/User";
    types(&report_for(&code, &[(file, "{\"other\": [1, 2,],}")], &[]), how);
    types(&report_for(&code, &[(file, "no json")], &[]), how);
    types(&report_for(&code, &[], &[]), how);
    let cursor = [("TERM_PROGRAM", "vscode"), ("__CFBundleIdentifier", "com.todesktop.230313mzl4w4u92")];
    arrives(&report_for(&cursor, &[("Library/Application Support/Cursor/User/settings.json", text)], &[]));
}

#[test]
fn where_it_cannot_be_known_it_says_how_to_find_out() {
    for text in [report_for(&[("TERM_PROGRAM", "Other")], &[], &[]), as_text(&[over_ssh()])] {
        assert!(text.contains("not known") && text.contains("press Option+T"), "{text}");
    }
}
