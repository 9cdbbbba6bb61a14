mod receiver;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use punctual_core::phrase::Lang;
use punctual_core::reminder::Priority;

use self::receiver::{Arrived, Instead, Receiver};
use super::*;
use crate::common::buttons::Verb;
use crate::common::texts::texts;
use crate::sample;

const TO: &str = "alice@example.org";

fn channel(receiver: &Receiver, more: &[(&str, &str)]) -> Arc<dyn Channel> {
    let port = receiver.address.port().to_string();
    let needed = [("host", "127.0.0.1"), ("port", &port), ("tls", "none"), ("from", "Punctual <p@example.net>")];
    let mut fields = sample::settings(&[&needed[..], more].concat());
    let channel = make(&mut fields, &sample::server()).unwrap();
    fields.finish().unwrap();
    channel
}

/// The value of a header, unfolded.
fn header(mail: &str, name: &str) -> String {
    let head = mail.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ");
    let prefix = format!("{name}: ");
    let mut found = head.split("\r\n").filter_map(|line| line.strip_prefix(&prefix));
    let value = found.next().unwrap_or_default().to_owned();
    assert_eq!(found.next(), None, "{name} is there twice");
    value
}

/// The decoded body of the part of `kind`.
fn part(mail: &str, kind: &str) -> String {
    let boundary = header(mail, "Content-Type").split("boundary=").nth(1).unwrap().trim_matches('"').to_owned();
    let part = mail.split(&format!("--{boundary}")).find(|part| part.contains(kind)).unwrap();
    let (head, body) = part.split_once("\r\n\r\n").unwrap();
    match head.to_lowercase() {
        head if head.contains("quoted-printable") => unquote(body),
        head if head.contains("base64") => {
            let text: String = body.split_whitespace().collect();
            String::from_utf8(BASE64_STANDARD.decode(text).unwrap()).unwrap()
        }
        _ => body.to_owned(),
    }
}

