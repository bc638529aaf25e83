// Whether a Hetzner token can do what mayfly needs of it. The driver is not used: it reads answers as only a Worker can.
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { makeKeyPair } from "../../action/src/key-pair.ts";
import { LABEL, ourLabels } from "../../src/machine/labels.ts";
import { jsonText } from "../json-text.ts";
import { causeOf, type Fetch } from "./health.ts";

/** What a try goes by. */
export interface Trial {
  readonly token: string;
  readonly endpoint: string;
  /** Null where it is not known here; then nobody but this call looks after the key that it makes. */
  readonly installation: string | null;
  readonly fetch: Fetch;
  readonly now: () => number;
}

/** A key that is left behind is past its end by then, and a sweep of its installation deletes it. */
const KEY_LIVES_MS = 600_000;
const TIMEOUT_MS = 30_000;

const refusal = z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) });
const keys = z.looseObject({
  ssh_keys: z.array(z.looseObject({ id: z.int().positive(), labels: z.record(z.string(), z.string()) })),
});

type Method = "GET" | "POST" | "DELETE";

/** Reads machines, and makes and deletes an SSH key. Throws, in a sentence with what to do, where the token cannot. */
export async function tryToken(trial: Trial): Promise<void> {
  const read = await ask(trial, "GET", "/servers?per_page=1");
  if (read.status === 401 || read.status === 403)
    throw new Error("HCLOUD_TOKEN is refused by Hetzner: make one in the console, under Security, API tokens");
  check(read, "GET /servers");
  const uid = randomUUID();
  let made: Answer;
  try {
    made = await ask(trial, "POST", "/ssh_keys", keyOf(trial, uid));
  } finally {
    // By its own label, also where the answer was lost: it may have been made all the same.
    await deleteKeys(trial, uid);
  }
  if (made.status === 401 || made.status === 403)
    throw new Error("HCLOUD_TOKEN may read and not write: make one with the permission Read & Write");
  check(made, "POST /ssh_keys");
}

function keyOf({ installation, now }: Trial, uid: string) {
  const until = now() + KEY_LIVES_MS;
  const labels = ourLabels({
    uid,
    installation: installation ?? "",
    owner: "deploy",
    name: "deploy",
    requestedAt: now(),
    expiresAt: until,
    maxUntil: until,
  });
  return { name: `mayfly-deploy-${uid}`, public_key: makeKeyPair().publicKey, labels };
}

async function deleteKeys(trial: Trial, uid: string): Promise<void> {
  const listed = await ask(trial, "GET", `/ssh_keys?label_selector=${LABEL.uid}%3D%3D${uid}`);
  check(listed, "GET /ssh_keys");
  for (const { id, labels } of jsonText.pipe(keys).parse(listed.text).ssh_keys) {
    // Not trusted to have selected.
    if (labels[LABEL.uid] !== uid) continue;
    const gone = await ask(trial, "DELETE", `/ssh_keys/${id}`);
    if (gone.status !== 404) check(gone, `the SSH key ${id} (mayfly-deploy-${uid}) stays at Hetzner: DELETE /ssh_keys`);
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask({ fetch, endpoint, token }: Trial, method: Method, path: string, body?: object): Promise<Answer> {
  try {
    const response = await fetch(endpoint.replace(/\/+$/, "") + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      // Elsewhere the token has nothing to do.
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw new Error(`Hetzner cannot be reached at ${endpoint} (${causeOf(error)})`, { cause: error });
  }
}

function check({ status, text }: Answer, what: string): void {
  if (status >= 200 && status < 300) return;
  const read = jsonText.pipe(refusal).safeParse(text);
  const words = read.success ? `${read.data.error.code}: ${read.data.error.message}` : "without a reason";
  throw new Error(`${what} is answered ${status} by Hetzner, ${words}. Run this again`);
}
