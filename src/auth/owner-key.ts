import { invalid, valid, type Checked } from "../machine/validation.ts";

/** What an admin calls a token's owner. It is kept as `tok.<name>`, which no other kind of owner can be. */
const NAME = "[a-z0-9](?:[a-z0-9-]{0,57}[a-z0-9])?";
const TOKEN_OWNER = new RegExp(`^${NAME}$`);
export const TOKEN_OWNER_RULE = "must be 1 to 59 lower-case letters, digits and inner hyphens";
export const isTokenOwner = (text: string): boolean => TOKEN_OWNER.test(text);

/** An admin, and what is found at the provider without an owner that can be read. */
const WITHOUT_PREFIX = /^(?:admin|lost)$/;
/** Every form that an owner's key can have, by who it is of. */
const FORMS: readonly RegExp[] = [
  WITHOUT_PREFIX,
  new RegExp(`^tok\\.${NAME}$`),
  // A run of a repository or project, or what a policy keeps under its own name; another instance than github.com has its hash.
  /^gh(?:\.[0-9a-f]{8})?\.\d+\.[a-z0-9-]+$/,
  /^gl\.[0-9a-f]{8}\.\d+\.[a-z0-9-]+$/,
  /^id\.[0-9a-f]{8}\.[0-9a-f]{32}$/,
  /^hook\.[a-z0-9-]+(?:\.\d+)?$/,
];
const LONGEST = 63;

const RULE =
  "must be somebody who can own something: a token's owner, like `alice` or `tok.alice`, `gh.<repository>.<run>`, `gl.<instance>.<project>.<pipeline>`, `id.…`, `hook.<name>`, `hook.<name>.<source>` or `admin`";

/** Reads an owner's key as an admin names one. A word alone is the owner of a minted token, by the name that it was minted for. */
export function parseOwner(text: string, field = "owner"): Checked<string> {
  const key = withPrefix(text);
  return key.length <= LONGEST && FORMS.some((form) => form.test(key)) ? valid(key) : invalid(field, RULE);
}

/** The key or account that a word alone stands for; any other text is as it is. */
export const withPrefix = (text: string): string =>
  isTokenOwner(text) && !WITHOUT_PREFIX.test(text) ? `tok.${text}` : text;
