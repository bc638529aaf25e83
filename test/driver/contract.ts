import { describe } from "vitest";
import type { OpenCloud } from "./contract/cloud.ts";
import { describeCreate } from "./contract/create.ts";
import { describeLife } from "./contract/life.ts";
import { describeList } from "./contract/list.ts";

/** What every driver owes its callers, whatever cloud is behind it (S13). `open` gives an empty cloud each time. */
export function describeDriver(name: string, open: OpenCloud): void {
  describe(`the driver contract: ${name}`, () => {
    describeCreate(open);
    describeLife(open);
    describeList(open);
  });
}
