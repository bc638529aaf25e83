/** A setting that cannot be used. Answered as `503 misconfigured`: the key and the rule, never the value. */
export class Misconfigured extends Error {
  override readonly name = "Misconfigured";
  readonly key: string;
  readonly rule: string;

  constructor(key: string, rule: string) {
    super(`${key} ${rule}`);
    this.key = key;
    this.rule = rule;
  }
}
