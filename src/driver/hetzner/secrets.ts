/** So many characters of a secret in a row give it away. */
const RUN = 12;
/** Anything shorter is in ordinary words too, and hiding it there would only garble them. */
const SHORTEST_SECRET = 8;

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
/** As Go's JSON has them. */
const escapedForHtml = (text: string): string =>
  text.replace(/[<>&]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);

/** What a secret may be quoted as: as it is, in JSON, in JSON within JSON, and in base64. */
function formsOf(secret: string): readonly string[] {
  if (secret.length < SHORTEST_SECRET) return [];
  const json = escaped(secret);
  const base64 = new TextEncoder().encode(secret).toBase64();
  return [...new Set([secret, json, escapedForHtml(json), escaped(json), base64])];
}

/** Takes secrets out of texts of the provider's: those that it has been told of by then. */
export function createHiding() {
  const forms: string[] = [];
  /** Most calls need nothing hidden, so what these look like is worked out when the first text comes. */
  const added = new Set<string>();
  return {
    add: (secret: string): void => void added.add(secret),
    hide: (text: string): string => {
      forms.push(...[...added].flatMap(formsOf));
      added.clear();
      return hide(text, forms);
    },
  };
}

/** A text of the provider's without any run of twelve characters or more that is in one of these. */
function hide(text: string, forms: readonly string[]): string {
  if (!forms.some((form) => mayQuote(text, form))) return text;
  let hiddenUntil = 0;
  let rest = "";
  for (let at = 0; at < text.length; at++) {
    const end = Math.max(0, ...forms.map((form) => endOfRun(text, at, form)));
    if (end > hiddenUntil && at >= hiddenUntil) rest += "[hidden]";
    hiddenUntil = Math.max(hiddenUntil, end);
    if (at >= hiddenUntil) rest += text[at];
  }
  return rest;
}

/** Whether there may be such a run: of each there, a piece of half its length stands at a multiple of that. Most texts have none. */
function mayQuote(text: string, form: string): boolean {
  const half = Math.floor(Math.min(RUN, form.length) / 2);
  for (let at = 0; at + half <= text.length; at += half) if (form.includes(text.slice(at, at + half))) return true;
  return false;
}

function endOfRun(text: string, at: number, form: string): number {
  const piece = text.slice(at, at + Math.min(RUN, form.length));
  return piece.length >= Math.min(RUN, form.length) && form.includes(piece) ? at + piece.length : 0;
}
