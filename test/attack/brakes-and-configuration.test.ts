import { describe, expect, it } from "vitest";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, LOCAL, MINUTE, minutes, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const count = async (mayfly: Mayfly, table: string) =>
  (await mayfly.bindings.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<{ n: number }>())?.n;

