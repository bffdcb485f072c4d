//! The archive of an FMU, read with suspicion: nothing in it is believed before it is checked.

use daelight::files::MOST_TABLE_BYTES;
use daelight_show::zip::crc32;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use std::collections::HashSet;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// The files of an FMU by name.
pub struct FmuArchive {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// What the directory of an archive says about a file.
struct Entry {
    name: String,
    is_packed: bool,
    checksum: u32,
    /// Where it begins, and how many bytes it takes there.
    place: (usize, usize),
    size: usize,
}

/// A number of two or four bytes, the least first.
fn number(bytes: &[u8], at: usize, n_bytes: usize) -> Option<usize> {
    let piece = bytes.get(at..at.checked_add(n_bytes)?)?;
    let digits = piece.iter().rev();
    Some(digits.fold(0, |sum, &digit| (sum << 8) | usize::from(digit)))
}

/// Whether a name stays below the folder that an archive is unpacked in, on every system.
fn stays_inside(name: &str) -> bool {
    let inner = name.strip_suffix('/').unwrap_or(name);
    let parts_are_plain = inner
        .split('/')
        .all(|part| !matches!(part, "" | "." | ".."));
    let is_odd = |c: char| matches!(c, '\\' | ':') || c.is_control();
    parts_are_plain && !name.contains(is_odd)
}

impl FmuArchive {
    /// The archive in these bytes; `Err` says what is wrong with it.
    pub fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let short = || "the archive is cut short or damaged".to_string();
        // The directory's end is the last thing in the file, but for a comment.
        let from = bytes.len().saturating_sub(usize::from(u16::MAX) + 22);
        let end = bytes[from..]
            .windows(4)
            .rposition(|four| four == b"PK\x05\x06");
        let Some(end) = end.map(|at| at + from) else {
            return Err(match bytes.starts_with(b"PK") {
                true => short(),
                false => "it is no zip archive".to_string(),
            });
        };
        let comment = number(&bytes, end + 20, 2).ok_or_else(short)?;
        if bytes.len() < end + 22 + comment {
            return Err(short());
        }
        let n_entries = number(&bytes, end + 10, 2).ok_or_else(short)?;
        let mut at = number(&bytes, end + 16, 4).ok_or_else(short)?;
        if at == u32::MAX as usize {
            return Err("archives of more than 4 GB are not read".to_string());
        }
        let mut entries = Vec::with_capacity(n_entries);
        for _ in 0..n_entries {
            let (entry, next) = Entry::read(&bytes, at).ok_or_else(short)??;
            entries.push(entry);
            at = next;
        }
        let mut names = HashSet::new();
        if let Some(twice) = entries.iter().find(|entry| !names.insert(&entry.name)) {
            return Err(format!("the archive holds `{}` twice", twice.name));
        }
        let total = entries.iter().map(|entry| entry.size as u64).sum::<u64>();
        if total > MOST_TABLE_BYTES {
            return Err(format!(
                "its files would take {} MB unpacked; more than {} MB are not unpacked",
                total >> 20,
                MOST_TABLE_BYTES >> 20
            ));
        }
        Ok(Self { bytes, entries })
    }

    /// The names of its files, folders left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.entries.iter().map(|entry| entry.name.as_str());
        names.filter(|name| !name.ends_with('/'))
    }

    /// A file, unpacked and compared with its checksum; `None` where there is none of this name.
    pub fn read(&self, name: &str) -> Option<Result<Vec<u8>, String>> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some(entry.unpack(&self.bytes))
    }

    /// Writes the files below a folder that `wanted` picks.
    pub fn unpack(
        &self,
        folder: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), std::io::Error> {
        let files = self.entries.iter().filter(|entry| wanted(&entry.name));
        for entry in files.filter(|entry| !entry.name.ends_with('/')) {
            let bytes = entry.unpack(&self.bytes);
            let bytes = bytes.map_err(|why| Error::new(ErrorKind::InvalidData, why))?;
            let place = folder.join(&entry.name);
            if let Some(parent) = place.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(place, bytes)?;
        }
        Ok(())
    }
}

impl Entry {
    /// The entry at a place of the directory and where the next one is; `None` where the bytes end too soon.
    fn read(bytes: &[u8], at: usize) -> Option<Result<(Self, usize), String>> {
        if bytes.get(at..at.checked_add(4)?)? != b"PK\x01\x02" {
            return None;
        }
        let half = |offset: usize| number(bytes, at + offset, 2);
        let whole = |offset: usize| number(bytes, at + offset, 4);
        let (flags, method) = (half(8)?, half(10)?);
        let (packed, size) = (whole(20)?, whole(24)?);
        let (name, extra, comment) = (half(28)?, half(30)?, half(32)?);
        let text = bytes.get(at + 46..at + 46 + name)?;
        let header = whole(42)?;
        let next = at + 46 + name + extra + comment;
        let Ok(name) = std::str::from_utf8(text).map(str::to_string) else {
            return Some(Err("a name in the archive is not UTF-8".to_string()));
        };
        if !stays_inside(&name) {
            return Some(Err(format!(
                "the archive holds `{}`, a path that could leave the folder it is unpacked in",
                name.escape_default()
            )));
        }
        // The upper half of the attributes is the mode of Unix; links are one kind of file.
        let is_link = half(40)? & 0o170_000 == 0o120_000;
        if is_link {
            return Some(Err(format!("the archive holds a link, `{name}`")));
        }
        if flags & 1 == 1 {
            return Some(Err(format!("`{name}` is encrypted")));
        }
        if !matches!(method, 0 | 8) {
            return Some(Err(format!(
                "`{name}` is packed by method {method}; an FMU stores files or deflates them"
            )));
        }
        // Names and extras may be of another length before the file itself.
        if bytes.get(header..header.checked_add(4)?)? != b"PK\x03\x04" {
            return None;
        }
        let begin = header + 30 + number(bytes, header + 26, 2)? + number(bytes, header + 28, 2)?;
        bytes.get(begin..begin.checked_add(packed)?)?;
        let entry = Self {
            is_packed: method == 8,
            checksum: whole(16)? as u32,
            place: (begin, packed),
            name,
            size,
        };
        Some(Ok((entry, next)))
    }

    fn unpack(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let (begin, length) = self.place;
        let packed = &bytes[begin..begin + length];
        let found = match self.is_packed {
            true => decompress_to_vec_with_limit(packed, self.size).ok(),
            false => Some(packed.to_vec()),
        };
        let is_whole = |found: &Vec<u8>| found.len() == self.size && crc32(found) == self.checksum;
        found.filter(is_whole).ok_or_else(|| {
            format!(
                "`{}` does not unpack to the {} bytes that the archive promises",
                self.name, self.size
            )
        })
    }
}
