//! The files of the page, part of the program.

/// A file of the page and its type; `None` if there is none of the name.
pub fn asset(name: &str) -> Option<(&'static str, &'static [u8])> {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    const STYLE: &str = "text/css; charset=utf-8";
    Some(match name {
        "" => (
            "text/html; charset=utf-8",
            include_bytes!("../page/index.html"),
        ),
        "studio.css" => (STYLE, include_bytes!("../page/studio.css")),
        "studio.js" => (SCRIPT, include_bytes!("../page/studio.js")),
        "ask.js" => (SCRIPT, include_bytes!("../page/ask.js")),
        "text.js" => (SCRIPT, include_bytes!("../page/text.js")),
        "plots.js" => (SCRIPT, include_bytes!("../page/plots.js")),
        "mechanism.js" => (SCRIPT, include_bytes!("../page/mechanism.js")),
        "map.js" => (SCRIPT, include_bytes!("../page/map.js")),
        "editor.js" => (SCRIPT, include_bytes!("../page/editor.js")),
        "uPlot.js" => (SCRIPT, daelight_show::page::PLOT_SCRIPT.as_bytes()),
        "uPlot.css" => (STYLE, daelight_show::page::PLOT_STYLE.as_bytes()),
        "licences.txt" => (
            "text/plain; charset=utf-8",
            include_bytes!("../page/licences.txt"),
        ),
        _ => return None,
    })
}
