//! The current settings and their origins; changing one in `config.toml`.

use std::ffi::OsStr;

use super::{environment, permission_rules};
use crate::compose::Setup;
use tau_agent::settings::table::{self, SettingRow};
use tau_agent::settings::value::ValueKind;
use tau_agent::settings::{Settings, write};
use tau_app::request::{SettingOrigin, SettingShown};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// All settings.
pub(crate) fn rows(setup: &Setup) -> Vec<SettingShown> {
    table::TABLE.iter().filter(|row| row.columns.in_files).map(|row| describe_setting(setup, row)).collect()
}

pub(crate) fn one(setup: &Setup, key: &str) -> Option<SettingShown> {
    table::row(key).filter(|row| row.columns.in_files).map(|row| describe_setting(setup, row))
}

fn describe_setting(setup: &Setup, row: &SettingRow) -> SettingShown {
    let flags = &setup.args.settings.0;
    let default = row.default();
    let flag = row.columns.flag.filter(|_| row.text(flags).is_some());
    let set = row.text(flags).or_else(|| row.text(&setup.settings));
    let origin = match (&set, flag) {
        (None, _) => None,
        (Some(_), Some(flag)) => Some(format!("--{}", flag.name)),
        (Some(_), None) => Some(environment::origin(&setup.paths, &setup.project, row.key)),
    };
    let own = setup.paths.config_file().display().to_string();
    let is_table = matches!(row.kind, ValueKind::Table | ValueKind::Servers | ValueKind::Hooks);
    // Tables of all files hold together.
    let is_fixed = |origin: &String| !is_table && !origin.starts_with(&own) && origin != row.key;
    let fixed_by = origin.clone().filter(is_fixed);
    // The user's file is abbreviated, as all changes here go there.
    let short = |origin: String| match origin.strip_prefix(&own) {
        Some(line) => format!("config.toml{line}"),
        // No file names it.
        None if origin == row.key => "chosen at the first start".to_owned(),
        None => origin,
    };
    let rules = || permission_rules::read_now(&setup.paths, &setup.project).rules().len() as u64;
    let set = set.map(|set| if row.key == "permissions" { pluralize(rules(), "rule") } else { set });
    let live = if row.columns.live { "" } else { " · from the next start on" };
    let default_text = if default.is_empty() { String::new() } else { format!(" · default: {default}") };
    SettingShown {
        key: row.key.to_owned(),
        value: set.unwrap_or(default),
        fixed_by,
        origin: origin.map_or(SettingOrigin::Default, |origin| SettingOrigin::Set(short(origin))),
        help: format!("{} · {}{default_text}{live}", row.help(), row.kind.name()),
        choices: match row.kind {
            ValueKind::Switch => vec!["false".to_owned(), "true".to_owned()],
            ValueKind::Choice(names) => names().into_iter().map(str::to_owned).collect(),
            ValueKind::Text
            | ValueKind::Path
            | ValueKind::Address
            | ValueKind::AddressOrFolder
            | ValueKind::Number
            | ValueKind::Seconds
            | ValueKind::Temperature
            | ValueKind::Dollars
            | ValueKind::List
            | ValueKind::Table
            | ValueKind::Servers
            | ValueKind::Hooks => Vec::new(),
        },
        secret: row.is_secret(),
        is_table,
    }
}

/// Writes a setting to the user's `config.toml`; without a value, removes it. The error is a sentence, when
/// the value is invalid or the file cannot be changed.
pub(crate) fn change(setup: &Setup, key: &str, value: Option<&str>) -> Result<(), UserError> {
    let Some(row) = table::row(key).filter(|row| row.columns.in_files) else {
        return Err(format!("no setting \"{key}\"").into());
    };
    if let Some(value) = value {
        row.set(&mut Settings::default(), OsStr::new(value)).map_err(|error| format!("{key}: {error}"))?;
    }
    let file = setup.paths.shared_file(setup.paths.config_file());
    write::set(&file, row, value).map_err(|error| error.to_string().into())
}
