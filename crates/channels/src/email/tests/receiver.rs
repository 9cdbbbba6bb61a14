//! A mail server for tests: it speaks SMTP over TCP, keeps what it gets, and says no when it is told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A fault: what the receiver does instead of its usual answer.
#[derive(Debug, Clone)]
pub(super) enum Instead {
    /// Replies this.
    Say(&'static str),
    /// Hangs up without a word.
    HangUp,
    /// Says nothing any more.
    Hang,
}

/// One mail as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) text: String,
}

#[derive(Debug, Default)]
struct Shared {
    mails: Vec<Arrived>,
    /// By command, in order; `.` is the end of a mail, `HI` the greeting.
    instead: VecDeque<(&'static str, Instead)>,
    n_connections: usize,
    /// Every command line as it came.
    heard: Vec<String>,
    utf8: bool,
}

pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    serving: AbortHandle,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), Arc::default()).await
    }

    async fn start_at(address: SocketAddr, shared: Arc<Mutex<Shared>>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, serving }
    }

    /// Stops it: everything open is cut off, and nobody listens.
    pub(super) async fn stop(&self) {
        self.serving.abort();
        // Until the listener is really gone.
        while TcpStream::connect(self.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }

    /// Starts it again at the same address, with what it has.
    pub(super) async fn start_again(self) -> Self {
        Self::start_at(self.address, Arc::clone(&self.shared)).await
    }

    /// The next `command` is not answered as usual.
    pub(super) fn instead(&self, command: &'static str, instead: Instead) {
        self.shared.lock().unwrap().instead.push_back((command, instead));
    }

    pub(super) fn takes_utf8(&self) {
        self.shared.lock().unwrap().utf8 = true;
    }

    pub(super) fn mails(&self) -> Vec<Arrived> {
        self.shared.lock().unwrap().mails.clone()
    }

    pub(super) fn heard(&self) -> Vec<String> {
        self.shared.lock().unwrap().heard.clone()
    }

    pub(super) fn n_connections(&self) -> usize {
        self.shared.lock().unwrap().n_connections
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Mutex<Shared>>) {
    // Dropped with this task, and everything in it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // One that breaks off has nothing more to say.
            let _ = talk(stream, shared).await;
        });
    }
}

async fn talk(stream: TcpStream, shared: Arc<Mutex<Shared>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut from, mut to) = (String::new(), String::new());
    shared.lock().unwrap().n_connections += 1;
    let mut line = "HI".to_owned();
    loop {
        let verb = line.split([' ', ':']).next().unwrap_or_default().trim().to_uppercase();
        let reply = match verb.as_str() {
            "HI" => "220 test.example ESMTP".to_owned(),
            "EHLO" if shared.lock().unwrap().utf8 => {
                "250-test.example\r\n250-SMTPUTF8\r\n250-8BITMIME\r\n250 AUTH PLAIN".into()
            }
            "EHLO" => "250-test.example\r\n250-8BITMIME\r\n250 AUTH PLAIN".into(),
            // alice, s3cret
            "AUTH" if line.trim() == "AUTH PLAIN AGFsaWNlAHMzY3JldA==" => "235 2.7.0 come in".into(),
            "AUTH" => "535 5.7.8 wrong password".into(),
            "MAIL" | "RCPT" | "RSET" | "NOOP" => "250 2.0.0 fine".into(),
            "DATA" => "354 go on".into(),
            "." => "250 2.0.0 taken".into(),
            "QUIT" => "221 2.0.0 bye".into(),
            _ => "500 5.5.1 what?".into(),
        };
        let told = {
            let mut shared = shared.lock().unwrap();
            shared.heard.push(line.trim_end().to_owned());
            shared.instead.pop_front_if(|(command, _)| *command == verb)
        };
        let reply = match told {
            None => reply,
            Some((_, Instead::Say(reply))) => reply.to_owned(),
            Some((_, Instead::HangUp)) => return Ok(()),
            Some((_, Instead::Hang)) => return std::future::pending().await,
        };
        let inside = |line: &str| line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        match verb.as_str() {
            "MAIL" => from = inside(&line),
            "RCPT" => to = inside(&line),
            _ => {}
        }
        stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
        if verb == "QUIT" || reply.starts_with("421") {
            return Ok(());
        }
        line.clear();
        if verb == "DATA" && reply.starts_with("354") {
            let mut text = String::new();
            while !text.ends_with("\r\n.\r\n") {
                if stream.read_line(&mut text).await? == 0 {
                    return Ok(());
                }
            }
            text.truncate(text.len() - 3);
            let text = text.replace("\r\n..", "\r\n.");
            shared.lock().unwrap().mails.push(Arrived { from: from.clone(), to: to.clone(), text });
            line.push('.');
        } else if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
    }
}
