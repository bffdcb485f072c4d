//! The texts of a model: the one that was asked for, and those of libraries, read when a name in them is first needed.
//!
//! Nothing here opens a file: a [`Files`] does, and `crates/daelight` gives one.

use crate::ast::{Ast, AstId, Class, Expr};
use crate::diagnostic::{Code, Diagnostic};
use crate::parse;
use crate::source::{MAX_SOURCE_BYTES, Source, SourceMap, Span};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Where texts of libraries come from. Paths are joined with `/`.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// The folders in which libraries stand, those asked first in front.
    fn roots(&self) -> Vec<String>;

    /// What a folder holds: names, and whether each is a folder. `None` where it cannot be listed.
    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>>;

    /// The bytes of a file, or why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

const CHUNK: usize = 64;
const N_CHUNKS: usize = 512;

/// All texts, each parsed once. Trees stay where they are, so that they can be referred to while others are added.
pub struct Forest<'f> {
    chunks: Vec<OnceCell<Vec<OnceCell<Ast>>>>,
    n_files: Cell<usize>,
    files: Option<&'f dyn Files>,
    pub sources: RefCell<SourceMap>,
    /// What was found while library texts were read.
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    folders: RefCell<HashMap<String, Rc<HashMap<String, bool>>>>,
    /// Files by path, and which class of them was wanted.
    loaded: RefCell<HashMap<String, Option<usize>>>,
    tops: RefCell<HashMap<String, Option<usize>>>,
}

impl<'f> Forest<'f> {
    pub fn new(files: Option<&'f dyn Files>, sources: SourceMap) -> Self {
        Self {
            chunks: (0..N_CHUNKS).map(|_| OnceCell::new()).collect(),
            n_files: Cell::new(0),
            files,
            sources: RefCell::new(sources),
            diagnostics: RefCell::new(Vec::new()),
            folders: RefCell::default(),
            loaded: RefCell::default(),
            tops: RefCell::default(),
        }
    }

    /// Adds a parsed text, whose number must be [`Forest::next`].
    pub fn add(&self, ast: Ast) -> usize {
        let file = self.n_files.get();
        self.n_files.set(file + 1);
        let chunk =
            self.chunks[file / CHUNK].get_or_init(|| (0..CHUNK).map(|_| OnceCell::new()).collect());
        // The place is new: nothing was put there before.
        let _ = chunk[file % CHUNK].set(ast);
        file
    }

    pub fn ast(&self, file: usize) -> &Ast {
        self.chunks[file / CHUNK]
            .get()
            .and_then(|chunk| chunk[file % CHUNK].get())
            .expect("the text was added")
    }

    pub fn expr(&self, id: AstId) -> &Expr {
        self.ast(id.file()).expr(id)
    }

    pub fn span(&self, id: AstId) -> Span {
        self.ast(id.file()).span(id)
    }

    /// Whether a name stands in a part of the first text that could not be read.
    pub fn is_unread(&self, name: &str) -> bool {
        self.ast(0).unread.contains(name)
    }

    /// The bytes of a file with data.
    pub fn data(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.files {
            Some(files) => files.read(path),
            None => Err("no folder of files was given".into()),
        }
    }

    /// The path behind `modelica://Library/rest`.
    pub fn resource(&self, uri: &str) -> String {
        let Some(rest) = uri.strip_prefix("modelica://") else {
            return uri.to_string();
        };
        let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
        let top = name.split('.').next().unwrap_or(name);
        match self.top(top).and_then(|class| class.folder.as_ref()) {
            Some(folder) => format!("{folder}/{path}"),
            None => uri.to_string(),
        }
    }

    fn folder(&self, path: &str) -> Rc<HashMap<String, bool>> {
        if let Some(known) = self.folders.borrow().get(path) {
            return known.clone();
        }
        let list = self.files.and_then(|files| files.list(path));
        let folder: Rc<HashMap<String, bool>> =
            Rc::new(list.unwrap_or_default().into_iter().collect());
        let mut folders = self.folders.borrow_mut();
        folders.insert(path.to_string(), folder.clone());
        folder
    }

