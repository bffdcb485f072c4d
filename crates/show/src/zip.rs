//! Archives: files by name, compressed where that makes them smaller, always the same bytes for the same files.

use miniz_oxide::deflate::compress_to_vec;

/// How hard archives are compressed: miniz_oxide's usual level.
const LEVEL: u8 = 6;

/// A zip archive of files, in the order given.
pub fn zip(files: &[(String, Vec<u8>)], compressed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, file) in files {
        let smaller = compressed.then(|| compress_to_vec(file, LEVEL));
        let smaller = smaller.filter(|smaller| smaller.len() < file.len());
        let offset = bytes.len() as u32;
        let method = u16::from(smaller.is_some()) * 8;
        let content = smaller.as_ref().unwrap_or(file);
        let mut common = Vec::new();
        // Version 2.0, names in UTF-8, the first day of the format's calendar.
        for word in [20u16, 0x800, method, 0, 0x21] {
            common.extend(word.to_le_bytes());
        }
        common.extend(crc32(file).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((file.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(content);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = bytes.len() as u32;
    let n_files = files.len() as u16;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(n_files.to_le_bytes());
    bytes.extend(n_files.to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// The checksum of zip files.
pub fn crc32(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| {
            (0..8).fold(byte, |crc, _| {
                (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
            })
        })
        .collect();
    let next = |crc: u32, byte: &u8| (crc >> 8) ^ table[((crc ^ u32::from(*byte)) & 0xFF) as usize];
    !bytes.iter().fold(!0u32, next)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
    }
}