fn unquote(text: &str) -> String {
    let text = text.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'=' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn only(receiver: &Receiver) -> Arrived {
    let mut mails = receiver.mails();
    assert_eq!(mails.len(), 1);
    mails.remove(0)
}

#[tokio::test]
async fn a_mail_has_text_html_links_and_the_keys() {
    let receiver = Receiver::start().await;
    let mut message = sample::message(TO);
    message.text = "Take <b>your</b> \"medicine\" & water\nnow".into();
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Did you?")));
    let channel = channel(&receiver, &[("reply_to", "bot@example.net")]);
    let receipt = channel.send(&message).await.unwrap();
    let id = format!("<{}@example.net>", message.idempotency_key);
    assert_eq!(receipt, Receipt::of(&id));

    let Arrived { from, to, text: mail } = only(&receiver);
    assert_eq!((from.as_str(), to.as_str()), ("p@example.net", TO));
    for (name, value) in [
        ("From", "Punctual <p@example.net>"),
        ("To", TO),
        ("Reply-To", "bot@example.net"),
        ("Message-ID", &id),
        ("Date", "Mon, 02 Mar 2026 07:00:00 +0000"),
        ("Auto-Submitted", "auto-generated"),
        ("Content-Language", "en"),
        ("Importance", "high"),
        ("MIME-Version", "1.0"),
        ("Subject", "Reminder: Take <b>your</b> \"medicine\" & water now"),
    ] {
        assert_eq!(header(&mail, name), value, "{name}");
    }
    let links = sample::server().links.unwrap();
    let [done, later, not] = [Verb::Ack, Verb::Snooze, Verb::Dismiss].map(|verb| links.link(verb, message.occurrence));
    let expect = format!(
        "Take <b>your</b> \"medicine\" & water\r\nnow\r\n\r\nDid you?\r\n\r\n\
         Done: {done}\r\nIn 10 minutes: {later}\r\nNot needed: {not}\r\n"
    );
    assert_eq!(part(&mail, "text/plain").trim_end(), expect.trim_end());
    let html = part(&mail, "text/html");
    assert!(html.contains("<p>Take &lt;b&gt;your&lt;/b&gt; &quot;medicine&quot; &amp; water<br>\r\nnow</p>"), "{html}");
    assert!(html.contains(&format!("<a href=\"{later}\"")) && html.contains(">In 10 minutes</a>"), "{html}");
    assert!(!html.contains("http://") && !html.contains("src="), "nothing is loaded from elsewhere: {html}");

    // The same again is the same mail, to the letter, also when it is sent much later.
    message.attempt += 1;
    message.sent_at += Duration::from_secs(600);
    channel.send(&message).await.unwrap();
    let mails = receiver.mails();
    assert_eq!(mails[0].text, mails[1].text);
}

/// These headers of a mail, as Python's mail library shows them.
fn shown(mail: &str, names: &[&str]) -> Vec<String> {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let program = "import email, email.policy, sys\n\
                   mail = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)\n\
                   assert not mail.defects, mail.defects\n\
                   for name in sys.argv[1:]: print(str(mail[name]), end='\\0')";
    let mut python = Command::new("python3")
        .args(["-X", "utf8", "-c", program])
        .args(names)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    python.stdin.take().unwrap().write_all(mail.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[tokio::test]
async fn words_that_look_encoded_are_shown_as_they_were_written() {
    let receiver = Receiver::start().await;
    let name = "=?utf-8?b?Qm9zcw==?=";
    let mailbox = format!("{name} <p@example.net>");
    let channel = channel(&receiver, &[("from", &mailbox), ("reply_to", &mailbox)]);
    for text in [
        "=?utf-8?b?SGFja2Vk?=",
        "=?utf-8?q?Pay=20me?= now",
        "Zähne =?iso-8859-1?q?=FCben?= 💊 =?x",
        "half =?utf-8?b?SGFja2Vk",
        &"lang =?utf-8?b?SGFja2Vk?= und ü ".repeat(4),
    ] {
        let mut message = sample::message(TO);
        message.text = text.into();
        channel.send(&message).await.unwrap();
        let mail = receiver.mails().pop().unwrap().text;
        let [subject, from, reply_to] = shown(&mail, &["Subject", "From", "Reply-To"]).try_into().unwrap();
        let expect = format!("Reminder: {text}");
        let begin: String = expect.chars().take(90).collect();
        assert!(subject.starts_with(&begin) && (subject == expect || expect.chars().count() > 120), "{subject}");
        for who in [from, reply_to] {
            assert!(who.replace('"', "") == mailbox, "{who}");
        }
        let head = mail.split("\r\n\r\n").next().unwrap();
        let mut encoded = head.split("\r\n").filter(|line| line.contains("=?"));
        assert!(encoded.all(|line| line.len() <= 76), "no longer than a line with an encoded word may be: {head}");
    }
    let mut plain = sample::message(TO);
    plain.text = "is 1 = 2? =".into();
    channel.send(&plain).await.unwrap();
    assert_eq!(header(&receiver.mails().pop().unwrap().text, "Subject"), "Reminder: is 1 = 2? =");
}

#[tokio::test]
async fn words_are_in_the_language_of_the_person() {
    let receiver = Receiver::start().await;
    let channel = channel(&receiver, &[]);
    for lang in Lang::ALL {
        let mut message = sample::message(TO);
        message.language = lang;
        message.text = "😀 čaj ћ".into();
        sample::change(&mut message, |reminder| {
            reminder.ack = Some(Default::default());
            reminder.priority = Priority::Normal;
        });
        channel.send(&message).await.unwrap();
        let mail = receiver.mails().pop().unwrap().text;
        assert!(mail.is_ascii(), "what is beyond ASCII is encoded");
        assert_eq!(
            (header(&mail, "Content-Language"), header(&mail, "Importance")),
            (lang.tag().into(), String::new())
        );
        let (text, html) = (part(&mail, "text/plain"), part(&mail, "text/html"));
        let texts = texts(lang);
        for word in [texts.done_question, texts.done, texts.snooze, texts.dismiss, "😀 čaj ћ"] {
            assert!(text.contains(word) && html.contains(word), "{word}\n{text}\n{html}");
        }
        assert!(html.contains(&format!("<html lang=\"{lang}\">")), "{html}");
    }
}

#[tokio::test]
async fn nothing_in_a_message_becomes_a_header_or_a_command() {
    let receiver = Receiver::start().await;
    let channel = channel(&receiver, &[("subject", "{name}")]);
    let mut message = sample::message(TO);
    message.text = "one\r\n.\r\nRCPT TO:<all@example.org>\r\n.two\n..three\r.\rfour".into();
    let name = "x\r\nBcc: all@example.org\r\n\r\nbody";
    sample::change(&mut message, |reminder| reminder.name = Some(name.into()));
    channel.send(&message).await.unwrap();
    let Arrived { to, text: mail, .. } = only(&receiver);
    assert_eq!((to.as_str(), header(&mail, "Bcc").as_str()), (TO, ""));
    assert_eq!(header(&mail, "Subject"), "x Bcc: all@example.org body");
    assert_eq!(
        part(&mail, "text/plain").trim_end(),
        "one\r\n.\r\nRCPT TO:<all@example.org>\r\n.two\r\n..three\r\n.\r\nfour"
    );
    assert_eq!(receiver.heard().iter().filter(|line| line.starts_with("RCPT")).count(), 1);
    // An address that would be one is never sent at all.
    let injected = sample::message("a@example.org>\r\nRCPT TO:<b@example.org");
    assert!(matches!(channel.send(&injected).await, Err(SendError::Refused(_))));
    assert_eq!(receiver.mails().len(), 1);
}

#[tokio::test]
async fn a_long_subject_is_cut_visibly_and_the_mail_is_whole() {
    let receiver = Receiver::start().await;
    let channel = channel(&receiver, &[("template", "{user}: {message}")]);
    for (n, cut) in [(110, false), (111, true), (5000, true)] {
        let mut message = sample::message(TO);
        message.text = "x".repeat(n);
        channel.send(&message).await.unwrap();
        let mail = receiver.mails().pop().unwrap().text;
        let subject = header(&mail, "Subject");
        assert_eq!(subject.contains("=?utf-8?"), cut, "the dots are beyond ASCII: {subject}");
        assert!(part(&mail, "text/plain").contains(&format!("alice: {}", "x".repeat(n))), "{n}");
    }
}

#[tokio::test]
async fn with_any_template_the_question_is_asked_once_and_a_text_is_said() {
    let receiver = Receiver::start().await;
    let mut message = sample::message(TO);
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Did you?")));
    for (template, expect) in [
        ("{message} {prompt}", "Take your \"medicine\" Did you?\r\n\r\nDone: "),
        ("{name}", "Take your \"medicine\"\r\n\r\nDid you?\r\n\r\nDone: "),
    ] {
        channel(&receiver, &[("template", template), ("subject", "{name}")]).send(&message).await.unwrap();
        let mail = receiver.mails().pop().unwrap().text;
        assert!(part(&mail, "text/plain").starts_with(expect), "{mail}");
        assert_eq!(header(&mail, "Subject"), "Reminder: Take your \"medicine\"");
    }
}

#[tokio::test]
async fn connections_are_used_again_also_after_a_no() {
    let receiver = Receiver::start().await;
    let channel = channel(&receiver, &[("username", "alice"), ("password", "s3cret")]);
    for _ in 0..5 {
        channel.send(&sample::message(TO)).await.unwrap();
    }
    receiver.instead("RCPT", Instead::Say("550 5.1.1 no such user"));
    assert!(matches!(channel.send(&sample::message(TO)).await, Err(SendError::Gone(_))));
    receiver.instead("MAIL", Instead::Say("450 4.3.2 not now"));
    assert!(matches!(channel.send(&sample::message(TO)).await, Err(SendError::Unavailable(_))));
    channel.send(&sample::message(TO)).await.unwrap();
    assert_eq!((receiver.n_connections(), receiver.mails().len()), (1, 6));
    // One that waited too long is not trusted.
    let mut later = sample::message(TO);
    later.sent_at += jiff::SignedDuration::from_secs(61);
    channel.send(&later).await.unwrap();
    assert_eq!(receiver.n_connections(), 2);
    // One that said good-bye is replaced.
    receiver.instead("MAIL", Instead::Say("421 4.4.2 you were idle"));
    channel.send(&later).await.unwrap();
    receiver.instead("MAIL", Instead::HangUp);
    channel.send(&later).await.unwrap();
    assert_eq!((receiver.n_connections(), receiver.mails().len()), (4, 9));
}

#[tokio::test]
async fn many_at_once_share_few_connections() {
    let receiver = Receiver::start().await;
    let channel = channel(&receiver, &[("concurrency", "4")]);
    assert_eq!(channel.limits().concurrency, 4);
    for _ in 0..5 {
        let sends: Vec<_> = (0..4)
            .map(|_| {
                let channel = Arc::clone(&channel);
                tokio::spawn(async move { channel.send(&sample::message(TO)).await })
            })
            .collect();
        for send in sends {
            send.await.unwrap().unwrap();
        }
    }
    assert_eq!(receiver.mails().len(), 20);
    assert!(receiver.n_connections() <= 4, "{}", receiver.n_connections());
}

#[tokio::test]
async fn every_step_names_what_went_wrong() {
    let say = Instead::Say;
    for (command, instead, expect) in [
        ("HI", say("554 5.7.1 not you"), "unavailable"),
        ("HI", say("421 4.7.0 too many connections"), "throttled"),
        ("HI", Instead::HangUp, "unavailable"),
        ("HI", Instead::Hang, "unavailable"),
        ("EHLO", Instead::HangUp, "unavailable"),
        ("AUTH", say("535 5.7.8 no s3cret"), "unavailable"),
        ("AUTH", Instead::HangUp, "unavailable"),
        ("MAIL", say("550 5.7.1 sender refused"), "unavailable"),
        ("MAIL", say("552 5.3.4 too big"), "refused"),
        ("MAIL", Instead::Hang, "unavailable"),
        ("RCPT", say("550 5.1.1 unknown"), "gone"),
        ("RCPT", say("550 5.7.1 relaying denied"), "refused"),
        ("RCPT", say("450 4.2.0 greylisted"), "throttled"),
        ("RCPT", say("451 4.3.0 lookup failed"), "unavailable"),
        ("RCPT", say("452 4.5.3 enough"), "throttled"),
        ("RCPT", Instead::HangUp, "unavailable"),
        ("RCPT", Instead::Hang, "unavailable"),
        ("DATA", say("451 4.3.0 disk"), "unavailable"),
        ("DATA", say("554 5.5.1 no"), "refused"),
        ("DATA", Instead::HangUp, "unavailable"),
        (".", say("554 5.7.1 spam"), "refused"),
        (".", say("451 4.7.1 rate limit"), "throttled"),
        (".", say("452 4.3.1 full"), "unavailable"),
        // It may have been taken, and only the answer was lost.
        (".", Instead::HangUp, "unknown"),
        (".", Instead::Hang, "unknown"),
        (".", say("nonsense"), "unknown"),
    ] {
        let receiver = Receiver::start().await;
        receiver.instead(command, instead.clone());
        let channel = channel(&receiver, &[("username", "alice"), ("password", "s3cret"), ("timeout", "500ms")]);
        let failed = channel.send(&sample::message(TO)).await.unwrap_err();
        let class = match &failed {
            SendError::Throttled { .. } => "throttled",
            SendError::Unavailable(_) => "unavailable",
            SendError::Refused(_) => "refused",
            SendError::Gone(_) => "gone",
            SendError::Unknown(_) => "unknown",
        };
        assert_eq!(class, expect, "{command} {instead:?}: {failed}");
        let said = failed.to_string();
        assert!(!said.contains("s3cret"), "{said}");
        assert!(class == "throttled" || said.contains(&receiver.address.to_string()), "names the server: {said}");
    }
}

#[tokio::test]
async fn a_servers_reply_counts_even_if_it_then_falls_silent() {
    let receiver = Receiver::start().await;
    receiver.instead(".", Instead::Say("550 5.7.1 spam"));
    receiver.instead("RSET", Instead::Hang);
    let channel = channel(&receiver, &[("timeout", "300ms")]);
    let failed = channel.send(&sample::message(TO)).await.unwrap_err();
    assert!(matches!(&failed, SendError::Refused(why) if why.contains("550 5.7.1 spam")), "{failed}");
    channel.send(&sample::message(TO)).await.unwrap();
    assert_eq!(receiver.n_connections(), 2, "the silent one is not used again");
}

#[tokio::test]
async fn a_wrong_password_is_for_the_operator() {
    let receiver = Receiver::start().await;
    let failed = channel(&receiver, &[("username", "alice"), ("password", "wr0ng")]).send(&sample::message(TO)).await;
    let expect = format!("{} answered to the connection 535 5.7.8 wrong password", receiver.address);
    assert_eq!(failed, Err(SendError::Unavailable(expect)));
    // TLS that is asked for and not there is never done without.
    let port = receiver.address.port().to_string();
    let mut fields = sample::settings(&[("host", "127.0.0.1"), ("port", &port), ("from", "p@example.net")]);
    let failed = make(&mut fields, &sample::server()).unwrap().send(&sample::message(TO)).await.unwrap_err();
    assert!(matches!(&failed, SendError::Unavailable(why) if why.contains("STARTTLS is not supported")), "{failed}");
    assert!(receiver.mails().is_empty());
}

#[tokio::test]
async fn a_server_that_was_stopped_and_started_is_found_again() {
    let receiver = Receiver::start().await;
    let channel = channel(&receiver, &[]);
    channel.send(&sample::message(TO)).await.unwrap();
    receiver.stop().await;
    for _ in 0..2 {
        let failed = channel.send(&sample::message(TO)).await.unwrap_err();
        assert!(matches!(&failed, SendError::Unavailable(why) if why.starts_with("no connection to ")), "{failed}");
    }
    let receiver = receiver.start_again().await;
    channel.send(&sample::message(TO)).await.unwrap();
    assert_eq!(receiver.mails().len(), 2);
    // Stopped and started while nothing was sent: the old connection is dead, and nobody notices.
    receiver.stop().await;
    let receiver = receiver.start_again().await;
    channel.send(&sample::message(TO)).await.unwrap();
    assert_eq!(receiver.mails().len(), 3);
}

#[tokio::test]
async fn letters_beyond_ascii_need_a_server_that_takes_them() {
    let receiver = Receiver::start().await;
    let domain = sample::message("me@bücher.example");
    channel(&receiver, &[]).send(&domain).await.unwrap();
    assert_eq!(only(&receiver).to, "me@xn--bcher-kva.example");
    let local = sample::message("jürgen@example.org");
    let failed = channel(&receiver, &[]).send(&local).await.unwrap_err();
    assert!(matches!(failed, SendError::Refused(why) if why.ends_with("takes no addresses with letters beyond ASCII")));
    receiver.takes_utf8();
    channel(&receiver, &[]).send(&local).await.unwrap();
    assert!(receiver.heard().contains(&"MAIL FROM:<p@example.net> SMTPUTF8 BODY=8BITMIME".to_owned()));
    assert_eq!(receiver.mails().pop().unwrap().to, "jürgen@example.org");
}

#[test]
fn settings_that_cannot_be_right_are_refused() {
    let wrong = |pairs: &[(&str, &str)]| {
        make(&mut sample::settings(pairs), &sample::server()).map(|_| ()).unwrap_err().to_string()
    };
    let from = ("from", "p@example.net");
    assert!(wrong(&[]).starts_with("from: is missing; write the sender"));
    assert!(wrong(&[from]).starts_with("host: is missing"));
    for bad in ["", "me", "Me <me>", "Me <me@example.org", "a@b.c\r\nBcc: x@y.z", "a@b.c, d@e.f"] {
        assert!(wrong(&[("from", bad)]).starts_with("from: is none: write"), "{bad:?}");
    }
    let host = ("host", "smtp.example.org");
    assert!(wrong(&[from, host, ("tls", "none")]).starts_with("tls: is none, so anyone on the way could read"));
    assert_eq!(wrong(&[from, host, ("tls", "ssl")]), "tls: `ssl` is none of starttls, tls and none");
    assert_eq!(wrong(&[from, host, ("port", "0")]), "port: `0` is no whole number from 1 to 65535");
    assert!(wrong(&[from, host, ("username", "x")]).starts_with("password: is missing"));
    assert!(wrong(&[from, host, ("password", "x")]).starts_with("username: is missing"));
    assert!(wrong(&[from, host, ("ca_file", "/no/such")]).starts_with("ca_file: cannot use /no/such: "));
    assert!(wrong(&[from, host, ("reply_to", "x")]).starts_with("reply_to: is none"));
    for (more, port) in [(&[][..], 587), (&[("tls", "tls")], 465), (&[("tls", "none"), ("allow_plain", "true")], 25)] {
        let channel = make(&mut sample::settings(&[&[from, host], more].concat()), &sample::server()).unwrap();
        assert_eq!(channel.receiver(TO), format!("smtp.example.org:{port}"));
        assert!(channel.digest_max().is_some() && !channel.holds_unknown());
    }
}
