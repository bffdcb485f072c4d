//! Where the library that runs models lies: `docs/decisions/0014-fmus.md`.

use std::path::{Path, PathBuf};

/// The library, read.
pub struct EngineLibrary {
    /// Where it was found.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What the file is called on this system.
fn file_name() -> String {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    format!("{DLL_PREFIX}daelight_engine{DLL_SUFFIX}")
}

/// The folder for the binary of this system in FMI 2.0 and 3.0, and the ending of its name.
pub(crate) fn platforms() -> Result<([&'static str; 2], &'static str), String> {
    use std::env::consts::{ARCH, OS};
    let names = match (OS, ARCH) {
        ("linux", "x86_64") => ["linux64", "x86_64-linux"],
        ("linux", "x86") => ["linux32", "x86-linux"],
        ("linux", "aarch64") => ["aarch64-linux", "aarch64-linux"],
        ("windows", "x86_64") => ["win64", "x86_64-windows"],
        ("macos", "x86_64") => ["darwin64", "x86_64-darwin"],
        ("macos", "aarch64") => ["darwin64", "aarch64-darwin"],
        _ => return Err(format!("FMI has no name for this system, {OS} on {ARCH}")),
    };
    Ok((names, std::env::consts::DLL_SUFFIX))
}

/// Finds the library: where `DAELIGHT_ENGINE` says, beside the program, in `deps` or `../lib` beside it.
pub fn find_engine() -> Result<EngineLibrary, (String, String)> {
    let read = |path: &Path| std::fs::read(path);
    if let Some(path) = std::env::var_os("DAELIGHT_ENGINE") {
        let path = PathBuf::from(path);
        return match read(&path) {
            Ok(bytes) => Ok(EngineLibrary { path, bytes }),
            Err(error) => Err((
                format!(
                    "DAELIGHT_ENGINE names `{}`, which cannot be read: {}",
                    path.display(),
                    daelight::files::reason(&error)
                ),
                format!("let it name the file {}, or leave it out", file_name()),
            )),
        };
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder = program
        .ok()
        .and_then(|path| path.parent().map(Path::to_path_buf));
    let folder = folder.unwrap_or_default();
    let name = file_name();
    let places = [
        folder.join(&name),
        folder.join("deps").join(&name),
        folder.join("../lib").join(&name),
    ];
    // Of two builds the later one counts.
    let changed = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let newest = places
        .iter()
        .filter_map(|path| Some((changed(path)?, path)))
        .max();
    if let Some((_, path)) = newest
        && let Ok(bytes) = read(path)
    {
        return Ok(EngineLibrary {
            path: path.clone(),
            bytes,
        });
    }
    Err((
        format!("{name}, the library that runs models inside FMUs, is not beside this program"),
        format!(
            "run `cargo build --release` in the repository, which makes both; or copy {name} to {}, or let DAELIGHT_ENGINE name it",
            folder.display()
        ),
    ))
}
