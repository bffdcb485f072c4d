//! What the words of a text stand for: declarations, classes, loop variables, here and in libraries.
//!
//! The rules are those of `docs/theory/components.md`, section 2, on the texts alone: what is redeclared from outside has the
//! meaning of its first declaration.

use crate::document::Text;
use crate::library::{Cache, Overlay};
use daelight_lang::{ATTRIBUTES, Files, OutlinedClass, OutlinedDeclaration, Span, WordRole};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A class of one of the texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClassRef {
    file: usize,
    class: usize,
}

/// What a word stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    Class(ClassRef),
    Declaration(ClassRef, usize),
    Literal(ClassRef, usize),
    Loop {
        file: usize,
        at: usize,
    },
    /// An attribute of a variable.
    Attribute(String),
    /// A type or function that every text knows, or the time.
    BuiltIn(String),
}

/// What every text knows beside functions.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("Real", "type: a real number"),
    ("Integer", "type: a whole number"),
    ("Boolean", "type: a truth value"),
    ("String", "type: a text"),
    ("time", "the independent variable"),
];

struct Entry {
    text: Arc<Text>,
    /// The folder with further classes of its first class.
    folder: Option<String>,
}

/// A text and all it refers to, read when it is needed.
pub(crate) struct World<'w> {
    files: &'w Overlay,
    cache: &'w Cache,
    entries: RefCell<Vec<Entry>>,
    /// Lookups that may still be made: classes may be defined by themselves.
    budget: Cell<usize>,
}

/// The document itself.
pub const HERE: usize = 0;

impl<'w> World<'w> {
    /// What `text` sees through `files`; at most `budget` lookups are made.
    pub fn new(text: Arc<Text>, files: &'w Overlay, cache: &'w Cache, budget: usize) -> Self {
        let folder = package_folder(&text.path);
        Self {
            files,
            cache,
            entries: RefCell::new(vec![Entry { text, folder }]),
            budget: Cell::new(budget),
        }
    }

    pub fn text(&self, file: usize) -> Arc<Text> {
        self.entries.borrow()[file].text.clone()
    }

    pub fn class(&self, class: ClassRef) -> OutlinedClass {
        self.text(class.file).outline.classes[class.class].clone()
    }

    pub fn declaration(&self, class: ClassRef, at: usize) -> OutlinedDeclaration {
        self.text(class.file).outline.classes[class.class].declarations[at].clone()
    }

    /// The class around a byte of the document.
    pub fn class_around(&self, byte: usize) -> Option<ClassRef> {
        let class = self.text(HERE).class_at(byte)?;
        Some(ClassRef { file: HERE, class })
    }

    /// Where a meaning is declared.
    pub fn place(&self, meaning: &Meaning) -> Option<(Arc<Text>, Span)> {
        let (file, span) = match *meaning {
            Meaning::Class(class) => (class.file, self.class(class).name_span),
            Meaning::Literal(class, _) => (class.file, self.class(class).name_span),
            Meaning::Declaration(class, at) => (class.file, self.declaration(class, at).name_span),
            Meaning::Loop { file, at } => (file, self.text(file).outline.loops[at].name_span),
            Meaning::Attribute(_) | Meaning::BuiltIn(_) => return None,
        };
        Some((self.text(file), span))
    }

