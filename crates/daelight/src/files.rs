//! Files of users: read within bounds, written whole or not at all.

use std::io::{Error, ErrorKind, Read, Result, Write};
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
    let Some((folder, target)) = replaceable(path)? else {
        return std::fs::write(path, bytes);
    };
    let _held = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = temporary(&folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    if let Ok(existing) = std::fs::metadata(&target) {
        file.as_file().set_permissions(existing.permissions())?;
    }
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
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
    builder.tempfile_in(folder).map_err(|error| {
        let what = format!("nothing can be written in {}", folder.display());
        // The error of the temporary file names that file, of which the user knows nothing.
        Error::new(error.kind(), format!("{what}: {}", error.kind()))
    })
}
