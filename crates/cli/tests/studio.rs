//! The studio from outside: who is refused, what stays in the folder, what hostile models and clients come to.

use daelight::Pulled;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Studio {
    child: Child,
    port: u16,
    token: String,
    folder: tempfile::TempDir,
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const MODEL: &str = "model M  Real x(start = 1);  equation  der(x) = -x;  end M;";

fn studio() -> Studio {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("m.mo"), MODEL).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_daelight"))
        .args(["studio", "--no-open", "m.mo"])
        .current_dir(folder.path())
        .env_remove("MODELICAPATH")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    out.read_line(&mut line).expect("an address");
    let rest = line.trim().strip_prefix("http://127.0.0.1:").expect(&line);
    let (port, token) = rest.trim_end_matches('/').split_once('/').expect(&line);
    assert_eq!(token.len(), 32, "{line}");
    Studio {
        port: port.parse().expect("a port"),
        token: token.to_string(),
        child,
        folder,
    }
}

impl Studio {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a timeout");
        stream.set_write_timeout(patience).expect("a timeout");
        stream
    }

    /// Sends a request as it stands; the status and the body.
    fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        // Who is refused early may find the connection closed.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let answer = String::from_utf8_lossy(&bytes).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_string())
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let host = format!("Host: 127.0.0.1:{}\r\n", self.port);
        let host = if headers.contains("Host:") { "" } else { &host };
        let request = format!("GET {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n");
        self.raw(request.as_bytes())
    }

    fn post(&self, place: &str, body: &str) -> (u16, String) {
        let (port, token) = (self.port, &self.token);
        let request = format!(
            "POST /{token}/{place} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        self.raw(request.as_bytes())
    }

    fn ask(&self, lane: &str, question: &serde_json::Value) -> (u16, serde_json::Value) {
        let (status, body) = self.post(&format!("ask/{lane}"), &question.to_string());
        (status, serde_json::from_str(&body).unwrap_or_default())
    }

    /// Bytes of memory of the server and its workers.
    fn memory(&self) -> u64 {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let pids = children.split_whitespace().map(str::to_string);
        let all = pids.chain([self.child.id().to_string()]);
        let resident = |pid: String| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
            line.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        all.filter_map(resident).sum::<u64>() << 10
    }

    fn is_well(&self) {
        let (status, answer) = self.ask(
            "run",
            &serde_json::json!({ "ask": "run", "name": "m.mo", "text": MODEL }),
        );
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["status"], "success", "{answer}");
    }
}

