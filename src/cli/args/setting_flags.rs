//! The flags that set settings, made from the table of settings.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

use tau_agent::settings::Settings;
use tau_agent::settings::table::{SettingFlag, SettingRow, TABLE};
use tau_agent::settings::value::ValueKind;

/// Longest line of help next to a flag, so that `--help` fits 80 columns.
const HELP_WIDTH: usize = 43;

/// The settings from flags; `SCREEN` tells whether settings of the screen are among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingFlags<const SCREEN: bool = true>(pub Settings);

/// Settings of the screen that have flags.
const OF_SCREEN: [&str; 4] = ["theme", "animations", "inline", "screen_reader"];

impl<const SCREEN: bool> clap::Args for SettingFlags<SCREEN> {
    fn augment_args(command: Command) -> Command {
        flags(SCREEN).fold(command, |command, (row, flag)| command.arg(argument(row, flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SCREEN: bool> FromArgMatches for SettingFlags<SCREEN> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut settings = SettingFlags(Settings::default());
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for (row, flag) in flags(SCREEN) {
            if let Some(value) = matches.get_one::<OsString>(row.key) {
                // The value was checked when the arguments were read.
                row.set(&mut self.0, value).map_err(|error| {
                    Error::raw(ErrorKind::ValueValidation, format!("--{}: {error}\n", flag.name))
                })?;
            }
        }
        Ok(())
    }
}

fn flags(screen: bool) -> impl Iterator<Item = (&'static SettingRow, SettingFlag)> {
    let rows = TABLE.iter().filter(move |row| screen || !OF_SCREEN.contains(&row.key));
    rows.filter_map(|row| Some((row, row.columns.flag?)))
}

fn argument(row: &'static SettingRow, flag: SettingFlag) -> Arg {
    let argument = Arg::new(row.key)
        .long(flag.name)
        .value_name(flag.value)
        .help_heading(flag.heading)
        .hide(flag.heading.is_none())
        .action(ArgAction::Set)
        .hide_possible_values(true)
        .value_parser(OsStringValueParser::new().try_map(|value| {
            let checked = row.set(&mut Settings::default(), &value);
            checked.map(|()| value)
        }));
    match row.kind {
        ValueKind::Switch => {
            argument.help(help(row)).num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        // The possible values are more helpful than the purpose.
        ValueKind::Choice(names) => {
            argument.help(wrap(&names())).value_parser(PossibleValuesParser::new(names()).map(OsString::from))
        }
        _ => argument.help(help(row)).allow_negative_numbers(true),
    }
}

/// The help of a flag: for tools, from the table of tools.
fn help(row: &SettingRow) -> String {
    match row.key {
        "tools" => tau_tools::toolbox::help(),
        _ => row.help().to_owned(),
    }
}

/// Words, separated by commas, on lines that fit.
fn wrap(words: &[&str]) -> String {
    let mut text = String::new();
    let mut width = 0_usize;
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 < words.len() { "," } else { "" };
        let word = format!("{word}{comma}");
        if width > 0 && width.saturating_add(1).saturating_add(word.len()) > HELP_WIDTH {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width = width.saturating_add(1);
        }
        text.push_str(&word);
        width = width.saturating_add(word.len());
    }
    text
}
