//! For which systems an FMU has libraries.

use super::archive::FmuArchive;
use crate::description::Version;
use crate::engine::platforms;

/// A library in an FMU.
pub struct FmuBinary {
    /// Its path in the archive.
    pub path: String,
    /// The folder that names its system.
    pub platform: String,
    /// What its first bytes say that it is made for, where they say it.
    pub made_for: Option<String>,
    /// Whether it is as long as its first bytes say, where they do.
    pub is_whole: bool,
}

/// The names of systems in the folders of both versions, and in words.
const SYSTEMS: &[(&str, &str)] = &[
    ("linux64", "x86_64 Linux"),
    ("linux32", "x86 Linux"),
    ("win64", "x86_64 Windows"),
    ("win32", "x86 Windows"),
    ("darwin64", "macOS"),
    ("darwin32", "x86 macOS"),
    ("x86_64-linux", "x86_64 Linux"),
    ("x86-linux", "x86 Linux"),
    ("aarch64-linux", "aarch64 Linux"),
    ("x86_64-windows", "x86_64 Windows"),
    ("x86-windows", "x86 Windows"),
    ("aarch64-windows", "aarch64 Windows"),
    ("x86_64-darwin", "x86_64 macOS"),
    ("aarch64-darwin", "aarch64 macOS"),
];

/// A system in words, by the name of its folder.
pub fn system_word(platform: &str) -> &str {
    let known = SYSTEMS.iter().find(|(name, _)| *name == platform);
    known.map_or(platform, |(_, word)| word)
}

/// The folder for this system.
pub(crate) fn own_platform(version: Version) -> Result<&'static str, String> {
    let ([two, three], _) = platforms()?;
    Ok(match version {
        Version::Two => two,
        Version::Three => three,
    })
}

/// What libraries of a platform end with.
fn ending(platform: &str) -> &'static str {
    match platform {
        name if name.starts_with("win") || name.ends_with("windows") => ".dll",
        name if name.starts_with("darwin") || name.ends_with("darwin") => ".dylib",
        _ => ".so",
    }
}

/// The libraries of a model, one for each system.
pub fn binaries(archive: &FmuArchive, identifier: &str) -> Vec<FmuBinary> {
    let found = archive.names().filter_map(|path| {
        let (platform, file) = path.strip_prefix("binaries/")?.split_once('/')?;
        if file != format!("{identifier}{}", ending(platform)) {
            return None;
        }
        let bytes = archive.read(path)?.ok()?;
        Some(FmuBinary {
            path: path.to_string(),
            platform: platform.to_string(),
            made_for: made_for(&bytes),
            is_whole: is_whole(&bytes),
        })
    });
    found.collect()
}

/// What the header of a library says about its system: ELF, PE and Mach-O.
fn made_for(bytes: &[u8]) -> Option<String> {
    let half = |at: usize| {
        let two = bytes.get(at..at + 2)?;
        Some(u16::from_le_bytes([two[0], two[1]]))
    };
    let begin = bytes.get(..4)?;
    let (processor, system) = match begin {
        b"\x7fELF" => {
            let processor = match half(18)? {
                0x03 => "x86",
                // The fifth byte is 2 where addresses have 64 bits.
                0x3e if bytes.get(4) == Some(&2) => "x86_64",
                0x3e => "x86_64 with addresses of 32 bits",
                0x28 => "arm",
                0xb7 => "aarch64",
                0xf3 => "riscv",
                _ => "other",
            };
            (processor, "Linux")
        }
        [b'M', b'Z', ..] => {
            let at = usize::from(half(0x3c)?);
            let processor = match half(at + 4)? {
                0x014c => "x86",
                0x8664 => "x86_64",
                0xaa64 => "aarch64",
                _ => "other",
            };
            (processor, "Windows")
        }
        [0xcf | 0xce, 0xfa, 0xed, 0xfe] => {
            let processor = match (half(4)?, half(6)?) {
                (7, 0x0100) => "x86_64",
                (12, 0x0100) => "aarch64",
                (7, 0) => "x86",
                _ => "other",
            };
            (processor, "macOS")
        }
        [0xca, 0xfe, 0xba, 0xbe] => return Some("macOS".to_string()),
        _ => return None,
    };
    Some(format!("{processor} {system}"))
}

/// Whether a library holds all that its table of segments names: loading one that does not ends in a fault. Others than ELF with
/// addresses of 64 bits are believed.
fn is_whole(bytes: &[u8]) -> bool {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return true;
    }
    let number = |at: usize, n: usize| {
        let digits = bytes.get(at..at.checked_add(n)?)?.iter().rev();
        Some(digits.fold(0u64, |sum, digit| (sum << 8) | u64::from(*digit)))
    };
    let table = || {
        let (first, size, n) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        for k in 0..n {
            let at = usize::try_from(first.checked_add(k * size)?).ok()?;
            let (offset, length) = (
                number(at.checked_add(8)?, 8)?,
                number(at.checked_add(32)?, 8)?,
            );
            (offset.checked_add(length)? <= bytes.len() as u64).then_some(())?;
        }
        Some(n > 0)
    };
    table().unwrap_or(false)
}

impl FmuBinary {
    /// What is wrong with it, if something is.
    pub fn fault(&self) -> Option<String> {
        let is = match &self.made_for {
            None => "is no library of a system that is known".to_string(),
            Some(made_for) if !self.fits() => format!("is made for {made_for}"),
            Some(_) if !self.is_whole => "is cut short".to_string(),
            Some(_) => return None,
        };
        let (path, system) = (&self.path, system_word(&self.platform));
        Some(format!("`{path}` lies in the folder for {system} and {is}"))
    }

    /// Whether its first bytes say what its folder says.
    fn fits(&self) -> bool {
        let promised = system_word(&self.platform);
        let is_known = SYSTEMS.iter().any(|(name, _)| *name == self.platform);
        match &self.made_for {
            // macOS had one folder for both processors.
            Some(found) => {
                !is_known
                    || found == promised
                    || found.ends_with("macOS") && promised.ends_with("macOS")
            }
            None => false,
        }
    }
}
