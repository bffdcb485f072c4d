//! Folders of Modelica libraries, on disk and built in, from which texts are read when a name in them is first needed.

use crate::files::read_at_most;
use crate::parts;
use daelight_lang::{Files, MAX_SOURCE_BYTES};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders in which libraries are looked for, in order.
#[derive(Debug)]
struct Folders(Vec<String>);

/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;

impl Files for Folders {
    fn roots(&self) -> Vec<String> {
        self.0.clone()
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        if let Some(entries) = parts::list(folder) {
            return Some(entries);
        }
        let entries = std::fs::read_dir(folder).ok()?;
        let entry = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, entry.path().is_dir()))
        };
        let entries = entries.take(MOST_ENTRIES);
        Some(entries.filter_map(|found| entry(found.ok()?)).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(text) = parts::text(path) {
            return Ok(text.as_bytes().to_vec());
        }
        read_at_most(Path::new(path), MAX_SOURCE_BYTES as u64).map_err(|error| error.to_string())
    }
}

/// Where the classes that a model uses may stand: the folders given, those of `MODELICAPATH`, the folder of the text, and
/// the library that is built in.
pub fn library_folders(given: &[PathBuf], model: &str) -> Arc<dyn Files> {
    let mut roots: Vec<PathBuf> = given.to_vec();
    if let Some(paths) = std::env::var_os("MODELICAPATH") {
        roots.extend(std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()));
    }
    if model.ends_with(".mo") {
        let folder = Path::new(model).parent().unwrap_or(Path::new(""));
        roots.push(match folder.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => folder.to_path_buf(),
        });
    }
    let text = |path: &PathBuf| path.to_str().map(str::to_string);
    let built_in = parts::ROOT.to_string();
    let roots = roots.iter().filter_map(text).chain([built_in]).collect();
    Arc::new(Folders(roots))
}

/// A text that is the class of a dotted name in a library, if one of the folders holds its first part.
pub(crate) fn text_of_class(name: &str, files: &dyn Files) -> Option<String> {
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !name.contains('.') || !name.split('.').all(is_word) {
        return None;
    }
    let (first, last) = (name.split('.').next()?, name.rsplit('.').next()?);
    let holds = |root: String| {
        let entries = files.list(&root).unwrap_or_default();
        entries.iter().any(|(entry, _)| {
            let bare = entry.strip_suffix(".mo").unwrap_or(entry);
            bare == first
                || bare
                    .strip_prefix(first)
                    .is_some_and(|rest| rest.starts_with(' '))
        })
    };
    let found = files.roots().into_iter().any(holds);
    found.then(|| format!("model {last}\n  extends {name};\nend {last};\n"))
}
