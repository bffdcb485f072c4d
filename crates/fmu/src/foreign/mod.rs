//! FMUs of others: read, unpacked and checked. Nothing in them is believed, and nothing is run here.

mod archive;
mod binary;
mod examine;
mod read;

pub use archive::FmuArchive;
pub use binary::{FmuBinary, binaries, system_word};
pub use read::{FmuDescription, FmuKind, FmuSize, FmuVariable};

use crate::description::Version;
use daelight::files::{MOST_TABLE_BYTES, read_at_most, reason};
use daelight_lang::{Code, Diagnostic, Source, SourceMap};
use examine::Findings;
use read::Reading;
use std::path::Path;

/// The name of the description in an archive.
const DESCRIPTION: &str = "modelDescription.xml";

/// An FMU that was read.
pub struct ForeignFmu {
    /// Its files.
    pub archive: FmuArchive,
    /// What it says about itself, as far as that can be read.
    pub description: Option<FmuDescription>,
    /// Its libraries, one for each system.
    pub binaries: Vec<FmuBinary>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that places are in.
    pub sources: SourceMap,
}

/// Whether the name of a model is that of an FMU.
pub fn is_fmu(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("fmu"))
}

fn fault(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::placeless(Code::BadFmu, message).help(help))
}

fn misplaced(message: String) -> Box<Diagnostic> {
    fault(
        message,
        "ask for a file whose libraries lie where they belong",
    )
}

impl ForeignFmu {
    /// Reads the file of an FMU; `Err` where there is nothing to look at.
    pub fn read(path: &Path) -> Result<Self, Box<Diagnostic>> {
        let shown = path.display();
        let bytes = read_at_most(path, MOST_TABLE_BYTES).map_err(|error| {
            let message = format!("`{shown}` cannot be read: {}", reason(&error));
            let found = Diagnostic::placeless(Code::UnreadableFile, message);
            Box::new(found.help("name an .fmu file that you may read"))
        })?;
        let archive = FmuArchive::new(bytes).map_err(|why| {
            fault(
                format!("`{shown}`: {why}"),
                "get the file again from whoever made it",
            )
        })?;
        let Some(text) = archive.read(DESCRIPTION) else {
            return Err(fault(
                format!("`{shown}` holds no {DESCRIPTION}"),
                "an FMU is a zip archive with that file at its top, not in a folder",
            ));
        };
        let text = text.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| format!("{DESCRIPTION} is not UTF-8"))
        });
        let text = text.map_err(|why| {
            fault(
                format!("`{shown}`: {why}"),
                "get the file again from whoever made it",
            )
        })?;
        Ok(Self::examined(archive, text))
    }

    /// All that can be said about an archive with this description.
    fn examined(archive: FmuArchive, text: String) -> Self {
        let mut sources = SourceMap::default();
        let source = sources.add(Source::new(DESCRIPTION, text.clone()));
        let mut findings = Findings {
            source,
            text,
            list: Vec::new(),
        };
        let text = findings.text.clone();
        let mut description = None;
        match roxmltree::Document::parse(&text) {
            Ok(document) => {
                let mut reading = Reading {
                    document: &document,
                    findings: &mut findings,
                };
                description = reading.description();
                if let Some(said) = &mut description {
                    examine::examine(&mut reading, said);
                }
            }
            Err(error) => {
                let message = format!("{DESCRIPTION} is not well-formed: {error}");
                findings
                    .list
                    .push(*fault(message, "ask whoever made the FMU for one that is"));
            }
        }
        let mut libraries = Vec::new();
        if let Some(said) = &description {
            libraries = check_binaries(&archive, said, &mut findings.list);
        }
        for name in archive
            .names()
            .filter(|name| !name.starts_with("binaries/"))
        {
            if let Some(Err(why)) = archive.read(name) {
                findings
                    .list
                    .push(*fault(why, "get the file again from whoever made it"));
            }
        }
        // One thing to do is told once.
        if let Some(last) = findings.list.last_mut().filter(|last| last.help.is_none()) {
            last.help =
                Some("ask whoever made the FMU for one that keeps the rules of FMI".to_string());
        }
        Self {
            archive,
            description,
            binaries: libraries,
            diagnostics: findings.list,
            sources,
        }
    }

    /// The library of this system for a kind of FMU; `Err` says which there are.
    pub fn library(&self, identifier: &str) -> Result<&FmuBinary, Box<Diagnostic>> {
        let version = self
            .description
            .as_ref()
            .map_or(Version::Two, |d| d.version);
        let own = binary::own_platform(version).map_err(|why| fault(why, "use another system"))?;
        let found = binaries(&self.archive, identifier);
        let position = found.iter().position(|binary| binary.platform == own);
        let known = position.and_then(|at| {
            self.binaries
                .iter()
                .find(|binary| binary.path == found[at].path)
        });
        if let Some(message) = known.and_then(FmuBinary::fault) {
            return Err(misplaced(message));
        }
        known.ok_or_else(|| {
            let systems: Vec<&str> = found.iter().map(|b| system_word(&b.platform)).collect();
            let has = match systems.is_empty() {
                true => "none at all; it may hold sources that have to be compiled".to_string(),
                false => format!("only for {}", systems.join(" and ")),
            };
            fault(
                format!(
                    "the FMU has no library for this system, {}, {has}",
                    system_word(own)
                ),
                "run it on such a system, or ask for a file with a library for this one",
            )
        })
    }
}

/// The libraries of all kinds, and what is wrong with them.
fn check_binaries(
    archive: &FmuArchive,
    said: &FmuDescription,
    list: &mut Vec<Diagnostic>,
) -> Vec<FmuBinary> {
    let mut all: Vec<FmuBinary> = Vec::new();
    for (_, identifier) in &said.kinds {
        let found = binaries(archive, identifier);
        if found.is_empty() && !archive.names().any(|name| name.starts_with("sources/")) {
            let message =
                format!("the FMU has neither a library `{identifier}` for any system nor sources");
            if list.iter().all(|told| told.message != message) {
                let help = "get a file that holds a library for your system";
                list.push(*fault(message, help));
            }
        }
        for binary in found {
            if !all.iter().any(|known| known.path == binary.path) {
                all.push(binary);
            }
        }
    }
    for message in all.iter().filter_map(FmuBinary::fault) {
        list.push(*misplaced(message));
    }
    all
}
