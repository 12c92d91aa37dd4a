//! Tests that a rule on a subcommand holds for its other names, and for what a program does without one.

use super::*;
use Verdict::{Allow, Ask, Deny};

/// A rule, and the commands that are what it names.
const DENIED: &[(&str, &[&str])] = &[
    ("helm uninstall", &["helm delete x", "helm del x", "helm un x", "helm --debug delete x"]),
    ("pnpm install", &["pnpm i"]),
    ("pnpm remove", &["pnpm rm x", "pnpm un x", "pnpm uninstall x"]),
    ("bun install", &["bun i"]),
    ("bun add", &["bun a x"]),
    ("bun remove", &["bun rm x"]),
    ("yarn add", &["yarn workspace a add x", "yarn global add x", "yarnpkg add x"]),
    ("yarn install", &["yarn", "yarn --frozen-lockfile"]),
    ("gh release create", &["gh release new v1"]),
    ("gh pr create", &["gh pr new", "gh -R a/b pr new"]),
    ("gh issue create", &["gh issue new"]),
    ("gh extension install", &["gh ext install x", "gh extensions install x"]),
    ("svn commit", &["svn ci"]),
    ("svn delete", &["svn rm x", "svn remove x"]),
    ("hg commit", &["hg ci"]),
    ("brew uninstall", &["brew rm x", "brew remove x"]),
    ("dnf install", &["dnf in x", "sudo dnf -y in x"]),
    ("dnf remove", &["dnf rm x", "dnf erase x"]),
    ("zypper install", &["zypper in x"]),
    ("composer require", &["composer req x", "composer r x"]),
    ("composer remove", &["composer rm x"]),
    ("bundle install", &["bundle", "bundle i"]),
    ("rails generate", &["rails g x"]),
    ("conda remove", &["conda uninstall x"]),
    ("docker network rm", &["docker network remove x"]),
    ("tmux send-keys", &["tmux send x"]),
    ("fly deploy", &["flyctl deploy"]),
    ("vercel deploy", &["vercel", "vc deploy", "vercel --prod"]),
    ("gradle publish", &["./gradlew publish", "gradle :a:publish"]),
    ("mvn deploy", &["./mvnw deploy", "mvn clean deploy"]),
    ("pacman -S", &["pacman --sync x", "pacman -Sy x"]),
    ("git tag -d", &["git tag --delete x"]),
    ("git branch -D", &["git branch -Dr x", "git branch -d -f x"]),
    ("git push", &["git.exe push", "/mnt/c/Git/cmd/git.exe -C x push", "env git.exe push"]),
    ("npm publish", &["npm.cmd publish", "node /usr/lib/node_modules/npm/bin/npm-cli.js publish"]),
    ("curl", &["curl.exe x", "echo a | xargs curl.exe"]),
    ("rm", &["grm x", "uu-rm x", "gtimeout 5 grm x", "genv rm x", "find . -exec grm {} +"]),
];

#[test]
fn a_subcommand_is_denied_by_each_of_its_names() {
    for (rule, commands) in DENIED {
        let rules = permissions(&[(&format!("bash({rule} *)"), Deny)]);
        check(&rules, PermissionMode::Auto, Deny, commands);
    }
    let asked = [
        ("rm", "sftp h <<< '!rm x'"),
        ("rm", "printf '!rm x\n' | sftp h"),
        ("rm", "jj --config-toml 'ui.pager=\"rm x\"' log"),
        ("rm", "jj run 'rm x'"),
        ("rm", "cargo eval 'rm x'"),
        ("curl", "gh cs ssh -c x 'curl y'"),
        ("rm", "echo rm x | /proc/self/exe"),
        ("tmux kill-server", "tmux kill-ser"),
        ("ip link delete", "ip link del x"),
        ("ip link delete", "ip l d x"),
        ("gem push", "gem pus x"),
    ];
    for (rule, text) in asked {
        let rules = permissions(&[(&format!("bash({rule} *)"), Deny)]);
        assert!(command(&rules, PermissionMode::Auto, text).verdict >= Ask, "{text}");
    }
    let others = [
        ("rm", "sftp h <<< 'get rm.txt'"),
        ("rm", "./game x"),
        ("helm uninstall", "helm upgrade x"),
        ("yarn install", "yarn test"),
        ("bundle install", "bundle exec rake"),
        ("vercel deploy", "vercel ls"),
        ("gh pr create", "gh pr list"),
        ("git branch -D", "git branch -r"),
        ("gradle publish", "gradle test"),
    ];
    for (rule, command) in others {
        let rules = permissions(&[(&format!("bash({rule} *)"), Deny)]);
        check(&rules, PermissionMode::Auto, Allow, &[command]);
    }
}
