//! The files behind the open documents: unsaved texts come before those on disk.

use crate::document::Text;
use daelight_lang::Files;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Libraries and neighbours of a document, with the texts that are open in the editor in their places.
#[derive(Debug)]
pub(crate) struct Overlay {
    below: Arc<dyn Files>,
    open: Arc<HashMap<String, Arc<Text>>>,
}

impl Overlay {
    /// Libraries alone.
    pub fn of(below: Arc<dyn Files>) -> Self {
        Self {
            below,
            open: Arc::default(),
        }
    }

    /// What the document at `path` sees; `open` has all open texts by path.
    pub fn new(path: &str, open: Arc<HashMap<String, Arc<Text>>>) -> Self {
        Self {
            below: daelight::library_folders(&[], path),
            open,
        }
    }
}

impl Files for Overlay {
    fn roots(&self) -> Vec<String> {
        self.below.roots()
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        let mut entries = self.below.list(folder);
        for path in self.open.keys() {
            if let Some((around, name)) = path.rsplit_once('/')
                && around == folder
            {
                let entries = entries.get_or_insert_default();
                if !entries.iter().any(|(known, _)| known == name) {
                    entries.push((name.to_string(), false));
                }
            }
        }
        entries
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.open.get(path) {
            Some(text) => Ok(text.text.clone().into_bytes()),
            None => self.below.read(path),
        }
    }
}

/// Texts of libraries with their names, each read once until files change.
#[derive(Default)]
pub(crate) struct Cache(RefCell<HashMap<String, Option<Arc<Text>>>>);

impl Cache {
    /// The text of a file; open ones are never old.
    pub fn text(&self, files: &Overlay, path: &str) -> Option<Arc<Text>> {
        if let Some(open) = files.open.get(path) {
            return Some(open.clone());
        }
        if let Some(known) = self.0.borrow().get(path) {
            return known.clone();
        }
        let bytes = files.read(path).ok();
        let text = bytes.map(|bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Arc::new(Text::new(path, text))
        });
        self.0.borrow_mut().insert(path.to_string(), text.clone());
        text
    }

    /// Files may have changed.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
