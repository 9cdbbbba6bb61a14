//! The page, as a browser without a script sees it: signing in, forms, and who may see what.

mod channels;
mod events;
mod health;
mod keys;
mod languages;
mod people;
mod sign_in;
mod today;
mod watches;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::common::{Home, Server, soon};

/// A browser that follows no link by itself.
pub(crate) struct Browser<'a> {
    server: &'a Server,
    client: reqwest::Client,
    pub(crate) cookie: Option<String>,
}

/// A page, or where it leads.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn at(server: &'a Server) -> Self {
        let policy = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).redirect(policy).build().unwrap();
        Self { server, client, cookie: None }
    }

    /// A browser that has signed in with a key.
    pub(crate) async fn with_key(server: &'a Server, key: &str) -> Self {
        let mut browser = Self::at(server);
        let page = browser.post("/sign-in", &[("key", key)]).await;
        assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/"), "{}", page.text);
        browser
    }

    pub(crate) async fn get(&mut self, path: &str) -> Page {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.server.url) };
        self.send(self.client.get(url)).await
    }

    pub(crate) async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Page {
        let body: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let request = self.client.post(format!("{}{path}", self.server.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body.join("&"));
        self.send(request).await
    }

    /// Sends a form that stands on the page at `on`, with its proof.
    pub(crate) async fn submit(&mut self, on: &str, path: &str, form: &[(&str, &str)]) -> Page {
        let page = self.get(on).await;
        let proof = page.proof();
        self.post(path, &[&[("form", proof.as_str())], form].concat()).await
    }

    /// The page that an answer leads to, with what it says there.
    pub(crate) async fn follow(&mut self, answer: &Page) -> Page {
        let cookies: Vec<&str> = self.cookie.as_deref().into_iter().chain(answer.said_in()).collect();
        let cookies = cookies.join("; ");
        let request = self.client.get(format!("{}{}", self.server.url, answer.leads_to()));
        let kept = self.cookie.replace(cookies);
        let page = self.send(request).await;
        self.cookie = kept;
        page
    }

    async fn send(&mut self, mut request: reqwest::RequestBuilder) -> Page {
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        let response = soon(request.send()).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        for set in headers.get_all(SET_COOKIE) {
            let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            if pair.starts_with("punctual-said") {
                continue;
            }
            self.cookie = Some(pair).filter(|pair| !pair.ends_with('='));
        }
        Page { status, headers, text: soon(response.text()).await.unwrap() }
    }
}

impl Page {
    pub(crate) fn leads_to(&self) -> &str {
        self.headers.get(LOCATION).map_or("", |to| to.to_str().unwrap())
    }

    /// The cookie of what the next page will say about it.
    fn said_in(&self) -> Option<&str> {
        let cookies = self.headers.get_all(SET_COOKIE).into_iter().map(|set| set.to_str().unwrap());
        cookies.filter_map(|set| set.split(';').next()).find(|pair| pair.starts_with("punctual-said="))
    }

    /// What the next page will say about it.
    pub(crate) fn said(&self) -> String {
        let said = self.said_in().unwrap_or_else(|| panic!("{}", self.text));
        let json = BASE64_URL_SAFE_NO_PAD.decode(said.strip_prefix("punctual-said=").unwrap()).unwrap();
        serde_json::from_slice::<Value>(&json).unwrap()["text"].as_str().unwrap().to_owned()
    }

    /// The notice of what was done.
    pub(crate) fn toast(&self) -> &str {
        let after = self.text.split_once("id=\"toast\"").unwrap_or_else(|| panic!("{}", self.text)).1;
        after.split("<dialog").next().unwrap()
    }

    /// How something was when the form that `does` this was shown.
    pub(crate) fn seen(&self, does: &str) -> String {
        let form = self.text.split("<form").find(|form| form.contains(does)).unwrap_or_else(|| panic!("{}", self.text));
        let seen = form.split("name=\"seen\" value=\"").nth(1).unwrap_or_else(|| panic!("{form}"));
        seen.split('"').next().unwrap().replace("&quot;", "\"")
    }

    /// The proof that its forms have.
    pub(crate) fn proof(&self) -> String {
        let after = self.text.split_once("data-form=\"").expect("the page is for somebody who has signed in").1;
        after.split_once('"').unwrap().0.to_owned()
    }
}

fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[tokio::test]
async fn every_page_without_anything_teaches_what_it_is_for() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key).await;
    for path in ["/", "/reminders", "/people", "/events", "/scopes", "/watches", "/channels", "/health", "/keys"] {
        let page = browser.get(path).await;
        assert!(page.text.contains("<section class=\"empty\">"), "{path} teaches nothing");
    }
}

#[tokio::test]
async fn a_mistyped_address_is_a_page_for_a_person_and_a_problem_for_a_program() {
    let home = Home::new();
    let server = home.serve();
    let ask = async |path: &str, accept: &str, cookie: &str| {
        let request =
            server.client.get(format!("{}{path}", server.url)).header("accept", accept).header(COOKIE, cookie);
        let answer = soon(request.send()).await.unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        (answer.status().as_u16(), kind, soon(answer.text()).await.unwrap())
    };
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let (status, kind, text) = ask("/nonsense", BROWSER, "").await;
    assert!(status == 404 && kind.starts_with("text/html") && text.contains("Not found"), "{status} {kind} {text}");
    for (path, accept) in [("/nonsense", "*/*"), ("/nonsense", "application/json"), ("/v1/nonsense", BROWSER)] {
        let (status, kind, _) = ask(path, accept, "").await;
        assert_eq!((status, kind.as_str()), (404, "application/problem+json"), "{path} {accept}");
    }
    // Somebody who has signed in reads their own language, whatever the browser says.
    let german = json!({ "timezone": "Europe/Berlin", "language": "de" });
    assert!(server.call(Method::PUT, "/v1/users/me", Some(german)).await.0.is_success());
    let browser = Browser::with_key(&server, &server.key).await;
    let cookie = browser.cookie.clone().unwrap();
    for path in ["/nonsense", "/reminders/01a1f058-0e9c-7d4e-89f8-644f6524fe79"] {
        let (status, _, text) = ask(path, BROWSER, &cookie).await;
        assert!(
            status == 404 && text.contains("<html lang=\"de\"") && text.contains("Nicht gefunden"),
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn a_link_signs_in_once_and_shows_today() {
    let home = Home::new();
    let server = home.serve();
    server.create(json!({"message": "water the plants", "schedule": {"type": "once", "at": "2h"}})).await;
    let link = home.run(&["open", "--print"]).ok();
    let mut browser = Browser::at(&server);
    let page = browser.get("/").await;
    assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/sign-in"));
    let page = browser.get(link.trim()).await;
    assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/"), "{}", page.text);
    let cookie = page.headers[SET_COOKIE].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains(&server.key), "the cookie has the key");
    let page = browser.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("water the plants"), "{}", page.text);
    let again = Browser::at(&server).get(link.trim()).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED, "it works once");
    assert!(again.text.contains("each works once"), "{}", again.text);
}

#[tokio::test]
async fn a_key_signs_in_and_a_wrong_one_does_not_and_both_are_in_the_journal() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::at(&server);
    let page = browser.post("/sign-in", &[("key", "pk_wrong")]).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    assert!(page.text.contains("This key is not known here"), "{}", page.text);
    assert!(!page.text.contains("pk_wrong"), "the page repeats the key");
    let mut browser = Browser::with_key(&server, &server.key.clone()).await;
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
    let journal = server.get("/v1/audit?kind=sign_in").await;
    let did: Vec<_> = journal["entries"].as_array().unwrap().iter().map(|entry| &entry["data"]["did"]).collect();
    assert_eq!(did, ["refused", "in"], "{journal}");
}

#[tokio::test]
async fn wrong_keys_are_limited_and_a_link_still_signs_in() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::at(&server);
    let mut last = StatusCode::OK;
    for _ in 0..11 {
        last = browser.post("/sign-in", &[("key", "pk_wrong")]).await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let key = server.key.clone();
    let page = browser.post("/sign-in", &[("key", &key)]).await;
    assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS, "a right key waits as well: else guessing would go on");
    let page = browser.get("/sign-in?link=guessed").await;
    assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS);
    let link = home.run(&["open", "--print"]).ok();
    let page = browser.get(link.trim()).await;
    assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/"), "nobody guesses a link: {}", page.text);
}

