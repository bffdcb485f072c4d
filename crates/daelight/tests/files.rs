//! Files are read within bounds and written whole.

use daelight::files::{check_writable, read_at_most, write_whole};
use std::io::ErrorKind;
use std::path::Path;

#[test]
fn files_are_replaced_whole_and_links_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.csv");
    write_whole(&path, b"old").expect("written");
    write_whole(&path, b"new").expect("written again");
    assert_eq!(std::fs::read(&path).expect("there"), b"new");
    #[cfg(unix)]
    {
        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        write_whole(&link, b"through").expect("written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&path).expect("there"), b"through");
        std::fs::remove_file(&link).expect("removed");
    }
    let n_files = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(n_files, 1, "no temporary file is left");
}

#[test]
fn places_that_cannot_be_written_are_told_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = folder.path().join("nowhere/run.csv");
    for (path, what) in [
        (folder.path(), "it is a folder"),
        (nowhere.as_path(), "there is no folder"),
        (Path::new(""), "not the name of a file"),
    ] {
        let before = check_writable(path).expect_err("not writable").to_string();
        let then = write_whole(path, b"x").expect_err("not written");
        assert!(before.contains(what), "{before}");
        assert_eq!(before, then.to_string());
    }
    check_writable(&folder.path().join("run.csv")).expect("writable");
    let n_files = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(n_files, 0, "asking leaves nothing");
}

#[test]
fn no_more_is_read_than_allowed() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), vec![b'x'; 1 << 20]).expect("written");
    let length = |most| read_at_most(file.path(), most).map(|bytes| bytes.len());
    assert_eq!(length(1 << 20).expect("read"), 1 << 20);
    let error = length((1 << 20) - 1).expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    if Path::new("/dev/zero").exists() {
        let error = read_at_most(Path::new("/dev/zero"), 1 << 20).expect_err("no end");
        assert_eq!(error.to_string(), "it is larger than 1 MB");
    }
}
