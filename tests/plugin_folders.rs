//! The folders of a plugin, as its hooks and servers see them, in the sandbox and out of it.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::sandbox::has_landlock;
use crate::support::program::{bare, run};

/// It keeps the folders that its environment names, and tries to change what is beside them.
const KEEP: &str = "#!/bin/sh\nprintf '%s\\n' \"$CLAUDE_PLUGIN_ROOT\" \"$CLAUDE_PLUGIN_DATA\" \
    >\"$CLAUDE_PLUGIN_DATA/$1\"\n: >\"$CLAUDE_PLUGIN_DATA/../changed-by-$1\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn hooks_and_servers_of_a_plugin_have_its_folders_and_keep_data_in_the_sandbox() {
    for is_sandboxed in [false, true] {
        if is_sandboxed && !has_landlock() {
            return eprintln!("skipped: this kernel has no Landlock");
        }
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        let write = |path: &str, text: &str| crate::support::write(&at(path), text);
        let hook = json!({"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/keep.sh hook"});
        let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
        let servers = json!({"db": {"command": "${CLAUDE_PLUGIN_ROOT}/keep.sh", "args": ["server"]}});
        write("plug/.claude-plugin/plugin.json", r#"{"name":"keeper","version":"1.0.0"}"#);
        write("plug/hooks/hooks.json", &hooks.to_string());
        write("plug/.mcp.json", &servers.to_string());
        write("plug/keep.sh", KEEP);
        std::fs::set_permissions(at("plug/keep.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        write("tau/config.toml", &format!("[sandbox]\nmcp = {is_sandboxed}\nhooks = {is_sandboxed}\n"));
        let tau = async |arguments: &[&str]| {
            let mut command = bare(home.path());
            command.env("TAU_HOME", at("tau")).env("TAU_LOCAL_SERVERS", "false").args(arguments);
            run(&mut command, None).await
        };
        let added = tau(&["add", "./plug", "--yes"]).await;
        assert_eq!(added.code, 0, "{added:?}");
        let level = if is_sandboxed { "workspace-write" } else { "off" };
        let printed = tau(&["-p", "--model", "demo", "--sandbox", level, "hello"]).await;
        // It is no server, but it was started.
        let tried = tau(&["mcp", "test", "db"]).await;
        let root = at("tau/packages/keeper").canonicalize().unwrap();
        let data = at("tau/package-data/keeper");
        for name in ["hook", "server"] {
            let kept = std::fs::read_to_string(data.join(name)).unwrap_or_default();
            let folders = format!("{}\n{}\n", root.display(), data.display());
            assert_eq!(kept, folders, "{name} {is_sandboxed}: {printed:?} {tried:?}");
            let has_changed = at(&format!("tau/package-data/changed-by-{name}")).exists();
            assert_eq!(has_changed, !is_sandboxed, "{name}: {printed:?} {tried:?}");
        }
    }
}
