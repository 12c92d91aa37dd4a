//! Adds MCP servers to a `config.toml`, and removes them.

use std::collections::BTreeMap;

use toml_edit::{Array, InlineTable, Item, Table, TableLike, value};

use super::mcp_servers::{McpServer, McpTransport, check_name};
use super::private_files::SharedFile;
use super::write;
use tau_tools::user_error::UserError;

/// Adds a server to a `config.toml`, replacing one with the same name; the rest of the file is unchanged.
pub fn add(file: &SharedFile, server: &McpServer) -> Result<(), UserError> {
    check_name(&server.name)?;
    write::change(file, |all| {
        let Some(servers) = table_in(all, "mcp") else { return };
        let mut table = Table::new();
        match &server.transport {
            McpTransport::Stdio { command, args, env, .. } => {
                table.insert("command", value(command.as_str()));
                if !args.is_empty() {
                    table.insert("args", value(args.iter().collect::<Array>()));
                }
                insert_texts(&mut table, "env", env);
            }
            McpTransport::Http { url, headers, .. } => {
                table.insert("url", value(url.as_str()));
                insert_texts(&mut table, "headers", headers);
            }
        }
        servers.insert(&server.name, Item::Table(table));
    })
}

/// Removes a server from a `config.toml`; returns whether there was one.
pub fn remove(file: &SharedFile, name: &str) -> Result<bool, UserError> {
    let mut is_removed = false;
    write::change(file, |all| {
        let servers = all.get_mut("mcp").and_then(Item::as_table_like_mut);
        is_removed = servers.is_some_and(|servers| servers.remove(name).is_some());
    })?;
    Ok(is_removed)
}

/// A table of the file, which is created if missing, without a line of its own.
fn table_in<'a>(file: &'a mut Table, name: &str) -> Option<&'a mut dyn TableLike> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    file.entry(name).or_insert_with(implicit).as_table_like_mut()
}

fn insert_texts(table: &mut Table, name: &str, texts: &BTreeMap<String, String>) {
    if !texts.is_empty() {
        let pairs = texts.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        table.insert(name, value(pairs.collect::<InlineTable>()));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::mcp_servers::of_text;
    use super::*;
    use crate::settings::Paths;

    fn shared_file(path: &Path) -> SharedFile {
        Paths::under(&path.with_extension("tau")).shared_file(path.to_owned())
    }

    #[test]
    fn servers_are_added_and_removed_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let read = || std::fs::read_to_string(&path).unwrap();
        let (servers, _) = of_text(
            Path::new("c.toml"),
            "[mcp.a]\ncommand = \"x\"\nargs = [\"-y\", \"z\"]\nenv = { A = \"$B\" }\n[mcp.b]\nurl = \"http://h\"\n",
        );
        std::fs::write(&path, "mouse = false # no\n\n# mine\n[mcp.own] # why\ncommand = \"o\"\n").unwrap();
        for server in servers.iter().chain(&servers) {
            add(&shared_file(&path), server).unwrap();
        }
        let text = "mouse = false # no\n\n# mine\n[mcp.own] # why\ncommand = \"o\"\n\n[mcp.a]\ncommand = \"x\"\n\
                    args = [\"-y\", \"z\"]\nenv = { A = \"$B\" }\n\n[mcp.b]\nurl = \"http://h\"\n";
        assert_eq!(read(), text);
        assert_eq!(of_text(&path, &read()).0.len(), 3);
        assert!(
            remove(&shared_file(&path), "a").unwrap()
                && remove(&shared_file(&path), "b").unwrap()
                && !remove(&shared_file(&path), "a").unwrap()
        );
        assert_eq!(read(), "mouse = false # no\n\n# mine\n[mcp.own] # why\ncommand = \"o\"\n");
        let odd = McpServer { name: "a/b".to_owned(), ..servers[0].clone() };
        assert!(add(&shared_file(&path), &odd).is_err());
    }
}
