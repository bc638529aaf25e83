/** What the tests' Worker is: mayfly, and a Durable Object whose SQLite the fault histories run on. */
import { DurableObject } from "cloudflare:workers";

export { default } from "../../src/index.ts";
export class SimDb extends DurableObject {}