#[tokio::test]
async fn a_form_without_the_proof_or_from_another_site_changes_nothing() {
    let home = Home::new();
    let server = home.serve();
    let mut browser = Browser::with_key(&server, &server.key.clone()).await;
    let page = browser.post("/add", &[("text", "tea in 5 minutes")]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    let proof = browser.get("/").await.proof();
    let mut other = Browser::with_key(&server, &server.key.clone()).await;
    let page = other.post("/add", &[("text", "tea in 5 minutes"), ("form", &proof)]).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "the proof is another session's");
    assert_eq!(server.get("/v1/reminders").await["reminders"], json!([]));
    let page = browser.submit("/", "/add", &[("text", "tea in 5 minutes"), ("back", "/")]).await;
    assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/"));
    let reminders = server.get("/v1/reminders").await;
    assert_eq!(reminders["reminders"][0]["message"], "tea", "{reminders}");
    assert_eq!(reminders["reminders"][0]["created_via"], "web");
}

#[tokio::test]
async fn pages_are_kept_by_nobody_framed_by_nobody_and_run_nothing_inline() {
    let home = Home::new();
    let server = home.serve();
    server.create(json!({"message": "<script>alert(1)</script>", "schedule": {"type": "once", "at": "2h"}})).await;
    let mut browser = Browser::with_key(&server, &server.key.clone()).await;
    for path in ["/", "/reminders", "/sign-in"] {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(page.headers["cache-control"], "no-store", "{path}");
        assert_eq!(page.headers["x-frame-options"], "DENY", "{path}");
        let csp = page.headers["content-security-policy"].to_str().unwrap();
        assert!(csp.contains("default-src 'none'") && !csp.contains("unsafe"), "{path}: {csp}");
        for inline in ["<script>", " style=", " onclick=", "javascript:"] {
            assert!(!page.text.contains(inline), "{path} has {inline}");
        }
    }
}

#[tokio::test]
async fn a_session_ends_with_its_key_and_everywhere_when_it_is_asked_to() {
    let home = Home::new();
    let server = home.serve();
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(json!({"name": "ann", "user": "ann"}))).await;
    assert_eq!(status, 201);
    let (secret, id) = (key["key"].as_str().unwrap(), key["id"].as_str().unwrap());
    let (mut one, mut two) = (Browser::with_key(&server, secret).await, Browser::with_key(&server, secret).await);
    let mut admin = Browser::with_key(&server, &server.key.clone()).await;
    let kept = one.cookie.clone();
    let page = one.submit("/", "/sign-out", &[]).await;
    assert_eq!((page.status, page.leads_to()), (StatusCode::SEE_OTHER, "/sign-in"));
    one.cookie = kept;
    assert_eq!(one.get("/").await.leads_to(), "/sign-in", "a copy of the cookie is worth nothing");
    assert_eq!(two.get("/").await.status, StatusCode::OK, "the other browser is still signed in");
    let mut three = Browser::with_key(&server, secret).await;
    two.submit("/", "/sign-out", &[("everywhere", "1")]).await;
    assert_eq!(three.get("/").await.leads_to(), "/sign-in");
    assert_eq!(admin.get("/").await.status, StatusCode::OK, "another key's sessions go on");
    let mut four = Browser::with_key(&server, secret).await;
    assert_eq!(four.get("/").await.status, StatusCode::OK);
    let (status, _) = server.call(Method::DELETE, &format!("/v1/keys/{id}"), None).await;
    assert_eq!(status, 204);
    assert_eq!(four.get("/").await.leads_to(), "/sign-in");
}

#[tokio::test]
async fn a_bound_key_sees_its_own_user_on_every_page() {
    let home = Home::new();
    let server = home.serve();
    for user in ["ann", "bob"] {
        let message = format!("secret of {user}");
        server.create(json!({"user": user, "message": message, "schedule": {"type": "once", "at": "2h"}})).await;
    }
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({"name": "ann", "user": "ann"}))).await;
    let mut ann = Browser::with_key(&server, key["key"].as_str().unwrap()).await;
    for path in ["/", "/?user=bob", "/reminders", "/reminders?user=bob"] {
        let page = ann.get(path).await;
        assert!(!page.text.contains("secret of bob"), "{path}");
    }
    assert!(ann.get("/?user=bob").await.text.contains("secret of ann"));
    let mut admin = Browser::with_key(&server, &server.key.clone()).await;
    assert!(admin.get("/?user=bob").await.text.contains("secret of bob"));
}
