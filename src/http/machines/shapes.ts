import * as z from "zod";
import { owner, pagination, ref } from "../schemas.ts";
import { machineJson } from "./json.ts";

export const one = z.object({ machine: machineJson });
export const many = z.object({ machines: z.array(machineJson), meta: z.object({ pagination }) });
export const ownerQuery = z.strictObject({ owner: owner.optional() });
export const refParam = z.object({ ref });
