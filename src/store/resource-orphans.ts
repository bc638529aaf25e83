import type { ResourceKind, ResourceRow } from "../machine/resource.ts";
import { LIVE_RESOURCE } from "./conditions.ts";
import { resourceRow, specText } from "./resource-row.ts";
import { parseRows } from "./rows.ts";
import { change, insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What is known of one that is to go and has no row. */
export type OrphanResource = Pick<
  ResourceRow,
  | "uid"
  | "labelUid"
  | "owner"
  | "provider"
  | "providerName"
  | "providerId"
  | "installation"
  | "reason"
  | "spec"
  | "requestedAt"
  | "createdAt"
>;

/** How resources that were found without a live row come to have one, by which they are deleted. */
export function createResourceOrphans(db: Db) {
  return {
    /** The rows, live or not, that these stand for by uid, and those at their ids that are live or given up. */
    async ofResources(kind: ResourceKind, seen: readonly { id: string; uid: string }[]): Promise<ResourceRow[]> {
      if (seen.length === 0) return [];
      const statement = query(
        `SELECT * FROM resources WHERE uid IN (SELECT value FROM json_each(?1))
         UNION SELECT * FROM resources WHERE kind = ?3 AND provider_id IN (SELECT value FROM json_each(?2)) AND ${LIVE_RESOURCE}
         UNION SELECT * FROM resources WHERE kind = ?3 AND provider_id IN (SELECT value FROM json_each(?2)) AND reason = 'given_up'`,
        JSON.stringify(seen.map(({ uid }) => uid)),
        JSON.stringify(seen.map(({ id }) => id)),
        kind,
      );
      return parseRows(resourceRow, await db.read(statement));
    },

    /** Whether one of these was given up, and so may hold the name at the provider still. */
    async isNameLost({ spec, providerName }: Pick<ResourceRow, "spec" | "providerName">): Promise<boolean> {
      const text = "SELECT 1 FROM resources WHERE kind = ? AND provider_name = ? AND reason = 'given_up' LIMIT 1";
      return (await db.read(query(text, spec.kind, providerName))).length > 0;
    },

    /** One that landed after its row had ended: the row is live again, to be deleted, and no longer holds its name. */
    async reopen(uid: string, id: string, now: number): Promise<void> {
      const reopened = change(
        {
          head: `UPDATE resources SET phase = 'deleting', name = '_' || uid, provider_id = ?2, created_at = NULL,
            deleted_at = NULL, expires_at = min(expires_at, ?3), idle_since = ?3, missing_since = NULL, attempts = 0,
            next_try_at = NULL`,
          where: "uid = ?1 AND phase IN ('deleted', 'failed', 'deleting')",
        },
        uid,
        id,
        now,
      );
      await db.write(reopened);
    },

    /** A row for one that has none and is to go: it is then deleted as all others are. Nothing changes where the uid has one. */
    async insertOrphan(row: OrphanResource, now: number): Promise<void> {
      const inserted = insertInto(
        "resources",
        {
          uid: row.uid,
          label_uid: row.labelUid,
          kind: row.spec.kind,
          owner: row.owner,
          // No caller's name looks like it.
          name: `_${row.uid}`,
          provider: row.provider,
          provider_name: row.providerName,
          provider_id: row.providerId,
          installation: row.installation,
          phase: "deleting",
          reason: row.reason,
          spec: specText(row.spec),
          requested_at: row.requestedAt,
          created_at: row.createdAt,
          expires_at: now,
          idle_since: now,
        },
        { tail: "ON CONFLICT DO NOTHING" },
      );
      await db.write(inserted);
    },
  };
}
