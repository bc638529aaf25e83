/**
 * Who is calling: a value that is made once a request, and that nothing after it looks behind. What a caller may do is its policy's
 * to say, and what it has is its owner's.
 */
import type { Word } from "../machine/event.ts";
import type { Policy } from "./policy.ts";

/** A verified caller. */
export interface Principal {
  readonly kind: "admin" | "token" | "oidc" | "hook";
  /** The key that its machines are kept under. */
  readonly owner: string;
  /** What its limits and money count against. */
  readonly account: string;
  readonly policy: Policy;
  readonly evidence: Evidence;
  /** Whether it sees what every owner has. */
  readonly seesAll: boolean;
}

/** What a caller has shown, to be kept with what it did. */
export type Evidence =
  | { readonly by: "admin_token" }
  | { readonly by: "token"; readonly id: string; readonly note: string }
  /** The claims that count, as text. */
  | { readonly by: "oidc"; readonly issuer: string; readonly claims: Readonly<Record<string, string>> }
  /** A signature: the hook whose secret made it, and the sender's id for the event. */
  | { readonly by: "hook"; readonly hook: string; readonly delivery: string };

/** What an event keeps of it: of a token its id alone, for the note is the admin's and can be looked up. */
export const wordOf = (evidence: Evidence): Word =>
  evidence.by === "token" ? { by: "token", id: evidence.id } : evidence;

/** Why a caller was not let in, in words that it can act on. */
export interface AuthRefusal {
  /** `unauthorized`: who it is could not be verified; `forbidden`: that is known, and grants nothing. */
  readonly code: "unauthorized" | "forbidden" | "issuer_unavailable";
  readonly message: string;
  readonly rule: string;
  readonly next: string;
  /** The policy that came nearest, or that is gone. */
  readonly policy?: string;
  /** Of a token whose signature is right, the claims that count. */
  readonly claims?: Readonly<Record<string, string>>;
}

export type Identified =
  | {
      readonly ok: true;
      readonly principal: Principal;
      /** Writes down that the token is in use. No call waits for it, or fails with it. */
      readonly noteUse: (() => Promise<void>) | undefined;
    }
  | { readonly ok: false; readonly refusal: AuthRefusal };

export const identified = (principal: Principal, noteUse?: () => Promise<void>): Identified => ({
  ok: true,
  principal,
  noteUse,
});
export const notIdentified = (refusal: AuthRefusal): Identified => ({ ok: false, refusal });

/**
 * Whom a caller acts as: itself, or the owner that it names. An admin may name any, and then sees no more than that owner would;
 * what it may make is still its own policy's to say. Null where this is not the caller's to ask.
 */
export function actingFor(caller: Principal, owner: string | undefined): Principal | null {
  if (owner === undefined) return caller;
  if (owner === caller.owner) return { ...caller, seesAll: false };
  return caller.kind === "admin" ? { ...caller, owner, account: accountOf(owner), seesAll: false } : null;
}

/** What an owner's limits count against, as far as its key tells: of a run its repository or project, else itself. */
export function accountOf(owner: string): string {
  const parts = owner.split(".");
  const isRun = (parts[0] === "gh" || parts[0] === "gl") && parts.length > 2;
  return isRun ? parts.slice(0, -1).join(".") : owner;
}

/** The id of the minted token that a caller has shown; null of any other. */
export const tokenIdOf = ({ evidence }: Pick<Principal, "evidence">): string | null =>
  evidence.by === "token" ? evidence.id : null;

/** The bearer token of an `Authorization` header (RFC 6750), or null when there is none that could be one. */
export function bearerToken(header: string | undefined): string | null {
  const token = /^Bearer +([A-Za-z0-9\-._~+/]{1,8192}=*)$/i.exec(header ?? "")?.[1];
  return token ?? null;
}
