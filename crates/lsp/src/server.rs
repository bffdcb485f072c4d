//! The conversation with an editor: one thread that holds the documents and answers at once.

use crate::check::{Found, Job, Question, analyse_models, check_texts};
use crate::complete::complete;
use crate::document::{Document, Encoding, Text, path_of, uri_of};
use crate::facts::Facts;
use crate::format::format;
use crate::hover::hover;
use crate::library::{Cache, Overlay};
use crate::names::World;
use crate::rename::{Target, Texts, is_taken, target};
use crate::symbols::symbols;
use crate::wire::{self, Received};
use daelight_lang::{Code, Diagnostic, Files, Severity, SourceMap, Span};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Bounds on the work of a server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// How long an analysis for hovering may take.
    pub analysis_time: Duration,
    /// Unknowns up to which a model is analysed: above, the numerical index notions do not answer.
    pub most_unknowns: usize,
    /// Largest message, in bytes.
    pub most_bytes: usize,
    /// Items of a completion.
    pub most_items: usize,
    /// Lookups that one name may cost. Each uses less than 2 kB of stack.
    pub most_lookups: usize,
    /// Stack of each thread, in bytes.
    pub stack: usize,
    /// Texts that are checked at the same time: the newest, and older versions that are not done yet.
    pub most_checks: usize,
    /// Neighbouring files that are searched for uses of a name.
    pub most_neighbours: usize,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            analysis_time: Duration::from_secs(2),
            most_unknowns: 64,
            most_bytes: 1 << 28,
            most_items: 300,
            most_lookups: 4000,
            stack: 1 << 26,
            most_checks: 3,
            most_neighbours: 200,
        }
    }
}

/// What the server reacts to.
pub(crate) enum Event {
    Message(Received),
    /// The client has gone; the reason, if there is one.
    Ended(Option<io::Error>),
    Checked(Box<Found>),
    Analysed {
        uri: String,
        edit: u64,
        facts: Facts,
    },
}

/// Answers a client until it says `exit` or goes away; gives whether it ended as the protocol wants.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    settings: ServerSettings,
) -> io::Result<bool> {
    let (tell, events) = channel();
    let (jobs, to_check) = channel();
    let (questions, to_analyse) = channel();
    let most = settings.most_bytes;
    let thread = |name: &str| {
        let thread = std::thread::Builder::new().name(name.to_string());
        thread.stack_size(settings.stack)
    };
    // These threads wait for others; nobody waits for them.
    let sender = tell.clone();
    thread("read").spawn(move || read_all(input, most, &sender))?;
    let sender = tell.clone();
    let asked = settings.clone();
    thread("check").spawn(move || check_texts(&to_check, &sender, &asked))?;
    let asked = settings.clone();
    thread("analyse").spawn(move || analyse_models(&to_analyse, &tell, &asked))?;
    let server = Server {
        output: Box::new(output),
        settings: settings.clone(),
        encoding: Encoding::Utf16,
        documents: HashMap::new(),
        open: Arc::default(),
        edits: 0,
        cache: Cache::default(),
        jobs,
        questions,
        is_shut_down: false,
    };
    let answering = thread("answer").spawn(move || server.run(&events))?;
    match answering.join() {
        Ok(ended) => ended,
        Err(_) => Err(io::Error::other("the server failed")),
    }
}

fn read_all(input: impl Read, most: usize, tell: &Sender<Event>) {
    let mut input = BufReader::new(input);
    loop {
        let event = match wire::read(&mut input, most) {
            Ok(Some(received)) => Event::Message(received),
            Ok(None) => Event::Ended(None),
            Err(error) => Event::Ended(Some(error)),
        };
        let is_end = matches!(event, Event::Ended(_));
        if tell.send(event).is_err() || is_end {
            return;
        }
    }
}

/// A document and what was found in it.
struct Open {
    document: Document,
    /// The last edit that it was to be checked for.
    edit: u64,
    facts: Option<Facts>,
}

