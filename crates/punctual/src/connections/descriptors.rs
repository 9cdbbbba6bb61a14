//! How many descriptors there are, and what they are for.
//!
//! Every connection, every send and every file takes one, and when there are none left nothing can be sent. So clients get
//! at most half, whatever they do.

/// Descriptors for the database, files, logs and what else is open all the time.
const OWN: usize = 64;
/// The most connections to the HTTP API, however many descriptors there are: each also takes some memory.
const CONNECTIONS_MAX: usize = 16_384;
/// A machine that allows fewer descriptors than this makes sense for is still asked to serve a few.
const EACH_MIN: usize = 16;

/// How descriptors are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Division {
    /// The most connections to the HTTP API.
    pub(crate) connections_max: usize,
    /// The most sends at once.
    pub(crate) sends_max: usize,
}

/// Raises the limit on descriptors as far as this process may, and divides them.
pub(crate) fn divide() -> Division {
    let nofile = raise();
    tracing::debug!(nofile, "descriptors");
    division(nofile)
}

fn division(nofile: usize) -> Division {
    let free = nofile.saturating_sub(OWN);
    let connections_max = (free / 2).clamp(EACH_MIN, CONNECTIONS_MAX);
    Division { connections_max, sends_max: free.saturating_sub(connections_max).max(EACH_MIN) }
}

#[cfg(unix)]
fn raise() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Some systems refuse as much as they say is allowed; then what there is has to do.
    let raised = current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let nofile = if raised { maximum } else { current };
    nofile.map_or(usize::MAX, |nofile| usize::try_from(nofile).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn raise() -> usize {
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_get_at_most_half_of_the_descriptors() {
        for (nofile, connections_max, sends_max) in [
            (64, 16, 16),
            (256, 96, 96),
            (1024, 480, 480),
            (20_064, 10_000, 10_000),
            (524_288, 16_384, 507_840),
            (usize::MAX, 16_384, usize::MAX - 16_448),
        ] {
            assert_eq!(division(nofile), Division { connections_max, sends_max }, "{nofile}");
        }
    }
}