#[test]
fn only_the_page_with_the_key_comes_in() {
    let studio = studio();
    let home = format!("/{}/home", studio.token);
    assert_eq!(studio.get(&home, "").0, 200);
    let page = studio.get(&format!("/{}/", studio.token), "");
    assert!(page.0 == 200 && page.1.contains("<title>daelight studio</title>"));
    for path in [
        "/",
        "/home",
        "/0123/home",
        "/../home",
        "/%2e%2e/",
        "//",
        "/favicon.ico",
    ] {
        assert_eq!(studio.get(path, "").0, 403, "{path}");
    }
    let wrong = format!("/{}/home", "0".repeat(32));
    assert_eq!(studio.get(&wrong, "").0, 403);
    let (port, foreign) = (studio.port, 403);
    for headers in [
        "Host: evil.example\r\n".to_string(),
        format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1:1\r\n".to_string(),
        "Origin: http://evil.example\r\n".to_string(),
        "Origin: null\r\n".to_string(),
        format!("Origin: http://127.0.0.1:{}\r\n", port ^ 1),
        "Sec-Fetch-Site: cross-site\r\n".to_string(),
        "Sec-Fetch-Site: same-site\r\n".to_string(),
    ] {
        assert_eq!(studio.get(&home, &headers).0, foreign, "{headers}");
    }
    // A form of another page sends no JSON; nothing else than GET and POST is known.
    let form = format!(
        "POST /{}/save HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        studio.token
    );
    assert_eq!(studio.raw(form.as_bytes()).0, 415);
    let put = format!("PUT {home} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(studio.raw(put.as_bytes()).0, 405);
    assert_eq!(studio.raw(b"\x00\x01 nonsense\r\n\r\n").0 / 100, 4);
}

#[test]
fn nothing_outside_the_folder_is_read_or_written() {
    let studio = studio();
    let folder = studio.folder.path();
    let outside = tempfile::tempdir().expect("a folder");
    let secret = outside.path().join("secret.mo");
    std::fs::write(&secret, "model Secret  Real s = 42;  end Secret;").expect("a file");
    std::fs::create_dir(folder.join("sub")).expect("a folder");
    std::fs::write(folder.join("sub/n.mo"), MODEL).expect("a file");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&secret, folder.join("link.mo")).expect("a link");
        std::os::unix::fs::symlink(outside.path(), folder.join("out")).expect("a link");
        std::os::unix::fs::symlink(&secret, folder.join("Secret.mo")).expect("a link");
    }
    let absolute = secret.to_string_lossy().into_owned();
    let up = format!(
        "../{}/secret.mo",
        outside
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
    );
    let paths = [
        &absolute,
        &up,
        "sub/../../x.mo",
        "./m.mo/../../x.mo",
        "link.mo",
        "out/secret.mo",
        "Secret.mo",
        "",
        ".",
        "..",
        "/",
        "sub",
        "m.txt",
        ".hidden.mo",
        "sub/.mo",
        "a\\b.mo",
        "C:x.mo",
        "m.mo\0",
        "/etc/passwd",
        "%2e%2e/x.mo/..",
        "new/x.mo",
    ];
    for path in paths {
        let (status, body) = studio.post("open", &serde_json::json!({ "file": path }).to_string());
        assert!(
            status == 403 && !body.contains("42"),
            "{path}: {status} {body}"
        );
        let wish = serde_json::json!({ "file": path, "text": "taken", "before": "model Secret  Real s = 42;  end Secret;" });
        let (status, body) = studio.post("save", &wish.to_string());
        assert!(status == 409, "{path}: {status} {body}");
    }
    assert!(
        std::fs::read_to_string(&secret)
            .expect("the file")
            .contains("42")
    );
    assert_eq!(
        std::fs::read_dir(outside.path())
            .expect("the folder")
            .count(),
        1
    );
    let list = studio.get(&format!("/{}/home", studio.token), "").1;
    assert!(list.contains("m.mo") && list.contains("sub/n.mo"), "{list}");
    assert!(
        !list.contains("link.mo") && !list.contains("secret.mo"),
        "{list}"
    );
    // A model cannot read through a link either.
    let question = serde_json::json!({ "ask": "text", "name": "m.mo", "text": "model T  extends Secret;  end T;" });
    let (_, answer) = studio.ask("text", &question);
    assert_eq!(answer["ok"], false, "{answer}");
    // What is in the folder is read, and written when its text is known.
    let file = |text: &str, before: Option<&str>| {
        studio
            .post(
                "save",
                &serde_json::json!({ "file": "m.mo", "text": text, "before": before }).to_string(),
            )
            .0
    };
    assert_eq!(file("new", None), 409);
    assert_eq!(file("new", Some("old")), 409);
    assert_eq!(file("new", Some(MODEL)), 200);
    assert_eq!(
        std::fs::read_to_string(folder.join("m.mo")).expect("the file"),
        "new"
    );
    assert!(Path::new(&secret).exists());
}

