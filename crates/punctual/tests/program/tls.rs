//! TLS on the listener.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use punctual_testkit::process::output;
use punctual_testkit::wait::until;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Home, Ran, Server, answer, soon, within};

/// Makes a certificate for `name` and its key in `folder`, as `cert.pem` and `key.pem`.
pub(crate) fn certificate(folder: &Path, name: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", &format!("/CN={name}")]);
    openssl.args(["-addext", &format!("subjectAltName=DNS:{name}"), "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(folder.join("key.pem")).arg("-out").arg(folder.join("cert.pem"));
    let made = output(&mut openssl);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Puts the certificate in `from` in the place of the one in `to`.
fn replace(from: &Path, to: &Path) {
    for file in ["cert.pem", "key.pem"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

pub(crate) fn serve(home: &Home, folder: &Path) -> Server {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    home.serve_with(&[("PUNCTUAL_TLS_CERT", cert.to_str().unwrap()), ("PUNCTUAL_TLS_KEY", key.to_str().unwrap())])
}

fn address(server: &Server) -> String {
    server.url.strip_prefix("https://").unwrap().to_owned()
}

/// Somebody who trusts the certificate in `folder`, which is for `name`, and nothing else, and who follows no link by themselves.
pub(crate) fn trusting(server: &Server, folder: &Path, name: &str) -> reqwest::Client {
    let pem = std::fs::read(folder.join("cert.pem")).unwrap();
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(&pem).unwrap()])
        .resolve(name, address(server).parse().unwrap())
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}

/// Asks as somebody does who trusts that certificate.
async fn asks(server: &Server, folder: &Path, name: &str) -> reqwest::Result<reqwest::Response> {
    let client = trusting(server, folder, name);
    let address: std::net::SocketAddr = address(server).parse().unwrap();
    client.get(format!("https://{name}:{}/v1/settings", address.port())).bearer_auth(&server.key).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_speaks_https_and_the_command_line_finds_it() {
    let home = Home::new();
    let folder = home.path().join("tls");
    certificate(&folder, "localhost");
    let server = serve(&home, &folder);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let response = soon(asks(&server, &folder, "localhost")).await.unwrap();
    assert_eq!(response.status(), 200);
    // The certificate is not for this address, and nobody vouches for it: the data directory does.
    home.run(&["add", "tea in an hour"]).ok();
    assert!(home.run(&["list"]).ok().contains("tea"));
    assert!(home.run(&["--url", &server.url.replace("127.0.0.1", "localhost"), "list"]).ok().contains("tea"));
    let stranger = Home::new();
    let ran = Ran::of(output(stranger.command(["--url", &server.url, "list"]).env("PUNCTUAL_API_KEY", &server.key)));
    ran.fails(1, &[&server.url, "cannot be trusted", "SSL_CERT_FILE"]);
    let mut trusting = stranger.command(["--url", &server.url.replace("127.0.0.1", "localhost"), "list"]);
    trusting.env("PUNCTUAL_API_KEY", &server.key).env("SSL_CERT_FILE", folder.join("cert.pem"));
    assert!(Ran::of(output(&mut trusting)).ok().contains("tea"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_used_without_a_restart_and_a_bad_one_is_not() {
    let home = Home::new();
    let [folder, second, third] = ["tls", "second", "third"].map(|name| home.path().join(name));
    certificate(&folder, "localhost");
    certificate(&second, "second.localhost");
    certificate(&third, "third.localhost");
    let server = serve(&home, &folder);
    assert_eq!(soon(asks(&server, &folder, "localhost")).await.unwrap().status(), 200);
    let mut old = Held::open(&server, &folder).await;

    replace(&second, &folder);
    until("the new certificate is shown", async || asks(&server, &second, "second.localhost").await.is_ok()).await;
    assert_eq!(old.asks().await, 200, "who is connected stays connected");
    assert!(home.run(&["list"]).code == Some(0), "the command line knows the new one");

    // A key that is not the certificate's, and then no certificate at all.
    std::fs::copy(third.join("cert.pem"), folder.join("cert.pem")).unwrap();
    until("it is looked at", async || {
        assert!(asks(&server, &second, "second.localhost").await.is_ok(), "the certificate from before stays");
        server.has_logged("is not the key of the certificate")
    })
    .await;
    std::fs::write(folder.join("cert.pem"), "nonsense").unwrap();
    server.signal(Signal::HUP);
    server.wait_for_log("has no certificate in it");
    assert!(asks(&server, &second, "second.localhost").await.is_ok());

    replace(&third, &folder);
    server.signal(Signal::HUP);
    server.wait_for_log("was read again");
    assert!(asks(&server, &third, "third.localhost").await.is_ok(), "at once");
    let (ended, log) = server.stop();
    assert!(ended.success() && !log.concat().contains("BEGIN"));
}

/// A connection that is kept.
struct Held {
    client: reqwest::Client,
    url: String,
    key: String,
}

impl Held {
    async fn open(server: &Server, folder: &Path) -> Self {
        let pem = std::fs::read(folder.join("cert.pem")).unwrap();
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([reqwest::Certificate::from_pem(&pem).unwrap()])
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap();
        let url = format!("{}/v1/settings", server.url.replace("127.0.0.1", "localhost"));
        let mut held = Self { client, url, key: server.key.clone() };
        assert_eq!(held.asks().await, 200);
        held
    }

    async fn asks(&mut self) -> u16 {
        let response = soon(self.client.get(&self.url).bearer_auth(&self.key).send()).await.unwrap();
        let status = response.status().as_u16();
        soon(response.bytes()).await.unwrap();
        status
    }
}

#[test]
fn files_that_cannot_be_used_say_what_is_wrong_with_them() {
    let home = Home::new();
    let [good, other, bad] = ["good", "other", "bad"].map(|name| home.path().join(name));
    certificate(&good, "localhost");
    certificate(&other, "localhost");
    std::fs::create_dir_all(&bad).unwrap();
    std::fs::write(bad.join("cert.pem"), "nonsense").unwrap();
    std::fs::write(
        bad.join("key.pem"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .unwrap();
    for (cert, key, words) in [
        (good.join("cert.pem"), other.join("key.pem"), ["tls_key", "is not the key of the certificate"]),
        (bad.join("cert.pem"), good.join("key.pem"), ["tls_cert", "has no certificate in it"]),
        (good.join("cert.pem"), bad.join("cert.pem"), ["tls_key", "has no private key in it"]),
        (good.join("cert.pem"), bad.join("key.pem"), ["tls_key", "is encrypted"]),
        (home.path().join("nothing.pem"), good.join("key.pem"), ["tls_cert", "cannot be read"]),
        (good.clone(), good.join("key.pem"), ["tls_cert", "cannot be read"]),
    ] {
        let mut command = home.command(["serve", "--listen", "127.0.0.1:0", "--tls-cert"]);
        command.arg(&cert).arg("--tls-key").arg(&key);
        Ran::of(output(&mut command)).fails(1, &words);
    }
    let mut alone = home.command(["serve", "--listen", "127.0.0.1:0"]);
    Ran::of(output(alone.env("PUNCTUAL_TLS_CERT", good.join("cert.pem"))))
        .fails(2, &["PUNCTUAL_TLS_CERT", "needs tls_key"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_tls_is_told_and_a_silent_one_is_closed() {
    let home = Home::new();
    let folder = home.path().join("tls");
    certificate(&folder, "localhost");
    let server = serve(&home, &folder);
    let mut silent = TcpStream::connect(address(&server)).await.unwrap();
    // It begins a handshake, and never ends it.
    let mut half = TcpStream::connect(address(&server)).await.unwrap();
    half.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..200 {
        waiting.push(TcpStream::connect(address(&server)).await.unwrap());
    }
    let plain = server.client.get(format!("http://{}/v1/settings", address(&server))).send();
    let (status, problem) = answer(soon(plain).await.unwrap()).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (400, Some("https_only")), "{problem}");
    assert_eq!(soon(asks(&server, &folder, "localhost")).await.unwrap().status(), 200, "nobody is kept waiting");
    let ended = Duration::from_secs(20);
    for stream in [&mut silent, &mut half] {
        let mut said = Vec::new();
        let _ = within(ended, stream.read_to_end(&mut said)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_comes_through_tls() {
    let home = Home::new();
    let folder = home.path().join("tls");
    certificate(&folder, "localhost");
    let server = serve(&home, &folder);
    let held = Held::open(&server, &folder).await;
    let url = held.url.replace("/v1/settings", "/v1/stream");
    let mut stream = soon(held.client.get(url).bearer_auth(&held.key).send()).await.unwrap();
    let reminders = held.url.replace("/v1/settings", "/v1/reminders");
    let body = json!({ "message": "x".repeat(60_000), "schedule": { "type": "once", "at": "1h" } });
    for _ in 0..20 {
        let made = held.client.request(Method::POST, &reminders).bearer_auth(&held.key).json(&body).send();
        assert_eq!(soon(made).await.unwrap().status(), 201);
    }
    let mut text = String::new();
    while text.matches("event: reminder.created").count() < 20 {
        let chunk = soon(stream.chunk()).await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let list = held.client.get(format!("{reminders}?limit=20")).bearer_auth(&held.key).send();
    let page = soon(soon(list).await.unwrap().bytes()).await.unwrap();
    assert!(
        page.len() > 500_000 && serde_json::from_slice::<serde_json::Value>(&page).is_ok(),
        "a large answer comes whole"
    );
    drop(stream);
    let (ended, _) = server.stop();
    assert!(ended.success());
}
