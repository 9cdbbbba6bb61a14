//! Waiting for other programs, with a deadline: a test that waits for ever says nothing.

use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a program may run. None runs this long when all is well, also on a machine that is busy compiling.
const ENDS_WITHIN: Duration = Duration::from_secs(120);
/// How often it is looked whether a process has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Runs a command to its end and returns what it wrote.
///
/// # Panics
/// When it cannot be started, or does not end.
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    output_of(child)
}

/// Waits for the end of a child and returns what it wrote.
///
/// # Panics
/// When it does not end; it is killed.
#[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
pub fn output_of(child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (ended, waits) = channel::<()>();
    let watch = std::thread::spawn(move || {
        let is_late = waits.recv_timeout(ENDS_WITHIN) == Err(RecvTimeoutError::Timeout);
        if is_late {
            // The child has not been waited for, so the number is still its own.
            let _ = kill_process(pid, Signal::KILL);
        }
        is_late
    });
    let output = child.wait_with_output().expect("a child can be waited for");
    drop(ended);
    let is_late = watch.join().expect("the watch does not panic");
    assert!(!is_late, "a program did not end within {ENDS_WITHIN:?}: {output:?}");
    output
}

/// Waits until a child has ended, at most for `span`; `None`: it runs on.
pub fn ended_within(child: &mut Child, span: Duration) -> Option<ExitStatus> {
    let mut waited = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait().expect("a child can be asked") {
            return Some(status);
        }
        if waited >= span {
            return None;
        }
        pause(LOOK_EVERY);
        waited += LOOK_EVERY;
    }
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}
