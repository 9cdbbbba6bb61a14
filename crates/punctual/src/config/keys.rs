//! Every setting: its name in the file, its variables, and what a right value looks like.

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// Its variables, the preferred one first.
    pub(crate) env: &'static [&'static str],
    /// What would be right, as the end of a sentence.
    pub(crate) right: &'static str,
}

const fn key(name: &'static str, env: &'static [&'static str], right: &'static str) -> Key {
    Key { name, env, right }
}

/// All of them.
pub(crate) const KEYS: &[Key] = &[
    key(
        "database",
        &["PUNCTUAL_DATABASE_URL", "PUNCTUAL_DATABASE"],
        "write sqlite:PATH, such as sqlite:/srv/punctual.db, or postgres://USER:PASSWORD@HOST/DATABASE",
    ),
    key("listen", &["PUNCTUAL_LISTEN"], "write HOST:PORT, such as 127.0.0.1:7373"),
    key(
        "tls_cert",
        &["PUNCTUAL_TLS_CERT"],
        "write the path of a file that holds the certificate and its chain, as PEM",
    ),
    key("tls_key", &["PUNCTUAL_TLS_KEY"], "write the path of a file that holds the certificate's private key, as PEM"),
    key(
        "allowed_hosts",
        &["PUNCTUAL_ALLOWED_HOSTS"],
        "write names such as [\"punctual.internal\", \"*.example.org\"], or in a variable punctual.internal,*.example.org",
    ),
    key("key_rate", &["PUNCTUAL_KEY_RATE"], "write how often a key may ask, such as 1000/s or 300/min"),
    key("data_dir", &["PUNCTUAL_DATA_DIR"], "write a directory"),
    key("public_url", &["PUNCTUAL_PUBLIC_URL"], "write a URL, such as https://reminders.example.org"),
    key("timezone", &["PUNCTUAL_TIMEZONE"], "write an IANA name, such as Europe/Berlin"),
    key("log_format", &["PUNCTUAL_LOG_FORMAT"], "write auto, human or json"),
    key(
        "log",
        &["PUNCTUAL_LOG"],
        "write error, warn, info, debug or trace, or directives such as info,punctual_engine=debug",
    ),
    key(
        "enable_redis_reminder_ttl",
        &["PUNCTUAL_ENABLE_REDIS_REMINDER_TTL", "ENABLE_REDIS_REMINDER_TTL"],
        "write true or false",
    ),
    key(
        "reminder_fallback_interval",
        &["PUNCTUAL_REMINDER_FALLBACK_INTERVAL", "REMINDER_FALLBACK_INTERVAL"],
        "write seconds, such as 300, or a span, such as \"5m\"",
    ),
    key(
        "reminder_fallback_grace",
        &["PUNCTUAL_REMINDER_FALLBACK_GRACE", "REMINDER_FALLBACK_GRACE"],
        "write seconds, such as 120, or a span, such as \"2m\"",
    ),
    key(
        "scheduler_batch_size",
        &["PUNCTUAL_SCHEDULER_BATCH_SIZE", "SCHEDULER_BATCH_SIZE"],
        "write a number from 1 to 100000",
    ),
    key(
        "scheduler_poll_interval_seconds",
        &["PUNCTUAL_SCHEDULER_POLL_INTERVAL_SECONDS", "SCHEDULER_POLL_INTERVAL_SECONDS"],
        "write seconds, such as 300, or a span, such as \"5m\"",
    ),
    key(
        "retry_max_attempts",
        &["PUNCTUAL_RETRY_MAX_ATTEMPTS", "RETRY_MAX_ATTEMPTS"],
        "write how many attempts are made in all, from 1 to 101",
    ),
    key(
        "retry_base_delay_seconds",
        &["PUNCTUAL_RETRY_BASE_DELAY_SECONDS", "RETRY_BASE_DELAY_SECONDS"],
        "write seconds for all, such as 60, or by priority, such as {low = 300, normal = 60, high = 30, critical = 10}, or in a variable low=300,normal=60",
    ),
    key("webhook_allow_private", &["PUNCTUAL_WEBHOOK_ALLOW_PRIVATE"], "write true or false"),
    key("calendar_allow_private", &["PUNCTUAL_CALENDAR_ALLOW_PRIVATE"], "write true or false"),
    key("calendar_files", &["PUNCTUAL_CALENDAR_FILES"], "write the folder whose files may be followed as calendars"),
    key("webhook_secret", &["PUNCTUAL_WEBHOOK_SECRET"], "write a Standard Webhooks secret: whsec_ and base64"),
    key("webhook_secret_file", &["PUNCTUAL_WEBHOOK_SECRET_FILE"], "write the path of a file that holds the secret"),
    key("link_secret", &["PUNCTUAL_LINK_SECRET"], "write at least 16 random characters"),
    key("link_secret_file", &["PUNCTUAL_LINK_SECRET_FILE"], "write the path of a file that holds the secret"),
    key("webpush_allow_private", &["PUNCTUAL_WEBPUSH_ALLOW_PRIVATE"], "write true or false"),
    key(
        "webpush_contact",
        &["PUNCTUAL_WEBPUSH_CONTACT"],
        "write where you are reached, such as mailto:admin@example.org or https://example.org",
    ),
    key("webpush_key", &["PUNCTUAL_WEBPUSH_KEY"], "write a private key of P-256: 32 bytes in base64url"),
    key("webpush_key_file", &["PUNCTUAL_WEBPUSH_KEY_FILE"], "write the path of a file that holds the key"),
    key("webhook_timeout", &["PUNCTUAL_WEBHOOK_TIMEOUT"], "write seconds, such as 15, or a span, such as \"15s\""),
    key("webhook_concurrency", &["PUNCTUAL_WEBHOOK_CONCURRENCY"], "write a number from 1 to 10000"),
    key("default_channel", &["PUNCTUAL_DEFAULT_CHANNEL"], "write CHANNEL or CHANNEL:ADDRESS, such as console"),
    key("language", &["PUNCTUAL_LANGUAGE"], "write en, de, hr, sr, sr-Cyrl or bs"),
    key(
        "opinion_url",
        &["PUNCTUAL_OPINION_URL"],
        "write the URL of an endpoint for chat completions, such as https://llm.example.org/v1/chat/completions",
    ),
    key("opinion_model", &["PUNCTUAL_OPINION_MODEL"], "write the name of the model that is asked"),
    key("opinion_key", &["PUNCTUAL_OPINION_KEY"], "write the endpoint's key"),
    key("opinion_key_file", &["PUNCTUAL_OPINION_KEY_FILE"], "write a file that holds the endpoint's key"),
    key(
        "opinion_timeout",
        &["PUNCTUAL_OPINION_TIMEOUT"],
        "write seconds, such as 2, or a span, such as \"2s\", at most 10s",
    ),
    key(
        "heartbeat_url",
        &["PUNCTUAL_HEARTBEAT_URL"],
        "write the URL that your monitor gave you, such as https://hc-ping.com/UUID",
    ),
    key("heartbeat_interval", &["PUNCTUAL_HEARTBEAT_INTERVAL"], "write seconds, such as 60, or a span, such as \"1m\""),
    key("search", &["PUNCTUAL_SEARCH"], "write true or false"),
    key("history_keep", &["PUNCTUAL_HISTORY_KEEP"], "write a span, such as \"90d\", or \"forever\""),
    key("journal_keep", &["PUNCTUAL_JOURNAL_KEEP"], "write a span, such as \"365d\", or \"forever\""),
    key("metrics_key", &["PUNCTUAL_METRICS_KEY"], "write true or false"),
    key(
        "cors_origins",
        &["PUNCTUAL_CORS_ORIGINS"],
        "write the origins of the pages, such as \"https://app.example.org\", with commas between them",
    ),
    key("shadow", &["PUNCTUAL_SHADOW"], "write true or false"),
    key(
        "redis_url",
        &["PUNCTUAL_REDIS_URL"],
        "write redis://USER:PASSWORD@HOST:6379/0, rediss://… for TLS, or unix:/PATH",
    ),
];

/// Variables that are not settings of the server, so that they are not taken for misspelt ones.
pub(crate) const OTHER_VARIABLES: &[&str] =
    &["PUNCTUAL_CONFIG", "PUNCTUAL_API_KEY", "PUNCTUAL_IMPORT_SOURCE", "PUNCTUAL_URL", "PUNCTUAL_USER", "PUNCTUAL_TZ"];

/// The setting of this name. Asking for one that is not in the table is a mistake in this program.
pub(crate) fn named(name: &str) -> &'static Key {
    KEYS.iter().find(|key| key.name == name).expect("every setting that is read is in the table")
}

/// The known word nearest to `word`, if one is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
