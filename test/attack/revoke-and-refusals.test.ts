import { describe, expect, it } from "vitest";
import * as z from "zod";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { blockOf } from "../../src/machine/ip-range.ts";
import { createCallers } from "../auth/callers.ts";
import { githubClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, LOCAL, machineIn, minutes, mintedIn, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

