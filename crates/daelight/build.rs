//! Puts every model of `models/` into the binary.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    // A link in the repository and a folder in the package; a checkout may lack the link.
    let models = ["models", "../../models"]
        .map(|place| Path::new(env!("CARGO_MANIFEST_DIR")).join(place))
        .into_iter()
        .find_map(|place| place.canonicalize().ok().filter(|place| place.is_dir()))
        .expect("the models of the library");
    println!("cargo:rerun-if-changed={}", models.display());
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
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("built_in.rs"), table).expect("the output folder can be written");
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of models can be read")
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    paths.sort();
    paths
}