#[test]
fn bodies_connections_and_slow_clients_are_bounded() {
    let studio = studio();
    studio.is_well();
    // 50 MB, said and sent, or only said.
    let large = format!("{{\"text\": \"{}\"}}", "x".repeat(50 << 20));
    let (status, _) = studio.post("ask/text", &large);
    assert!(status == 413 || status == 0, "{status}");
    let (port, token) = (studio.port, &studio.token);
    let said = format!(
        "POST /{token}/ask/text HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: 52428800\r\nConnection: close\r\n\r\n{{"
    );
    assert_eq!(studio.raw(said.as_bytes()).0, 413);
    // 200 clients that say a part and rest, and some that never read their answer.
    let mut resting = Vec::new();
    for k in 0..200 {
        let mut stream = studio.connect();
        let part = match k % 4 {
            0 => String::new(),
            1 => "GET /".to_string(),
            2 => format!("GET /{token}/editor.js HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"),
            _ => format!(
                "POST /{token}/ask/run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"
            ),
        };
        stream.write_all(part.as_bytes()).expect("a part");
        resting.push(stream);
    }
    let began = Instant::now();
    studio.is_well();
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "others wait: {:?}",
        began.elapsed()
    );
    // Connections that are cut in the middle of work.
    for _ in 0..20 {
        let question = r#"{"ask": "run", "name": "m.mo", "text": "model M  Real x(start = 1);  equation  der(x) = -x;  end M;", "to": 1e9}"#;
        let mut stream = studio.connect();
        let request = format!(
            "POST /{token}/ask/run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{question}",
            question.len()
        );
        stream.write_all(request.as_bytes()).expect("a request");
        drop(stream);
    }
    studio.is_well();
    assert!(studio.memory() < 1 << 30, "{} MB", studio.memory() >> 20);
    // Whoever rests is sent away, and Ctrl-C ends it all.
    std::thread::sleep(Duration::from_secs(11));
    let mut gone = 0;
    for stream in &mut resting {
        let mut bytes = Vec::new();
        stream
            .set_read_timeout(Some(Duration::from_millis(200)))
            .expect("a timeout");
        gone += usize::from(stream.read_to_end(&mut bytes).is_ok());
    }
    assert!(gone >= 150, "{gone} of 200 connections were closed");
}

/// Texts that ask for too much, say nothing, or are made of parts of models put together anyhow.
fn hostile(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let parts = [
        "model M ",
        "end M;",
        "Real x;",
        "Real x[1000000];",
        "parameter Real p = 1/0;",
        "equation ",
        "der(x) = x^x^x^x;",
        "x = 1/x;",
        "((((((",
        "\"",
        "/*",
        "annotation(experiment(StopTime = 1e300));",
        "for i in 1:100000000 loop x[i] = i; end for;",
        "der(der(der(x))) = sin(1/time);",
        "when x > 0 then reinit(x, -x); end when;",
        "function f input Real a; output Real b; algorithm b := f(a); end f;",
        "extends M;",
        "\u{0}",
        "é𝄞",
        "sqrt(-1) = x;",
        "x = f(x);",
        "0 = 0;",
        "lagrange(x, x, x);",
        "if x > 0 then x = 1; else x = 2; end if;",
        "within A.B.C;",
        "import A.*;",
        "__daelight(draw = {{{x, x}, {1e300, x}}})",
        "parameter Integer n = 2000000000; Real y[n, n];",
        "end",
        ";",
        "= ",
        "1e999",
        "der(",
        ")",
    ];
    let n = 1 + next(14);
    (0..n)
        .map(|_| format!("{} ", parts[next(parts.len() as u64) as usize]))
        .collect()
}

