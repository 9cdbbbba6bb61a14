//! NATS JetStream: a stream of the bench's own, on disk, removed afterwards.

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_nats::jetstream::{self, context::ContextBuilder, stream};
use punctual_channels::Nats;
use punctual_channels::common::token::Token;
use punctual_channels::nats::Config;
use punctual_engine::SystemClock;

use super::super::report::Report;
use super::{Args, Measured, flood, plain_body, report, through};

const STREAM: &str = "PUNCTUAL_BENCH";
const SUBJECT: &str = "punctual.bench";

pub(in super::super) async fn run(args: &Args) -> anyhow::Result<Report> {
    let client = async_nats::connect(&args.url).await.context("the server cannot be reached")?;
    let context = ContextBuilder::new().max_ack_inflight(args.in_flight.into()).build(client);
    let config = stream::Config { name: STREAM.into(), subjects: vec![SUBJECT.into()], ..stream::Config::default() };
    let stream = context.create_stream(config).await.context("a stream cannot be made")?;
    let measured = measure(args, &context).await;
    let n_stored = stream.get_info().await.map(|info| info.state.messages);
    // The stream is removed, whether the measuring worked or not.
    context.delete_stream(STREAM).await?;
    let (ours, plain) = measured?;
    let n_sent = 2 * u64::from(args.count) + 1;
    ensure!(n_stored? == n_sent, "{n_sent} messages were acknowledged, and the stream has another number");
    Ok(report("nats", args, &ours, &plain))
}

async fn measure(args: &Args, context: &jetstream::Context) -> anyhow::Result<(Measured, Measured)> {
    let config = Config { url: Token::new(args.url.clone()), ..Config::default() };
    let ours = through(Nats::new(config, Arc::new(SystemClock::start()))?, SUBJECT, args).await?;
    let context = context.clone();
    let plain = flood(args, move || {
        let context = context.clone();
        async move { Ok(context.publish(SUBJECT, plain_body().into()).await?.await.map(drop)?) }
    });
    Ok((ours, plain.await?))
}
