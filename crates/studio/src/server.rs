//! The server: connections within bounds, and what each address means.

use crate::asset::asset;
use crate::door::Door;
use crate::folder::{Folder, Refused};
use crate::lane::{Lane, LaneName, NoAnswer};
use crate::patience::Patient;
use crate::{StudioBounds, StudioSettings};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

/// Ends a studio from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Asks the studio to end.
    pub fn now(&self) {
        self.0.notify_one();
    }
}

/// What a studio tells when it is ready.
#[derive(Clone, Debug)]
pub struct Started {
    /// The address of the page, with its key.
    pub address: String,
}

struct Studio {
    door: Door,
    folder: Folder,
    first: Option<String>,
    lanes: [Lane; 4],
    bounds: StudioBounds,
}

/// Serves a studio until it is asked to end.
pub fn serve(
    settings: StudioSettings,
    stop: &Stop,
    ready: impl FnOnce(&Started),
) -> io::Result<()> {
    let folder = Folder::open(&settings.folder).map_err(|refused| io::Error::other(refused.0))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).await?;
        let door = Door::new(listener.local_addr()?.port())
            .ok_or_else(|| io::Error::other("the system has no random numbers for a key"))?;
        let lane = |name| Lane::new(settings.worker.clone(), settings.bounds, name);
        let studio = Arc::new(Studio {
            lanes: LaneName::ALL.map(lane),
            folder,
            first: settings.first,
            bounds: settings.bounds,
            door,
        });
        ready(&Started {
            address: studio.door.address(),
        });
        tokio::select! {
            () = accept(listener, studio) => {}
            () = stop.0.notified() => {}
        }
        Ok(())
    });
    runtime.shutdown_background();
    ended
}

/// Takes connections, no more at a time than the bounds allow.
async fn accept(listener: TcpListener, studio: Arc<Studio>) {
    let places = Arc::new(Semaphore::new(studio.bounds.connections));
    let patience = studio.bounds.patience;
    let router = Router::new().fallback(answer).with_state(studio);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // No file is left for a connection: others are closed in a while.
            Err(_) => {
                tokio::time::sleep(patience / 100).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let stream = TokioIo::new(Patient::new(stream, patience));
            // A client that goes away is no concern of anybody else.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(patience)
                .serve_connection(stream, service)
                .await;
            drop(place);
        });
    }
}

/// An answer with the headers that keep the page to itself.
fn sent(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let own = HeaderValue::from_static("same-origin");
    headers.insert("cross-origin-resource-policy", own.clone());
    headers.insert("cross-origin-opener-policy", own);
    response
}

fn document(status: StatusCode, value: &Value) -> Response {
    sent(status, "application/json", value.to_string())
}

/// A refusal as the page reads it.
fn refused(status: StatusCode, why: impl Into<String>) -> Response {
    document(status, &json!({ "refused": why.into() }))
}