struct Server {
    output: Box<dyn Write + Send>,
    settings: ServerSettings,
    encoding: Encoding,
    documents: HashMap<String, Open>,
    /// The texts of all documents, by path.
    open: Arc<HashMap<String, Arc<Text>>>,
    /// Edits of any document so far.
    edits: u64,
    cache: Cache,
    jobs: Sender<Job>,
    questions: Sender<Question>,
    is_shut_down: bool,
}

/// Why a request has no answer, in words.
type Refusal = (Refused, String);

/// Kinds of refusals.
#[derive(Clone, Copy, Debug)]
enum Refused {
    /// The message is no JSON.
    NotJson,
    /// Nobody knows the method.
    UnknownMethod,
    /// daelight is at fault.
    Internal,
    /// What was asked for cannot be done.
    Failed,
}

impl Refused {
    /// The number that the protocol has for it.
    fn code(self) -> i32 {
        match self {
            Refused::NotJson => -32700,
            Refused::UnknownMethod => -32601,
            Refused::Internal => -32603,
            Refused::Failed => -32803,
        }
    }
}

fn refusal(kind: Refused, words: impl Into<String>) -> Refusal {
    (kind, words.into())
}

impl Server {
    fn run(mut self, events: &Receiver<Event>) -> io::Result<bool> {
        for event in events {
            match event {
                Event::Ended(None) => return Ok(self.is_shut_down),
                Event::Ended(Some(error)) => return Err(error),
                Event::Checked(found) => self.publish(*found)?,
                Event::Analysed { uri, edit, facts } => {
                    if let Some(open) = self.documents.get_mut(&uri)
                        && open.edit == edit
                    {
                        open.facts = Some(facts);
                    }
                }
                Event::Message(Received::Broken(why)) => {
                    self.respond(Value::Null, Err(refusal(Refused::NotJson, why)))?;
                }
                Event::Message(Received::Message(message)) => {
                    if message["method"] == "exit" {
                        return Ok(self.is_shut_down);
                    }
                    self.receive(&message)?;
                }
            }
        }
        Ok(self.is_shut_down)
    }

    fn receive(&mut self, message: &Value) -> io::Result<()> {
        let Some(method) = message["method"].as_str() else {
            // An answer to something that was never asked.
            return Ok(());
        };
        let parameters = &message["params"];
        let done = catch_unwind(AssertUnwindSafe(|| match message.get("id") {
            None => {
                self.notified(method, parameters);
                None
            }
            Some(_) => Some(self.asked(method, parameters)),
        }));
        let id = message.get("id").cloned();
        match (done, id) {
            (Ok(Some(answer)), Some(id)) => self.respond(id, answer),
            (Err(_), Some(id)) => {
                let words = "daelight failed on this request; please report it, with the text";
                self.respond(id, Err(refusal(Refused::Internal, words)))
            }
            _ => Ok(()),
        }
    }

    /// Sends an answer, which is JSON already.
    fn respond(&mut self, id: Value, answer: Result<String, Refusal>) -> io::Result<()> {
        let message = match answer {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            Err((kind, words)) => {
                let error = json!({"code": kind.code(), "message": words});
                json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
            }
        };
        wire::write(&mut self.output, &message)
    }

