//! The table of files and folders in home directories in which programs keep keys, passwords and logins.
//!
//! Everything below a folder belongs to it. They are relative to the home directory.

use tau_tools::words;

/// A source, and the places that it names.
type KeyRow = (&'static str, &'static [&'static str]);

/// Every place.
pub(super) fn key_places() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|(_, places)| places.iter().copied())
}

const ROWS: &[KeyRow] = &[
    // Clouds and hosting.
    ("AWS CLI User Guide, Configuration and credential file settings", &[".aws"]),
    ("gcloud topic configurations", &[".config/gcloud"]),
    ("gsutil, boto configuration file", &[".boto"]),
    ("Azure CLI, Configuration", &[".azure"]),
    ("Oracle Cloud Infrastructure, SDK and CLI Configuration File", &[".oci"]),
    ("Alibaba Cloud CLI, Configuration", &[".aliyun"]),
    ("openstacksdk, Configuring OpenStack SDK Applications", &[".config/openstack"]),
    ("doctl, README: configuration file", &[".config/doctl"]),
    ("hcloud, README: contexts", &[".config/hcloud"]),
    ("Scaleway CLI, Config", &[".config/scw"]),
    ("Linode CLI, Configuration", &[".config/linode-cli"]),
    ("flyctl, auth", &[".fly/config.yml"]),
    ("Railway CLI, login", &[".railway/config.json"]),
    ("Netlify CLI, Get started: access token", words!(".netlify/config.json .config/netlify")),
    ("Wrangler, login", words!(".config/.wrangler .wrangler/config")),
    ("Supabase CLI, login", &[".supabase/access-token"]),
    ("Neon CLI, auth", &[".config/neonctl"]),
    ("Turso CLI, auth", &[".config/turso"]),
    ("ngrok Agent, Configuration File", words!(".config/ngrok .ngrok2")),
    ("Stripe CLI, login", &[".config/stripe"]),
    ("s3cmd, FAQ", &[".s3cfg"]),
    ("rclone config", &[".config/rclone"]),
    // Clusters, containers and infrastructure.
    ("Kubernetes, Organizing Cluster Access Using kubeconfig Files", &[".kube"]),
    ("docker login, Credential stores", &[".docker/config.json"]),
    ("Helm, registry login", &[".config/helm/registry"]),
    ("Argo CD, argocd login", words!(".config/argocd .argocd")),
    ("Terraform CLI, terraform login", &[".terraform.d/credentials.tfrc.json"]),
    ("Pulumi, pulumi login", &[".pulumi/credentials.json"]),
    ("Vault, Token helpers", &[".vault-token"]),
    ("Ansible, Protecting sensitive data with Ansible vault", words!(".vault_pass .vault_pass.txt")),
    ("Teleport, tsh: profile directory", &[".tsh"]),
    ("step ca, STEPPATH", &[".step/secrets"]),
    ("JFrog CLI, JFROG_CLI_HOME_DIR", &[".jfrog"]),
    ("CircleCI CLI, setup", &[".circleci/cli.yml"]),
    ("sentry-cli, Configuration", &[".sentryclirc"]),
    // Forges and agents.
    ("git-credential-store(1), FILES", &[".config/git/credentials"]),
    ("gh auth login", &[".config/gh"]),
    ("glab auth login", &[".config/glab-cli"]),
    ("hub(1), CONFIGURATION", &[".config/hub"]),
    ("tea, README: logins", &[".config/tea"]),
    ("Subversion book, Client Credentials", &[".subversion/auth"]),
    ("GitHub Copilot, sign-in of editors", &[".config/github-copilot"]),
    ("Claude Code, Credential management", words!(".claude/.credentials.json .claude.json")),
    ("Gemini CLI, Authentication", &[".gemini/oauth_creds.json"]),
    ("Hugging Face Hub, HF_TOKEN_PATH", words!(".cache/huggingface/token .huggingface/token")),
    ("Kaggle API, API credentials", &[".kaggle/kaggle.json"]),
    // Languages and their registries.
    ("Cargo book, Configuration: Credentials", words!(".cargo/credentials.toml .cargo/credentials")),
    ("RubyGems, API key", &[".gem/credentials"]),
    ("Poetry, Configuring credentials", &[".config/pypoetry/auth.toml"]),
    ("sbt, Publishing: Credentials", words!(".sbt/.credentials .ivy2/.credentials")),
    ("Maven, Password Encryption", &[".m2/settings-security.xml"]),
    ("Leiningen, Deploying Libraries", words!(".lein/credentials.clj .lein/credentials.clj.gpg")),
    ("Hex, mix hex.user", &[".hex/hex.config"]),
    ("configstore of npm: logins of many programs, such as firebase", &[".config/configstore"]),
    ("clasp, README: login", &[".clasprc.json"]),
    ("Android Debug Bridge: adbkey", &[".android/adbkey"]),
    // Databases.
    ("MySQL, Option files; mysql_config_editor", words!(".my.cnf .mylogin.cnf")),
    ("Databricks CLI, Authentication", &[".databrickscfg"]),
    ("SnowSQL, Configuring", &[".snowsql/config"]),
    ("Snowflake CLI, config.toml and connections.toml", &[".snowflake"]),
    ("dbt, profiles.yml", &[".dbt/profiles.yml"]),
    // Keys, passwords and other machines.
    ("gpg(1), FILES", &[".gnupg"]),
    ("pass(1), FILES", &[".password-store"]),
    ("1Password CLI; 1Password for Linux", words!(".config/op .config/1Password")),
    ("Bitwarden CLI, data.json", &[".config/Bitwarden CLI"]),
    ("sops, Encrypting using age", words!(".config/sops .config/age")),
    ("GNOME Keyring", &[".local/share/keyrings"]),
    ("KWallet", &[".local/share/kwalletd"]),
    ("macOS, security(1)", &["Library/Keychains"]),
    ("NSS Shared DB", &[".pki/nssdb"]),
    ("Xsecurity(7), xauth(1)", &[".Xauthority"]),
    ("mount.cifs(8): credentials", &[".smbcredentials"]),
    ("Atuin, Sync: key", &[".local/share/atuin/key"]),
    ("Syncthing, Configuration", words!(".config/syncthing .local/state/syncthing")),
    ("Remmina, FAQ: profiles", words!(".config/remmina .local/share/remmina")),
    ("FileZilla, sitemanager.xml", &[".config/filezilla"]),
    ("Borg, Key files", &[".config/borg"]),
    // Browsers, mail and chats.
    ("Firefox, profiles: logins.json, cookies", words!(".mozilla .librewolf")),
    (
        "Chromium, User Data Directory",
        words!(
            ".config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge \
             .config/vivaldi .config/opera"
        ),
    ),
    ("Thunderbird, profiles", &[".thunderbird"]),
    ("Gnus, auth-source: authinfo", words!(".authinfo .authinfo.gpg")),
    ("msmtp(1), FILES", &[".msmtprc"]),
    ("mbsync(1), FILES", &[".mbsyncrc"]),
    ("offlineimap(1)", &[".offlineimaprc"]),
    ("fetchmail(1)", &[".fetchmailrc"]),
    ("aerc-accounts(5)", &[".config/aerc/accounts.conf"]),
    ("WeeChat, Secured data: sec.conf", words!(".weechat/sec.conf .config/weechat/sec.conf")),
    ("Pidgin, FAQ: accounts.xml", &[".purple/accounts.xml"]),
    (
        "Electron, userData: Local Storage",
        words!(".config/Slack .config/Signal .config/discord .config/Element"),
    ),
    ("Telegram Desktop, tdata", &[".local/share/TelegramDesktop"]),
    // Wallets.
    ("Bitcoin Core, Data directory", words!(".bitcoin .litecoin .dogecoin .zcash")),
    ("Electrum, FAQ: wallet file", &[".electrum"]),
    ("go-ethereum, Account Management", &[".ethereum"]),
    ("Solana CLI, File System Wallets", &[".config/solana/id.json"]),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::permissions::path_pattern::{JudgedPath, Places};
    use crate::permissions::protected::{ProtectedKind, Use, protected_kind};

    #[test]
    fn every_place_is_protected_once_and_has_a_source() {
        assert!(ROWS.iter().all(|(source, places)| !source.is_empty() && !places.is_empty()));
        let mut all: Vec<&str> = key_places().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair.first() != pair.last()), "a place is there twice");
        let home = Path::new("/home/me");
        let places = Places { workspace: JudgedPath::new(home), home: Some(JudgedPath::new(home)) };
        let listed = words!(
            ".cargo/credentials .supabase/access-token .config/helm/registry/config.json .wrangler/config/default.toml \
             .config/scw/config.yaml .config/linode-cli .circleci/cli.yml .jfrog/jfrog-cli.conf.v6 .argocd/config \
             .tsh/keys/x .step/secrets/key .android/adbkey .authinfo .sbt/.credentials .ivy2/.credentials \
             .lein/credentials.clj .hex/hex.config .m2/settings-security.xml .snowsql/config .snowflake/config.toml \
             .dbt/profiles.yml .smbcredentials .vault_pass .pki/nssdb/key4.db .purple/accounts.xml \
             .config/weechat/sec.conf .config/tea/config.yml .config/syncthing/config.xml .config/remmina/x"
        );
        for place in all.iter().chain(listed).chain(&[".config/Bitwarden CLI/data.json"]) {
            let path = JudgedPath::new(&home.join(place));
            let kind = protected_kind(&path, &places, &[], Use::Read);
            assert_eq!(kind, Some(ProtectedKind::Keys), "{place}");
        }
        for free in
            [".cargo/config.toml", ".config/helm/repositories.yaml", ".sbt/repositories", ".argo/x", ".dbt"]
        {
            let path = JudgedPath::new(&home.join(free));
            assert_eq!(protected_kind(&path, &places, &[], Use::Read), None, "{free}");
        }
    }
}
