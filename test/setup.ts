import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach } from "vitest";
import { refuseLeaks } from "./canaries.ts";
import { refuseForbidden } from "./driven-simulator.ts";
import { emptyDatabase, TABLES } from "./empty-database.ts";
import { refuseMiscounts } from "./outside.ts";
import { refuseScans } from "./plans.ts";
import { configureProperties } from "./properties.ts";

configureProperties();
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);

beforeEach(emptyDatabase);

afterEach(refuseForbidden);
// Nothing goes out that mayfly does not count, and no more of it than its plan allows.
afterEach(refuseMiscounts);
afterEach(() => refuseLeaks(env.DB, TABLES));
// No test sends a statement that reads more with every row of the past: docs/decisions/indexes.md.
afterEach(() => refuseScans(env.DB));
// What a test has left running may still ask after its end.
afterAll(refuseForbidden);
