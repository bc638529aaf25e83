import type { Resource, ResourceKind, ResourceRow } from "../machine/resource.ts";
import type { SelectorTerm } from "../machine/selector.ts";
import { ENDED_RESOURCE, LIVE_RESOURCE, OF_ANY_KIND, revoked } from "./conditions.ts";
import { sql } from "./db.ts";
import { haveLabels } from "./label-terms.ts";
import { createResourceEndings } from "./resource-endings.ts";
import { createResourceOrphans } from "./resource-orphans.ts";
import { createResourceUses, USABLE, useOf } from "./resource-uses.ts";
import { resourceRow, specText } from "./resource-row.ts";
import { lastOf, parseFirst, parseRows, selectCounted, type Paging } from "./rows.ts";
import { change, insertInto, query } from "./statements.ts";
import { ownedBy, type Whose } from "./whose.ts";
import type { Db } from "./writer.ts";

/** A row before the provider knows of it. */
export type NewResource = Pick<
  ResourceRow,
  | "uid"
  | "owner"
  | "name"
  | "provider"
  | "providerName"
  | "installation"
  | "spec"
  | "labels"
  | "requestedAt"
  | "expiresAt"
>;

/** A page of those that are meant. */
export interface ResourceFilter extends Paging {
  /** Null = everybody's. */
  readonly owner: string | null;
  /** All of which they have. */
  readonly labels: readonly SelectorTerm[];
}

/** A key whose bytes are just being deleted cannot be made anew: the answer would be the one that is about to go. */
const KEY_IS_GOING = `SELECT 1 FROM resources WHERE resources.spec = new.spec AND new.kind = 'ssh_key'
  AND resources.kind = 'ssh_key' AND resources.${LIVE_RESOURCE} AND resources.phase = 'deleting'`;

const PHASES = { live: LIVE_RESOURCE, ended: ENDED_RESOURCE };

/**
 * The `resources` table: here how rows come to be and are read; beside it how they are used and how they end. A method that
 * changes rows says what it is guarded by; a lost guard changes nothing.
 */
