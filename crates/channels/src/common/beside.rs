//! Small jobs beside a main one, on the same task: whoever drops the main one drops them, too.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// How many jobs run at once; another waits for the first that ends.
const JOBS_MAX: usize = 64;

/// Jobs that are under way. They go on only while [`Beside::run`] or [`Beside::add`] is awaited.
pub(crate) struct Beside<'a> {
    jobs: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
}

impl<'a> Beside<'a> {
    pub(crate) fn new() -> Self {
        Self { jobs: FuturesUnordered::new() }
    }

    /// Begins another job.
    pub(crate) async fn add(&mut self, job: impl Future<Output = ()> + Send + 'a) {
        while self.jobs.len() >= JOBS_MAX {
            self.jobs.next().await;
        }
        self.jobs.push(Box::pin(job));
    }

    /// Runs the jobs to their end.
    pub(crate) async fn finish(&mut self) {
        while self.jobs.next().await.is_some() {}
    }

    /// Runs `main` to its end, and the jobs meanwhile.
    pub(crate) async fn run<T>(&mut self, main: impl Future<Output = T>) -> T {
        let mut main = pin!(main);
        loop {
            tokio::select! {
                biased;
                done = &mut main => return done,
                Some(()) = self.jobs.next() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn jobs_go_on_while_the_main_one_waits_and_are_bounded() {
        let n_done = AtomicUsize::new(0);
        let mut beside = Beside::new();
        for _ in 0..3 * JOBS_MAX {
            let job = async {
                tokio::task::yield_now().await;
                n_done.fetch_add(1, Ordering::Relaxed);
            };
            beside.add(job).await;
            assert!(beside.jobs.len() <= JOBS_MAX);
        }
        beside
            .run(async {
                while n_done.load(Ordering::Relaxed) < 3 * JOBS_MAX {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        assert_eq!(beside.run(async { 7 }).await, 7, "also when there are none");
    }
}
