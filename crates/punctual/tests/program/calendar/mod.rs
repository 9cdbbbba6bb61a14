//! Calendars: those that we give, and those that we read.

mod feed;
mod feeds;
