//! The one folder of a studio: Modelica files below it, and nothing else.

use daelight::files::{read_at_most, reason, write_whole};
use daelight_lang::Files;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// How much of a folder is looked at.
struct Reach {
    /// Bytes of a file that is opened: what an editor on a page can hold.
    bytes: u64,
    /// Folders below each other.
    depth: usize,
    /// Files of all of them, and entries that are none.
    files: usize,
    entries: usize,
}

const REACH: Reach = Reach {
    bytes: 2 << 20,
    depth: 6,
    files: 2000,
    entries: 40_000,
};

/// A folder whose files may be read and written.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// Why a file is not read or written, in a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Folder {
    /// Opens a folder.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let refused = |why: String| Refused(format!("{} cannot be opened: {why}", path.display()));
        let root = path.canonicalize().map_err(|e| refused(reason(&e)))?;
        match root.is_dir() {
            true => Ok(Self { root }),
            false => Err(refused("it is not a folder".to_string())),
        }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The Modelica files, by name; links and hidden folders are left out.
    pub fn list(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![(self.root.clone(), String::new(), 0)];
        let mut looked_at = 0;
        while let Some((folder, name, depth)) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                looked_at += 1;
                let (Ok(kind), Ok(own)) = (entry.file_type(), entry.file_name().into_string())
                else {
                    continue;
                };
                if looked_at > REACH.entries || found.len() >= REACH.files {
                    break;
                }
                if own.starts_with('.') || kind.is_symlink() {
                    continue;
                }
                let path = format!("{name}{own}");
                if kind.is_dir() && depth < REACH.depth {
                    open.push((entry.path(), format!("{path}/"), depth + 1));
                } else if kind.is_file() && own.ends_with(".mo") {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> Result<String, Refused> {
        let place = self.inside(path)?;
        let cannot = |why: &str| Refused(format!("`{path}` cannot be read: {why}"));
        if !place.is_file() {
            return Err(cannot("there is no such file"));
        }
        let bytes = read_at_most(&place, REACH.bytes).map_err(|e| cannot(&reason(&e)))?;
        String::from_utf8(bytes).map_err(|_| cannot("it is not text in UTF-8"))
    }

    /// Writes a file; `before` is the text that it is thought to have, `None` for a new one.
    pub fn write(&self, path: &str, text: &str, before: Option<&str>) -> Result<(), Refused> {
        let place = self.inside(path)?;
        if place.exists() {
            let now = self.read(path)?;
            if before.is_none_or(|before| before != now) && now != text {
                let why = match before {
                    None => "a file of this name is there already",
                    Some(_) => "it was changed by somebody else since it was opened",
                };
                return Err(Refused(format!("`{path}` is not written: {why}.")));
            }
        }
        write_whole(&place, text.as_bytes())
            .map_err(|error| Refused(format!("`{path}` is not written: {error}.")))
    }

    /// The place of a Modelica file below the folder, not behind a link.
    fn inside(&self, path: &str) -> Result<PathBuf, Refused> {
        let refused = |why: &str| Err(Refused(format!("`{path}` is refused: {why}.")));
        let is_plain = |part: Component| match part {
            Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
            _ => false,
        };
        let parts = Path::new(path).components();
        if path.contains(['\\', '\0', ':']) || !parts.clone().all(is_plain) {
            return refused("name a file below the folder that was opened");
        }
        if !path.ends_with(".mo") || path.ends_with("/.mo") {
            return refused("only files whose names end in .mo are opened");
        }
        match self.holds(&self.root.join(path)) {
            true => Ok(self.root.join(path)),
            false => refused("a link is on the way"),
        }
    }

    /// Whether a path is below the folder, and no link leads out of it.
    fn holds(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else {
            return false;
        };
        let mut place = self.root.clone();
        below.components().all(|part| {
            place.push(part);
            let is_link = place.symlink_metadata().is_ok_and(|m| m.is_symlink());
            matches!(part, Component::Normal(_)) && !is_link
        })
    }

    /// Where the classes stand that a file of the folder uses: beside it, in the folder, in the libraries of `MODELICAPATH`, and in
    /// the library that is built in.
    pub fn libraries(&self, file: &str) -> Arc<dyn Files> {
        let mut given = vec![self.root.clone()];
        let beside = Path::new(file)
            .parent()
            .map(|parent| self.root.join(parent));
        given.extend(beside.filter(|place| *place != self.root && self.holds(place)));
        Arc::new(Guarded {
            folder: self.clone(),
            files: daelight::library_folders(&given, ""),
        })
    }
}

/// Libraries of which those in the folder are read without following links.
#[derive(Debug)]
struct Guarded {
    folder: Folder,
    files: Arc<dyn Files>,
}

impl Guarded {
    fn may_read(&self, path: &str) -> bool {
        let path = Path::new(path);
        !path.starts_with(&self.folder.root) || self.folder.holds(path)
    }
}

impl Files for Guarded {
    fn roots(&self) -> Vec<String> {
        self.files.roots()
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        if !self.may_read(folder) {
            return None;
        }
        let mut entries = self.files.list(folder)?;
        entries.retain(|(name, _)| self.may_read(&format!("{folder}/{name}")));
        Some(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.may_read(path) {
            true => self.files.read(path),
            false => Err("a link leads out of the folder".to_string()),
        }
    }
}