#[test]
fn a_thousand_hostile_models_are_answered() {
    let studio = studio();
    let mut refused = 0;
    for number in 0..1000 {
        let text = hostile(number);
        let (lane, ask) = match number % 8 {
            0..=3 => ("text", "text"),
            4 | 5 => ("run", "run"),
            6 => ("evidence", "passport"),
            _ => ("evidence", "singular"),
        };
        let began = Instant::now();
        let (status, answer) = studio.ask(
            lane,
            &serde_json::json!({ "ask": ask, "name": "h.mo", "text": text }),
        );
        assert!(status == 200 || status == 422, "{number}: {status} {text}");
        assert!(answer.is_object(), "{number}: {text}");
        let words = answer["refused"].as_str().unwrap_or_default();
        assert!(
            !words.contains("ended without an answer"),
            "{number}: {words}: {text}"
        );
        assert!(
            began.elapsed() < Duration::from_secs(100),
            "{number}: {:?} {text}",
            began.elapsed()
        );
        refused += usize::from(!words.is_empty());
    }
    assert!(refused > 100, "{refused}");
    assert!(studio.memory() < 3 << 30, "{} MB", studio.memory() >> 20);
    studio.is_well();
    let odd = [
        r#"{"ask": 1}"#,
        "[]",
        "null",
        "{}",
        r#"{"ask": "run", "values": "x"}"#,
        "{",
        r#"{"ask": "map", "over": ["x"]}"#,
    ];
    for body in odd {
        let (status, _) = studio.post("ask/run", body);
        assert!(status == 200 || status == 400, "{body}: {status}");
    }
    studio.is_well();
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_and_its_workers() {
    let mut studio = studio();
    studio.is_well();
    let endless = r#"{"ask": "run", "name": "m.mo", "text": "model M  Real x(start = 1), y;  equation  der(x) = sin(1e5*time)*y;  y = cos(1e5*x);  end M;", "to": 1e6}"#;
    let (port, token) = (studio.port, studio.token.clone());
    let mut stream = studio.connect();
    let request = format!(
        "POST /{token}/ask/run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{endless}",
        endless.len()
    );
    stream.write_all(request.as_bytes()).expect("a request");
    std::thread::sleep(Duration::from_millis(300));
    let children = format!("/proc/{0}/task/{0}/children", studio.child.id());
    let workers = std::fs::read_to_string(children).unwrap_or_default();
    let interrupted = Command::new("kill")
        .args(["-INT", &studio.child.id().to_string()])
        .status();
    assert!(interrupted.is_ok_and(|status| status.success()));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = studio.child.try_wait().expect("the program") {
            break status;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(0));
    std::thread::sleep(Duration::from_millis(300));
    for pid in workers.split_whitespace() {
        let state = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let is_over = state.is_empty() || state.contains("State:\tZ");
        assert!(is_over, "worker {pid} lives on");
    }
}

fn model(name: &str) -> daelight_lang::Model {
    let loaded = daelight::load(name, &Default::default()).expect("a built-in model");
    loaded.model.expect("built-in models are right")
}

#[test]
fn a_pendulum_goes_to_the_point_of_its_circle_that_is_closest() {
    let model = model("pendulum");
    let pulled = Pulled::new(&model, 0, 1).expect("its bob moves");
    assert!(Pulled::new(&model, 0, 0).is_none(), "the pin rests");
    let mut values = vec![1.0, 0.0, 0.0, 0.0, 0.0];
    for k in 1..=20 {
        let angle = 0.37 * f64::from(k);
        let radius = 0.4 + 0.1 * f64::from(k);
        let target = [radius * angle.cos(), radius * angle.sin()];
        let found = pulled.to(0.0, &values, target).expect("it follows");
        values = found.values;
        let off = (values[0] - angle.cos()).hypot(values[1] - angle.sin());
        assert!(off < 1e-4, "{k}: {off:e}");
        assert!(found.margin.is_some_and(|margin| margin > 0.1));
    }
}

#[test]
fn a_crank_turns_the_four_bar_once_around_on_its_branch() {
    let model = model("four-bar");
    let pulled = Pulled::new(&model, 0, 1).expect("the crank moves");
    let start = [1.003813759, 0.6381022919, 1.789746223];
    let mut values = start.to_vec();
    for k in 1..=21 {
        let angle = start[0] + 2.0 * std::f64::consts::PI * f64::from(k) / 21.0;
        let target = [0.1 * angle.cos(), 0.1 * angle.sin()];
        let found = pulled.to(0.0, &values, target).expect("it follows");
        values = found.values;
        let (x, y) = (0.1 * values[0].cos(), 0.1 * values[0].sin());
        assert!((x - target[0]).hypot(y - target[1]) < 1e-5, "{k}");
        let [q1, q2, q3] = [values[0], values[1], values[2]];
        let gap = 0.1 * q1.cos() + 0.35 * q2.cos() - 0.3 * q3.cos() - 0.4;
        let rise = 0.1 * q1.sin() + 0.35 * q2.sin() - 0.3 * q3.sin();
        assert!(gap.hypot(rise) < 1e-9, "{k}: {gap:e} {rise:e}");
    }
    assert!((values[1] - start[1]).abs() < 1e-3 && (values[2] - start[2]).abs() < 1e-3);
}
