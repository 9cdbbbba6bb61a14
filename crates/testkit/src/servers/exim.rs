//! An Exim of a test's own: a mail server that takes mails for everybody, with or without TLS, and puts them into one directory.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Signal, kill_process_group};
use tempfile::TempDir;

use super::{Running, as_server, directory, free_port, in_path, installed, listens, run};

/// A running Exim. It lets `alice` with the password `s3cret` log in once the way is encrypted, knows no `nobody`, and has no time
/// for `later`, whatever their domains.
pub struct Exim {
    // Stopped before its files go.
    running: Option<Running>,
    program: PathBuf,
    dir: TempDir,
    port: u16,
    tls_port: u16,
}

impl Exim {
    /// Starts one; `None` where it is not installed and a test may be skipped for that.
    pub fn start() -> Option<Self> {
        let program = installed("Exim", in_path("exim4"), "exim4-daemon-light")?;
        let openssl = installed("openssl", in_path("openssl"), "openssl")?;
        let mut exim =
            Self { running: None, program, dir: directory("exim"), port: free_port(), tls_port: free_port() };
        exim.certify(&openssl);
        exim.write("exim.conf", &exim.config());
        exim.start_again();
        Some(exim)
    }

    /// Starts it after it was stopped, on the same ports and files; returns when it takes connections.
    pub fn start_again(&mut self) {
        let mut command = as_server(&self.program);
        // In the foreground; what a stop left behind is delivered within a second.
        command.arg("-C").arg(self.path("exim.conf")).args(["-bdf", "-q1s"]);
        // It makes a process for each connection, and all are stopped together.
        command.process_group(0);
        let ready = || listens(self.port) && listens(self.tls_port);
        self.running = Some(Running::start(&mut command, &self.path("log"), ready));
    }

    /// Stops it at once, with all its connections, as a power cut would; what is on the disk stays.
    pub fn stop_immediately(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = kill_process_group(running.pid(), Signal::KILL);
            running.stop(Signal::KILL);
        }
    }

    /// The port where a connection begins in the clear; STARTTLS is offered.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port where a connection is encrypted from the start.
    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// The certificate of who vouches for it, as `localhost` and `127.0.0.1`.
    pub fn ca_file(&self) -> PathBuf {
        self.path("cert.pem")
    }

    /// The mails that were delivered, in no order. One that was taken a moment ago may not be there yet.
    pub fn mails(&self) -> Vec<String> {
        let Ok(files) = std::fs::read_dir(self.path("mail/new")) else { return Vec::new() };
        files.map(|file| std::fs::read_to_string(file.expect("it is ours").path()).expect("a mail is text")).collect()
    }

    /// What it wrote about each mail.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("mainlog")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes the certificate, which vouches for itself.
    fn certify(&self, openssl: &Path) {
        self.write(
            "cert.conf",
            "[req]\ndistinguished_name = name\nx509_extensions = more\nprompt = no\n[name]\nCN = localhost\n[more]\n\
             basicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost, IP:127.0.0.1\n",
        );
        let (key, cert) = (self.path("key.pem"), self.path("cert.pem"));
        let mut command = Command::new(openssl);
        command.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(' '));
        run(command.arg("-config").arg(self.path("cert.conf")).arg("-keyout").arg(&key).arg("-out").arg(cert));
        // The user that Exim runs as reads it; it protects nothing.
        std::fs::set_permissions(key, PermissionsExt::from_mode(0o644)).expect("it is ours");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::write(&path, text).expect("its files can be written");
        // Exim reads no settings that others may write.
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("it is ours");
    }

    fn config(&self) -> String {
        let (dir, port, tls_port) = (self.dir.path().display(), self.port, self.tls_port);
        // The user that `as_server` makes it run as.
        let is_root = rustix::process::geteuid().is_root();
        let own =
            |what| if is_root { "postgres".to_owned() } else { run(Command::new("id").arg(what)).trim().to_owned() };
        let (user, group) = (own("-un"), own("-gn"));
        format!(
            "primary_hostname = mail.example.net\nexim_user = {user}\nexim_group = {group}\nnever_users =\nkeep_environment =\n\
             spool_directory = {dir}/spool\nlog_file_path = {dir}/%slog\npid_file_path = {dir}/pid\n\
             local_interfaces = 127.0.0.1\ndaemon_smtp_ports = {port} : {tls_port}\ntls_on_connect_ports = {tls_port}\n\
             tls_certificate = {dir}/cert.pem\ntls_privatekey = {dir}/key.pem\ntls_advertise_hosts = *\n\
             auth_advertise_hosts = ${{if eq{{$tls_in_cipher}}{{}}{{}}{{*}}}}\ndeliver_drop_privilege = true\n\
             acl_smtp_rcpt = rcpt\nsmtp_accept_max = 0\n\
             begin acl\nrcpt:\n\
             deny local_parts = nobody\nmessage = 550 5.1.1 no such user\n\
             defer local_parts = later\nmessage = 450 4.2.0 not now\n\
             accept\n\
             begin routers\nall:\ndriver = accept\ntransport = maildir\n\
             begin transports\nmaildir:\ndriver = appendfile\ndirectory = {dir}/mail\nmaildir_format\nuser = {user}\n\
             begin authenticators\nplain:\ndriver = plaintext\npublic_name = PLAIN\nserver_prompts = :\n\
             server_condition = ${{if and{{{{eq{{$auth2}}{{alice}}}}{{eq{{$auth3}}{{s3cret}}}}}}}}\nserver_set_id = $auth2\n"
        )
    }
}
