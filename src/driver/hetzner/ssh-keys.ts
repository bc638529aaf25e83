import type * as z from "zod";
import { uidIn } from "../../machine/labels.ts";
import type { Labels } from "../../machine/machine.ts";
import { fingerprintOf, parsePublicKey, type PublicKey } from "../../machine/ssh-key.ts";
import { DriverError, invalidInput, looking } from "../driver.ts";
import type { SshKeys } from "../capabilities.ts";
import type { Client } from "./client.ts";
import { createResources, listAll, make, ONE_PAGE, toResource, type Kind } from "./resources.ts";
import { sshKey } from "./schema.ts";

type Key = z.infer<typeof sshKey>;
const SSH_KEY: Kind<Key> = {
  plural: "ssh_keys",
  singular: "ssh_key",
  shape: sshKey,
  machines: () => [],
  material: ({ public_key }) => {
    const parsed = parsePublicKey(public_key);
    return parsed.ok ? parsed.value.material : null;
  },
};

/** SSH keys of a Hetzner Cloud project, where both a name and a key's bytes are unique (S97-S107). */
export function createSshKeys(call: Client): SshKeys {
  /** After a refusal for name or bytes, or no clear answer: which key is it that is there? */
  async function find(name: string, key: PublicKey, labels: Labels) {
    const alike = await listAll(call, "ssh_keys", sshKey, {
      ...ONE_PAGE,
      query: { fingerprint: await fingerprintOf(key) },
    });
    const same = alike.find((one) => isMaterial(one, key));
    if (same) {
      const isOwn = uidIn(labels) !== "" && uidIn(same.labels ?? {}) === uidIn(labels);
      return { key: toResource(SSH_KEY, same), reused: !isOwn };
    }
    const namesakes = await listAll(call, "ssh_keys", sshKey, { ...ONE_PAGE, query: { name } });
    return namesakes.some((one) => one.name === name) ? "another" : null;
  }

  return {
    ...createResources(call, SSH_KEY),

    async ensure(name, publicKey, labels) {
      const key = parsePublicKey(publicKey);
      if (!key.ok) throw invalidInput(key.problem);
      try {
        const body = { name, public_key: publicKey.trim(), labels };
        const made = await make(call, SSH_KEY, body, ({ material }) => material === key.value.material);
        return { key: made, reused: false };
      } catch (error) {
        if (!(error instanceof DriverError) || (error.code !== "name_taken" && !error.ambiguous)) throw error;
        const found = await looking(error, () => find(name, key.value, labels));
        if (found === "another") throw error.as("name_taken");
        if (found === null) throw error;
        return found;
      }
    },
  };
}

/** Whether two keys are the same, whatever comments they carry. */
function isMaterial({ public_key }: Key, key: PublicKey): boolean {
  const parsed = parsePublicKey(public_key);
  return parsed.ok && parsed.value.material === key.material;
}