    fn spend(&self) -> Option<()> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        Some(())
    }

    /// What a word of the document stands for.
    pub fn meaning(&self, word: usize) -> Option<Meaning> {
        let text = self.text(HERE);
        let found = &text.outline.words[word];
        let name = text.name(word);
        let byte = found.span.start as usize;
        let around = text.class_at(byte);
        match &found.role {
            WordRole::Foreign => None,
            WordRole::EndOfClass => {
                around.map(|class| Meaning::Class(ClassRef { file: HERE, class }))
            }
            WordRole::Member(None) => self.top(name).map(Meaning::Class),
            WordRole::Member(Some(before)) => {
                self.spend()?;
                let container = self.meaning(*before)?;
                self.part(&container, name)
            }
            WordRole::Modified { owner, path } => self.modified(around, owner, path),
            WordRole::Plain => {
                let is_it = |class: &OutlinedClass| class.name_span.start == found.span.start;
                if let Some(class) = text.outline.classes.iter().position(is_it) {
                    return Some(Meaning::Class(ClassRef { file: HERE, class }));
                }
                let holds = |span: Span| (span.start as usize..span.end as usize).contains(&byte);
                let mut loops = text.outline.loops.iter();
                if let Some(at) = loops.rposition(|l| l.name == name && holds(l.scope)) {
                    return Some(Meaning::Loop { file: HERE, at });
                }
                self.find(HERE, around, name).or_else(|| {
                    let mut known = BUILT_IN.iter().map(|&(known, _)| known);
                    let is_type = known.any(|known| known == name);
                    let mut functions = daelight_lang::built_in_functions();
                    let is_known = is_type || functions.any(|known| known == name);
                    is_known.then(|| Meaning::BuiltIn(name.to_string()))
                })
            }
        }
    }

    fn modified(&self, around: Option<usize>, owner: &str, path: &[String]) -> Option<Meaning> {
        let (last, inner) = path.split_last()?;
        if owner.is_empty() {
            return None;
        }
        let mut found = self.find_path(HERE, around, owner);
        for part in inner {
            found = found.and_then(|container| self.part(&container, part));
        }
        let member = found.and_then(|container| self.part(&container, last));
        let is_attribute = ATTRIBUTES.contains(&last.as_str());
        member.or_else(|| is_attribute.then(|| Meaning::Attribute(last.clone())))
    }

    /// What a name behind a dot stands for.
    pub fn part(&self, container: &Meaning, name: &str) -> Option<Meaning> {
        self.member(self.class_behind(container)?, name)
    }

    /// The class whose parts a meaning has.
    pub fn class_behind(&self, meaning: &Meaning) -> Option<ClassRef> {
        match *meaning {
            Meaning::Class(class) => Some(class),
            Meaning::Declaration(class, at) => {
                let declared = self.declaration(class, at);
                match self.find_path(class.file, Some(class.class), &declared.type_name)? {
                    Meaning::Class(class) => Some(class),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What a dotted name stands for, seen from a class.
    pub fn find_path(&self, file: usize, class: Option<usize>, path: &str) -> Option<Meaning> {
        self.spend()?;
        let mut parts = path.split('.');
        let first = parts.next()?;
        let mut found = match first {
            "" => Meaning::Class(self.top(parts.next()?)?),
            _ => self.find(file, class, first)?,
        };
        for part in parts {
            found = self.part(&found, part)?;
        }
        Some(found)
    }

    /// What a simple name stands for, seen from a class.
    pub fn find(&self, file: usize, class: Option<usize>, name: &str) -> Option<Meaning> {
        self.spend()?;
        let text = self.text(file);
        let classes = &text.outline.classes;
        let mut at = class;
        while let Some(class) = at {
            let here = ClassRef { file, class };
            if let Some(found) = self.member(here, name) {
                return Some(found);
            }
            if let Some(found) = self.imported(here, name) {
                return Some(found);
            }
            at = classes[class].around;
        }
        self.find_around(file, name)
    }

    /// A name among the classes of a file, of the packages it is in, and of the libraries.
    fn find_around(&self, file: usize, name: &str) -> Option<Meaning> {
        let text = self.text(file);
        let is_it = |class: &OutlinedClass| class.around.is_none() && class.name == name;
        if let Some(class) = text.outline.classes.iter().position(is_it) {
            return Some(Meaning::Class(ClassRef { file, class }));
        }
        let mut within = text.outline.within.as_deref().unwrap_or("");
        while !within.is_empty() {
            if let Some(package) = self.top_path(within)
                && let Some(found) = self.member(package, name)
            {
                return Some(found);
            }
            within = within.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.top(name).map(Meaning::Class)
    }

    /// What a class and its bases declare.
    pub fn member(&self, class: ClassRef, name: &str) -> Option<Meaning> {
        self.spend()?;
        if let Some(found) = self.own(class, name) {
            return Some(found);
        }
        let bases = self.class(class).bases;
        bases.iter().find_map(|base| {
            let base = self.base(class, base)?;
            self.member(base, name)
        })
    }

    /// What the text of a class declares, and the folder behind it.
    fn own(&self, class: ClassRef, name: &str) -> Option<Meaning> {
        let text = self.text(class.file);
        let here = &text.outline.classes[class.class];
        if let Some(at) = here.declarations.iter().position(|d| d.name == name) {
            return Some(Meaning::Declaration(class, at));
        }
        let is_it = |other: &OutlinedClass| other.around == Some(class.class) && other.name == name;
        if let Some(inside) = text.outline.classes.iter().position(is_it) {
            let file = class.file;
            return Some(Meaning::Class(ClassRef {
                file,
                class: inside,
            }));
        }
        if let Some(at) = here.literals.iter().position(|literal| literal == name) {
            return Some(Meaning::Literal(class, at));
        }
        let folder = match here.around {
            None => self.entries.borrow()[class.file].folder.clone(),
            Some(_) => None,
        };
        self.named(&folder?, name, name).map(Meaning::Class)
    }

    /// The class that another one extends.
    fn base(&self, class: ClassRef, base: &str) -> Option<ClassRef> {
        self.spend()?;
        let text = self.text(class.file);
        let mut parts = base.trim_start_matches('.').split('.');
        let first = parts.next()?;
        // Its own bases do not say what its bases are.
        let own = self.own(class, first);
        let own = own.or_else(|| self.imported(class, first));
        let around = text.outline.classes[class.class].around;
        let mut found = own.or_else(|| self.find(class.file, around, first))?;
        for part in parts {
            found = self.part(&found, part)?;
        }
        match found {
            Meaning::Class(other) if other != class => Some(other),
            _ => None,
        }
    }

    fn imported(&self, class: ClassRef, name: &str) -> Option<Meaning> {
        for (local, path) in self.class(class).imports {
            self.spend()?;
            match local {
                Some(local) if local == name => return self.from_top(&path),
                None => {
                    let package = self.from_top(&path);
                    let found = package.and_then(|package| self.part(&package, name));
                    if found.is_some() {
                        return found;
                    }
                }
                Some(_) => {}
            }
        }
        None
    }

    fn from_top(&self, path: &str) -> Option<Meaning> {
        self.top_path(path).map(Meaning::Class)
    }

    /// The class of a dotted name that begins at the top.
    fn top_path(&self, path: &str) -> Option<ClassRef> {
        let mut parts = path.split('.');
        let mut found = self.top(parts.next()?)?;
        for part in parts {
            self.spend()?;
            match self.own(found, part)? {
                Meaning::Class(class) => found = class,
                _ => return None,
            }
        }
        Some(found)
    }

    /// A class at the top: of the document, or of a library.
    fn top(&self, name: &str) -> Option<ClassRef> {
        self.spend()?;
        let here = self.text(HERE);
        let is_it = |class: &OutlinedClass| class.around.is_none() && class.name == name;
        if here.outline.within.is_none()
            && let Some(class) = here.outline.classes.iter().position(is_it)
        {
            return Some(ClassRef { file: HERE, class });
        }
        self.files.roots().iter().find_map(|root| {
            self.named(root, name, name).or_else(|| {
                let entries = self.files.list(root).unwrap_or_default();
                let entries = entries.into_iter().map(|(entry, _)| entry);
                let mut versions: Vec<String> = entries
                    .filter(|entry| {
                        let rest = entry.strip_prefix(name);
                        rest.is_some_and(|rest| rest.starts_with(' '))
                    })
                    .collect();
                versions.sort();
                self.named(root, versions.last()?, name)
            })
        })
    }

    /// The class `name` in `entry.mo` or `entry/package.mo` of a folder.
    fn named(&self, folder: &str, entry: &str, name: &str) -> Option<ClassRef> {
        self.spend()?;
        let entry = entry.strip_suffix(".mo").unwrap_or(entry);
        let plain = format!("{folder}/{entry}.mo");
        let package = format!("{folder}/{entry}/package.mo");
        self.class_in(&plain, name, None)
            .or_else(|| self.class_in(&package, name, Some(format!("{folder}/{entry}"))))
    }

    fn class_in(&self, path: &str, name: &str, folder: Option<String>) -> Option<ClassRef> {
        let mut entries = self.entries.borrow_mut();
        let known = entries.iter().position(|entry| entry.text.path == path);
        let file = match known {
            Some(file) => file,
            None => {
                let text = self.cache.text(self.files, path)?;
                entries.push(Entry { text, folder });
                entries.len() - 1
            }
        };
        let classes = &entries[file].text.outline.classes;
        let is_it = |class: &OutlinedClass| class.around.is_none() && class.name == name;
        let class = classes.iter().position(is_it)?;
        Some(ClassRef { file, class })
    }

    /// All that can be named in a class: its own, its bases' and, unless `only_inside`, that of the classes around it.
    pub fn visible(&self, class: ClassRef, only_inside: bool) -> Vec<(String, Meaning)> {
        let mut found = Vec::new();
        let mut at = Some(class);
        while let Some(class) = at {
            self.collect(class, &mut found);
            let around = self.class(class).around;
            let file = class.file;
            let outer = around.filter(|_| !only_inside);
            at = outer.map(|class| ClassRef { file, class });
        }
        found
    }

    fn collect(&self, class: ClassRef, found: &mut Vec<(String, Meaning)>) {
        if self.spend().is_none() {
            return;
        }
        let text = self.text(class.file);
        let here = &text.outline.classes[class.class];
        for (at, declaration) in here.declarations.iter().enumerate() {
            let meaning = Meaning::Declaration(class, at);
            found.push((declaration.name.clone(), meaning));
        }
        for (at, other) in text.outline.classes.iter().enumerate() {
            if other.around == Some(class.class) {
                let file = class.file;
                found.push((
                    other.name.clone(),
                    Meaning::Class(ClassRef { file, class: at }),
                ));
            }
        }
        for (at, literal) in here.literals.iter().enumerate() {
            found.push((literal.clone(), Meaning::Literal(class, at)));
        }
        let folder = self.entries.borrow()[class.file].folder.clone();
        if let (Some(folder), None) = (folder, here.around) {
            for (entry, is_folder) in self.files.list(&folder).unwrap_or_default() {
                let name = entry.strip_suffix(".mo").filter(|_| !is_folder);
                let name = name.or(Some(entry.as_str()).filter(|_| is_folder));
                if let Some(name) = name.filter(|name| *name != "package" && *name != "Resources") {
                    found.push((name.to_string(), Meaning::BuiltIn(String::new())));
                }
            }
        }
        for base in &here.bases {
            if let Some(base) = self.base(class, base) {
                self.collect(base, found);
            }
        }
    }

    /// Names of classes at the top: of the document, its neighbours and libraries.
    pub fn tops(&self) -> Vec<String> {
        let text = self.text(HERE);
        let classes = text.outline.classes.iter();
        let own = classes.filter(|class| class.around.is_none());
        let mut names: Vec<String> = own.map(|class| class.name.clone()).collect();
        for root in self.files.roots() {
            for (entry, is_folder) in self.files.list(&root).unwrap_or_default() {
                let name = match entry.strip_suffix(".mo") {
                    Some(name) if !is_folder => name,
                    _ if is_folder => entry.split(' ').next().unwrap_or(""),
                    _ => continue,
                };
                let is_class = !is_folder || {
                    let inside = self.files.list(&format!("{root}/{entry}"));
                    inside.is_some_and(|list| list.iter().any(|(file, _)| file == "package.mo"))
                };
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                if is_class && !name.is_empty() && name.chars().all(is_name) {
                    names.push(name.to_string());
                }
            }
        }
        names.sort();
        names.dedup();
        names
    }
}

/// The folder whose files belong to a `package.mo`.
fn package_folder(path: &str) -> Option<String> {
    let folder = path.strip_suffix("/package.mo")?;
    Some(folder.to_string())
}