async fn answer(State(studio): State<Arc<Studio>>, request: Request) -> Response {
    let admitted = studio
        .door
        .admit(request.method(), request.uri(), request.headers());
    let place = match admitted {
        Ok(place) => place.to_string(),
        Err((status, why)) => return sent(status, "text/plain; charset=utf-8", why),
    };
    if request.method() == Method::GET {
        return match (asset(&place), place.strip_prefix("progress/")) {
            (Some((kind, bytes)), _) => sent(StatusCode::OK, kind, Bytes::from_static(bytes)),
            (None, Some(lane)) => studio.progress(lane),
            (None, None) if place == "home" => studio.home(),
            (None, None) => refused(StatusCode::NOT_FOUND, "There is nothing at this address."),
        };
    }
    let most = studio.bounds.request;
    let long = || {
        let why = format!(
            "The request is longer than {} MB, or was cut off.",
            most >> 20
        );
        refused(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    // What is too long by its own words is not waited for.
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| length > most as u64) {
        return long();
    }
    let body = match timeout(studio.bounds.patience, to_bytes(request.into_body(), most)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return long(),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "The request took too long."),
    };
    let Ok(question) = serde_json::from_slice::<Value>(&body) else {
        return refused(StatusCode::BAD_REQUEST, "The request is not JSON.");
    };
    match place.as_str() {
        "open" => studio.open(&question),
        "save" => studio.save(&question),
        "ask/text" => studio.ask(LaneName::Text, &question).await,
        "ask/run" => studio.ask(LaneName::Run, &question).await,
        "ask/evidence" => studio.ask(LaneName::Evidence, &question).await,
        "ask/long" => studio.ask(LaneName::Long, &question).await,
        _ => refused(StatusCode::NOT_FOUND, "There is nothing at this address."),
    }
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

impl Studio {
    /// What there is to open, and what is open first.
    fn home(&self) -> Response {
        let entry = |name: &str, comment: &str| json!({ "name": name, "comment": comment });
        let built_in = daelight::built_in_models().iter();
        let built_in = built_in.map(|model| entry(model.name, &comment(model.text)));
        let parts = daelight::parts_examples();
        let parts = parts
            .iter()
            .map(|part| entry(&part.name, part.description()));
        let home = json!({
            "folder": self.folder.root().display().to_string(),
            "files": self.folder.list(),
            "built_in": built_in.chain(parts).collect::<Vec<_>>(),
            "first": self.first,
            "version": env!("CARGO_PKG_VERSION"),
        });
        document(StatusCode::OK, &home)
    }

    fn progress(&self, lane: &str) -> Response {
        let names = ["text", "run", "evidence", "long"];
        match names.iter().position(|name| *name == lane) {
            Some(at) => document(StatusCode::OK, &json!(self.lanes[at].progress())),
            None => refused(StatusCode::NOT_FOUND, "There is no such lane."),
        }
    }

    /// A file of the folder, or a built-in model.
    fn open(&self, question: &Value) -> Response {
        if let Some(name) = text(question, "built_in") {
            let found = daelight::built_in_models().iter().find(|m| m.name == name);
            let parts = daelight::parts_examples();
            let part = parts.iter().find(|part| part.name == name);
            let found = found.map(|m| m.text.to_string());
            return match found.or_else(|| part.map(|part| part.text.to_string())) {
                Some(text) => document(StatusCode::OK, &json!({ "text": text })),
                None => refused(
                    StatusCode::NOT_FOUND,
                    "There is no built-in model of this name.",
                ),
            };
        }
        let path = text(question, "file").unwrap_or_default();
        match self.folder.read(path) {
            Ok(text) => document(StatusCode::OK, &json!({ "text": text })),
            Err(Refused(why)) => refused(StatusCode::FORBIDDEN, why),
        }
    }

    fn save(&self, question: &Value) -> Response {
        let (Some(path), Some(new)) = (text(question, "file"), text(question, "text")) else {
            return refused(StatusCode::BAD_REQUEST, "A file and its text are needed.");
        };
        match self.folder.write(path, new, text(question, "before")) {
            Ok(()) => document(StatusCode::OK, &json!({ "saved": path })),
            Err(Refused(why)) => refused(StatusCode::CONFLICT, why),
        }
    }

    async fn ask(&self, lane: LaneName, question: &Value) -> Response {
        match self.lanes[lane as usize].ask(&question.to_string()).await {
            Ok(answer) => sent(StatusCode::OK, "application/json", answer),
            Err(why) => {
                let status = match why {
                    NoAnswer::Busy => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::UNPROCESSABLE_ENTITY,
                };
                refused(status, words(&why))
            }
        }
    }
}

/// What a model describes: the first comment behind its name.
fn comment(text: &str) -> String {
    let model = text.find("model ").map_or("", |at| &text[at..]);
    let line = model.lines().next().unwrap_or_default();
    line.split('"').nth(1).unwrap_or_default().to_string()
}

fn words(why: &NoAnswer) -> String {
    match why {
        NoAnswer::Busy => "Too many questions wait already. Try again in a moment.".to_string(),
        NoAnswer::Time(most) => format!(
            "No answer within {} s, so the work was ended. A smaller model or a shorter run may do.",
            most.as_secs()
        ),
        NoAnswer::Memory(most) => format!(
            "The work needed more than {} MB of memory and was ended. A smaller model or a shorter run may do.",
            most >> 20
        ),
        NoAnswer::Length => "The answer is too long for a page. Ask for less of it.".to_string(),
        NoAnswer::Ended(why) => format!(
            "The work ended without an answer ({why}). The same command in a terminal tells more."
        ),
    }
}
