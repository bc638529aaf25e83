// A parser of its own, not the Worker's: a shared mistake would hide itself.
import { ApiError } from "./errors.ts";
import { isLabelKey, isLabelValue, type Labels } from "./labels.ts";

/** Tells whether a resource with these labels is selected. */
export type LabelMatcher = (labels: Labels) => boolean;

/**
 * Compiles a label selector: `k=v`, `k==v`, `k!=v`, `k`, `!k`, `k in (a,b)`, `k notin (a,b)`, joined by commas (AND).
 * Throws 422 `invalid_input` on a bad one. Source: Hetzner API, Label Selector.
 */
export function parseLabelSelector(text: string): LabelMatcher {
  const reader = new Reader(text);
  const terms = [readTerm(reader)];
  while (!reader.atEnd()) {
    if (!reader.take(",")) throw reader.refuse("expected comma");
    terms.push(readTerm(reader));
  }
  return (labels) => terms.every((matches) => matches(labels));
}

function readTerm(reader: Reader): LabelMatcher {
  if (reader.take("!")) {
    const absent = readKey(reader);
    return (labels) => valueOf(labels, absent) === undefined;
  }
  const key = readKey(reader);
  // `!=` and `notin` also select what lacks the key. Hetzner does not document it; this is what Kubernetes,
  // whose grammar this is, does, and it is the reading that surprises a careless client.
  if (reader.take("!=")) return not(isOneOf(key, [readValue(reader)]));
  if (reader.take("==") || reader.take("=")) return isOneOf(key, [readValue(reader)]);
  if (reader.takeWord("notin")) return not(isOneOf(key, readSet(reader)));
  if (reader.takeWord("in")) return isOneOf(key, readSet(reader));
  return (labels) => valueOf(labels, key) !== undefined;
}

function readSet(reader: Reader): string[] {
  if (!reader.take("(")) throw reader.refuse("expected opening parenthesis");
  const values = [readValue(reader)];
  while (reader.take(",")) values.push(readValue(reader));
  if (!reader.take(")")) throw reader.refuse("expected closing parenthesis");
  return values;
}

function readKey(reader: Reader): string {
  const key = reader.takeIdentifier();
  if (!isLabelKey(key)) throw reader.refuse(key === "" ? "expected label key" : `invalid label key '${key}'`);
  return key;
}

function readValue(reader: Reader): string {
  const value = reader.takeIdentifier();
  if (!isLabelValue(value)) throw reader.refuse(`invalid label value '${value}'`);
  return value;
}

function isOneOf(key: string, values: string[]): LabelMatcher {
  return (labels) => {
    const value = valueOf(labels, key);
    return value !== undefined && values.includes(value);
  };
}

function not(matches: LabelMatcher): LabelMatcher {
  return (labels) => !matches(labels);
}

// `constructor` and its kin are legal label keys and must not be found on the prototype.
function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

class Reader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  atEnd(): boolean {
    this.skipSpace();
    return this.at === this.text.length;
  }

  take(symbol: string): boolean {
    this.skipSpace();
    if (!this.text.startsWith(symbol, this.at)) return false;
    this.at += symbol.length;
    return true;
  }

  takeWord(word: string): boolean {
    const start = this.at;
    if (this.takeIdentifier() === word) return true;
    this.at = start;
    return false;
  }

  takeIdentifier(): string {
    this.skipSpace();
    const start = this.at;
    while (this.at < this.text.length && /[A-Za-z0-9._/-]/.test(this.text.charAt(this.at))) this.at += 1;
    return this.text.slice(start, this.at);
  }

  refuse(expectation: string): ApiError {
    this.skipSpace();
    return new ApiError(422, "invalid_input", `${expectation} at pos ${this.at}`, {
      fields: [{ name: "label_selector", messages: [`${expectation} at pos ${this.at}`] }],
    });
  }

  private skipSpace(): void {
    while (this.text.charAt(this.at) === " ") this.at += 1;
  }
}
