-- Nothing that grows is read from end to end: docs/decisions/indexes.md.

-- Which machine had a name last, where no live one has it.
CREATE INDEX machines_by_ended_name ON machines (owner, name, requested_at) WHERE phase IN ('destroyed', 'failed', 'disowned');
-- An owner's machines that have ended, newest first; all of them have `machines_by_ending`.
CREATE INDEX machines_by_owner_ending ON machines (owner, destroyed_at) WHERE destroyed_at IS NOT NULL;
-- Those that ended only because nobody saw them: a few, which an owner's word may still forbid to come back.
CREATE INDEX machines_ended_for_absence ON machines (owner)
  WHERE phase IN ('destroyed', 'failed') AND reason IN ('lost', 'never_seen', 'gone') AND destroy_requested_at IS NULL;
-- Nothing asks for it any more: live ones have `machines_by_live_name`.
DROP INDEX machines_by_owner;

-- Which resource had a name last, where no live one has it.
CREATE INDEX resources_by_ended_name ON resources (kind, owner, name, requested_at) WHERE phase IN ('deleted', 'failed');
-- Those that were given up: a few, which stand at the provider still.
CREATE INDEX resources_given_up ON resources (kind, provider_name) WHERE reason = 'given_up';

-- Newest first, read no further than asked.
CREATE INDEX tokens_by_time ON tokens (created_at);
