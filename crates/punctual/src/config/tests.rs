use std::io::Write;

use super::*;

fn load(file: &str, env: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Result<Config, String> {
    let mut written = tempfile::Builder::new().prefix("punctual").suffix(".toml").tempfile().unwrap();
    written.write_all(file.as_bytes()).unwrap();
    let env = |name: &str| {
        let own = env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        own.or_else(|| (name == "HOME").then(|| "/home/someone".to_owned()))
    };
    let flags = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    Config::load(Some(written.path().to_owned()), flags, &env).map_err(|error| error.to_string())
}

#[test]
fn nothing_needs_to_be_set() {
    let config = load("", &[], &[]).unwrap();
    assert_eq!(config.data_dir, PathBuf::from("/home/someone/.local/share/punctual"));
    assert_eq!(config.database.file(), Some(&*config.data_dir.join("punctual.db")));
    assert_eq!(config.listen, "127.0.0.1:7373");
    assert_eq!(config.fallback_interval, Duration::from_secs(300));
    assert_eq!(config.fallback_grace, Duration::from_secs(120));
    assert_eq!(config.retries_max, 3);
    assert_eq!(config.default_channel, DefaultChannel::default());
}

#[test]
fn flags_beat_environment_beats_file() {
    let file = "listen = '127.0.0.1:1'";
    assert_eq!(load(file, &[], &[]).unwrap().listen, "127.0.0.1:1");
    let env = [("PUNCTUAL_LISTEN", "127.0.0.1:2")];
    assert_eq!(load(file, &env, &[]).unwrap().listen, "127.0.0.1:2");
    assert_eq!(load(file, &env, &[("listen", "127.0.0.1:3")]).unwrap().listen, "127.0.0.1:3");
}

#[test]
fn the_names_of_the_earlier_designs_work() {
    let env = [
        ("ENABLE_REDIS_REMINDER_TTL", "true"),
        ("REMINDER_FALLBACK_INTERVAL", "60"),
        ("REMINDER_FALLBACK_GRACE", "30s"),
        ("PUNCTUAL_RETRY_BASE_DELAY_SECONDS", "low=100, critical=5"),
    ];
    let config = load("scheduler_batch_size = 50\nretry_max_attempts = 7", &env, &[]).unwrap();
    assert!(config.warnings.iter().any(|warning| warning.starts_with("enable_redis_reminder_ttl has no effect")));
    assert!(config.redis.is_none());
    assert_eq!(config.fallback_interval, Duration::from_secs(60));
    assert_eq!(config.fallback_grace, Duration::from_secs(30));
    assert_eq!((config.batch_size, config.retries_max), (Some(50), 6), "seven attempts in all");
    assert_eq!(config.retry.base.map(|base| base.as_secs()), [100, 60, 30, 5]);
    let table = load("[retry_base_delay_seconds]\nhigh = 45\nnormal = '2m'", &[], &[]).unwrap();
    assert_eq!(table.retry.base.map(|base| base.as_secs()), [300, 120, 45, 10]);
}

#[test]
fn the_settings_of_the_phone_calls_work_without_a_prefix_and_the_prefixed_ones_win() {
    let plain = [
        ("RETRY_MAX_ATTEMPTS", "3"),
        ("RETRY_BASE_DELAY_SECONDS", "90"),
        ("SCHEDULER_BATCH_SIZE", "20"),
        ("SCHEDULER_POLL_INTERVAL_SECONDS", "45"),
    ];
    let config = load("", &plain, &[]).unwrap();
    assert_eq!((config.retries_max, config.batch_size), (2, Some(20)), "three attempts in all are two retries");
    assert_eq!(config.retry.base.map(|base| base.as_secs()), [90; 4]);
    assert_eq!(config.fallback_interval, Duration::from_secs(45));
    let both =
        [plain[0], plain[1], ("PUNCTUAL_RETRY_MAX_ATTEMPTS", "1"), ("PUNCTUAL_RETRY_BASE_DELAY_SECONDS", "low=5")];
    let config = load("", &both, &[]).unwrap();
    assert_eq!((config.retries_max, config.retry.base.map(|base| base.as_secs())), (0, [5, 60, 30, 10]));
    assert_eq!(load("retry_base_delay_seconds = 7", &[], &[]).unwrap().retry.base.map(|base| base.as_secs()), [7; 4]);
}

#[test]
fn every_mistake_is_answered_with_what_would_be_right() {
    for (file, words) in [
        ("lisen = 'x'", &["`lisen` is no setting", "did you mean `listen`"][..]),
        ("listen = 7373", &[".toml: listen:", "must be a text, not a number", "127.0.0.1:7373"]),
        ("listen = 'here'", &["`here` is no address", "HOST:PORT"]),
        ("timezone = 'Europe/Berln'", &["timezone:", "did you mean Europe/Berlin"]),
        ("database = 'postgres://u:hush@h/d?sslmode=perhaps'", &["database:", "sslmode must be", "postgres://"]),
        ("database = 'postgres://u:hush@@h/d'", &["database:", "%40"]),
        ("database = 'postgresql://'", &["database:", "names no host"]),
        ("database = 'sqllite:/tmp/x.db'", &["no database this version knows", "sqlite:PATH"]),
        ("database = 'mysql://h/d'", &["no database this version knows", "sqlite:PATH"]),
        ("database = 'sqlite::memory:'", &["survive a restart"]),
        ("redis_url = 'http://:hush@h'", &["redis_url:", "redis://USER:PASSWORD@HOST"]),
        ("redis_url = 'redis://:hush@h/zero'", &["redis_url:", "redis://USER:PASSWORD@HOST"]),
        ("redis_url = 6379", &["redis_url:", "must be a text, not a number"]),
        ("retry_max_attempts = 102", &["102 is out of range", "1 to 101"]),
        ("retry_max_attempts = 0", &["0 is out of range", "attempts are made in all"]),
        ("retry_base_delay_seconds = {hgih = 3}", &["`hgih` is no priority", "`high`"]),
        ("reminder_fallback_interval = '5 mo'", &["`mo`", "not a unit"]),
        ("webhook_allow_private = 'perhaps'", &["neither true nor false"]),
        ("log = 'inof'", &["`inof` is no log level", "info"]),
        ("log_format = 'xml'", &["`xml` is no log format", "json"]),
        ("history_keep = 'long'", &["history_keep:", "forever"]),
        ("journal_keep = 'long'", &["journal_keep:", "forever"]),
        ("opinion_timeout = '1m'", &["opinion_timeout:", "at most 10 s"]),
        ("[[subscriptions]]\nto = 3", &[".toml: subscriptions[0].to: must be a text"]),
        ("a = 1\nb = [", &[".toml, line 2:"]),
        ("public_url = 'ftp://x'", &["no http or https URL"]),
    ] {
        let error = load(file, &[], &[]).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{file}: {error}");
        }
        assert!(!error.contains("hush"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = load("", &[("PUNCTUAL_SCHEDULER_BATCH_SIZE", "many")], &[]).unwrap_err();
    assert!(error.starts_with("PUNCTUAL_SCHEDULER_BATCH_SIZE: `many` is not a whole number"), "{error}");
}

#[test]
fn a_password_in_the_database_url_does_not_show() {
    let config = load("database = 'postgres://ann:hush@db.example/life'", &[], &[]).unwrap();
    assert_eq!(config.database.to_string(), "postgres://ann@db.example:5432/life");
    assert!(!format!("{config:?}").contains("hush"));
    let env = [("PUNCTUAL_DATABASE", "postgresql:///life?host=/run/postgresql")];
    assert!(matches!(load("", &env, &[]).unwrap().database, Database::Postgres { .. }));
}

#[test]
fn a_secret_does_not_show() {
    let config = load("webhook_secret = 'whsec_hush'", &[], &[]).unwrap();
    assert_eq!(config.webhook.secret.as_ref().unwrap().expose(), "whsec_hush");
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn the_redis_timer_is_on_where_there_is_a_redis_and_can_be_switched_off() {
    let url = ("PUNCTUAL_REDIS_URL", "rediss://ann:hush@cache.example/2");
    let config = load("", &[url], &[]).unwrap();
    let redis = config.redis.as_ref().unwrap();
    assert_eq!((redis.shown.as_str(), redis.url.expose()), ("cache.example:6379/2", url.1));
    assert!(!format!("{config:?}").contains("hush"));
    assert!(load("", &[url, ("ENABLE_REDIS_REMINDER_TTL", "false")], &[]).unwrap().redis.is_none());
    assert!(load("enable_redis_reminder_ttl = true", &[url], &[]).unwrap().redis.is_some());
}
