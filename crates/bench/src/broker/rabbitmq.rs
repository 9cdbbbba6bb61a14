//! RabbitMQ: a durable queue of the bench's own, removed afterwards.

use std::sync::Arc;

use anyhow::{Context, ensure};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use punctual_channels::Rabbitmq;
use punctual_channels::common::token::Token;
use punctual_channels::rabbitmq::Config;
use punctual_engine::SystemClock;

use super::super::report::Report;
use super::{Args, Measured, flood, plain_body, report, through};

const QUEUE: &str = "punctual-bench";
const PERSISTENT: u8 = 2;

pub(in super::super) async fn run(args: &Args) -> anyhow::Result<Report> {
    let connection = Connection::connect(&args.url, ConnectionProperties::default());
    let connection = connection.await.context("the broker cannot be reached")?;
    let channel = connection.create_channel().await?;
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(QUEUE.into(), options, FieldTable::default()).await?;
    let measured = measure(args, channel).await;
    // The queue is removed, whether the measuring worked or not.
    let cleaner = connection.create_channel().await?;
    let n_left = cleaner.queue_delete(QUEUE.into(), QueueDeleteOptions::default()).await?;
    let (ours, plain) = measured?;
    let n_sent = 2 * args.count + 1;
    ensure!(n_left == n_sent, "{n_sent} messages were confirmed and {n_left} were in the queue");
    Ok(report("rabbitmq", args, &ours, &plain))
}

async fn measure(args: &Args, channel: Channel) -> anyhow::Result<(Measured, Measured)> {
    let config = Config { url: Token::new(args.url.clone()), ..Config::default() };
    let ours = through(Rabbitmq::new(config, Arc::new(SystemClock::start()))?, QUEUE, args).await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let channel = Arc::new(channel);
    let plain = flood(args, move || {
        let channel = Arc::clone(&channel);
        async move {
            let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
            let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
            let body = plain_body();
            let confirm = channel.basic_publish("".into(), QUEUE.into(), options, body.as_bytes(), properties).await?;
            ensure!(confirm.await?.is_ack(), "the broker could not take it");
            Ok(())
        }
    });
    Ok((ours, plain.await?))
}
