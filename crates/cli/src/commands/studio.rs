//! The command `studio`: what is opened, the address printed, the browser started, Ctrl-C.

use crate::cli::StudioArgs;
use crate::terminal::{Ended, Status, Terminal};
use daelight_studio::{Folder, Started, Stop, StudioBounds, StudioSettings, serve, work};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn studio(arguments: &StudioArgs, terminal: &Terminal) -> Ended {
    let (folder, first) = opened(arguments.what.as_deref(), terminal)?;
    if arguments.worker {
        let folder = Folder::open(&folder).map_err(|_| Status::WrongUsage)?;
        // Nobody is left to tell if the pipe is closed.
        let _ = work(&folder, std::io::stdout());
        return Ok(Status::Done);
    }
    let settings = StudioSettings {
        worker: worker(&folder),
        folder,
        first,
        port: arguments.port.unwrap_or(0),
        bounds: StudioBounds::default(),
    };
    let stop = Stop::default();
    let stopper = stop.clone();
    // Without a handler Ctrl-C ends the program at once, and its workers with it.
    let _ = ctrlc::set_handler(move || stopper.now());
    let ready = |started: &Started| {
        let line = format!("{}\n", started.address);
        let _ = terminal.answer(line.as_bytes(), None);
        let opened = settings_folder(&settings);
        terminal.note(&[format!(
            "the studio is open on {opened}; the address is its key; Ctrl-C ends it"
        )]);
        if !arguments.no_open && !open_browser(&started.address) {
            terminal.note(&["no browser could be started: open the address in one".to_string()]);
        }
    };
    match serve(settings.clone(), &stop, ready) {
        Ok(()) => Ok(Status::Done),
        Err(error) => {
            let help = match arguments.port {
                Some(port) => format!("choose another port than {port}, or leave --port out"),
                None => {
                    "check the folder and that this computer may listen on 127.0.0.1".to_string()
                }
            };
            Err(terminal.usage(&format!("the studio cannot be opened: {error}"), &help))
        }
    }
}

fn settings_folder(settings: &StudioSettings) -> String {
    let folder = settings.folder.canonicalize();
    folder
        .as_ref()
        .unwrap_or(&settings.folder)
        .display()
        .to_string()
}

/// The folder, and the file or built-in model that is shown first.
fn opened(what: Option<&Path>, terminal: &Terminal) -> Result<(PathBuf, Option<String>), Status> {
    let here = PathBuf::from(".");
    let Some(what) = what else {
        return Ok((here, None));
    };
    if what.is_dir() {
        return Ok((what.to_path_buf(), None));
    }
    let name = what.to_string_lossy().into_owned();
    let built_in = daelight::built_in_models()
        .iter()
        .any(|model| model.name == name);
    if built_in
        || daelight::parts_examples()
            .iter()
            .any(|part| part.name == name)
    {
        return Ok((here, Some(format!("built-in:{name}"))));
    }
    if !what.is_file() {
        let message = format!("`{name}` is neither a file, nor a folder, nor a built-in model");
        return Err(terminal.usage(&message, "see `daelight examples`, or name a folder"));
    }
    let file = what
        .file_name()
        .map(|file| file.to_string_lossy().into_owned());
    let Some(file) = file.filter(|file| file.ends_with(".mo")) else {
        let message = format!("`{name}` is not a Modelica file");
        return Err(terminal.usage(&message, "name a file that ends in .mo"));
    };
    let folder = match what.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => here,
    };
    Ok((folder, Some(file)))
}

/// How this program is started again: by itself, or by Python with it.
pub fn this_program() -> Vec<OsString> {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("daelight"));
    let is_python = (program.file_name())
        .is_some_and(|name| name.to_string_lossy().to_lowercase().starts_with("python"));
    let mut words = vec![program.into_os_string()];
    if is_python {
        words.extend(["-m", "daelight"].map(OsString::from));
    }
    words
}

/// How a worker is started.
fn worker(folder: &Path) -> Vec<OsString> {
    let mut words = this_program();
    let folder = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    words.extend([OsString::from("studio"), OsString::from("--worker")]);
    words.extend([OsString::from("--"), folder.into_os_string()]);
    words
}

/// Opens an address in the user's browser; whether something was started.
fn open_browser(address: &str) -> bool {
    let (program, words): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/c", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(words).arg(address);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().is_ok()
}