    /// A class of a library at the top level.
    pub fn top(&self, name: &str) -> Option<&Class> {
        if let Some(known) = self.tops.borrow().get(name) {
            return known.and_then(|file| self.class_of(file, name));
        }
        let mut found = None;
        for root in self.files.map(Files::roots).unwrap_or_default() {
            found = self.load_named(&root, name, name);
            if found.is_none() {
                // A folder may carry the version behind the name; the newest is taken.
                let folder = self.folder(&root);
                let mut versions: Vec<&String> = folder
                    .keys()
                    .filter(|key| {
                        key.strip_prefix(name)
                            .is_some_and(|rest| rest.starts_with(' '))
                    })
                    .collect();
                versions.sort_by_key(|key| version(key));
                found = versions
                    .last()
                    .and_then(|key| self.load_named(&root, key, name));
            }
            if found.is_some() {
                break;
            }
        }
        self.tops.borrow_mut().insert(name.to_string(), found);
        found.and_then(|file| self.class_of(file, name))
    }

    /// A class that stands in a file or folder of its own inside a class.
    pub fn child(&self, class: &Class, name: &str) -> Option<&Class> {
        let folder = class.folder.as_ref()?;
        let file = self.load_named(folder, name, name)?;
        self.class_of(file, name)
    }

    /// The packages of a library that stand in folders of their own, by name.
    pub fn packages_of(&self, library: &str) -> Vec<(String, &Class)> {
        let Some(folder) = self.top(library).and_then(|class| class.folder.as_ref()) else {
            return Vec::new();
        };
        let list = self.folder(folder);
        let mut names: Vec<&String> = list.keys().filter(|name| list[*name]).collect();
        names.sort();
        let package = |name: &String| {
            let file = self.load_named(folder, name, name)?;
            Some((format!("{library}.{name}"), self.class_of(file, name)?))
        };
        names.into_iter().filter_map(package).collect()
    }

    fn class_of(&self, file: usize, name: &str) -> Option<&Class> {
        self.ast(file)
            .classes
            .iter()
            .find(|class| class.name == name)
    }

    /// The file of `name` in a folder: `entry.mo` or `entry/package.mo`.
    fn load_named(&self, folder: &str, entry: &str, name: &str) -> Option<usize> {
        let list = self.folder(folder);
        let entry = entry.strip_suffix(".mo").unwrap_or(entry);
        let plain = format!("{entry}.mo");
        if list.get(&plain) == Some(&false) {
            return self.load(&format!("{folder}/{plain}"), name, None);
        }
        if list.get(entry) == Some(&true) {
            let inner = format!("{folder}/{entry}");
            if self.folder(&inner).get("package.mo") == Some(&false) {
                return self.load(&format!("{inner}/package.mo"), name, Some(&inner));
            }
        }
        None
    }

    fn load(&self, path: &str, name: &str, folder: Option<&str>) -> Option<usize> {
        if let Some(known) = self.loaded.borrow().get(path) {
            return *known;
        }
        let file = self.parse_file(path, name, folder);
        self.loaded.borrow_mut().insert(path.to_string(), file);
        file
    }

    fn parse_file(&self, path: &str, name: &str, folder: Option<&str>) -> Option<usize> {
        let mut diagnostics = self.diagnostics.borrow_mut();
        let mut unreadable = |why: String| {
            diagnostics.push(
                Diagnostic::placeless(
                    Code::UnreadableFile,
                    format!("`{path}` cannot be read: {why}"),
                )
                .help("check the library"),
            );
        };
        if self.n_files.get() >= CHUNK * N_CHUNKS {
            unreadable("there are too many files".into());
            return None;
        }
        let bytes = match self.files?.read(path) {
            Ok(bytes) if bytes.len() <= MAX_SOURCE_BYTES => bytes,
            Ok(_) => {
                unreadable("it is too large".into());
                return None;
            }
            Err(why) => {
                unreadable(why);
                return None;
            }
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let id = self.sources.borrow_mut().add(Source::new(path, text));
        let sources = self.sources.borrow();
        let file = self.n_files.get() as u16;
        let mut ast = parse::parse(sources.get(id), id, file, &mut diagnostics);
        for class in &mut ast.classes {
            if class.name == name {
                class.folder = folder.map(str::to_string);
            }
        }
        Some(self.add(ast))
    }
}

/// The numbers of a version, for comparing.
fn version(name: &str) -> Vec<u64> {
    let digits = name.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|part| part.parse().ok()).collect()
}
