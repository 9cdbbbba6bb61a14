-- Sessions of the page that were ended before their time: one by its own name, or all of a key under the key's id.
create table punctual.session_end (
  name text primary key,
  at   timestamptz not null            -- those that began before then are over
);
