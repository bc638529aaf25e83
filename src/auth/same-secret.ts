// Apart from the other hashes: Node, where the configuration is read before a deploy, has no such comparison.
import { sha256 } from "./hash.ts";

/** Whether two secrets are equal, in time that tells nothing about either. */
export async function isSameSecret(a: string, b: string): Promise<boolean> {
  return crypto.subtle.timingSafeEqual(await sha256(a), await sha256(b));
}
