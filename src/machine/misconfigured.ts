/**
 * A setting, or an entry of mayfly.config.ts, that cannot be used. Answered as `503 misconfigured`: a setting's key and rule, never the
 * value; of an entry neither, for its name and rule tell who may do what.
 */
export class Misconfigured extends Error {
  override readonly name = "Misconfigured";
  readonly key: string;
  readonly rule: string;

  constructor(key: string, rule: string) {
    super(`${key} ${rule}`);
    this.key = key;
    this.rule = rule;
  }

  /** Whether the key is a setting's: those are in capitals. */
  get isSetting(): boolean {
    return /^[A-Z][A-Z0-9_]*$/.test(this.key);
  }
}
