//! Who may come in: a page that knows the token, of this machine and of no other site.

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};

/// What opens the door.
#[derive(Clone, Debug)]
pub struct Door {
    /// The secret part of the address.
    pub token: String,
    /// The port that is listened on.
    pub port: u16,
}

/// Why a request is refused.
pub type Closed = (StatusCode, &'static str);

impl Door {
    /// A door with a token that nobody can guess; `None` where the system has no random numbers.
    pub fn new(port: u16) -> Option<Self> {
        let mut secret = [0_u8; 16];
        getrandom::fill(&mut secret).ok()?;
        let token = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self { token, port })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The part of the path behind the token, for a request that may come in.
    ///
    /// `Host` keeps out names of other sites that lead to this machine, `Origin` and `Sec-Fetch-Site` keep out their pages; a body is
    /// JSON, which a form of another page cannot send.
    pub fn admit<'u>(
        &self,
        method: &Method,
        uri: &'u Uri,
        headers: &HeaderMap,
    ) -> Result<&'u str, Closed> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let foreign = (StatusCode::FORBIDDEN, "The request is for another site.");
        let host = text(header::HOST).ok_or(foreign)?;
        if headers.get_all(header::HOST).iter().count() > 1 || !hosts.iter().any(|h| h == host) {
            return Err(foreign);
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = text(header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
            if !origin.is_some_and(|origin| hosts.iter().any(|h| h == origin)) {
                let what = "The request comes from a page of another site.";
                return Err((StatusCode::FORBIDDEN, what));
            }
        }
        let site = headers.get("sec-fetch-site");
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            let what = "The request comes from a page of another site.";
            return Err((StatusCode::FORBIDDEN, what));
        }
        let rest = uri.path().strip_prefix('/').unwrap_or_default();
        let (token, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if !same(token.as_bytes(), self.token.as_bytes()) {
            let what = "Open the address that `daelight studio` printed: its last part is the key.";
            return Err((StatusCode::FORBIDDEN, what));
        }
        let is_json = text(header::CONTENT_TYPE).is_some_and(|t| t.starts_with("application/json"));
        match *method {
            Method::GET => Ok(rest),
            Method::POST if is_json => Ok(rest),
            Method::POST => Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send JSON.")),
            _ => Err((
                StatusCode::METHOD_NOT_ALLOWED,
                "Only GET and POST are known.",
            )),
        }
    }
}

/// Whether two secrets are the same, in a time that tells nothing about where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y));
    a.len() == b.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, headers: &[(&str, &str)]) -> Result<String, u16> {
        let door = Door {
            token: "secret".to_string(),
            port: 8000,
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().expect("a name");
            map.append(name, value.parse().expect("a value"));
        }
        let uri: Uri = path.parse().expect("a path");
        let rest = door.admit(&Method::GET, &uri, &map).map(str::to_string);
        rest.map_err(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_its_own_page_comes_in() {
        let host = ("host", "127.0.0.1:8000");
        assert_eq!(asked("/secret/a.js", &[host]), Ok("a.js".to_string()));
        assert_eq!(
            asked("/secret/", &[("host", "localhost:8000")]),
            Ok(String::new())
        );
        for path in ["/", "/secre/", "/secrets/", "/Secret/", "//secret/"] {
            assert_eq!(asked(path, &[host]), Err(403), "{path}");
        }
        for other in [
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:8001",
            "127.0.0.1:8000.evil.example",
        ] {
            assert_eq!(asked("/secret/", &[("host", other)]), Err(403), "{other}");
        }
        assert_eq!(asked("/secret/", &[]), Err(403));
        assert_eq!(
            asked("/secret/", &[host, ("host", "evil.example")]),
            Err(403)
        );
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:8000",
            "http://127.0.0.1",
        ] {
            assert_eq!(
                asked("/secret/", &[host, ("origin", origin)]),
                Err(403),
                "{origin}"
            );
        }
        let own = ("origin", "http://127.0.0.1:8000");
        assert_eq!(asked("/secret/", &[host, own]), Ok(String::new()));
        assert_eq!(
            asked("/secret/", &[host, ("sec-fetch-site", "cross-site")]),
            Err(403)
        );
    }
}
