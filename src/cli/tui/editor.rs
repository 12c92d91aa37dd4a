//! Opens text in the user's editor. Leave the terminal first.

/// Opens `text` in `$VISUAL` or `$EDITOR`; what was written there, `None` when nothing changed.
///
/// # Errors
/// A sentence for the user.
pub async fn edit(text: &str) -> Result<Option<String>, String> {
    let edited = edit_file(text).await?;
    Ok(Some(edited).filter(|edited| edited.trim_end() != text.trim_end()))
}

async fn edit_file(text: &str) -> Result<String, String> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let Some(editor) = editor else {
        return Err("no editor is set; set VISUAL or EDITOR".to_owned());
    };
    let named = |error: std::io::Error| format!("{editor}: {error}");
    let file = tempfile::Builder::new().prefix("tau-").suffix(".md").tempfile().map_err(named)?;
    std::fs::write(file.path(), text).map_err(named)?;
    // The variable is a command line by convention: `code --wait`.
    let status = tokio::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file.path())
        .status()
        .await
        .map_err(named)?;
    if !status.success() {
        return Err(format!("{editor} failed ({status}); your text is unchanged"));
    }
    std::fs::read_to_string(file.path()).map_err(named)
}
