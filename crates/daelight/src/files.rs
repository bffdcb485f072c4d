//! Files of users: read within bounds, written whole or not at all.

use std::io::{Error, ErrorKind, Read, Result, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest table that is read, in bytes.
pub const MOST_TABLE_BYTES: u64 = 1 << 30;

/// The bytes of a file, which are no more than `most`: something like /dev/zero has no end, and tells no size.
pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= most {
        bytes.reserve_exact(size as usize);
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > most {
        let what = format!("it is larger than {} MB", most >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Why a file cannot be read, without the numbers of the operating system.
pub fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_string(),
        ErrorKind::PermissionDenied => "you may not read it".to_string(),
        ErrorKind::IsADirectory => "it is a folder".to_string(),
        _ => error.to_string(),
    }
}

/// Held while a file has its other name.
static WRITING: Mutex<()> = Mutex::new(());

/// Waits until no file is half written, so that a program that ends leaves none behind.
pub fn finish_writing(patience: Duration) {
    let began = Instant::now();
    while WRITING.try_lock().is_err() && began.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes a file whole or not at all: under another name in the same folder first, then renamed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole_by(path, |file| file.write_all(bytes))
}

fn write_whole_by(path: &Path, write: impl FnOnce(&mut std::fs::File) -> Result<()>) -> Result<()> {
    let Some((folder, target)) = replaceable(path)? else {
        return write(&mut std::fs::File::create(path)?);
    };
    let _held = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = temporary(&folder)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    if let Ok(existing) = std::fs::metadata(&target) {
        file.as_file().set_permissions(existing.permissions())?;
    }
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// What becomes a file once it is whole: kept on disk under no name until then, so that nothing is left behind.
pub struct Spool {
    file: std::io::BufWriter<std::fs::File>,
}

impl Spool {
    /// In the folder of the file that it is to become, or where there is none, where temporary files are.
    pub fn beside(path: Option<&Path>) -> Result<Self> {
        let folder = match path.map(replaceable).transpose()?.flatten() {
            Some((folder, _)) => folder,
            None => std::env::temp_dir(),
        };
        let file = tempfile::tempfile_in(&folder).map_err(|error| nowhere(&folder, &error))?;
        Ok(Self {
            file: std::io::BufWriter::new(file),
        })
    }

    /// Writes it somewhere.
    pub fn write_to(self, to: &mut impl Write) -> Result<()> {
        let mut file = self.file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        std::io::copy(&mut file, to)?;
        to.flush()
    }

    /// Writes it as a file, whole or not at all.
    pub fn write_whole(self, path: &Path) -> Result<()> {
        write_whole_by(path, |file| self.write_to(file))
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

/// Whether [`write_whole`] can write here: asked before long work, so that its answer is not lost.
pub fn check_writable(path: &Path) -> Result<()> {
    match replaceable(path)? {
        Some((folder, _)) => {
            let _held = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
            temporary(&folder).map(drop)
        }
        None => Ok(()),
    }
}

/// The folder and the file that a new file replaces; `None` for something like /dev/stdout, which is written to as it is.
fn replaceable(path: &Path) -> Result<Option<(PathBuf, PathBuf)>> {
    if path.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a folder"));
    }
    if path.exists() && !path.is_file() {
        return Ok(None);
    }
    // A link stays a link: the file behind it is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    if !folder.is_dir() {
        let what = format!("there is no folder {}", folder.display());
        return Err(Error::new(ErrorKind::NotFound, what));
    }
    if target.file_name().is_none() {
        let what = "it is not the name of a file";
        return Err(Error::new(ErrorKind::InvalidFilename, what));
    }
    Ok(Some((folder, target)))
}

fn temporary(folder: &Path) -> Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What the user's mask takes away is taken away here, too.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    (builder.tempfile_in(folder)).map_err(|error| nowhere(folder, &error))
}

/// The error of a temporary file names that file, of which the user knows nothing.
fn nowhere(folder: &Path, error: &Error) -> Error {
    let what = format!("nothing can be written in {}", folder.display());
    Error::new(error.kind(), format!("{what}: {}", error.kind()))
}
