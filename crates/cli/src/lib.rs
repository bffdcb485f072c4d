//! The `daelight` command, to be called by its program and by `python -m daelight`.

mod cli;
mod commands;
mod terminal;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, Parser};
use cli::Cli;
use daelight::files::check_writable;
use std::ffi::OsString;
use std::io::IsTerminal;
use terminal::Terminal;

/// Carries out the command that these words ask for, the first of which is the program's own name; gives its exit status.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = asked_for_help(words.into_iter().collect());
    let command = words.get(1).and_then(|word| word.to_str());
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(asked) => {
            // Help and versions are printed this way, too. Nobody is left to tell if standard output is closed.
            if let Some(ContextValue::String(file)) = asked.get(ContextKind::InvalidSubcommand)
                && file.ends_with(".mo")
            {
                eprintln!(
                    "error: `{file}` is a file, and no command\n  help: say what to do with it, as in `daelight solve {file}`"
                );
                return asked.exit_code() as u8;
            }
            if let Some(ContextValue::String(word)) = asked.get(ContextKind::InvalidSubcommand)
                && let Some((_, ours)) = COMMANDS.iter().find(|(other, _)| other == word)
            {
                eprintln!("error: there is no command `{word}`\n  help: use `daelight {ours}`");
                return asked.exit_code() as u8;
            }
            let asked = with_near_tips(asked, command);
            let _ = asked.print();
            return asked.exit_code() as u8;
        }
    };
    let terminal = Terminal {
        color: match cli.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
            }
        },
        quiet: cli.quiet,
    };
    let outputs = cli.command.outputs();
    if !outputs.is_empty() {
        commands::interrupt_by_ctrl_c();
    }
    for path in outputs {
        if path == std::path::Path::new(terminal::STANDARD_OUTPUT) {
            continue;
        }
        if let Err(error) = check_writable(path) {
            let status = terminal.unwritable(&path.display().to_string(), &error);
            return status as u8;
        }
    }
    let (Ok(status) | Err(status)) = commands::execute(&cli.command, &terminal);
    status as u8
}

/// `daelight help solve` means `daelight solve --help`.
fn asked_for_help(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// Words that others use for commands of daelight.
const COMMANDS: &[(&str, &str)] = &[
    ("run", "solve"),
    ("simulate", "solve"),
    ("integrate", "solve"),
    ("validate", "check"),
    ("parse", "check"),
    ("flatten", "derive"),
    ("draw", "plot"),
    ("list", "examples"),
    ("models", "examples"),
];

/// Words that others use for options of daelight.
const SYNONYMS: &[(&str, &str)] = &[
    ("--until", "--to"),
    ("--end", "--to"),
    ("--tend", "--to"),
    ("--t-end", "--to"),
    ("--tstop", "--to"),
    ("--stop-time", "--to"),
    ("--start", "--from"),
    ("--start-time", "--from"),
    ("--tolerance", "--rtol"),
    ("--tol", "--rtol"),
    ("--output", "--out"),
    ("--parameter", "--set"),
    ("--param", "--set"),
    ("--image", "--plot"),
];

/// The same message with tips that help: what others call an option, the command that takes it, and no option that only looks
/// a little like the one asked for.
fn with_near_tips(mut asked: clap::Error, command: Option<&str>) -> clap::Error {
    let text = |asked: &clap::Error, kind| match asked.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    // A value that is offered in the place of another one looks like it, too.
    let given = text(&asked, ContextKind::InvalidValue).unwrap_or_default();
    if text(&asked, ContextKind::SuggestedValue)
        .is_some_and(|offered| daelight_lang::nearest(&given, [offered.as_str()]).is_none())
    {
        asked.remove(ContextKind::SuggestedValue);
    }
    let Some(wrong) = text(&asked, ContextKind::InvalidArg) else {
        return asked;
    };
    if asked.kind() != ErrorKind::UnknownArgument {
        return asked;
    }
    // Nothing that begins with hyphens is a value here.
    asked.remove(ContextKind::Suggested);
    let offered = text(&asked, ContextKind::SuggestedArg);
    let is_near = |offered: String| daelight_lang::nearest(&wrong, [offered.as_str()]).is_some();
    let tip = tip(&wrong, command);
    if tip.is_some() || !offered.is_some_and(is_near) {
        asked.remove(ContextKind::SuggestedArg);
        asked.remove(ContextKind::Usage);
    }
    if let Some(tip) = tip {
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        asked.insert(ContextKind::Suggested, tip);
    }
    asked
}

/// What to write instead of a word that a command does not take.
fn tip(wrong: &str, command: Option<&str>) -> Option<String> {
    let commands = Cli::command();
    let takes = |name: &str, option: &str| {
        let found = commands.find_subcommand(name)?;
        let mut options = found.get_arguments().filter_map(|one| one.get_long());
        options.find(|long| option.strip_prefix("--") == Some(long))
    };
    let command = command?;
    if wrong.parse::<f64>().is_ok() && takes(command, "--set").is_some() {
        return Some(format!(
            "join a name and its value by '=', as in --set k={wrong}"
        ));
    }
    if wrong.starts_with('=') && takes(command, "--set").is_some() {
        let word = "write a name and its value without blanks, as in --set k=2";
        return Some(word.to_string());
    }
    if wrong.contains('=') && !wrong.starts_with('-') && takes(command, "--set").is_some() {
        return Some(format!("give --set again for each value: --set {wrong}"));
    }
    if !wrong.starts_with('-') && takes(command, "--forward").is_some() {
        return Some(format!("name the forward model with --forward {wrong}"));
    }
    if wrong == "--stop" && takes(command, "--stop-when").is_some() {
        return Some("use '--to' for a time, '--stop-when' for a condition".to_string());
    }
    if wrong == "--at" && takes(command, "--from").is_some() {
        let word = "use '--from' for the time at which the run starts; 'daelight analyze' and 'daelight init' take --at";
        return Some(word.to_string());
    }
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == wrong);
    let meant = synonym.map_or(wrong, |(_, ours)| ours);
    if meant != wrong && takes(command, meant).is_some() {
        return Some(format!("use '{meant}'"));
    }
    let others = commands.get_subcommands().map(|one| one.get_name());
    let others: Vec<&str> = others
        .filter(|other| takes(other, meant).is_some())
        .collect();
    match others.as_slice() {
        [] => None,
        others if others.contains(&"solve") => Some(format!(
            "{command} does not take it; 'daelight solve' takes {meant}"
        )),
        others => Some(format!(
            "{command} does not take it; 'daelight {}' takes {meant}",
            others[0]
        )),
    }
}
