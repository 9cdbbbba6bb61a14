-- What nodes share. Nobody but the owner can read it.

-- What signs webhooks (`webhook_secret`) and proves answer links (`link_secret`): made by the first node, used by all.
create table punctual.secret (
  name        text collate "C" primary key,
  value       text not null,
  made_at     timestamptz not null default now()
);

-- SHA-256 of the nodes' own admin keys: each works on every node, for as long as a node uses it and a day longer.
create table punctual.admin_key (
  hash        bytea primary key,
  node        text not null,               -- who used it last
  used_at     timestamptz not null
);

-- Fingerprints of the secrets that a node uses, so that nodes which disagree can say so.
alter table punctual.node add column shared text;

revoke all on punctual.secret, punctual.admin_key from public;
