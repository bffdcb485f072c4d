//! What lies in `resources/`: the text of a model, what was said about it, and the library texts that it needs.

use daelight::{ModelText, Relations, library_folders, load_text};
use daelight_lang::{Files, Loaded, Options};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The text of a model and what was said about it.
#[derive(Clone, Debug)]
pub struct Resources {
    text: ModelText,
    options: Options,
    found: Found,
}

/// A model with its resources.
pub struct Prepared {
    /// What was read.
    pub loaded: Loaded,
    /// What an FMU of it holds.
    pub resources: Resources,
}

/// What libraries answered: folders and what they hold, and texts.
#[derive(Clone, Default, PartialEq, Debug)]
struct Found {
    n_roots: usize,
    folders: BTreeMap<String, Vec<(String, bool)>>,
    texts: BTreeMap<String, String>,
}

/// Libraries under other names, so that no path of a user gets into a file, and what they were asked.
#[derive(Debug)]
struct Recorder {
    behind: Arc<dyn Files>,
    roots: Vec<String>,
    found: Mutex<Found>,
}

/// Libraries as they were recorded; what is built in is read as ever.
#[derive(Debug)]
struct Replay {
    found: Found,
    built_in: Arc<dyn Files>,
}

/// The name under which a root is recorded.
fn alias(at: usize) -> String {
    format!("library{at}")
}

impl Recorder {
    /// The path behind a recorded one.
    fn real(&self, path: &str) -> String {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let at = (0..self.roots.len()).find(|&at| alias(at) == first);
        match at {
            Some(at) if rest.is_empty() => self.roots[at].clone(),
            Some(at) => format!("{}/{rest}", self.roots[at]),
            None => path.to_string(),
        }
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for Recorder {
    fn roots(&self) -> Vec<String> {
        let known = (0..self.roots.len()).map(alias);
        let built_in = self.behind.roots().into_iter().skip(self.roots.len());
        known.chain(built_in).collect()
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        let real = self.real(folder);
        let entries = self.behind.list(&real)?;
        if real != folder {
            let mut sorted = entries.clone();
            sorted.sort();
            self.found().folders.insert(folder.to_string(), sorted);
        }
        Some(entries)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let real = self.real(path);
        let bytes = self.behind.read(&real)?;
        if real != path {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.found().texts.insert(path.to_string(), text);
        }
        Ok(bytes)
    }
}

impl Files for Replay {
    fn roots(&self) -> Vec<String> {
        let known = (0..self.found.n_roots).map(alias);
        known
            .chain(self.built_in.roots().into_iter().last())
            .collect()
    }

    fn list(&self, folder: &str) -> Option<Vec<(String, bool)>> {
        let known = self.found.folders.get(folder).cloned();
        known.or_else(|| {
            self.built_in
                .list(folder)
                .filter(|_| folder.starts_with('<'))
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.found.texts.get(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None if path.starts_with('<') => self.built_in.read(path),
            None => Err("it is not in the FMU".to_string()),
        }
    }
}

impl Resources {
    /// Reads a model, and keeps what its text needs.
    pub fn of(text: ModelText, options: Options) -> Prepared {
        let behind = options
            .files
            .clone()
            .unwrap_or_else(|| library_folders(&[], &text.name));
        let mut roots = behind.roots();
        // The last one is built in.
        roots.pop();
        let recorder = Arc::new(Recorder {
            found: Mutex::new(Found {
                n_roots: roots.len(),
                ..Found::default()
            }),
            roots,
            behind,
        });
        let options = Options {
            files: Some(Arc::clone(&recorder) as Arc<dyn Files>),
            ..options
        };
        let loaded = load_text(&text, options.clone(), Relations::Modes);
        let found = recorder.found().clone();
        let resources = Self {
            text,
            options,
            found,
        };
        Prepared { loaded, resources }
    }

    /// The files, by name below `resources/`.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let folders: Map<String, Value> = (self.found.folders.iter())
            .map(|(folder, entries)| (folder.clone(), json!(entries)))
            .collect();
        let said = json!({
            "class": self.options.model,
            "set": self.options.set,
            "free": self.options.free,
            "roots": self.found.n_roots,
            "folders": folders,
            "texts": self.found.texts,
        });
        vec![
            ("model.json".to_string(), format!("{said:#}\n").into_bytes()),
            ("model.mo".to_string(), self.text.bytes.clone()),
        ]
    }

    /// Reads the files of a folder; `Err` says which one is missing or wrong.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let most = daelight_lang::MAX_SOURCE_BYTES as u64 * 16;
            daelight::files::read_at_most(&folder.join(name), most)
                .map_err(|error| format!("{name}: {}", daelight::files::reason(&error)))
        };
        let said: Value = serde_json::from_slice(&read("model.json")?)
            .map_err(|error| format!("model.json: {error}"))?;
        let list = |name: &str| -> Vec<String> {
            let items = said[name].as_array().into_iter().flatten();
            items
                .filter_map(|v| v.as_str().map(str::to_string))
                .collect()
        };
        let mut found = Found {
            n_roots: said["roots"].as_u64().unwrap_or(0) as usize,
            ..Found::default()
        };
        for (folder, entries) in said["folders"].as_object().into_iter().flatten() {
            let entry = |v: &Value| Some((v[0].as_str()?.to_string(), v[1].as_bool()?));
            let entries = entries.as_array().into_iter().flatten().filter_map(entry);
            found.folders.insert(folder.clone(), entries.collect());
        }
        for (path, text) in said["texts"].as_object().into_iter().flatten() {
            let text = text.as_str().unwrap_or_default();
            found.texts.insert(path.clone(), text.to_string());
        }
        let replay = Replay {
            found: found.clone(),
            built_in: library_folders(&[], ""),
        };
        Ok(Self {
            text: ModelText {
                name: "model.mo".to_string(),
                bytes: read("model.mo")?,
            },
            options: Options {
                model: said["class"].as_str().map(str::to_string),
                set: list("set"),
                free: list("free"),
                files: Some(Arc::new(replay)),
                ..Options::default()
            },
            found,
        })
    }

    /// The model, read again.
    pub fn load(&self) -> Loaded {
        load_text(&self.text, self.options.clone(), Relations::Modes)
    }

    /// What tells this model from others, and this daelight from others.
    pub fn token(&self) -> String {
        let mut text = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
        for (name, bytes) in self.files() {
            text.extend(name.as_bytes());
            text.extend(bytes);
        }
        // FNV-1a from two beginnings.
        let hash = |begin: u64| {
            text.iter().fold(begin, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let (a, b) = (hash(0xcbf2_9ce4_8422_2325), hash(0x8422_2325_cbf2_9ce4));
        format!(
            "{{{:08x}-{:04x}-{:04x}-{:04x}-{:012x}}}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xffff,
            b >> 48,
            b & 0xffff_ffff_ffff
        )
    }
}
