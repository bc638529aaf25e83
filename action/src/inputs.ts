import { randomInt } from "node:crypto";
import { Failure, type Runner } from "./runner.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** A name of no other machine: the job's, and eight random characters, so that jobs of a matrix and re-runs never meet. */
export function newName(job: string): string {
  const readable = job
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 54)
    .replaceAll(/^-|-$/g, "");
  const random = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${readable || "job"}-${random}`;
}

/** Where mayfly is, and whom tokens are for. Only a Worker on this machine may be called without TLS: a token goes there. */
export function placeIn(runner: Runner): { readonly url: string; readonly audience: string } {
  const given = runner.input("url");
  if (!URL.canParse(given))
    throw new Failure("`url` must be the Worker's address, like https://mayfly.example.workers.dev");
  const { protocol, hostname, origin } = new URL(given);
  if (protocol !== "https:" && !["127.0.0.1", "localhost", "[::1]"].includes(hostname))
    throw new Failure("`url` must begin with https://");
  return { url: origin, audience: runner.input("audience") || hostname };
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** A length like `30m`, in milliseconds. */
export function lengthIn(runner: Runner, input: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(runner.input(input)) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (seconds <= 0) throw new Failure(`\`${input}\` must be a whole number and a unit, like 90s, 30m or 2h`);
  return seconds * 1000;
}

export function flagIn(runner: Runner, input: string): boolean {
  const text = runner.input(input);
  if (text !== "true" && text !== "false") throw new Failure(`\`${input}\` must be true or false`);
  return text === "true";
}

export function portIn(runner: Runner, input: string): number {
  const text = runner.input(input);
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535) throw new Failure(`\`${input}\` must be from 1 to 65535`);
  return Number(text);
}

const list = (text: string): string[] =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** What the workflow says of the machine, in the words of a create; keys and firewall apart. */
export function orderIn(runner: Runner): Record<string, unknown> {
  const said = (name: string): string | undefined => runner.input(name) || undefined;
  const isBare = said("profile") === undefined;
  const types = list(runner.input("server_type"));
  const regions = list(runner.input("region"));
  const labels = list(runner.input("labels")).map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw new Failure("`labels` must be like key=value, separated by commas");
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const order = {
    profile: said("profile"),
    server_type: types.length > 0 ? types : isBare && said("arch") === undefined ? "cx23" : undefined,
    region: regions.length > 0 ? regions : isBare ? "fsn1" : undefined,
    arch: said("arch"),
    image: said("image"),
    cloud_init: said("cloud_init"),
    labels: labels.length > 0 ? Object.fromEntries(labels) : undefined,
    ttl: said("ttl"),
  };
  return Object.fromEntries(Object.entries(order).filter(([, value]) => value !== undefined));
}
