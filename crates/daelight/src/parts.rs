//! `Parts`, the library of components, built into the program: `docs/guide/components.md`.

include!(concat!(env!("OUT_DIR"), "/parts.rs"));

/// The folder under which messages show the texts of the library.
pub(crate) const ROOT: &str = "<built in>";

/// An example of the library.
#[derive(Clone, Debug)]
pub struct PartsExample {
    /// Its dotted name, for example `Parts.Electrical.Examples.LowPass`.
    pub name: String,
    /// Its Modelica text.
    pub text: &'static str,
}

impl PartsExample {
    /// The comment of its model: what it describes.
    pub fn description(&self) -> &'static str {
        self.text.split('"').nth(1).unwrap_or_default()
    }
}

/// All examples of the library, by name.
pub fn parts_examples() -> Vec<PartsExample> {
    let example = |(path, text): &(&'static str, &'static str)| {
        let name = path.strip_suffix(".mo")?.replace('/', ".");
        let is_model = name.contains(".Examples.") && !name.ends_with(".package");
        is_model.then_some(PartsExample { name, text })
    };
    PARTS.iter().filter_map(example).collect()
}

/// The part of a path below [`ROOT`].
fn below(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(ROOT)?;
    match rest.strip_prefix('/') {
        Some(inner) => Some(inner),
        None => rest.is_empty().then_some(""),
    }
}

/// What a folder of the library holds; `None` where the path is none of it.
pub(crate) fn list(folder: &str) -> Option<Vec<(String, bool)>> {
    let folder = below(folder)?;
    let mut found: Vec<(String, bool)> = Vec::new();
    for (path, _) in PARTS {
        let inner = match folder {
            "" => Some(*path),
            _ => path
                .strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/')),
        };
        let Some(inner) = inner else { continue };
        let entry = match inner.split_once('/') {
            Some((name, _)) => (name.to_string(), true),
            None => (inner.to_string(), false),
        };
        if found.last() != Some(&entry) {
            found.push(entry);
        }
    }
    Some(found)
}

/// A text of the library; `None` where there is none at the path.
pub(crate) fn text(path: &str) -> Option<&'static str> {
    let path = below(path)?;
    let found = PARTS.iter().find(|(known, _)| *known == path);
    found.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_in_its_folder_and_in_the_order_of_its_package() {
        for (path, text_of_path) in PARTS {
            let whole = format!("{ROOT}/{path}");
            let (folder, name) = whole.rsplit_once('/').expect("a folder");
            let entries = list(folder).expect("a folder of the library");
            assert!(entries.contains(&(name.to_string(), false)), "{path}");
            assert_eq!(text(&whole), Some(*text_of_path));
            if let Some(class) = name.strip_suffix(".mo").filter(|name| *name != "package") {
                let order = text(&format!("{folder}/package.order")).expect("an order");
                assert!(order.lines().any(|line| line == class), "{path}");
                let within = folder[ROOT.len() + 1..].replace('/', ".");
                assert!(
                    text_of_path.starts_with(&format!("within {within};")),
                    "{path}"
                );
            }
        }
    }
}
