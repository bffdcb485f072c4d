//! Puts every model of `models/`, the library of components, the glossary and the pages of the messages into the binary.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    write_models();
    write_parts();
    write_explanations();
}

/// A link in the repository and a folder or file in the package; a checkout may lack the link.
fn place(link: &str, target: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = home
        .join(target)
        .canonicalize()
        .or_else(|_| home.join(link).canonicalize());
    let found = found.unwrap_or_else(|error| panic!("{link} is missing: {error}"));
    println!("cargo:rerun-if-changed={}", found.display());
    found
}

/// The glossary as it is, and a table of codes with their pages.
fn write_explanations() {
    let glossary = place("glossary.md", "../../docs/glossary.md");
    let mut table = format!("static GLOSSARY: &str = include_str!({glossary:?});\n");
    table.push_str("static MESSAGES: &[(&str, &str)] = &[\n");
    for page in sorted(&place("errors", "../../docs/errors")) {
        let code = page
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name in UTF-8");
        if page.extension().is_some_and(|e| e == "md") && code != "README" {
            println!("cargo:rerun-if-changed={}", page.display());
            writeln!(table, "    ({code:?}, include_str!({page:?})),")
                .expect("writing to a string");
        }
    }
    table.push_str("];\n");
    write_out("explanations.rs", &table);
}

fn write_out(name: &str, text: &str) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join(name), text).expect("the output folder can be written");
}

fn write_models() {
    let models = place("models", "../../models");
    let mut table = String::from("pub(crate) static BUILT_IN: &[BuiltIn] = &[\n");
    for folder in sorted(&models).into_iter().filter(|path| path.is_dir()) {
        println!("cargo:rerun-if-changed={}", folder.display());
        let texts: Vec<PathBuf> = sorted(&folder)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "mo"))
            .collect();
        let name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a folder name in UTF-8");
        let [text] = texts.as_slice() else {
            panic!("models/{name} must hold exactly one .mo file");
        };
        println!("cargo:rerun-if-changed={}", text.display());
        writeln!(
            table,
            "    BuiltIn {{ name: {name:?}, text: include_str!({:?}), expected: include_str!({:?}) }},",
            text.canonicalize().expect("the file exists"),
            folder
                .join("expected.json")
                .canonicalize()
                .expect("the expected answers exist")
        )
        .expect("writing to a string");
    }
    table.push_str("];\n");
    write_out("built_in.rs", &table);
}

/// Every file of the library of components, with its path below `library/`.
fn write_parts() {
    let library = place("library", "library");
    let mut table = String::from("static PARTS: &[(&str, &str)] = &[\n");
    write_folder(&library, &library, &mut table);
    table.push_str("];\n");
    write_out("parts.rs", &table);
}

fn write_folder(library: &Path, folder: &Path, table: &mut String) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for path in sorted(folder) {
        if path.is_dir() {
            write_folder(library, &path, table);
            continue;
        }
        println!("cargo:rerun-if-changed={}", path.display());
        let below = path.strip_prefix(library).expect("a file of the library");
        let below = below.to_str().expect("a path in UTF-8").replace('\\', "/");
        writeln!(table, "    ({below:?}, include_str!({path:?})),").expect("writing to a string");
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    paths.sort();
    paths
}