    fn notify(&mut self, method: &str, parameters: Value) -> io::Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": parameters});
        wire::write(&mut self.output, &message.to_string())
    }

    fn notified(&mut self, method: &str, parameters: &Value) {
        let document = &parameters["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default();
        match method {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default();
                self.take(uri, document["version"].as_i64(), text.to_string());
            }
            "textDocument/didChange" => {
                let changes = parameters["contentChanges"].as_array();
                let Some(mut new) = self.documents.get(uri).map(|open| open.document.clone())
                else {
                    return;
                };
                for change in changes.into_iter().flatten() {
                    let text = new.changed(change, self.encoding);
                    new.text = Arc::new(Text::new(&new.text.path, text));
                }
                let version = document["version"].as_i64();
                self.take_document(Document {
                    version: version.unwrap_or(new.version + 1),
                    ..new
                });
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.cache.clear();
                self.check_all(None);
            }
            "textDocument/didClose" => {
                self.cache.clear();
                if self.documents.remove(uri).is_some() {
                    let cleared = json!({"uri": uri, "diagnostics": []});
                    // If the client has gone, its end will be told.
                    let _ = self.notify("textDocument/publishDiagnostics", cleared);
                }
                self.check_all(None);
            }
            _ => {}
        }
    }

    fn take(&mut self, uri: &str, version: Option<i64>, text: String) {
        let text = Arc::new(Text::new(&path_of(uri), text));
        self.take_document(Document {
            uri: uri.to_string(),
            version: version.unwrap_or(0),
            text,
        });
    }

    /// Takes a new version of a document; all documents that could depend on it are checked again.
    fn take_document(&mut self, document: Document) {
        let uri = document.uri.clone();
        let open = Open {
            document,
            edit: 0,
            facts: None,
        };
        self.documents.insert(uri.clone(), open);
        self.check_all(Some(&uri));
    }

    /// Asks for a check of every document, the one in `first` at the front.
    fn check_all(&mut self, first: Option<&str>) {
        let texts = self.documents.values().map(|open| {
            let text = open.document.text.clone();
            (text.path.clone(), text)
        });
        self.open = Arc::new(texts.collect());
        self.edits += 1;
        let edit = self.edits;
        let mut uris: Vec<String> = self.documents.keys().cloned().collect();
        // The last one asked for is done first.
        uris.sort_by_key(|uri| first == Some(uri));
        for uri in uris {
            let Some(open) = self.documents.get_mut(&uri) else {
                continue;
            };
            open.edit = edit;
            let text = open.document.text.clone();
            let files = Arc::new(Overlay::new(&text.path, self.open.clone()));
            // The thread ends with this one.
            let _ = self.jobs.send(Job {
                uri,
                edit,
                text,
                files,
            });
        }
    }

    /// Tells the client what was found, unless the text is another one by now.
    fn publish(&mut self, found: Found) -> io::Result<()> {
        let Some(open) = self.documents.get_mut(&found.uri) else {
            return Ok(());
        };
        if open.edit != found.edit {
            return Ok(());
        }
        open.facts = found.facts;
        let text = open.document.text.clone();
        let version = open.document.version;
        let item = |diagnostic: &Diagnostic| {
            diagnostic_item(diagnostic, &found.sources, &text, &found.uri, self.encoding)
        };
        let items: Vec<Value> = found.diagnostics.iter().map(item).collect();
        let parameters = json!({"uri": found.uri, "version": version, "diagnostics": items});
        if let Some(model) = found.model
            && model.unknowns.len() <= self.settings.most_unknowns
            && model.hybrid.is_none()
        {
            let (uri, edit) = (found.uri, found.edit);
            let _ = self.questions.send(Question { uri, edit, model });
        }
        self.notify("textDocument/publishDiagnostics", parameters)
    }

    /// The answer to a request, as JSON.
    fn asked(&mut self, method: &str, parameters: &Value) -> Result<String, Refusal> {
        match method {
            "initialize" => Ok(self.initialize(parameters).to_string()),
            "shutdown" => {
                self.is_shut_down = true;
                Ok("null".to_string())
            }
            _ if !method.starts_with("textDocument/") => Err(refusal(
                Refused::UnknownMethod,
                format!("`{method}` is not known"),
            )),
            _ => {
                let open = self.document(parameters)?;
                match method {
                    "textDocument/documentSymbol" => {
                        Ok(symbols(&open.document.text, self.encoding))
                    }
                    _ => {
                        let answer = self.asked_of_document(open, method, parameters)?;
                        Ok(answer.to_string())
                    }
                }
            }
        }
    }

    fn document(&self, parameters: &Value) -> Result<&Open, Refusal> {
        let uri = &parameters["textDocument"]["uri"];
        let open = uri.as_str().and_then(|uri| self.documents.get(uri));
        let words = format!("{uri} is not open in the editor");
        open.ok_or_else(|| refusal(Refused::Failed, words))
    }

    fn initialize(&mut self, parameters: &Value) -> Value {
        let offered = parameters["capabilities"]["general"]["positionEncodings"].as_array();
        let has_utf8 = offered.is_some_and(|list| list.iter().any(|item| item == "utf-8"));
        let (encoding, word) = match has_utf8 {
            true => (Encoding::Utf8, "utf-8"),
            false => (Encoding::Utf16, "utf-16"),
        };
        self.encoding = encoding;
        json!({
            "capabilities": {
                "positionEncoding": word,
                "textDocumentSync": {"openClose": true, "change": 2, "save": true},
                "hoverProvider": true,
                "completionProvider": {"triggerCharacters": ["."]},
                "definitionProvider": true,
                "referencesProvider": true,
                "renameProvider": {"prepareProvider": true},
                "documentSymbolProvider": true,
                "documentFormattingProvider": true,
                "documentRangeFormattingProvider": true,
            },
            "serverInfo": {"name": "daelight", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    fn asked_of_document(
        &self,
        open: &Open,
        method: &str,
        parameters: &Value,
    ) -> Result<Value, Refusal> {
        let text = &open.document.text;
        let byte = text.byte_of(&parameters["position"], self.encoding);
        let files = Overlay::new(&text.path, self.open.clone());
        let world = World::new(
            text.clone(),
            &files,
            &self.cache,
            self.settings.most_lookups,
        );
        let word = || text.word_at(byte).filter(|&word| text.is_name(word));
        match method {
            "textDocument/hover" => Ok(hover(&world, open.facts.as_ref(), byte, self.encoding)),
            "textDocument/completion" => Ok(complete(&world, byte, self.settings.most_items)),
            "textDocument/formatting" => Ok(format(text, None, self.encoding)),
            "textDocument/rangeFormatting" => {
                let range = &parameters["range"];
                let from = text.byte_of(&range["start"], self.encoding);
                let to = text.byte_of(&range["end"], self.encoding);
                Ok(format(text, Some((from, to)), self.encoding))
            }
            "textDocument/definition" => {
                let meaning = word().and_then(|word| world.meaning(word));
                let place = meaning.and_then(|meaning| world.place(&meaning));
                let place = place.filter(|(text, _)| !text.path.starts_with('<'));
                Ok(place.map_or(Value::Null, |(text, span)| self.location(&text, span)))
            }
            "textDocument/references" => {
                let found = word().and_then(|word| target(&world, word));
                let Some(found) = found else {
                    return Ok(json!([]));
                };
                let with = parameters["context"]["includeDeclaration"] != false;
                Ok(self.references(text, &found, with))
            }
            "textDocument/prepareRename" => {
                let Some(word) = word().filter(|&word| target(&world, word).is_some()) else {
                    return Ok(Value::Null);
                };
                Ok(text.range(text.outline.words[word].span, self.encoding))
            }
            "textDocument/rename" => {
                let new = parameters["newName"].as_str().unwrap_or_default();
                let found = word().and_then(|word| target(&world, word));
                let found = found.ok_or_else(|| {
                    refusal(
                        Refused::Failed,
                        "nothing stands here that can have another name",
                    )
                })?;
                if is_taken(&world, &found, new) {
                    let words = format!("`{new}` is declared already");
                    return Err(refusal(Refused::Failed, words));
                }
                self.rename(text, &found, new)
            }
            _ => Err(refusal(
                Refused::UnknownMethod,
                format!("`{method}` is not known"),
            )),
        }
    }

    fn location(&self, text: &Text, span: Span) -> Value {
        let open = self.documents.values();
        let mut same = open.filter(|open| open.document.text.path == text.path);
        let uri = same.next().map(|open| open.document.uri.clone());
        let uri = uri.unwrap_or_else(|| uri_of(&text.path));
        json!({"uri": uri, "range": text.range(span, self.encoding)})
    }

    /// The texts in which a name of a document may be used: open ones and its neighbours.
    fn texts(&self, text: &Arc<Text>, name: &str) -> Texts<'_> {
        let mut list: Vec<Arc<Text>> = self.open.values().cloned().collect();
        let files = Overlay::new(&text.path, self.open.clone());
        if let Some((folder, _)) = text.path.rsplit_once('/') {
            let entries = files.list(folder).unwrap_or_default();
            let neighbours = entries.iter().filter(|(entry, _)| entry.ends_with(".mo"));
            for (entry, _) in neighbours.take(self.settings.most_neighbours) {
                let path = format!("{folder}/{entry}");
                if !self.open.contains_key(&path) {
                    list.extend(self.cache.text(&files, &path));
                }
            }
        }
        list.retain(|other| other.path == text.path || other.text.contains(name));
        Texts {
            list,
            open: self.open.clone(),
            cache: &self.cache,
            budget: self.settings.most_lookups,
        }
    }

    fn references(&self, text: &Arc<Text>, target: &Target, with_declaration: bool) -> Value {
        let texts = self.texts(text, &target.name);
        let mut places = Vec::new();
        for (text, spans) in texts.uses(target) {
            for span in spans {
                let is_declaration = text.path == target.path && span.start == target.start;
                if with_declaration || !is_declaration {
                    places.push(self.location(&text, span));
                }
            }
        }
        Value::Array(places)
    }

    fn rename(&self, text: &Arc<Text>, target: &Target, new: &str) -> Result<Value, Refusal> {
        let texts = self.texts(text, &target.name);
        let uses = texts.rename(target, new);
        let uses = uses.map_err(|words| refusal(Refused::Failed, words))?;
        let mut changes = serde_json::Map::new();
        for (text, spans) in uses {
            let edits: Vec<Value> = (spans.iter())
                .map(|&span| json!({"range": text.range(span, self.encoding), "newText": new}))
                .collect();
            let uri = self.location(&text, Span::default())["uri"].clone();
            changes.insert(uri.as_str().unwrap_or_default().to_string(), edits.into());
        }
        Ok(json!({"changes": changes}))
    }
}

/// A diagnostic as the protocol has it, with everything that `check` prints.
fn diagnostic_item(
    diagnostic: &Diagnostic,
    sources: &SourceMap,
    text: &Text,
    uri: &str,
    encoding: Encoding,
) -> Value {
    let mut words = vec![diagnostic.message.clone()];
    if !diagnostic.label.is_empty() {
        words.push(diagnostic.label.clone());
    }
    words.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    words.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
    let is_here = |span: &Span| span.source.0 == 0;
    let elsewhere = diagnostic.span.filter(|span| !is_here(span));
    if let Some(span) = elsewhere {
        let source = sources.get(span.source);
        let (line, column) = source.line_column(span.start);
        words.push(format!(
            "in {}, line {line}, column {column}",
            source.name()
        ));
    }
    // What is wrong in a library is told where the text leads to it.
    let related = diagnostic.related.iter().map(|(span, _)| *span);
    let place = diagnostic.span.into_iter().chain(related).find(is_here);
    let range = text.range(place.unwrap_or_default(), encoding);
    let places = diagnostic.related.iter().cloned();
    let places = places.chain(elsewhere.map(|span| (span, diagnostic.label.clone())));
    let related = places.filter_map(|(span, remark)| {
        let source = sources.get(span.source);
        let location = match span.source.0 {
            0 => json!({"uri": uri, "range": text.range(span, encoding)}),
            _ if source.name().starts_with('<') => return None,
            _ => {
                let (line, column) = source.line_column(span.start);
                let start = json!({"line": line - 1, "character": column - 1});
                json!({"uri": uri_of(source.name()), "range": {"start": start, "end": start}})
            }
        };
        Some(json!({"location": location, "message": remark}))
    });
    let related: Vec<Value> = related.collect();
    let severity = match diagnostic.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    let mut item = json!({
        "range": range,
        "severity": severity,
        "code": diagnostic.code.word(),
        "source": "daelight",
        "message": words.join("\n"),
        "relatedInformation": related,
    });
    if diagnostic.code == Code::UnusedName {
        item["tags"] = json!([1]);
    }
    item
}
