//! The files of the AWS command line: `~/.aws/config` and `~/.aws/credentials`.

use std::collections::BTreeMap;

/// The sections of a file, by name.
pub(super) type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// The sections of a file. A nested setting is named `OUTER.INNER`.
pub(super) fn parse(text: &str) -> Sections {
    let mut sections = Sections::new();
    let (mut section, mut outer) = (String::new(), String::new());
    for line in text.lines() {
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        // A comment may follow.
        if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name.split_whitespace().collect::<Vec<_>>().join(" ");
            sections.entry(section.clone()).or_default();
        } else if let Some((key, value)) = line.split_once('=') {
            let value = value.split(" #").next().unwrap_or_default().trim().to_owned();
            let key = match line.starts_with([' ', '\t']) {
                true => format!("{outer}.{}", key.trim()),
                false => {
                    outer = key.trim().to_owned();
                    outer.clone()
                }
            };
            sections.entry(section.clone()).or_default().insert(key, value);
        }
    }
    sections
}

/// The settings of a profile, from both files.
pub(super) fn profile(config: &Sections, credentials: &Sections, name: &str) -> BTreeMap<String, String> {
    let in_config = match name {
        "default" => config.get("default").or_else(|| config.get("profile default")),
        name => config.get(&format!("profile {name}")),
    };
    let mut settings = in_config.cloned().unwrap_or_default();
    settings.extend(credentials.get(name).cloned().unwrap_or_default());
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_from_both_files() {
        let config = parse(
            "# mine\n[default]\nregion = eu-central-1 # near\ns3 =\n  max_queue_size = 1\n[profile  work] # [ours]\nsso_session=corp\n\
             [sso-session corp]\nsso_region = eu-west-1\n",
        );
        let credentials = parse("[default]\naws_access_key_id=AKIA1\naws_secret_access_key = a=b\n");
        let default = profile(&config, &credentials, "default");
        assert_eq!(
            (default["region"].as_str(), default["aws_secret_access_key"].as_str()),
            ("eu-central-1", "a=b")
        );
        assert_eq!(profile(&config, &credentials, "work")["sso_session"], "corp");
        assert!(profile(&config, &credentials, "none").is_empty());
        assert_eq!(config["sso-session corp"]["sso_region"], "eu-west-1");
        assert!(!default.contains_key("max_queue_size") && !default.contains_key("sso_session"));
        assert_eq!(default["s3.max_queue_size"], "1");
    }
}
