import { notIdentified, type Identified } from "./principal.ts";
import type { AuthSettings, Identifying } from "./settings.ts";

/** Whether a bearer token looks like a JWT (RFC 7519). */
export const isJwt = (token: string): boolean => /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/.test(token);

/** Finds out who holds a JWT of a configured issuer. */
export async function identifyJwt(_token: string, _work: Identifying, _settings: AuthSettings): Promise<Identified> {
  return notIdentified({
    code: "unauthorized",
    message: "No issuer is configured.",
    rule: "must be of a configured issuer",
    next: "Send `Authorization: Bearer <token>`; an admin mints tokens with POST /v1/tokens.",
  });
}
