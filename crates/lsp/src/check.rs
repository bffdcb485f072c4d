//! The threads that look at whole models: diagnostics of the newest texts, and what the analysis tells of small ones.

use crate::document::Text;
use crate::facts::Facts;
use crate::library::Overlay;
use crate::server::{Event, ServerSettings};
use daelight::{ModelText, Relations};
use daelight_lang::{Code, Diagnostic, Model, Options, SourceMap, UnitCheck};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A text to be looked at.
pub(crate) struct Job {
    pub uri: String,
    /// Which of all edits asked for this; what is found for an earlier one is dropped.
    pub edit: u64,
    pub text: Arc<Text>,
    pub files: Arc<Overlay>,
}

/// What was found in a text.
pub(crate) struct Found {
    pub uri: String,
    pub edit: u64,
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
    pub facts: Option<Facts>,
    pub model: Option<Model>,
}

/// A model whose analysis is asked for.
pub(crate) struct Question {
    pub uri: String,
    pub edit: u64,
    pub model: Model,
}

/// Takes what waits, the newest of each document, the last one asked for first.
fn newest<T>(jobs: &Receiver<T>, waiting: &mut Vec<T>, uri: fn(&T) -> &str) -> Option<T> {
    if waiting.is_empty() {
        waiting.push(jobs.recv().ok()?);
    }
    for job in jobs.try_iter() {
        waiting.retain(|other| uri(other) != uri(&job));
        waiting.push(job);
    }
    waiting.pop()
}

/// Checks texts until nobody asks any more. A text that takes long does not hold up the next version: a few are looked at at the
/// same time, and what is found in an older version is dropped.
pub fn check_texts(jobs: &Receiver<Job>, tell: &Sender<Event>, settings: &ServerSettings) {
    let mut waiting = Vec::new();
    let (ends, ended) = channel();
    let mut n_running = 0;
    loop {
        // The end of every thread is told; while too many run, the next end is waited for.
        while n_running >= settings.most_checks && ended.recv().is_ok() {
            n_running -= 1;
        }
        let Some(job) = newest(jobs, &mut waiting, |job| &job.uri) else {
            return;
        };
        n_running -= ended.try_iter().count();
        let (tell, ends) = (tell.clone(), ends.clone());
        let thread = std::thread::Builder::new().name("check".to_string());
        let started = thread.stack_size(settings.stack).spawn(move || {
            // If the server has gone, nobody wants to know.
            let _ = tell.send(Event::Checked(Box::new(check_or_fail(&job))));
            let _ = ends.send(());
        });
        n_running += usize::from(started.is_ok());
    }
}

/// What is found in a text, or that daelight failed on it.
fn check_or_fail(job: &Job) -> Found {
    let found = catch_unwind(AssertUnwindSafe(|| check(job)));
    found.unwrap_or_else(|_| Found {
        uri: job.uri.clone(),
        edit: job.edit,
        diagnostics: vec![
            Diagnostic::placeless(Code::Unsupported, "daelight failed on this text")
                .help("please report it, with the text"),
        ],
        sources: SourceMap::default(),
        facts: None,
        model: None,
    })
}

/// What `daelight check` finds in the text.
fn check(job: &Job) -> Found {
    let text = ModelText {
        name: job.text.path.clone(),
        bytes: job.text.text.clone().into_bytes(),
    };
    let options = Options {
        files: Some(job.files.clone()),
        ..Options::default()
    };
    let mut loaded = daelight::load_text(&text, options, Relations::Kinks);
    daelight::check(&mut loaded);
    daelight::check_units(&mut loaded, UnitCheck::default());
    // A file of a library need not have a model.
    let has_classes = !job.text.outline.classes.is_empty();
    let is_told = |diagnostic: &Diagnostic| diagnostic.code != Code::NoModel || !has_classes;
    loaded.diagnostics.retain(is_told);
    Found {
        uri: job.uri.clone(),
        edit: job.edit,
        diagnostics: loaded.diagnostics,
        sources: loaded.sources,
        facts: loaded.model.as_ref().map(Facts::of_model),
        model: loaded.model,
    }
}

/// Analyses models until nobody asks any more.
pub fn analyse_models(
    questions: &Receiver<Question>,
    tell: &Sender<Event>,
    settings: &ServerSettings,
) {
    let mut waiting = Vec::new();
    while let Some(question) = newest(questions, &mut waiting, |question| &question.uri) {
        let analysed = catch_unwind(AssertUnwindSafe(|| {
            let mut facts = Facts::of_model(&question.model);
            facts.add_analysis(&question.model, settings.analysis_time)?;
            Some(facts)
        }));
        let Ok(Some(facts)) = analysed else { continue };
        let Question { uri, edit, .. } = question;
        if tell.send(Event::Analysed { uri, edit, facts }).is_err() {
            return;
        }
    }
}
