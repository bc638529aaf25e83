import { created, noContent, ok, type Call, type Reply } from "./call.ts";
import { ApiError, invalidField } from "./errors.ts";
import { Fields } from "./fields.ts";
import { page, sorted } from "./lists.ts";
import { filterNamed, refuseTaken, withRecord } from "./lookup.ts";
import { toTimestamp, type SshKey } from "./resources.ts";
import { fingerprintOf } from "./ssh-public-key.ts";
import type { World } from "./world.ts";

/** A key; servers that were made with it do not need it any more. */
export interface SshKeyRecord {
  view: SshKey;
}

/** Wraps a handler of one key. */
export const withSshKey = withRecord("SSH key", (world) => world.ssh_keys);

/** `GET /ssh_keys`. Source: Hetzner API, SSH Keys. */
export function listSshKeys(call: Call): Reply {
  const fingerprint = call.url.searchParams.get("fingerprint");
  const found = filterNamed(call, call.world.ssh_keys.values()).filter(
    ({ view }) => fingerprint === null || view.fingerprint === fingerprint,
  );
  const keys = sorted(call, found, { id: ({ view }) => view.id, name: ({ view }) => view.name });
  return page(call, "ssh_keys", keys, ({ view }) => view);
}

/** `GET /ssh_keys/{id}`. Source: Hetzner API, SSH Keys. */
export function getSshKey(_call: Call, { view }: SshKeyRecord): Reply {
  return ok({ ssh_key: view });
}

/** `POST /ssh_keys`: neither the name nor the key may be there already. Source: Hetzner API, SSH Keys. */
export function createSshKey({ world, now_ms, body }: Call): Reply {
  const fields = new Fields(body);
  fields.require("name", "public_key");
  const name = fields.text("name");
  // A client sends the file as it is, with the end of its line.
  const public_key = fields.string("public_key")?.trim() ?? null;
  const fingerprint = public_key === null ? null : fingerprintOf(public_key);
  if (public_key !== null && fingerprint === null) fields.refuse("public_key", "Not a valid public key.");
  const labels = fields.labels("labels");
  fields.check();
  refuseTaken("SSH key ", world.ssh_keys.values(), name);
  for (const { view } of world.ssh_keys.values())
    if (view.fingerprint === fingerprint)
      throw new ApiError(409, "uniqueness_error", "SSH key not unique", { fields: [{ name: "public_key" }] });
  const view = {
    id: world.next_id.ssh_key++,
    name,
    fingerprint: fingerprint ?? "",
    public_key: public_key ?? "",
    labels,
    created: toTimestamp(now_ms),
  };
  world.ssh_keys.set(view.id, { view });
  return created({ ssh_key: view });
}

/** `PUT /ssh_keys/{id}`: a name and the whole map of labels. Source: Hetzner API, SSH Keys. */
export function updateSshKey(call: Call, record: SshKeyRecord): Reply {
  const fields = new Fields(call.body);
  const name = fields.has("name") ? fields.text("name") : record.view.name;
  const labels = fields.has("labels") ? fields.labels("labels") : record.view.labels;
  fields.check();
  refuseTaken("SSH key ", call.world.ssh_keys.values(), name, record.view.id);
  record.view = { ...record.view, name, labels };
  return getSshKey(call, record);
}

/** `DELETE /ssh_keys/{id}`. Source: Hetzner API, SSH Keys. */
export function deleteSshKey({ world }: Call, { view }: SshKeyRecord): Reply {
  world.ssh_keys.delete(view.id);
  return noContent();
}

/** Throws 422 if a create names keys that the project does not have, by id or by name. */
export function refuseUnknownSshKeys(world: World, wanted: readonly (string | number)[]): void {
  const keys = [...world.ssh_keys.values()].map(({ view }) => view);
  for (const key of wanted)
    if (!keys.some(({ id, name }) => name === key || String(id) === String(key)))
      throw invalidField("ssh_keys", `SSH key ${key} does not exist.`);
}