export function createResourceStore(db: Db) {
  const first = async (rows: Promise<readonly unknown[]>): Promise<ResourceRow | null> =>
    parseFirst(resourceRow, await rows);
  return {
    ...createResourceUses(db),
    ...createResourceEndings(db),
    ...createResourceOrphans(db),

    /**
     * Holds the name and writes down the intent, and with it which machine it is for, if it is for one. False when a live one has
     * the name, a key of these bytes is just going, or the minted token that asks for it has been revoked since it was looked at.
     */
    async insert(
      row: NewResource,
      tryingUntil: number,
      machineUid: string | null,
      tokenId: string | null,
    ): Promise<boolean> {
      const insert = insertInto(
        "resources",
        {
          uid: row.uid,
          kind: row.spec.kind,
          owner: row.owner,
          name: row.name,
          provider: row.provider,
          provider_name: row.providerName,
          installation: row.installation,
          phase: "requested",
          spec: specText(row.spec),
          labels: JSON.stringify(row.labels),
          requested_at: row.requestedAt,
          expires_at: row.expiresAt,
          next_try_at: tryingUntil,
        },
        {
          unless: `${KEY_IS_GOING} UNION ALL ${revoked("?")}`,
          params: [tokenId],
          tail: "ON CONFLICT DO NOTHING RETURNING uid",
        },
      );
      const uses = machineUid === null ? [] : [useOf(machineUid, [row.uid])];
      const [inserted] = await db.batch([insert, ...uses]);
      return (inserted?.length ?? 0) > 0;
    },

    byUid: (uid: string) => first(db.read(query("SELECT * FROM resources WHERE uid = ?", uid))),

    /** The owner's live one of this kind and name, else the last that had it. */
    byName: (kind: ResourceKind, owner: string, name: string) =>
      first(
        db.read(
          query(
            `SELECT * FROM resources
             WHERE rowid = ${lastOf("resources WHERE kind = ?1 AND owner = ?2 AND name = ?3", PHASES)}`,
            kind,
            owner,
            name,
          ),
        ),
      ),

    /** The owner's live one of this kind that the provider knows by this id; of a key that several stand for, the first. */
    liveAt: (kind: ResourceKind, owner: string, providerId: string) =>
      first(
        db.read(
          query(
            `SELECT * FROM resources WHERE kind = ? AND owner = ? AND ${LIVE_RESOURCE} AND provider_id = ?
             ORDER BY name LIMIT 1`,
            kind,
            owner,
            providerId,
          ),
        ),
      ),

    /** An owner's live ones that have one of these names or uids. */
    async named(whose: Whose, refs: readonly string[]): Promise<ResourceRow[]> {
      if (refs.length === 0) return [];
      const owned = ownedBy(whose);
      const list = JSON.stringify(refs);
      const statement = query(
        `SELECT * FROM resources WHERE ${OF_ANY_KIND} AND ${owned.text} AND ${LIVE_RESOURCE}
           AND (name IN (SELECT value FROM json_each(?)) OR uid IN (SELECT value FROM json_each(?)))`,
        ...owned.params,
        list,
        list,
      );
      return parseRows(resourceRow, await db.read(statement));
    },

    /** One page of the live ones of a kind that a filter means, oldest first, and how many there are. */
    list(kind: ResourceKind, { owner, labels, page, perPage }: ResourceFilter) {
      const owned = owner === null ? sql("true") : ownedBy(owner);
      const labelled = haveLabels(labels);
      const from = sql(
        `resources WHERE kind = ? AND ${LIVE_RESOURCE} AND ${owned.text} AND ${labelled.text}`,
        kind,
        ...owned.params,
        ...labelled.params,
      );
      return selectCounted(db, resourceRow, { from, order: "requested_at, uid", page, perPage });
    },

    /** Takes the one right to try to make one whose last try ended or was given up. Guarded by the token as an insert is. */
    async claimTry(uid: string, now: number, tryingUntil: number, tokenId: string | null): Promise<boolean> {
      const claimed = change(
        {
          head: "UPDATE resources SET next_try_at = ?3",
          where: `uid = ?1 AND phase = 'requested' AND delete_requested_at IS NULL AND coalesce(next_try_at, 0) <= ?2
            AND NOT EXISTS (${revoked("?4")})`,
          tail: "RETURNING uid",
        },
        uid,
        now,
        tryingUntil,
        tokenId,
      );
      return (await db.write(claimed)).length > 0;
    },

    /** Writes down what was made. Guarded by nobody having ended it meanwhile; an owner's word does not end it yet. */
    made: (uid: string, { id, createdAt }: Resource): Promise<ResourceRow | null> =>
      first(
        db.write(
          change(
            {
              head: `UPDATE resources SET phase = 'active', provider_id = ?2, created_at = ?3, next_try_at = NULL,
                last_error = NULL, missing_since = NULL`,
              where: "uid = ?1 AND (phase = 'requested' OR (phase = 'active' AND provider_id = ?2))",
              tail: "RETURNING *",
            },
            uid,
            id,
            createdAt,
          ),
        ),
      ),

    /**
     * A try ended without anybody knowing what came of it: the next may begin at once. Guarded by `requested`, and by the claim being
     * one of these still.
     */
    async giveBackTry(uid: string, untils: readonly number[], error: string, now: number): Promise<void> {
      const head = "UPDATE resources SET last_error = ?2, next_try_at = ?3";
      const where = "uid = ?1 AND phase = 'requested' AND next_try_at IN (SELECT value FROM json_each(?4))";
      await db.write(change({ head, where }, uid, error, now, JSON.stringify(untils)));
    },

    /** Begins a new lease where the last one ended and nobody has deleted it yet. */
    renew: (uid: string, until: number): Promise<ResourceRow | null> =>
      first(
        db.write(
          change(
            {
              head: "UPDATE resources SET expires_at = max(expires_at, ?2), idle_since = NULL",
              where: `uid = ?1 AND ${USABLE}`,
              tail: "RETURNING *",
            },
            uid,
            until,
          ),
        ),
      ),
  };
}
