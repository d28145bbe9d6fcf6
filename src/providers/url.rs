//! Base URLs in every spelling people use, turned into the one right path, because a doubled `/v1`
//! ends in a bare 404 that nobody can read.

use reqwest::Url;

/// What is asked of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Chat,
    Messages,
    Models,
}

impl Route {
    fn tail(self) -> &'static str {
        match self {
            Self::Chat => "chat/completions",
            Self::Messages => "messages",
            Self::Models => "models",
        }
    }
}

/// Paths that people copy from documentation together with the base.
const KNOWN_TAILS: [&str; 5] =
    ["/chat/completions", "/messages", "/models", "/responses", "/completions"];

/// The full URL of a route. A query and a proxy prefix survive; a missing scheme is `http` for this
/// machine and `https` elsewhere.
///
/// # Errors
/// The text that is no URL, and what a URL looks like.
pub(super) fn resolve(base: &str, route: Route) -> Result<Url, String> {
    let base = base.trim();
    let with_scheme = if base.contains("://") {
        base.to_owned()
    } else if is_local_text(base) {
        format!("http://{base}")
    } else {
        format!("https://{base}")
    };
    let mut url = Url::parse(&with_scheme)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
        .ok_or_else(|| {
            format!(
                "base_url {:?} is no http(s) URL; write it like http://127.0.0.1:8080/v1",
                shown_text(base)
            )
        })?;
    let mut path = url.path().trim_end_matches('/').to_owned();
    for tail in KNOWN_TAILS {
        if let Some(prefix) = path.strip_suffix(tail) {
            path = prefix.trim_end_matches('/').to_owned();
            break;
        }
    }
    let versioned = path.split('/').any(is_version);
    let version = if versioned { "" } else { "/v1" };
    url.set_path(&format!("{path}{version}/{}", route.tail()));
    url.set_fragment(None);
    Ok(url)
}

/// `v1`, `v4`, `v1beta`: a path that names a version needs none added.
fn is_version(segment: &str) -> bool {
    let mut rest = segment.chars();
    rest.next() == Some('v') && rest.next().is_some_and(|next| next.is_ascii_digit())
}

fn is_local_text(base: &str) -> bool {
    ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|host| base.starts_with(host))
}

/// Whether the URL names this machine, where no proxy may stand between.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

/// The URL for people: no user, no password, query names without their values.
pub(super) fn shown(url: &Url) -> String {
    let mut out = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        out.push_str(&format!(":{port}"));
    }
    out.push_str(url.path());
    for (at, (name, _)) in url.query_pairs().enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(&format!("{name}=…"));
    }
    out
}

/// The same for a text that may be no URL at all.
pub(super) fn shown_text(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.host().is_some() => shown(&url),
        _ => {
            let before_query = text.split(['?', '#']).next().unwrap_or_default();
            before_query.rsplit('@').next().unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(base: &str, route: Route) -> String {
        resolve(base, route).unwrap().to_string()
    }

    #[test]
    fn every_spelling_of_a_base_gives_one_right_chat_path() {
        for (base, want) in [
            ("http://h:1", "http://h:1/v1/chat/completions"),
            ("http://h:1/", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1//", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/chat/completions/", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/models", "http://h:1/v1/chat/completions"),
            ("http://h:1/proxy/openai/v1", "http://h:1/proxy/openai/v1/chat/completions"),
            ("http://h:1/api?key=1", "http://h:1/api/v1/chat/completions?key=1"),
            ("http://h:1/v1?key=1", "http://h:1/v1/chat/completions?key=1"),
            ("https://h/v1beta/openai", "https://h/v1beta/openai/chat/completions"),
            ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
            ("localhost:8080", "http://localhost:8080/v1/chat/completions"),
            ("api.example.com", "https://api.example.com/v1/chat/completions"),
        ] {
            assert_eq!(path(base, Route::Chat), want, "{base}");
        }
    }

    #[test]
    fn the_messages_and_models_paths_follow_the_same_rules() {
        assert_eq!(path("https://h", Route::Messages), "https://h/v1/messages");
        assert_eq!(path("https://h/v1/", Route::Messages), "https://h/v1/messages");
        assert_eq!(path("https://h/v1/messages", Route::Messages), "https://h/v1/messages");
        assert_eq!(path("https://h/anthropic", Route::Messages), "https://h/anthropic/v1/messages");
        assert_eq!(path("https://h/v1/chat/completions", Route::Models), "https://h/v1/models");
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        let url = resolve("http://me:pw@h:1/api?key=SECRET&x=2", Route::Chat).unwrap();
        assert_eq!(shown(&url), "http://h:1/api/v1/chat/completions?key=…&x=…");
        for bad in ["http://", "ftp://h?key=SECRET", "me:SECRET@ h", "", "::"] {
            let error = resolve(bad, Route::Chat).unwrap_err();
            assert!(error.contains("is no http(s) URL") && !error.contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn loopback_is_known_in_every_form() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "a.localhost"] {
            assert!(is_loopback(&Url::parse(&format!("http://{host}:1/")).unwrap()), "{host}");
        }
        assert!(!is_loopback(&Url::parse("http://example.com/").unwrap()));
    }
}
